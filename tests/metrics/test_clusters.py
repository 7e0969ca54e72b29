"""Intervals and tests where the databases of the queries are a sample, too."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from target_bench import compare, evaluate, load
from target_bench.core.metric import Metric, MetricSpec, to_mean_statistics
from target_bench.metrics.retrieval import parse
from target_bench.metrics.stats import (
    holm,
    interval,
    interval_by_cluster,
    interval_of_difference,
    interval_of_difference_by_cluster,
    randomization_test,
    sum_by_cluster,
)
from target_bench.runs.score_tables import interval_by_database, to_document
from target_bench.runs.slicing import make_mean

METRIC = parse("recall@1")
Floats = NDArray[np.float64]


def _drawn(
    rng: np.random.Generator, n: int, k: int, *shifts: float
) -> tuple[list[Floats], NDArray[np.intp]]:
    """Right answers of systems to n questions about k databases, of which each is as hard.

    Args:
        rng: what draws.
        n: the number of questions.
        k: of databases.
        *shifts: how much the logits of each system vary by database besides.
    """
    hard = 0.45 + 0.8 * rng.standard_normal(k)
    databases = rng.integers(0, k, n)
    systems = []
    for shift in shifts:
        logits = (hard + shift * rng.standard_normal(k))[databases]
        systems.append(
            to_mean_statistics((rng.random(n) < 1 / (1 + np.exp(-logits))).astype(float))
        )
    return systems, databases


@pytest.mark.parametrize(
    ("n", "k", "by_question"), [(280, 20, 0.8), (2000, 20, 0.5), (280, 11, 0.75)]
)
def test_interval_holds_the_truth_of_databases_drawn_anew(
    n: int, k: int, by_question: float
) -> None:
    """With 5,000 draws .952, .952 and .949; over the questions alone .76, .41 and .66."""
    rng = np.random.default_rng(1)
    truth = 0.5976
    held = np.zeros(2)
    for _ in range(400):
        (rows,), databases = _drawn(rng, n, k, 0.0)
        bounds = interval(METRIC, rows), interval_by_cluster(METRIC, rows, list(databases))
        held += [low <= truth <= high for low, high in bounds]
    assert held[0] / 400 < by_question
    assert 0.925 <= held[1] / 400 <= 0.98


@pytest.mark.parametrize(
    ("n", "k", "by_question", "rejected_by_question"), [(280, 20, 0.93, 0.06), (2000, 11, 0.8, 0.2)]
)
def test_difference_of_systems_that_are_as_good_over_all_databases(
    n: int, k: int, by_question: float, rejected_by_question: float
) -> None:
    """Interval and test hold their level; those over the questions alone do not."""
    rng = np.random.default_rng(2)
    held, rejected = np.zeros(2), np.zeros(2)
    for _ in range(300):
        (first, second), databases = _drawn(rng, n, k, 0.4, 0.4)
        clusters = list(databases)
        for i, (low, high) in enumerate(
            (
                interval_of_difference(METRIC, first, second),
                interval_of_difference_by_cluster(METRIC, first, second, clusters),
            )
        ):
            held[i] += low <= 0 <= high
        sums = (sum_by_cluster(first, clusters), sum_by_cluster(second, clusters))
        for i, (mine, theirs) in enumerate(((first, second), sums)):
            rejected[i] += randomization_test(mine, theirs, resamples=500)[0] < 0.05
    assert held[0] / 300 < by_question
    assert held[1] / 300 >= 0.925
    assert rejected[0] / 300 > rejected_by_question
    assert rejected[1] / 300 <= 0.06


def test_by_hand() -> None:
    """The jackknife over clusters: shares 1/2, 3/4 and 1/4 without each."""
    right = to_mean_statistics(np.array([1.0, 0, 0, 0, 1, 1]))
    clusters = list("aabbcc")
    low, high = interval_by_cluster(METRIC, right, clusters)
    variance = 2 / 3 * ((np.array([0.5, 0.75, 0.25]) - 0.5) ** 2).sum()
    t, n = 4.302653, 0.25 / variance
    half = t * np.sqrt(0.25 / n + t**2 / (4 * n**2)) / (1 + t**2 / n)
    assert (low, high) == pytest.approx((0.5 - half, 0.5 + half), abs=1e-5)


def test_edges() -> None:
    """A perfect score, one database, and no query at all."""
    perfect, databases = to_mean_statistics(np.ones(40)), list(range(40))
    assert interval_by_cluster(METRIC, perfect, databases) == interval(METRIC, perfect)
    rows = to_mean_statistics(np.resize([1.0, 0.0], 40))
    assert interval_by_cluster(METRIC, rows, ["a"] * 40) == (0, 1)
    assert interval_of_difference_by_cluster(METRIC, rows, perfect, ["a"] * 40) == (-1, 1)
    assert np.isnan(interval_by_cluster(parse("set_size"), np.zeros((40, 2)), databases)).all()


def test_runs_over_databases_say_both(tmp_path: Path) -> None:
    dataset = load("mini")
    queries = tuple(q for q in dataset.queries if q.metadata.get("task") == "text_to_sql")
    asked = replace(dataset, queries=queries)
    runs = evaluate(["bm25", "random", "tfidf"], asked, task="retrieval", top_k=[1], out=tmp_path)
    best = runs[0]
    n = len({query.database_id for query in queries})
    by_database = to_document(best)["by_database"]
    low, high = interval_by_database(best, "recall@1") or (1, 0)
    assert by_database["databases"] == n > 1
    assert by_database["intervals"]["recall@1"] == {"low": low, "high": high}
    assert low <= best["recall@1"].low <= best["recall@1"].high <= high
    compared = compare(list(runs), ["recall@1"])
    base, other, third = compared.rows
    assert (base.low_by_database, base.high_by_database) == (low, high)
    differs = other.difference
    assert differs is not None
    assert (differs.low_by_database or 0) <= differs.low
    assert 2 ** (1 - n) <= (differs.p_by_database or 0) <= 1
    both = [row.difference for row in (other, third) if row.difference]
    p = [difference.p_by_database or 0 for difference in both]
    assert [difference.p_by_database_corrected for difference in both] == holm(p) != p
    assert "for questions about other databases, too" in str(compared)
    plain = evaluate(["bm25", "random"], "mini", top_k=[1], out=tmp_path / "plain", limit=20)
    assert "by_database" not in to_document(plain[0])
    assert "databases" not in str(compare(list(plain), ["recall@1"]))


class Spread(Metric[Any]):
    """No mean of the queries."""

    spec = MetricSpec("spread", scores="rankings", scale="unbounded")
    signature = "spread|v1"

    def statistics(self, examples: Any) -> Floats:
        n = len(examples.gold)
        return np.column_stack([np.arange(n), np.ones(n)])

    def value(self, totals: Floats) -> Floats:
        return np.sqrt(totals[..., 0])


def test_a_metric_that_cannot_be_read_again_costs_no_document(tmp_path: Path) -> None:
    dataset = load("mini")
    queries = tuple(q for q in dataset.queries if q.metadata.get("task") == "text_to_sql")
    asked = replace(dataset, queries=queries)
    (run,) = evaluate("bm25", asked, top_k=[1], metrics=[Spread()], out=tmp_path)
    intervals = to_document(run)["by_database"]["intervals"]
    assert ("recall@1" in intervals, "spread" in intervals) == (True, False)


def test_a_scale_of_one_value_has_no_width() -> None:
    """As of a penalty that nobody got: 0 is the best and the only value seen."""
    spec = MetricSpec("penalty", scale="unbounded", highest=0.0)
    zeros = make_mean("penalty", np.zeros(6), spec)
    clusters = ["a", "b"] * 3
    assert interval(zeros.metric, zeros.statistics) == (0, 0)
    assert interval_by_cluster(zeros.metric, zeros.statistics, clusters) == (0, 0)
