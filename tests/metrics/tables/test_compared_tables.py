"""Answers beside their references: what the official H-Score says where it cannot be computed."""

import pytest

from target_bench.metrics.tables.answer_tables import TableFormat
from target_bench.metrics.tables.compared_tables import ComparedTables

TABLE = "<table><tr><td>1</td></tr></table>"
DEEP = "<div>" * 16 + TABLE + "</div>" * 16


@pytest.mark.parametrize(
    ("answer", "gold", "content"),
    [
        (TABLE, TABLE, 2),
        (DEEP, TABLE, 0),
        (TABLE, DEEP, None),
        (DEEP, DEEP, None),
        (None, DEEP, None),
    ],
)
def test_a_reference_that_the_official_score_refuses_is_left_out(
    answer: str | None, gold: str, content: float | None
) -> None:
    found = ComparedTables(answer, gold, "html").h_score
    assert (None if found is None else found.content) == content


@pytest.mark.parametrize("name", ["csv", "json"])
def test_formats_without_an_official_score(name: TableFormat) -> None:
    assert ComparedTables("[[1, 2], [3, 4]]", "[[1, 2], [3, 4]]", name).h_score is None
