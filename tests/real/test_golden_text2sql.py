"""Golden vectors of text-to-SQL: BIRD's, Spider's and TARGET's own evaluation code."""

import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from target_bench.core.schema import Executed
from target_bench.metrics.sql import (
    DEFINITIONS,
    JudgedAnswer,
    JudgedSQL,
    reward,
    time_ratio,
)
from target_bench.metrics.sql_results import same_set, same_table, soft_f1
from target_bench.sql.normalisation import rewrite_for_test_suite
from tests.metrics.judged_sql import judge
from tests.real.golden import TOLERANCE, Case, cases, content, needs_golden

pytestmark = needs_golden
FILE = "text2sql_exec.json"
DATABASES: dict[str, str] = content(FILE).get("databases", {})


@contextmanager
def open_sqlite(database: str) -> Iterator[sqlite3.Connection]:
    connection = sqlite3.connect(":memory:")
    connection.executescript(DATABASES[database])
    try:
        yield connection
    finally:
        connection.close()


def executed(database: str, sql: str, seconds: float = 30.0) -> Executed:
    """What plain sqlite3 says, within a time limit."""
    deadline = time.monotonic() + seconds
    with open_sqlite(database) as connection:
        connection.set_progress_handler(lambda: time.monotonic() > deadline, 1_000)
        try:
            return Executed("executed", rows=tuple(connection.execute(sql).fetchall()))
        except (sqlite3.Error, sqlite3.Warning) as error:
            late = str(error) == "interrupted"
            return Executed("timeout" if late else "error", message=str(error))


def judged(database: str, gold: str, predicted: str) -> JudgedAnswer:
    rewritten = [rewrite_for_test_suite(sql) for sql in (gold, predicted)]
    return judge(
        executed(database, gold),
        executed(database, predicted),
        gold,
        (executed(database, rewritten[0]), executed(database, rewritten[1])),
    )


@pytest.mark.parametrize("case", cases(FILE, "sql_pair"))
def test_statements(case: Case) -> None:
    database, gold, predicted = (case["input"][key] for key in ("db", "gold_sql", "pred_sql"))
    expected = case["expected"]
    ours = judged(database, gold, predicted)
    for key, sql in (("gold_rows", gold), ("pred_rows", predicted)):
        rows = expected[key]
        result = executed(database, sql)
        failed = isinstance(rows, dict)
        assert (result.outcome == "error") == failed
        assert failed or [list(row) for row in result.rows] == rows
    assert ours.bird == expected["bird_ex"] == expected["target_exec"]
    assert ours.soft_f1 == pytest.approx(expected["bird_soft_f1"], abs=TOLERANCE)
    if expected["spider_exec"] == "error:gold_not_executable":
        assert ours == JudgedAnswer("q", "gold_failed")
        return
    assert ours.spider == expected["spider_exec"]
    everywhere = all(judged(name, gold, predicted).spider for name in DATABASES)
    assert everywhere == expected["test_suite_all_dbs"]


@pytest.mark.parametrize("case", cases(FILE, "result_pair"))
def test_results(case: Case) -> None:
    gold, predicted = ([tuple(row) for row in case["input"][side]] for side in ("gold", "pred"))
    expected = case["expected"]
    assert same_set(gold, predicted) == expected["bird_ex"]
    assert soft_f1(gold, predicted) == pytest.approx(expected["bird_soft_f1"], abs=TOLERANCE)
    assert same_table(gold, predicted, True) == expected["spider_result_eq_order_matters"]
    assert same_table(gold, predicted, False) == expected["spider_result_eq_unordered"]


@pytest.mark.parametrize("case", cases(FILE, "value_plugging"))
def test_distinct_is_taken_out(case: Case) -> None:
    """What we do of value plugging; no score here leaves the choice of values out."""
    text = rewrite_for_test_suite(case["input"]["pred_sql"])
    assert text == case["expected"]["remove_distinct"]


@pytest.mark.parametrize("case", cases(FILE, "ves"))
def test_time_ratios_and_rewards(case: Case) -> None:
    times = case["input"]
    expected = case["expected"]
    right = times["correct"]
    ratio = time_ratio(times["gold_times"], times["pred_times"]) if right else 0.0
    assert ratio == pytest.approx(expected["ves_time_ratio"], abs=TOLERANCE)
    earned = expected["rves_reward"]
    assert reward(ratio) == (earned["counted_as"] if isinstance(earned, dict) else earned)


RATIO_OF_REWARD = {0: 0.0, 0.25: 0.1, 0.5: 0.3, 0.75: 0.6, 1: 1.5, 1.25: 2.5}


@pytest.mark.parametrize("case", cases(FILE, "ves_aggregate"))
def test_means_of_efficiency(case: Case) -> None:
    given = case["input"]
    expected = case["expected"]
    earned = [JudgedAnswer("q", "correct", time_ratio=RATIO_OF_REWARD[r]) for r in given["rewards"]]
    assert mean("r_ves", earned) == pytest.approx(expected["rves"], abs=TOLERANCE)
    queries = [
        JudgedAnswer("q", "correct" if right else "wrong_result", bird=right, time_ratio=ratio)
        for right, ratio in zip(given["correct"], given["time_ratios"], strict=True)
    ]
    for level, figures in expected["target"].items():
        chosen = [
            query
            for query, difficulty in zip(queries, given["difficulty"], strict=True)
            if level in ("all", difficulty)
        ]
        assert len(chosen) == figures["num_sqls"]
        assert mean("ex[bird]", chosen) == pytest.approx(figures["accuracy"], abs=TOLERANCE)


def mean(name: str, queries: list[JudgedAnswer]) -> float:
    metric = DEFINITIONS[name].make()
    return float(metric.value(metric.statistics(JudgedSQL(queries)).sum(axis=0)))


@pytest.mark.parametrize("case", cases(FILE, "target_cross_db"))
def test_target_runs_the_prediction_on_the_predicted_database(case: Case) -> None:
    given = case["input"]
    gold = executed(given["gold_db"], given["gold_sql"])
    predicted = executed(given["pred_db"], given["pred_sql"])
    assert judge(gold, predicted, given["gold_sql"]).bird == case["expected"]["target_exec"]


@pytest.mark.parametrize("case", cases(FILE, "timeout"))
def test_a_statement_over_its_time_is_wrong(case: Case) -> None:
    given = case["input"]
    gold, predicted = (
        executed(given["db"], given[key], given["timeout_s"]) for key in ("gold_sql", "pred_sql")
    )
    ours = judge(gold, predicted, given["gold_sql"])
    assert ours.bird == case["expected"]["bird_ex"] == case["expected"]["target_exec"]
    assert ours.verdict == ("correct" if ours.bird else "timeout")
