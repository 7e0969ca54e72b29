"""The offline baseline of text-to-SQL."""

import sqlite3
from contextlib import closing

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from target_bench.core.schema import Cell, Table, TableId
from target_bench.sql.baseline import compose

SINGER = Table(
    TableId("concerts", "singer"),
    ["singer_id", "name", "age", "country", "fee"],
    [[1, "Ann", 52, "France", 10.5], [2, "Bo", 32, "France", 3], [4, "D'Arc", 41, None, 7.25]],
)
CONCERT = Table(
    TableId("concerts", "the concert"),
    ["concert_id", "stage name", "singer_id"],
    [[1, "Main", "1"], [3, "Side", "2"]],
)


@pytest.mark.parametrize(
    ("question", "sql"),
    [
        ("How many singers are there?", 'SELECT count(*) FROM "singer"'),
        (
            "How many singers are from France?",
            """SELECT count(*) FROM "singer" WHERE "country" = 'France'""",
        ),
        ("Show the ages and names of all singers.", 'SELECT "age", "name" FROM "singer"'),
        ("Who are the singers?", 'SELECT "singer_id" FROM "singer"'),
        (
            "What is the country of D'Arc, the singer?",
            """SELECT "country" FROM "singer" WHERE "name" = 'D''Arc'""",
        ),
        ("Which concerts have which stage name?", 'SELECT "stage name" FROM "the concert"'),
    ],
)
def test_what_a_question_names_is_selected(question: str, sql: str) -> None:
    assert compose(question, [CONCERT, SINGER]) == sql


_COLUMNS = ["name", "age of", 'a"b', "select", "Größe", "x'y"]


@settings(deadline=None)
@given(
    st.lists(
        st.sampled_from(
            ["how many", "name", "age", "oldest", "each", "sorted by", "40", "Ann", "not"]
        )
        | st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
    )
)
def test_always_sql_that_runs(words: list[str]) -> None:
    """For any question and any names."""
    rows: list[list[Cell]] = [["Ann", 40, "it's", None, 1.5, "x"], ["Bo", 7, '"', 3, 2.0, "y;--"]]
    table = Table(TableId("d", 'the "t"'), _COLUMNS, rows)
    sql = compose(" ".join(words), [table])
    assert sql is not None
    names = ", ".join('"' + name.replace('"', '""') + '"' for name in _COLUMNS)
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute(f'CREATE TABLE "the ""t"""({names})')
        connection.execute(sql).fetchall()
