"""What became of a query."""

from itertools import pairwise
from math import nan
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from target_bench import TARGET, Observer
from target_bench.core.schema import Query, TableId
from target_bench.reporting.report.charts import recall_chart
from target_bench.reporting.report.queries import (
    Outcomes,
    answered,
    outcomes,
    recall_curve,
    retrieved,
)
from target_bench.reporting.report.report_runs import open_runs, shown_tables

A, B, C = (TableId("0", name) for name in "abc")


@pytest.mark.parametrize(
    ("gold", "tables", "first", "outcome"),
    [
        ([A], [A, B], 1, "first"),
        ([A], [B, A], 2, "found"),
        ([A, B], [B, A, C], 1, "first"),
        ([A, B], [B, C, A], 1, "found"),
        ([A, B], [C, B], 2, "partly"),
        ([A], [B, C], 0, "missed"),
        ([A], [], 0, "missed"),
        ([A, A], [A], 1, "first"),
    ],
)
def test_where_gold_stands(
    gold: list[TableId], tables: list[TableId], first: int, outcome: str
) -> None:
    shown = shown_tables(gold, tables, depth=1)
    assert shown.gold_ranks[:1] == ((first,) if first else ())
    assert retrieved(Query("q", "?", tuple(gold)), shown) == outcome
    assert (shown.tables, shown.n) == (tuple(tables[:1]), len(tables))


def test_without_a_ranking_or_gold_table() -> None:
    failed = shown_tables([A], [], error="raised")
    assert retrieved(Query("q", "?", (A,)), failed) == "failed"
    for known, outcome in ({}, "unlabelled"), ({"unanswerable": True}, "unanswerable"):
        assert retrieved(Query("q", "?", (), metadata=known), shown_tables([], [A])) == outcome


@pytest.mark.parametrize(
    ("value", "error", "verdict", "outcome"),
    [
        (1.0, None, None, "right"),
        (0.5, None, None, "partly"),
        (0.0, None, None, "wrong"),
        (0.0, "raised", None, "failed"),
        (nan, None, None, "not judged"),
        (0.0, "raised", "no_prediction", "no prediction"),
        (1.0, None, "correct", "correct"),
    ],
)
def test_what_became_of_an_answer(
    value: float, error: str | None, verdict: str | None, outcome: str
) -> None:
    assert answered(value, error, verdict) == outcome


ids = st.sampled_from([TableId("0", str(i)) for i in range(8)])


@given(
    st.lists(
        st.tuples(
            st.lists(ids, min_size=1, max_size=3, unique=True),
            st.lists(ids, max_size=6, unique=True),
        ),
        min_size=1,
        max_size=8,
    )
)
def test_the_curve_is_mean_recall(cases: list[tuple[list[TableId], list[TableId]]]) -> None:
    queries = [Query(str(i), "?", tuple(gold)) for i, (gold, _) in enumerate(cases)]
    ranks = [shown_tables(gold, tables).gold_ranks for gold, tables in cases]
    for k, value in enumerate(recall_curve(Outcomes(ranks, [], []), queries, 6), start=1):
        recalls = [len(set(gold) & set(tables[:k])) / len(gold) for gold, tables in cases]
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


@pytest.mark.filterwarnings("ignore:.*are left without an answer")
def test_a_refusal_is_right_where_no_table_answers(tmp_path: Path) -> None:
    """Other metrics say nothing of such questions."""
    target = TARGET(("question-answering", "mini:unanswerable=0.2"), out=tmp_path)
    folder = target.run("bm25", generator="extractive")[0].folder
    (run,), loaded = open_runs([folder], None, Observer())
    queries = loaded.of_task(run.task).dataset.queries
    of_answers = outcomes(run, queries).answered
    none = [what for q, what in zip(queries, of_answers, strict=True) if q.unanswerable]
    assert set(none) <= {"right", "wrong"}
    share = none.count("right") / len(none)
    assert share == run.run.scores["refusal_recall"].value > 0
