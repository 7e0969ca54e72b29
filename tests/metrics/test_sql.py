"""Judging one query, and the means over judged queries."""

from dataclasses import replace
from functools import partial
from math import isnan, nan
from typing import get_args

import numpy as np
import pytest

from target_bench.core.schema import Cell, Executed, SQLOutcome
from target_bench.metrics.sql import (
    DEFINITIONS,
    JudgedAnswer,
    JudgedSQL,
    Rule,
    reward,
    time_ratio,
)
from tests.metrics.judged_sql import judge

answer = partial(JudgedAnswer, "q")


def gave(*rows: tuple[Cell, ...], seconds: tuple[float, ...] = (0.1,)) -> Executed:
    columns = tuple(f"c{i}" for i in range(len(rows[0]))) if rows else ("c0",)
    return Executed("executed", columns, rows, seconds=seconds)


def failed(outcome: SQLOutcome) -> Executed:
    return Executed(outcome, message="why")


def value(name: str, *answers: JudgedAnswer) -> float:
    metric = DEFINITIONS[name].make()
    return float(metric.value(metric.statistics(JudgedSQL(answers)).sum(axis=0)))


FAILED = failed("timeout")
SYNTAX = failed("syntax_error")
PAIR = (gave((1,), (1,)), gave((1,), (1,)))


@pytest.mark.parametrize(
    ("gold", "predicted", "rewritten", "rule", "expected"),
    [
        (gave((1, "a"), (2, "b"), (2, "b")), gave((2, "b"), (1, "a")), None, "bird",
         answer("correct", bird=1)),
        (gave((1, "a")), gave(("a", 1)), None, "bird",
         answer("wrong_result", spider=1, soft_f1=1)),
        (gave((1, "a")), gave(("a", 1)), None, "spider",
         answer("correct", spider=1, soft_f1=1)),
        *((FAILED, predicted, None, "bird", answer("gold_failed"))
          for predicted in (gave((1,)), gave(), FAILED)),
        (gave(), None, None, "bird", answer("no_prediction")),
        *((gave(), failed(outcome), None, "bird",
           answer("error" if outcome == "unusable" else outcome))
          for outcome in get_args(SQLOutcome) if outcome != "executed"),
        # Spider takes the results of the rewritten statements
        (gave((1,), (1,)), SYNTAX, PAIR, "bird", answer("syntax_error", spider=1)),
        (gave((1,)), SYNTAX, PAIR, "spider", answer("correct", spider=1)),
        (gave((1,)), gave((1,)), (gave((1,)), failed("unknown_column")), "spider",
         answer("unknown_column", bird=1, soft_f1=1)),
    ],
)  # fmt: skip
def test_judging_one_query(
    gold: Executed,
    predicted: Executed | None,
    rewritten: tuple[Executed, Executed] | None,
    rule: Rule,
    expected: JudgedAnswer,
) -> None:
    judged = judge(gold, predicted, "SELECT", rewritten, rule=rule)
    assert replace(judged, time_ratio=0) == replace(expected, time_ratio=0)


def test_time_is_judged_of_right_queries_run_several_times() -> None:
    gold, fast = gave((1,), seconds=(2.0, 2.1)), gave((1,), seconds=(1.0, 1.0))
    assert judge(gold, fast, "SELECT").time_ratio == pytest.approx(2.05)
    assert judge(gold, replace(fast, rows=((2,),)), "SELECT").time_ratio == 0
    assert isnan(judge(gave((1,)), gave((1,)), "SELECT").time_ratio)
    with pytest.raises(ValueError, match="2 times of the gold query and 1 of the predicted one"):
        judge(gold, gave((1,)), "SELECT")


RIGHT = answer("correct", 1, 1, 1, 1.0)
FASTER = answer("correct", 1, 1, 1, 4.0)
WRONG = answer("wrong_result", soft_f1=0.5)
ABSENT = answer("not_runnable")


@pytest.mark.parametrize(
    ("name", "queries", "mean"),
    [
        *((f"ex[{rule}]", (RIGHT, ABSENT, WRONG, WRONG), 1 / 3)
          for rule in ("bird", "spider")),
        ("soft_f1", (RIGHT, ABSENT, WRONG), 0.75),
        ("r_ves", (FASTER, ABSENT), 100 * 1.25**0.5),  # square roots times hundred
        ("r_ves", (RIGHT, WRONG), 50),
        ("ex[bird]", (), nan),
        ("ex[bird]", (ABSENT,), nan),
    ],
)  # fmt: skip
def test_means_leave_out_queries_without_database(
    name: str, queries: tuple[JudgedAnswer, ...], mean: float
) -> None:
    assert value(name, *queries) == pytest.approx(mean, nan_ok=True)
    metric = DEFINITIONS["soft_f1"].make()
    each = metric.per_query(metric.statistics(JudgedSQL([RIGHT, WRONG, ABSENT])))
    np.testing.assert_array_equal(each, [1, 0.5, nan])


def test_efficiency_needs_times() -> None:
    with pytest.raises(ValueError, match="r_ves is not known for 1 of 2 queries"):
        value("r_ves", replace(RIGHT, time_ratio=nan), WRONG)


@pytest.mark.parametrize(
    ("gold", "predicted", "ratio"),
    [
        ([2.0, 4.2], [1.0, 2.0], 2.05),
        ([*(1.0 + i / 100 for i in range(20)), 500.0], [1.0] * 21, 1.095),  # without the outlier
        ([0.5], [0.25], 0),  # without any spread all are outliers
        ([0.5] * 3, [0.25] * 3, 0),
        ([], [], 0),
    ],
)
def test_ratio_is_gold_over_predicted(
    gold: list[float], predicted: list[float], ratio: float
) -> None:
    assert time_ratio(gold, predicted) == pytest.approx(ratio)


def test_rewards_rise_in_steps() -> None:
    steps = {0.0: 0.0, 0.1: 0.25, 0.25: 0.5, 0.5: 0.75, 0.99: 0.75, 1.0: 1.0, 1.99: 1.0, 2.0: 1.25}
    assert {ratio: reward(ratio) for ratio in steps} == steps
