"""The SQL in a model's answer."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from target_bench.sql.extraction import Extracted, extract

SQL = "SELECT a FROM t WHERE b = 'x;y'"


@pytest.mark.parametrize(
    ("text", "sql", "form"),
    [
        (f'{{"reasoning": "r", "sql": "{SQL};", "database_id": "d"}}', SQL, "json"),
        (f'Sure!\n```json\n{{"sql": "{SQL}",}}\n```\nbye', SQL, "json"),
        ('{"sql": "SELECT a\nFROM t"}', "SELECT a\nFROM t", "json"),
        ('{"sql": "SELECT "a" FROM t", "database_id": "x"}', 'SELECT "a" FROM t', "json"),
        ('{"SQL": "```sql\\nSELECT 1\\n```"}', "SELECT 1", "json"),
        ('{"a": 1} and {"sql": "SELECT 1"}', "SELECT 1", "json"),
        ('{"sql": "SELECT 1; DROP TABLE t"}', "SELECT 1; DROP TABLE t", "json"),
        ('{"sql": ""}', None, "json"),
        (f"```sql\n{SQL};\n```", SQL, "fence"),
        (f"```SQL\nSELECT 1\n```\nno:\n```sql\n{SQL}\n```\n```\noutput\n```", SQL, "fence"),
        (f"```\n-- why\n{SQL}; SELECT 2\n```", f"-- why\n{SQL}", "fence"),
        (f"```sqlite\n{SQL}", SQL, "fence"),
        ("```sql SELECT 1```", "SELECT 1", "fence"),
        (f"The query is {SQL}; it shows a.", SQL, "bare"),
        ("Answer:\nSELECT a\n\nFROM t\n\nThis returns a.", "SELECT a\n\nFROM t", "bare"),
        ("WITH c AS (SELECT 1) SELECT * FROM c", "WITH c AS (SELECT 1) SELECT * FROM c", "bare"),
        ("With care, I select: select a from t", "select a from t", "bare"),
        ("SELECT a FORM t WHERE\n\nSorry.", "SELECT a FORM t WHERE", "bare"),
        (f"<think>SELECT 9 FROM u</think>{SQL}", SQL, "bare"),
        (f"{SQL};\t----- bird -----\tsome_db", SQL, "bird"),
        ("SELECT 1; SELECT 2\t----- bird -----\td", "SELECT 1; SELECT 2", "bird"),
        ("", None, "none"),
        ("I do not know.", None, "none"),
        ("```python\nprint(1)\n```", None, "none"),
        ('{"sql": null}', None, "none"),
    ],
)
def test_forms(text: str, sql: str | None, form: str) -> None:
    found = extract(text)
    assert (found.sql, found.form) == (sql, form)


def test_all_fields() -> None:
    record = {"reasoning": "because", "sql": SQL, "database_id": "some_db"}
    assert extract(json.dumps(record)) == Extracted(SQL, "some_db", "because", "json")
    assert extract(f"Look:\n```sql\n{SQL}\n```").reasoning == "Look:"
    assert extract(f"{SQL}\t----- bird -----\tdb").database_id == "db"
    assert extract("No idea.").reasoning == "No idea."


_NAMES = st.sampled_from(["a", "b c", 'q"t', "select", "é", "x;y", "--"])
_TEXTS = st.text(
    st.characters(exclude_characters="\0`", exclude_categories=["Cs", "Cc"]), max_size=8
)


@st.composite
def _queries(draw: st.DrawFn) -> str:
    column = '"' + draw(_NAMES).replace('"', '""') + '"'
    value = "'" + draw(_TEXTS).replace("'", "''") + "'"
    gap = draw(st.sampled_from([" ", "\n", "\n\n", " /* ; */ "]))
    return f"SELECT {column}{gap}FROM t{gap}WHERE {column} = {value}"


@settings(deadline=None)
@given(_queries(), st.sampled_from(["", ";", ";\n"]))
def test_well_formed_answers_give_the_sql_back(sql: str, end: str) -> None:
    record = {"reasoning": "SELECT it", "sql": sql + end, "database_id": "d"}
    assert extract(json.dumps(record)).sql == sql
    assert extract(f"Here:\n```json\n{json.dumps(record, indent=2)}\n```").sql == sql
    assert extract(f"Here:\n```sql\n{sql}{end}\n```\nDone.").sql == sql
    assert extract(f"{sql}{end}").sql == sql
    assert extract(f"{sql}{end}\t----- bird -----\td").sql == sql


_PIECES = st.sampled_from(
    ["SELECT", "WITH a AS (", "```", "```sql\n", '{"sql": "', '"}', "{", "}", ";", "'", "\n", "\\",
     "<think>", "\t----- bird -----\t", " FROM t"]
)  # fmt: skip


@settings(max_examples=300, deadline=None)
@given(st.lists(_PIECES | st.text(max_size=5)))
def test_never_raises(pieces: list[str]) -> None:
    found = extract("".join(pieces))
    assert found.sql is None or found.sql.strip() == found.sql != ""


@pytest.mark.parametrize(
    "text",
    [
        "{" * 50_000,
        '{"a":' * 20_000,
        "SELECT " * 5_000,
        "```" * 9_000,
        "```sql\n" + "/* x */ " * 2_000 + "x SELECT 1 FROM t\n```",
        "```sql\n" + "( -- x\n" * 2_000 + "x SELECT 1 FROM t\n```",
    ],
)
def test_hostile_lengths(text: str) -> None:
    extract(text)


@pytest.mark.parametrize("sql", ["( SELECT a FROM t )", "-- a\n/* b ** */ ((SELECT a FROM t))"])
def test_what_stands_before_select_in_a_fence_is_kept(sql: str) -> None:
    assert extract(f"```sql\n{sql}\n```").sql == sql


@pytest.mark.parametrize("around", ["{}", "The query:\n{}", "{}\n\nIt gives all\n\nof them."])
def test_a_bare_query_of_many_lines_is_kept_whole(around: str) -> None:
    sql = "SELECT a FROM t WHERE a > 0" + "".join(f"\n  AND a <> {i}" for i in range(60))
    assert extract(around.format(sql)).sql == sql
