"""Columns that a gold statement uses, in several dialects."""

import pytest

from target_bench.sql.gold_columns import gold_columns

TABLES = {"rooms": ["id", "building"], "Buildings": ["ID", "name"]}


@pytest.mark.parametrize(
    ("sql", "columns"),
    [
        ("SELECT r.id FROM rooms r", {("rooms", "id")}),
        (
            "SELECT b.NAME FROM ROOMS r JOIN buildings b ON r.building = b.id",
            {("Buildings", "name"), ("rooms", "building"), ("Buildings", "ID")},
        ),
        ("SELECT * FROM rooms", {("rooms", "id"), ("rooms", "building")}),
        ("SELECT `id` FROM rooms LIMIT 1, 2", {("rooms", "id")}),
        ("SELECT id FROM rooms WHERE ROWNUM <= 1", {("rooms", "id")}),
        ("SELECT x FROM gone", set()),
        ("Paris", set()),
        ("", set()),
    ],
)
def test_columns(sql: str, columns: set[tuple[str, str]]) -> None:
    assert gold_columns(sql, TABLES) == columns
