"""The SQL in a model's answer."""

import json
import sqlite3
from contextlib import closing

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from target_bench.core.reasoning import without_reasoning
from target_bench.sql.extraction import extract

SQL = "SELECT a FROM t WHERE b = 'x;y'"


@pytest.mark.parametrize(
    ("text", "sql"),
    [
        (f'{{"reasoning": "r", "sql": "{SQL};", "database_id": "d"}}', SQL),
        (f'Sure!\n```json\n{{"sql": "{SQL}",}}\n```\nbye', SQL),
        ('{"sql": "SELECT a\nFROM t"}', "SELECT a\nFROM t"),
        ('{"sql": "SELECT "a" FROM t", "database_id": "x"}', 'SELECT "a" FROM t'),
        ('{"SQL": "```sql\\nSELECT 1\\n```"}', "SELECT 1"),
        ('{"a": 1} and {"sql": "SELECT 1"}', "SELECT 1"),
        ('{"sql": "SELECT 1; DROP TABLE t"}', "SELECT 1; DROP TABLE t"),
        ('{"sql": ""}', None),
        (f"```sql\n{SQL};\n```", SQL),
        (f"```SQL\nSELECT 1\n```\nno:\n```sql\n{SQL}\n```\n```\noutput\n```", SQL),
        (f"```\n-- why\n{SQL}; SELECT 2\n```", f"-- why\n{SQL}; SELECT 2"),
        (f"```\n-- why\n{SQL}; it shows a\n```", f"-- why\n{SQL}"),
        (f"```sql\n{SQL}\n```\nFaster with:\n```sql\nCREATE INDEX i ON t (a)\n```", SQL),
        (f"```sqlite\n{SQL}", SQL),
        ("```sql SELECT 1```", "SELECT 1"),
        (f"The query is {SQL}; it shows a.", SQL),
        ("Answer:\nSELECT a\n\nFROM t\n\nThis returns a.", "SELECT a\n\nFROM t"),
        ("WITH c AS (SELECT 1) SELECT * FROM c", "WITH c AS (SELECT 1) SELECT * FROM c"),
        ("With care, I select: select a from t", "select a from t"),
        ("SELECT a FORM t WHERE\n\nSorry.", "SELECT a FORM t WHERE"),
        (f"<think>SELECT 9 FROM u</think>{SQL}", SQL),
        (f"Is it SELECT 9 FROM u?</think>{SQL}", SQL),
        (f"<think>SELECT 9 FROM u</think>\n<think>no</think>\n```sql\n{SQL}\n```", SQL),
        (f"<think>It may be {SQL}", None),
        (f"{SQL};\t----- bird -----\tsome_db", SQL),
        ("SELECT 1; SELECT 2\t----- bird -----\td", "SELECT 1; SELECT 2"),
        ("", None),
        ("I do not know.", None),
        ("```python\nprint(1)\n```", None),
        ("```sql selct avg(price) from t```", "selct avg(price) from t"),
        ("It is\n```sql\nselct avg(price) from t;\n```", "selct avg(price) from t"),
        ("```\nselct avg(price) from t\n```", None),
        ("```sql\n-- I do not know\n```", None),
        ('{"sql": null}', None),
        (f'{{"thought": "count",}}\n{{"sql": "{SQL}"}}', SQL),
    ],
)
def test_forms(text: str, sql: str | None) -> None:
    assert extract(text).sql == sql


_NAMES = st.sampled_from(["a", "b c", 'q"t', "select", "é", "x;y", "--"])
_TEXTS = st.text(
    st.characters(exclude_characters="\0`", exclude_categories=["Cs", "Cc"]), max_size=8
).filter(lambda text: without_reasoning(text) == text)
"""Texts of cells; a tag such as ``<think>`` in one would be read as the model's reasoning."""


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
@example(["0\x85", ";", "\t----- bird -----\t"])
def test_never_raises(pieces: list[str]) -> None:
    extracted = extract("".join(pieces))
    assert extracted.sql is None or extracted.sql.strip() == extracted.sql != ""


@pytest.mark.parametrize(
    "sql",
    [
        "INSERT INTO customer(id) SELECT id FROM customer",
        "insert or ignore into customer(id)\nselect id from customer",
        "REPLACE INTO customer SELECT id FROM customer",
        "CREATE TABLE z AS SELECT id FROM customer",
        "CREATE TEMP VIEW z AS SELECT id FROM customer",
        "UPDATE customer SET id = (SELECT 1)",
        "DELETE FROM customer WHERE id IN (SELECT id FROM customer)",
        "EXPLAIN SELECT id FROM customer",
        "EXPLAIN QUERY PLAN SELECT id FROM customer",
        "SELECT 1; DROP TABLE customer",
        "SELECT id FROM customer; DROP TABLE customer; -- {{ what no parser reads",
        "WITH c AS (SELECT 1) DELETE FROM customer",
        "WITH c AS (\nSELECT id FROM customer\n) DELETE FROM customer WHEREVER",
        "DROP TABLE customer",
        "ATTACH 'x.db' AS x",
        "PRAGMA writable_schema = 1",
        "/* a */ -- b\nDROP TABLE customer",
    ],
)
def test_not_a_query_is_not_trimmed_to_one(sql: str) -> None:
    """In any form, so that the score does not depend on the form."""
    for text in (sql, f"{sql};", f"```sql\n{sql}\n```", json.dumps({"sql": sql})):
        assert extract(text).sql == sql
    assert extract(f"{sql}\t----- bird -----\td").sql == sql


WRAPPED = (
    *("> {}", "Here it is:\n> {}\n\nIt counts.", "Here it is.\n\n> {}\n>\n> That is all."),
    *("{}. This counts all.", "{}. It counts 3.5 of them.\nThat is all."),
    *("{} Explanation: it counts", "{} Note that it counts all", "{} (assuming that it is a name)"),
    *("{}\nOn second thought, fine", "{}\n(assuming it is a name)", "{}; (assuming it is a name)"),
    *("{}\nWhere g is the genre, 5 is its size", "{}\nAnd that is the whole answer"),
    *("{}\n\nIn this query, we count", "{}\nFrom this we see all", "{}\nOrder matters little here"),
    *(
        "{}\nwhich returns all of them",
        "{}\nGroup by is not needed",
        "{}\n=> all rows",
        "{}\n这会返回",
    ),
    *("{}<|end_of_sql|>", "{}[/INST]", "{} [/INST] SELECT 1", "{}<end_of_turn>x", "{}[EOS]"),
    *("{}<|endofsql|>", "{}\n<|user|>\nhi", "<|assistant|>\n{}<|end|>", "{}</s></s>"),
    *(r"\(\boxed{{{}}}\)", r"\boxed{{\text{{{}}}}}.", r"\boxed{{\texttt{{{}}}}} is it"),
    *("We need to select the sum.\n{}", "First we select the sizes:\n\n{}", "` {} `"),
    *("Select the sizes, then count them:\n{}", "With this I select all.\n> {}", "`` {} ``"),
    *("I select all of them.\n`{}`", 'I select all of them.\n"{}"\nThat is all.'),
    *("~~~sql\n{}\n~~~", "Question: select the genres.\nSQLQuery: {}"),
    *("{}", "```sql\n{}\n```", "```{}```", "`{}`", "The query is `{}`.", "<sql>{}</sql>", "**{}**"),
    *("<answer>\n{}\n</answer>", "<SQL>{}</SQL>", "<answer>The query: {}</answer>", "{}<|im_end|>"),
    *(
        "[SQL]{}[/SQL]",
        "[SQL]\n{}",
        "{}\n[/SQL]",
        "{}\n</sql>",
        "{}\n```",
        "{}```",
        "{}</s>",
        "*{}*",
    ),
    *(
        r"\boxed{{{}}}",
        r"$\boxed{{{}}}$",
        r"$\boxed{{\text{{{}}}}}$",
        "<pre><code>{}</code></pre>",
        '<code class="sql">{}</code>',
    ),
    *(
        "SQLQuery: {}\nSQLResult: 3\nAnswer: There are three.",
        "Answer: {}",
        "SQL: {}\n\nIt counts.",
    ),
    *(
        "**SQL:** {}",
        "### SQL\n{}\n### Why\nIt counts.",
        "{}<|eot_id|>\nassistant: SELECT 1 FROM t",
    ),
    *('"{}"', "'''{}'''", "“{}”", '("{}")', 'run_sql("{}")', "run_sql('''{}''')", "1. {}", "> {}"),
    *(
        "The answer is: {}.",
        "{}\n\nThis counts all.",
        "{}\nThis counts.",
        "{}\nNote that FROM is used.",
    ),
    *("{}\n- it counts", "Sure! {}", "{}\n\n```\ncount\n3\n```", "Use the table from above. {}"),
    *("SQL: {}\n\nQuestion: another?\nSQL: SELECT 1 FROM t", "```sql\n{}\n```\nIt uses `SELECT`."),
    *(
        template.replace("{", "{{").replace("}", "}}").replace("@", "{}")
        for template in (
            *('{"answer": "@"}', '{"final_sql": "@", "confidence": 0.9}', '{"output": "@"}'),
            *('{"reasoning": "select it", "generated_sql": "@"}', '[{"sql": "@"}]', "{'sql': '@'}"),
            *('{"sql": ["@"]}', '{"reasoning": ["select it"], "queries": ["@"]}'),
            *('Here: {"answer": "@"} I hope it helps.', '```json\n{"answer": "@"}\n```'),
            *('{"name": "run", "arguments": {"sql": "@"}}', '{"query": "How many?", "sql": "@"}'),
            r'{"name": "run", "arguments": "{\"statement\": \"@\"}"}',
            r'{"tool_calls": [{"function": {"name": "q", "arguments": "{\"query\": \"@\"}"}}]}',
            '<tool_call>\n{"name": "run", "arguments": {"sql": "@"}}\n</tool_call>',
        )
    ),
)


@pytest.mark.parametrize("wrapping", WRAPPED)
def test_wrapped_statements_are_read_with_and_without_a_semicolon(wrapping: str) -> None:
    sql = "SELECT count(*) FROM genre AS g WHERE 5 < g.size"
    for end in ("", ";", " ;", ";\n"):
        assert extract(wrapping.format(sql + end)).sql == sql, end


BROKEN = (
    "WITH q AS (SELECT a FROM t; -- end) SELECT * FROM q",
    "WITH q AS (SELECT a FROM t SELECT * FROM q",
    "WITH q AS (\n  SELECT a FROM t\n), r AS (SELEC b)\nSELECT * FROM q",
    "SELECT a FROM t; FROM",
    "SELECT a FROM t; WHERE b = 1",
    "SELECT a FROM t; LIMIT 3",
    "SELECT * FROM (SELECT a FROM t; ) x",
    "SELEC a FROM (SELECT a FROM t)",
    "SELEC a FROM t UNION SELECT a FROM t",
    "SELECT a, FROM (\nSELECT a FROM t\n)",
    "SELECT a FROM t WHERE (b = 1",
    "SELECT a FROM t) WHERE b = 1",
    "SELECT a FORM t WHERE b IN (SELECT a FROM t)",
    "SELEC a\nFROM t\n\nUNION\n\nSELECT a FROM t",
    "SELECT a FROM t\n\nWHERE b = = 1",
    "SELECT a FROM t\nNote this is it\nWHERE b = = 1",
    "SELECT a FROM t\nWHERE b = = 1 which is the right thing",
    "SELECT a FROM t\nGROP BY a",
    "Select a From t\nOrder By b Descc, x x x",
    "select a from t\nwhre b is null",
    "Select a\nFrom t\nOrder  a",
    "Select a\nFrom t\nOrder  a Note that it is fine",
    "Select a From t Select a From t",
    "select count(*) from t\nunion\nselect a from x,",
    "select a from t where b in (\nselect a from x",
    "SELECT a FROM t\n\n-- the second part\nWHERE b = = 1",
)


@pytest.mark.parametrize("sql", BROKEN)
def test_no_query_is_cut_out_of_a_broken_statement(sql: str) -> None:
    """The official scripts give it 0."""
    for wrapping in ("{}", "```sql\n{}\n```", "<sql>{}</sql>", "Here it is:\n{}\nThis gives all."):
        with closing(sqlite3.connect(":memory:")) as database:
            database.executescript("CREATE TABLE t (a, b); CREATE TABLE x (a);")
            read = extract(wrapping.format(sql)).sql
            with pytest.raises((sqlite3.Error, sqlite3.Warning)):
                database.execute(read or "no SQL")


@pytest.mark.parametrize(
    ("text", "sql"),
    [
        ("```sql\n-- a\n/* b */ ((SELECT a FROM t))\n```", "-- a\n/* b */ ((SELECT a FROM t))"),
        ("SELECT a FROM t\nWHERE ANY $$ OF (THESE)", "SELECT a FROM t\nWHERE ANY $$ OF (THESE)"),
        ("(SELECT a FORM t)\n\nSorry.", "(SELECT a FORM t)"),
        ("SELECT a FROM t\nThis gives all.", "SELECT a FROM t"),
        ("SELECT a FROM t\nit gives all.", "SELECT a FROM t"),
        ("SELECT a FROM t; Show this to the user", "SELECT a FROM t"),
        ("Explain: the query is SELECT a FROM t", "SELECT a FROM t"),
        ("It:\nINSERT INTO c SELECT a FROM t\n\nIt writes.", "INSERT INTO c SELECT a FROM t"),
        ("The statement: INSERT INTO c SELECT a FROM t", "INSERT INTO c SELECT a FROM t"),
        *((text, None) for text in ("From Oslo.", "From Oslo", "Values", "Show", "Drop it")),
        *((text, None) for text in ("Update the table first", "Table 1")),
        ("I would select from the table t the column a.", None),
        ("I will select a row from t because it is there.", None),
        ("We select, from table t, the column a", None),
        ("Select the column a from the table t.", None),
        (r"\boxed{\text{SELECT first\_name FROM t}}", "SELECT first_name FROM t"),
        (r"SELECT first\_name FROM t", "SELECT first_name FROM t"),
        (r"\boxed{SELECT a FROM t WHERE b = '}'}", "SELECT a FROM t WHERE b = '}'"),
        ("SELECT a FROM t Explanation: lists a", "SELECT a FROM t"),
        ("SELECT t.a FROM t\nDone", "SELECT t.a FROM t"),
        ("SELECT S.a FROM t\nS", "SELECT S.a FROM t\nS"),
        ("SELECT Tab.a FROM t\nTab", "SELECT Tab.a FROM t\nTab"),
        (r"\boxed{SELECT a FROM t}" "\n\n" r"This divides by \frac{1}{2}.", "SELECT a FROM t"),
        (r"\boxed{SELECT a FROM t}, where {n} is the number", "SELECT a FROM t"),
        ("Q: Select names from players?\nA: SELECT name FROM players", "SELECT name FROM players"),
        ("SELECT a FROM t WHERE b =\nName", "SELECT a FROM t WHERE b =\nName"),
        ("SELECT a FROM t ORDER BY b,\nName", "SELECT a FROM t ORDER BY b,\nName"),
        ("SELECT a FROM\nTab", "SELECT a FROM\nTab"),
        ("The first is SELECT a FROM t LIMIT 1.", "SELECT a FROM t LIMIT 1"),
        ("```SELECT a FROM t```", "SELECT a FROM t"),
        ("SELECT a FROM t\n[/SQL]", "SELECT a FROM t"),
        *(
            (f"SELECT a FROM t WHERE b = '{text}'", f"SELECT a FROM t WHERE b = '{text}'")
            for text in ("<|end|>", "[/INST]", "x. Note that this is it", "Explanation: none")
        ),
    ],
)  # fmt: skip
def test_prose_and_queries_are_told_apart(text: str, sql: str | None) -> None:
    assert extract(text).sql == sql
