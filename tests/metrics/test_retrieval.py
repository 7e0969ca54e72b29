"""Retrieval metrics, worked out by hand."""

from collections.abc import Hashable, Mapping

import numpy as np
import pytest

from target_bench.core.errors import ConfigError
from target_bench.core.schema import Query, TableId
from target_bench.metrics.retrieval import (
    DEFINITIONS,
    GROUPS,
    JudgedRankings,
    judge,
    metrics_at,
    parse,
    with_databases,
    with_passages,
)

RANKINGS = ["abcd", "xaby", "", "a", "xyzw", "aab"]
GOLD = ["a", "ab", "a", "abc", "a", "ab"]
"""One character a table: found at once; two found, at ranks 2 and 3; nothing returned; fewer
returned than gold; nothing found; a table returned twice, then another gold one."""


def _judged(depth: int = 4) -> JudgedRankings:
    return judge(RANKINGS, GOLD, depth)


def _ratios(name: str, judged: JudgedRankings) -> list[float]:
    """The metric of each query on its own."""
    metric = parse(name)
    values: list[float] = metric.value(metric.statistics(judged)).tolist()
    return values


def _corpus(name: str, judged: JudgedRankings) -> float:
    metric = parse(name)
    return float(metric.value(metric.statistics(judged).sum(axis=0)))


BY_HAND: list[tuple[str, list[float]]] = [  # the others: test_retrieval_properties.py
    ("recall[dup]@2", [1, 1 / 2, 0, 1 / 3, 0, 1 / 2]),
    ("recall_micro@2", [1, 1 / 2, 0, 1 / 3, 0, 1 / 2]),
    ("capped_recall@1", [1, 0, 0, 1, 0, 1]),
    ("capped_recall@2", [1, 1 / 2, 0, 1 / 2, 0, 1 / 2]),
    ("capped_recall@4", [1, 1, 0, 1 / 3, 0, 1]),
    ("capped_recall[target]@1", [1, 0, 0, 1, 0, 1]),
    ("capped_recall[target]@2", [1, 1 / 2, 0, 1, 0, 1 / 2]),
    ("capped_recall[target]@4", [1, 1, 0, 1, 0, 1]),
    ("full_recall@1", [1, 0, 0, 0, 0, 0]),
    ("full_recall@3", [1, 1, 0, 0, 0, 1]),
]


@pytest.mark.parametrize(("name", "expected"), BY_HAND)
def test_by_hand(name: str, expected: list[float]) -> None:
    assert _ratios(name, _judged()) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("recall@2", (1 + 1 / 2 + 1 / 3 + 1 / 2) / 6),
        ("recall_micro@2", (1 + 1 + 1 + 1) / (1 + 2 + 1 + 3 + 1 + 2)),
        ("recall_micro@4", (1 + 2 + 1 + 2) / 10),
        ("capped_recall[target]@2", (1 + 1 + 1 + 1) / (1 + 2 + 0 + 1 + 1 + 2)),
        ("capped_recall[target]@1", 3 / 5),
        ("full_recall@4", 3 / 6),
        ("mrr", 3.5 / 6),
    ],
)
def test_of_all_queries(name: str, expected: float) -> None:
    """Means, and pools where the name says so."""
    assert _corpus(name, _judged()) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("recall[db]@1", [1, 0, 0, 0]),
        ("recall[db]@2", [1, 0, 0, 0]),
        ("recall[db]@3", [1, 1, 0, 0]),
        ("mrr[db]", [1, 1 / 2, 0, 0]),
    ],
)
def test_databases_by_hand(name: str, expected: list[float]) -> None:
    """The first table of the database counts; others of one database before it count as one."""
    rankings = [["x", "x", "y"], ["y", "y", "x", "x"], ["y", "z"], []]
    judged = judge(["abcd"] * 4, ["a"] * 4, 4)
    assert _ratios(name, with_databases(judged, rankings, ["x"] * 4)) == expected


@pytest.mark.parametrize(
    ("name", "values", "of_all"),
    [
        ("recall[tables]@1", [1, 0, 0, 1, 1 / 2, 0], 2.5 / 6),
        ("recall[tables]@2", [1, 1, 0, 1, 1, 0], 4 / 6),
        ("recall[passages]@1", [0, 1, 1, np.nan, 0, 0], 2 / 5),
        ("recall[passages]@4", [1, 1, 1, np.nan, 1, 0], 4 / 5),
        ("recall[both]@1", [0, 0, 0, 1, 0, 0], 1 / 6),
        ("recall[both]@2", [0, 1, 0, 1, 0, 0], 2 / 6),
        ("recall[both]@4", [1, 1, 0, 1, 1, 0], 4 / 6),
    ],
)
def test_tables_and_their_passages_by_hand(name: str, values: list[float], of_all: float) -> None:
    """Any one of the passages P and Q completes the gold tables a, b; one query needs none."""
    rankings = ["axQP", "Pabc", "PxQz", "ab", "abPx", ""]
    golds = ["aPQ", "aPQ", "aPQ", "a", "abP", "aP"]
    ids = [[TableId("0", name) for name in names] for names in [*rankings, *golds]]
    queries = [
        Query(names, "?", tuple(gold), metadata={"passages": [n for n in names if n in "PQ"]})
        for names, gold in zip(golds, ids[6:], strict=True)
    ]
    judged = with_passages(judge(ids[:6], ids[6:], 4), ids[:6], queries)
    metric = parse(name)
    each = metric.per_query(metric.statistics(judged))
    np.testing.assert_allclose(each, values)
    assert _corpus(name, judged) == pytest.approx(of_all)


@pytest.mark.parametrize(
    ("name", "message"),
    [("recall[db]@1", "in no databases"), ("recall[both]@1", "name their passages")],
)
def test_what_was_not_judged_is_said(name: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        _ratios(name, _judged())


@pytest.mark.parametrize(
    ("ranking", "gold", "recall", "with_copies"),
    [
        ("A", "a", 0, 1),
        ("aA", "a", 1, 1),
        ("Ab", "ab", 1 / 2, 1),
        ("A", "aA", 1 / 2, 1),
        ("xA", "aA", 1 / 2, 1),
        ("b", "aA", 0, 0),
        ("AB", "ab", 0, 1),
        ("Aa", "ab", 1 / 2, 1 / 2),
        ("c", "a", 0, 0),
    ],
)
def test_copies(ranking: str, gold: str, recall: float, with_copies: float) -> None:
    """A and a, B and b have the same content: either counts as the other, once."""
    copies: Mapping[Hashable, Hashable] = {"a": 0, "A": 0, "b": 1, "B": 1}
    judged = judge([ranking], [gold], 2, copies)
    assert _ratios("recall@2", judged) == [recall]
    assert _ratios("recall[dup]@2", judged) == [with_copies]
    assert _ratios("recall[dup]@2", judge([ranking], [gold], 2)) == [recall]


def test_repeated_tables_take_up_ranks() -> None:
    judged = judge(["aaab"], ["ab"], 4)
    assert judged.matched.tolist() == [[1, 0, 0, 1]]
    assert judged.returned.tolist() == [4]
    assert _ratios("precision@4", judged) == [1 / 2]
    assert _ratios("map", judged) == [(1 + 2 / 4) / 2]


@pytest.mark.parametrize("name", [f.spec.at(3) for f in DEFINITIONS.values() if not f.spec.needs])
def test_query_without_gold_table(name: str) -> None:
    """No corpus has one; as in trec_eval it would count 0, without a warning."""
    assert _ratios(name, judge(["abc"], [""], 3)) == [0]


def test_names() -> None:
    """``parse`` and ``str`` are inverse, for every metric of every family."""
    metrics = metrics_at([1, 10, 100])
    assert len({str(metric) for metric in metrics}) == len(metrics)
    for metric in metrics:
        again = parse(str(metric))
        assert (again.spec, again.k, str(again)) == (metric.spec, metric.k, metric.name)
        assert parse(f" {metric.name.upper()} ") == again


def test_cutoffs() -> None:
    """Repeated ones once, ascending; metrics over the whole ranking once."""
    metrics = metrics_at([10, 1, 10])
    assert [m.k for m in metrics if m.spec.name == "recall"] == [1, 10]
    assert {m.depth for m in metrics if m.k is None} == {10}
    assert {m.spec.name for m in metrics} == {n for n, d in DEFINITIONS.items() if not d.spec.needs}
    every = metrics_at([1], GROUPS)
    assert {m.spec.name for m in every} == set(DEFINITIONS)
