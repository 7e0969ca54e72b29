"""Tables and columns that a query uses."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from target_bench.sql.linking import gold_columns, usage

SCHEMA = {
    "Singer": {"id": "INT", "Name": "TEXT", "age": "INT"},
    "concert": {"id": "INT", "singer_id": "INT", "Year": "INT"},
}


@pytest.mark.parametrize(
    ("sql", "tables", "columns"),
    [
        ("SELECT NAME FROM singer", {"Singer"}, {"Singer.Name"}),
        ("SELECT count(*) FROM singer", {"Singer"}, set()),
        ("SELECT * FROM singer", {"Singer"}, {"Singer.id", "Singer.Name", "Singer.age"}),
        (
            "SELECT s.name FROM singer s JOIN concert AS c ON s.id = c.singer_id WHERE year > 2000",
            {"Singer", "concert"},
            {"Singer.id", "Singer.Name", "concert.singer_id", "concert.Year"},
        ),
        ("WITH x AS (SELECT age AS a FROM singer) SELECT a FROM x", {"Singer"}, {"Singer.age"}),
        ("SELECT x.age FROM (SELECT * FROM singer) x", {"Singer"}, None),
        (
            "SELECT name FROM singer s WHERE EXISTS (SELECT 1 FROM concert WHERE singer_id = s.id)",
            {"Singer", "concert"},
            {"Singer.Name", "Singer.id", "concert.singer_id"},
        ),
        (
            "SELECT 1 FROM singer JOIN concert USING (id)",
            {"Singer", "concert"},
            {"Singer.id", "concert.id"},
        ),
        ('SELECT name FROM singer WHERE name = "Joe"', {"Singer"}, {"Singer.Name"}),
        ("SELECT id FROM singer UNION SELECT year FROM concert", {"Singer", "concert"}, None),
        ("SELECT rowid FROM singer", {"Singer"}, set()),
    ],
)
def test_usage(sql: str, tables: set[str], columns: set[str] | None) -> None:
    used = usage(sql, SCHEMA)
    assert used.tables == tables
    assert columns is None or {".".join(pair) for pair in used.columns} == columns
    assert (used.unknown_tables, used.unknown_columns, used.error) == ((), (), None)


ROOMS = {"rooms": ["id", "building"], "Buildings": ["ID", "name"]}


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
def test_gold_columns(sql: str, columns: set[tuple[str, str]]) -> None:
    """In several dialects."""
    assert gold_columns(sql, ROOMS) == columns


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=40))
def test_any_text(text: str) -> None:
    used = usage(text, SCHEMA)
    assert used.error is None or (not used.tables and not used.columns)


def test_tables_that_are_read_twice_over_and_over() -> None:
    """Each of them doubles the number of paths to the table below."""
    steps = ["c0 AS (SELECT * FROM t)"]
    steps += [f"c{i} AS (SELECT * FROM c{i - 1} a, c{i - 1} b)" for i in range(1, 40)]
    used = usage(f"WITH {', '.join(steps)} SELECT * FROM c39", {"t": {"a": "INT"}})
    assert used.columns == {("t", "a")}
