"""What became of each query, and the curve and chart of recall."""

from itertools import pairwise
from math import nan
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from target_bench.core.schema import Query, TableId
from target_bench.reporting.report.charts import recall_chart
from target_bench.reporting.report.queries import (
    compute_recall_curve,
    judge_answer,
    judge_ranking,
    measure_overlap,
)
from target_bench.reporting.report.report_runs import keep_tables


def _tables(names: str) -> tuple[TableId, ...]:
    """A table a letter."""
    return tuple(TableId("0", name) for name in names)


@pytest.mark.parametrize(
    ("gold", "tables", "first", "outcome"),
    [
        ("a", "ab", 1, "first"),
        ("a", "ba", 2, "found"),
        ("ab", "bac", 1, "first"),
        ("ab", "bca", 1, "found"),
        ("ab", "cb", 2, "partly"),
        ("a", "bc", 0, "missed"),
        ("a", "", 0, "missed"),
        ("aa", "a", 1, "first"),
    ],
)
def test_where_gold_stands(gold: str, tables: str, first: int, outcome: str) -> None:
    shown = keep_tables(_tables(gold), _tables(tables), depth=1)
    assert shown.gold_ranks[:1] == ((first,) if first else ())
    assert judge_ranking(Query("q", "?", _tables(gold)), shown) == outcome
    assert (shown.tables, shown.n) == (_tables(tables[:1]), len(tables))


def test_without_a_ranking_or_gold_table() -> None:
    failed = keep_tables(_tables("a"), [], error="raised")
    assert judge_ranking(Query("q", "?", _tables("a")), failed) == "failed"
    assert judge_ranking(Query("q", "?", ()), keep_tables([], _tables("a"))) == "unlabelled"


@pytest.mark.parametrize(
    ("answer", "outcome"),
    [
        ((1.0, None, None), "right"),
        ((0.5, None, None), "partly"),
        ((0.0, None, None), "wrong"),
        ((0.0, "raised", None), "failed"),
        ((nan, None, None), "not judged"),
        ((0.0, "raised", "no_prediction"), "no prediction"),
    ],
)
def test_what_became_of_an_answer(
    answer: tuple[float, str | None, str | None], outcome: str
) -> None:
    assert judge_answer(*answer) == outcome


def test_how_far_rankings_agree() -> None:
    """Two empty ones agree; one that found nothing agrees with no other."""
    rankings = {"1": ("ab", "ba"), "2": ("ab", "ac"), "3": ("a", ""), "4": ("", "")}
    runs: list[Any] = [
        SimpleNamespace(
            is_ranked=True,
            tables={n: keep_tables((), _tables(both[i])) for n, both in rankings.items()},
        )
        for i in (0, 1)
    ]
    queries = [Query(n, "?", ()) for n in rankings]
    assert measure_overlap(runs, queries) == [1, 0.5, 0, 1]
    assert measure_overlap(runs[:1], queries) == []


# The curve and the chart

letters = st.text("abcdefgh", max_size=6).map(lambda text: "".join(dict.fromkeys(text)))


@given(st.lists(st.tuples(letters.filter(bool), letters), min_size=1, max_size=8))
def test_the_curve_is_mean_recall(cases: list[tuple[str, str]]) -> None:
    queries = [Query(str(i), "?", _tables(gold)) for i, (gold, _) in enumerate(cases)]
    ranks = [keep_tables(_tables(gold), _tables(names)).gold_ranks for gold, names in cases]
    for k, value in enumerate(compute_recall_curve(queries, ranks, 6), start=1):
        recalls = [len({*gold} & {*names[:k]}) / len(gold) for gold, names in cases]
        assert value == pytest.approx(sum(recalls) / len(cases))


@given(st.lists(st.floats(0, 1), min_size=1, max_size=60))
def test_lines_stay_inside_the_chart(values: list[float]) -> None:
    curve = sorted(values)
    chart = recall_chart(["run"], [curve], [1, len(curve)])
    for pair in chart["lines"][0]["points"].split():
        x, y = map(float, pair.split(","))
        assert chart["left"] <= x <= chart["right"]
        assert chart["top"] <= y <= chart["bottom"]


@pytest.mark.parametrize("cutoffs", [[1, 5, 10], [1, 2, 3, 48, 49, 50], [1], list(range(1, 101))])
def test_numbers_below_the_axis_stand_apart(cutoffs: list[int]) -> None:
    chart = recall_chart(["run"], [[0.5] * cutoffs[-1]], cutoffs)
    places = [x for x, _ in chart["x_ticks"]]
    assert {"1", str(cutoffs[-1])} <= {text for _, text in chart["x_ticks"]}
    assert all(after - before >= 20 for before, after in pairwise(places))
