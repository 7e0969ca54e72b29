"""Retrieval metrics, worked out by hand."""

from collections.abc import Hashable, Mapping
from dataclasses import replace

import pytest

from target_bench.core.errors import ConfigError
from target_bench.core.schema import Query, TableId
from target_bench.metrics.retrieval import (
    DEFINITIONS,
    JudgedRankings,
    match,
    match_gold,
    metrics_at,
    parse,
)
from target_bench.tasks.retrieval import TableRetrieval

RANKINGS = ["abcd", "xaby", "", "a", "xyzw", "aab"]
GOLD = ["a", "ab", "a", "abc", "a", "ab"]
"""One character a table: found at once; two found, at ranks 2 and 3; nothing returned; fewer
returned than gold; nothing found; a table returned twice, then another gold one."""


def _judged(depth: int = 4) -> JudgedRankings:
    return match_gold(RANKINGS, GOLD, depth)


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
    ],
)
def test_databases_by_hand(name: str, expected: list[float]) -> None:
    """The first table of the database counts."""
    rankings = [["x", "x", "y"], ["y", "y", "x", "x"], ["y", "z"], []]
    databases = match(rankings, [["x"]] * 4)
    judged = replace(match_gold(["abcd"] * 4, ["a"] * 4, 4), databases=databases)
    assert _ratios(name, judged) == expected


def test_databases_that_are_not_there_are_said() -> None:
    with pytest.raises(ConfigError, match="in no databases"):
        _ratios("recall[db]@1", _judged())


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
    judged = match_gold([ranking], [gold], 2, copies)
    assert _ratios("recall@2", judged) == [recall]
    assert _ratios("recall[dup]@2", judged) == [with_copies]
    assert _ratios("recall[dup]@2", match_gold([ranking], [gold], 2)) == [recall]


def test_repeated_tables_take_up_ranks() -> None:
    judged = match_gold(["aaab"], ["ab"], 4)
    assert judged.matched.tolist() == [[1, 0, 0, 1]]
    assert judged.returned.tolist() == [4]
    assert _ratios("precision@4", judged) == [1 / 2]
    assert _ratios("map", judged) == [(1 + 2 / 4) / 2]


@pytest.mark.parametrize("name", [f.spec.at(3) for f in DEFINITIONS.values() if not f.spec.needs])
def test_query_without_gold_table(name: str) -> None:
    """No corpus has one; as in trec_eval it would count 0, without a warning."""
    assert _ratios(name, match_gold(["abc"], [""], 3)) == [0]


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
    every = metrics_at([1], databases=True, sets=True, families=True)
    assert {m.spec.name for m in every} == set(DEFINITIONS)


@pytest.mark.parametrize("graded", [False, True])
def test_signature_of_ndcg_says_which_gains_are_summed(graded: bool) -> None:
    """Scores of graded and of binary gains are not comparable."""
    queries = (Query("q", "?", (TableId("d", "a"),), metadata={"grades": [2]} if graded else {}),)
    signatures = {m.name: m.signature for m in TableRetrieval().metrics(queries, [10])}
    assert f"|mean nDCG, {'graded' if graded else 'binary'} gain, " in signatures["ndcg@10"]
    assert not any("gain" in text for name, text in signatures.items() if name != "ndcg@10")
