"""Metrics of pooled labels: bpref as trec_eval has it, and how much of a ranking is judged."""

import ir_measures
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from target_bench.core.errors import ConfigError
from target_bench.core.schema import Query, TableId
from target_bench.metrics.retrieval import RetrievalMetric, judge, metrics_at, with_labels


def pooled_metrics(cutoffs: list[int]) -> list[RetrievalMetric]:
    return [m for m in metrics_at(cutoffs, ["pools"]) if m.spec.name in ("judged", "bpref")]


NAMES = [f"t{i}" for i in range(8)]


def _table(name: str) -> TableId:
    return TableId("0", name)


def _query(name: str, labels: dict[str, bool]) -> Query:
    refused = [table for table, relevant in labels.items() if not relevant]
    gold = tuple(_table(table) for table, relevant in labels.items() if relevant)
    return Query(name, name, gold, metadata={"not_relevant": refused})


def _scores(
    rankings: list[list[str]], queries: list[Query], cutoffs: list[int]
) -> dict[str, "np.ndarray[tuple[int], np.dtype[np.float64]]"]:
    tables = [[_table(name) for name in ranking] for ranking in rankings]
    judged = judge(tables, [query.gold for query in queries], max(cutoffs))
    judged = with_labels(judged, tables, queries)
    metrics = pooled_metrics(cutoffs)
    return {metric.name: metric.per_query(metric.statistics(judged)) for metric in metrics}


labelled = st.dictionaries(st.sampled_from(NAMES), st.booleans(), min_size=1)
rankings = st.permutations(NAMES).flatmap(
    lambda order: st.integers(0, len(order)).map(lambda n: list(order[:n]))
)


@given(st.lists(st.tuples(labelled, rankings), min_size=1, max_size=4))
def test_bpref_is_that_of_trec_eval(pairs: list[tuple[dict[str, bool], list[str]]]) -> None:
    queries = [_query(str(i), labels) for i, (labels, _) in enumerate(pairs)]
    own = _scores([ranking for _, ranking in pairs], queries, [8])["bpref"]
    qrels = {str(i): {t: int(r) for t, r in labels.items()} for i, (labels, _) in enumerate(pairs)}
    run = {
        str(i): {name: float(-rank) for rank, name in enumerate(ranking)}
        for i, (_, ranking) in enumerate(pairs)
    }
    expected = dict.fromkeys(qrels, 0.0)
    for measure in ir_measures.iter_calc([ir_measures.Bpref], qrels, run):
        expected[measure.query_id] = measure.value
    assert own == pytest.approx(list(expected.values()), abs=1e-4)


@given(st.lists(st.tuples(labelled, rankings), min_size=1, max_size=4), st.integers(1, 8))
def test_judged_is_that_of_ir_measures(
    pairs: list[tuple[dict[str, bool], list[str]]], k: int
) -> None:
    """Where a ranking has k tables; a shorter one is divided by its length here."""
    queries = [_query(str(i), labels) for i, (labels, _) in enumerate(pairs)]
    own = _scores([ranking for _, ranking in pairs], queries, [k])[f"judged@{k}"]
    for value, (labels, ranking) in zip(own, pairs, strict=True):
        first = ranking[:k]
        known = sum(name in labels for name in first)
        assert value == pytest.approx(known / len(first) if first else 0)


def test_queries_without_a_pool_do_not_count() -> None:
    queries = [_query("a", {"t0": True, "t1": False}), Query("b", "b", (_table("t0"),))]
    tables = [[_table("t0"), _table("t5")], [_table("t0"), _table("t1")]]
    judged = with_labels(judge(tables, [q.gold for q in queries], 2), tables, queries)
    at_two, bpref = pooled_metrics([2])
    assert at_two.statistics(judged).tolist() == [[0.5, 1.0], [0.0, 0.0]]
    assert bpref.statistics(judged)[:, 1].tolist() == [1.0, 0.0]
    assert at_two.value(at_two.statistics(judged).sum(axis=0)) == 0.5


def test_without_labels_the_error_says_where_they_come_from() -> None:
    judged = judge([[_table("t0")]], [[_table("t0")]], 1)
    for metric in pooled_metrics([1]):
        with pytest.raises(ConfigError, match="need queries with not_relevant"):
            metric.statistics(judged)
