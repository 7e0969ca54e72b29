"""Prompts about databases: what they show."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from target_bench.core.errors import ConfigError
from target_bench.core.registry import make_task
from target_bench.core.run_config import RunConfig
from target_bench.core.schema import Table, TableId
from target_bench.data.load import load
from target_bench.models.prompts.prompting import Prompt
from target_bench.models.prompts.schema_prompting import ANSWER_SCHEMA, SchemaPrompter

MINI = load("mini")
QUERY = next(q for q in MINI.queries if q.metadata.get("task") == "text_to_sql")
PROMPT = Prompt.load("text_to_sql")


def _prompter(**settings: Any) -> SchemaPrompter:
    given: dict[str, Any] = {"answer_schema": ANSWER_SCHEMA, "databases": MINI.databases}
    return SchemaPrompter("text_to_sql", PROMPT, **given | settings)


def _tables(scope: str = "database") -> Sequence[Table]:
    ranking = [t for t in MINI.corpus.ids if t.database_id == QUERY.database_id][:2]
    other = next(t for t in MINI.corpus.ids if t.database_id not in ("0", QUERY.database_id))
    return _prompter(scope=scope).choose_tables(MINI.corpus, [ranking[0], other, ranking[1]])


def test_all_tables_of_the_first_database_or_the_retrieved_ones_of_it() -> None:
    whole, some = _tables(), _tables("tables")
    assert {t.id.database_id for t in (*whole, *some)} == {QUERY.database_id}
    assert len(some) == 2 < len(whole)
    assert len(whole) == sum(t.database_id == QUERY.database_id for t in MINI.corpus.ids)
    assert _prompter().choose_tables(MINI.corpus, []) == []


def test_what_a_prompt_shows() -> None:
    query = replace(QUERY, metadata={"evidence": "huts are open when open = 1"})
    prompted = _prompter().write_prompt(query, _tables())
    text = prompted.request.messages[-1].content
    assert text.count("CREATE TABLE") == len(_tables())
    assert text.count("-- 3 rows: ") == len(_tables())
    assert "Evidence: huts are open when open = 1" in text
    assert prompted.request.query == query.text
    assert prompted.request.answer_schema == ANSWER_SCHEMA
    assert prompted.request.tables == tuple(_tables()), "whole, for generators that read them"
    assert not prompted.truncated, "three rows are all that a prompt is to show"


def test_sql_of_duckdb_is_asked_for() -> None:
    """With the types of the copy."""
    task = make_task("text-to-sql:engine=duckdb,dialect=duckdb")
    assert task.prompt.writer is not None
    writer = task.prompt.writer(RunConfig(), MINI.databases, False)
    prompted = writer.write_prompt(QUERY, _tables())
    text = "".join(message.content for message in prompted.request.messages)
    assert "one DuckDB query" in text
    assert "SQLite" not in text
    assert " BIGINT" in text
    assert " INTEGER" not in text
    with pytest.raises(ConfigError, match="add engine=duckdb"):
        make_task("text-to-sql:dialect=duckdb")


def test_a_statement_is_made_where_the_database_has_none() -> None:
    table = Table(
        TableId("d", 'odd "name"'),
        ("a b", "c"),
        [("x" * 200, None)],
        {"column_types": ["TEXT", ""], "primary_key": ["a b"], "foreign_keys": [["c", "t.c"]]},
    )
    text = _prompter().fit_tables([table])[0]
    assert 'CREATE TABLE "odd ""name""" (' in text
    assert (
        '  "a b" TEXT,\n  "c",\n  PRIMARY KEY ("a b"),\n  FOREIGN KEY ("c") REFERENCES t.c' in text
    )
    assert "x" * 80 + "..." in text
    assert "x" * 81 not in text
