"""Judging one query, and the means over judged queries."""

from dataclasses import replace
from math import isnan, nan
from typing import get_args

import numpy as np
import pytest

from target_bench.core.schema import Cell, Executed, SQLOutcome
from target_bench.metrics.sql import (
    DEFINITIONS,
    JudgedQuery,
    JudgedSQL,
    Rule,
    Verdict,
    reward,
    time_ratio,
)
from tests.metrics.judged_sql import judge


def gave(*rows: tuple[Cell, ...], seconds: tuple[float, ...] = (0.1,)) -> Executed:
    columns = tuple(f"c{i}" for i in range(len(rows[0]))) if rows else ("c0",)
    return Executed("executed", columns, rows, seconds=seconds)


def failed(outcome: SQLOutcome) -> Executed:
    return Executed(outcome, message="why")


def value(name: str, *queries: JudgedQuery) -> float:
    metric = DEFINITIONS[name].make()
    return float(metric.value(metric.statistics(JudgedSQL(queries)).sum(axis=0)))


class TestJudge:
    def test_every_rule_judges(self) -> None:
        judged = judge(gave((1, "a"), (2, "b"), (2, "b")), gave((2, "b"), (1, "a")), "SELECT")
        assert judged.verdict == "correct"
        assert (judged.bird, judged.spider, judged.multiset) == (1, 0, 0)
        assert judged.soft_f1 == 0

    @pytest.mark.parametrize(("rule", "verdict"), [("bird", "wrong_result"), ("spider", "correct")])
    def test_the_verdict_follows_the_rule_asked_for(self, rule: Rule, verdict: Verdict) -> None:
        judged = judge(gave((1, "a")), gave(("a", 1)), "SELECT", rule=rule)
        assert (judged.verdict, judged.bird, judged.spider) == (verdict, 0, 1)

    @pytest.mark.parametrize("outcome", [o for o in get_args(SQLOutcome) if o != "executed"])
    def test_a_failed_prediction_is_wrong_and_named(self, outcome: SQLOutcome) -> None:
        judged = judge(gave(), failed(outcome), "SELECT")
        assert judged.verdict == ("error" if outcome == "unusable" else outcome)
        assert replace(judged, verdict="error") == JudgedQuery("error")

    def test_a_failed_gold_is_named_for_any_prediction(self) -> None:
        for predicted in (gave((1,)), gave(), failed("timeout")):
            assert judge(failed("timeout"), predicted, "SELECT") == JudgedQuery("gold_failed")

    def test_nothing_predicted_and_no_database_are_distinguished(self) -> None:
        assert judge(gave(), None, "SELECT").verdict == "no_prediction"
        assert judge(None, None, "SELECT").verdict == "not_runnable"
        assert judge(None, gave(), "SELECT").verdict == "not_runnable"

    def test_spider_takes_the_results_of_the_rewritten_statements(self) -> None:
        rewritten = (gave((1,), (1,)), gave((1,), (1,)))
        judged = judge(gave((1,), (1,)), failed("syntax_error"), "SELECT", rewritten)
        assert judged == JudgedQuery("syntax_error", spider=1)
        judged = judge(gave((1,)), failed("syntax_error"), "SELECT", rewritten, rule="spider")
        assert judged == JudgedQuery("correct", spider=1)
        rewritten = (gave((1,)), failed("no_such_column"))
        judged = judge(gave((1,)), gave((1,)), "SELECT", rewritten, rule="spider")
        assert (judged.verdict, judged.bird, judged.spider) == ("no_such_column", 1, 0)

    def test_time_is_judged_of_right_queries_run_several_times(self) -> None:
        gold, fast = gave((1,), seconds=(2.0, 2.1)), gave((1,), seconds=(1.0, 1.0))
        assert judge(gold, fast, "SELECT").time_ratio == pytest.approx(2.05)
        assert judge(gold, replace(fast, rows=((2,),)), "SELECT").time_ratio == 0
        assert isnan(judge(gave((1,)), gave((1,)), "SELECT").time_ratio)
        with pytest.raises(ValueError, match="equally often"):
            judge(gold, gave((1,)), "SELECT")


RIGHT = JudgedQuery("correct", 1, 1, 1, 1, 1.0)
FASTER = JudgedQuery("correct", 1, 1, 1, 1, 4.0)
WRONG = JudgedQuery("wrong_result", soft_f1=0.5)
ABSENT = JudgedQuery("not_runnable")
UNTIMED = replace(RIGHT, time_ratio=nan)


class TestMetrics:
    def test_means_leave_out_queries_without_database(self) -> None:
        for name in ("ex[bird]", "ex[spider]", "ex[multiset]"):
            assert value(name, RIGHT, ABSENT, WRONG, WRONG) == pytest.approx(1 / 3)
        assert value("soft_f1", RIGHT, ABSENT, WRONG) == pytest.approx(0.75)

    def test_efficiency_is_a_mean_of_square_roots_times_hundred(self) -> None:
        assert value("ves", RIGHT, FASTER, WRONG, ABSENT) == pytest.approx(100)
        assert value("r_ves", FASTER) == pytest.approx(100 * 1.25**0.5)
        assert value("r_ves", RIGHT, WRONG) == pytest.approx(50)

    @pytest.mark.parametrize("name", ["ves", "r_ves"])
    def test_efficiency_needs_times(self, name: str) -> None:
        with pytest.raises(ValueError, match=f"{name} is not known for 1 of 2 queries"):
            value(name, UNTIMED, WRONG)

    @pytest.mark.parametrize("queries", [(), (ABSENT,)])
    def test_of_nothing_there_is_no_mean(self, queries: tuple[JudgedQuery, ...]) -> None:
        assert isnan(value("ex[bird]", *queries))

    def test_each_query_has_its_value(self) -> None:
        metric = DEFINITIONS["soft_f1"].make()
        statistics = metric.statistics(JudgedSQL([RIGHT, WRONG, ABSENT]))
        np.testing.assert_array_equal(metric.per_query(statistics), [1, 0.5, nan])


def test_ratio_is_gold_over_predicted() -> None:
    assert time_ratio([2.0, 4.2], [1.0, 2.0]) == pytest.approx(2.05)


def test_outliers_are_left_out() -> None:
    gold = [1.0 + i / 100 for i in range(20)]
    assert time_ratio([*gold, 500.0], [1.0] * 21) == pytest.approx(1.095)


@pytest.mark.parametrize("times", [([0.5], [0.25]), ([0.5] * 3, [0.25] * 3), ([], [])])
def test_without_any_spread_all_ratios_are_outliers(times: tuple[list[float], list[float]]) -> None:
    assert time_ratio(*times) == 0


def test_both_must_have_run_equally_often() -> None:
    with pytest.raises(ValueError, match="2 times of the gold query and 1 of the predicted one"):
        time_ratio([1.0, 2.0], [1.0])


@pytest.mark.parametrize(
    ("ratio", "expected"),
    [
        (0.0, 0.0),
        (0.1, 0.25),
        (0.25, 0.5),
        (0.5, 0.75),
        (0.99, 0.75),
        (1.0, 1.0),
        (1.99, 1.0),
        (2.0, 1.25),
        (99.0, 1.25),
    ],
)
def test_rewards_rise_in_steps(ratio: float, expected: float) -> None:
    assert reward(ratio) == expected
