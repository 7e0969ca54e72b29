"""What became of a query."""

from math import nan

import pytest
from hypothesis import given
from hypothesis import strategies as st

from target_bench.core.schema import TableId
from target_bench.reporting.report.charts import recall_chart
from target_bench.reporting.report.query_outcomes import answered, ranked
from target_bench.reporting.report.summary import RecallCurve

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
    found = ranked(gold, {"tables": [list(table) for table in tables]})
    assert (found.first, found.outcome) == (first, outcome)


def test_a_failed_ranking() -> None:
    assert ranked([A], {"tables": [], "error": "raised"}).outcome == "failed"


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
    curve = RecallCurve(6)
    for gold, tables in cases:
        curve.add(ranked(gold, {"tables": tables}), len(gold))
    for k, value in enumerate(curve.values, start=1):
        recalls = [len(set(gold) & set(tables[:k])) / len(gold) for gold, tables in cases]
        assert value == pytest.approx(sum(recalls) / len(cases))


@given(st.lists(st.floats(0, 1), min_size=1, max_size=60))
def test_lines_stay_inside_the_chart(values: list[float]) -> None:
    curve = sorted(values)
    chart = recall_chart(["run"], [curve], [1, len(curve)])
    for pair in chart.lines[0].points.split():
        x, y = map(float, pair.split(","))
        assert chart.left <= x <= chart.right
        assert chart.top <= y <= chart.bottom
