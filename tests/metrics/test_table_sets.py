"""Metrics of sets of tables, by hand."""

import numpy as np
import pytest

from target_bench.metrics.retrieval import JudgedRankings, RetrievalMetric, match_gold, metrics_at


def set_metrics(depth: int) -> list[RetrievalMetric]:
    return [m for m in metrics_at([depth], sets=True) if "sets" in "".join(m.spec.needs)]


RANKINGS = ["abcd", "a", "", "xy", "dcba"]
GOLD = ["ab", "ab", "a", "ab", "d"]


def _per_query(judged: JudgedRankings, depth: int) -> dict[str, list[float]]:
    return {m.name: m.per_query(m.statistics(judged)).tolist() for m in set_metrics(depth)}


def test_sets_by_hand() -> None:
    values = _per_query(match_gold(RANKINGS, GOLD, 10), 10)
    assert values["set_precision"] == [0.5, 1, 0, 0, 0.25]
    assert values["set_recall"] == [1, 0.5, 0, 0, 1]
    assert values["set_f1"] == pytest.approx([4 / 6, 2 / 3, 0, 0, 2 / 5])
    assert values["complete_recall"] == [1, 0, 0, 0, 1]
    assert values["set_size"] == pytest.approx([4, 1, np.nan, 2, 4], nan_ok=True)


def test_sets_end_at_the_largest_cutoff() -> None:
    values = _per_query(match_gold(RANKINGS, GOLD, 2), 2)
    assert values["set_size"] == pytest.approx([2, 1, np.nan, 2, 2], nan_ok=True)
    assert values["set_precision"] == [1, 1, 0, 0, 0.5]
    assert len({m.signature for k in (2, 3) for m in set_metrics(k)}) == 10


def test_the_order_in_a_set_does_not_matter() -> None:
    backwards = [ranking[::-1] for ranking in RANKINGS]
    assert repr(_per_query(match_gold(RANKINGS, GOLD, 4), 4)) == repr(
        _per_query(match_gold(backwards, GOLD, 4), 4)
    )


def test_a_retriever_that_fails_has_no_set_size() -> None:
    """It would have the smallest sets of all: failures are left out, and none is a best value."""
    size = next(m for m in set_metrics(10) if m.name == "set_size")
    some, none = (size.statistics(match_gold(r, ["a", "b"], 10)) for r in (["abc", ""], ["", ""]))
    assert (float(size.value(some.sum(axis=0))), size.count_queries(some)) == (3.0, 1)
    assert np.isnan(size.value(none.sum(axis=0)))
    assert size.count_queries(none) == 0
