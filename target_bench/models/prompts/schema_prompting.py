"""Prompts about databases: a schema with a few rows of each table."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar

from target_bench.core.prompt_writer import PromptedRequest
from target_bench.core.run_config import SchemaScope
from target_bench.core.schema import Corpus, Query, Table, TableId
from target_bench.data.highlights import cell_text
from target_bench.models.prompts.prompting import Prompter
from target_bench.sql.databases import EngineName, database, quote
from target_bench.sql.duckdb_copy import duckdb_copy

SAMPLE_ROWS = 3
_LONGEST_CELL = 80  # characters of a sample

ANSWER_SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "reasoning": {"type": "string"},
        "sql": {"type": "string"},
        "database_id": {"type": "string"},
    },
    "required": ["reasoning", "sql", "database_id"],
    "additionalProperties": False,
}
"""The structured answer: reasoning, one statement, and its database."""

DUCKDB_PROMPT = Path(__file__).with_name("duckdb_sql.yaml")
"""The templates that ask for DuckDB's SQL."""


@dataclass(frozen=True)
class SchemaPrompter(Prompter):
    """Write requests with the schema of a database.

    Attributes:
        scope: which tables a prompt shows.
        databases: database id -> file, for the types of columns in its copy in DuckDB.
        dialect: the SQL of the answer; with ``duckdb``, columns have the types of the copy.
    """

    VERSION: ClassVar[str] = "2"

    scope: SchemaScope = "database"
    databases: Mapping[str, Path] = field(default_factory=dict)
    dialect: EngineName = "sqlite"

    @property
    def identity(self) -> dict[str, Any]:
        """All settings that change a request."""
        dialect = {} if self.dialect == "sqlite" else {"dialect": self.dialect}
        return super().identity | {"scope": self.scope, "rows": SAMPLE_ROWS} | dialect

    def choose_tables(self, corpus: Corpus, ranking: Sequence[TableId]) -> list[Table]:
        """Return the tables of the database of the first retrieved table."""
        if not ranking:
            return []
        database_id = ranking[0].database_id
        ids = ranking if self.scope == "tables" else corpus.ids
        return [corpus[t] for t in ids if t.database_id == database_id]

    def write_prompt(self, query: Query, tables: Sequence[Table]) -> PromptedRequest:
        """Return the request for a query: schema, three rows per table, and the evidence if any."""
        sampled = [replace(table, rows=list(table.rows[:SAMPLE_ROWS])) for table in tables]
        evidence = query.metadata.get("evidence")
        text = f"{query.text}\nEvidence: {evidence}" if evidence else query.text
        prompted = super().write_prompt(replace(query, text=text), sampled)
        request = replace(prompted.request, query=query.text, tables=tuple(tables))
        return replace(prompted, request=request)

    def _write_table(self, number: int, table: Table, n_rows: int) -> str:
        if self.dialect == "duckdb":
            table = self._convert_types(table)
        lines = [f"-- table {number}, database {table.id.database_id}", create_statement(table)]
        described = table.context.get("column_descriptions") or {}
        lines += [f"-- {column}: {text}" for column, text in described.items()]
        if n_rows:
            lines.append(f"-- {n_rows} rows: " + " | ".join(map(str, table.header)))
            lines += ["-- " + _write_row(row) for row in table.rows[:n_rows]]
        return "\n".join(lines)

    def _convert_types(self, table: Table) -> Table:
        """Return a table with the types that its columns have in the copy of its database."""
        file = self.databases.get(table.id.database_id)
        if file is None or database(file).engine == "duckdb":
            return table
        types = list(duckdb_copy(file).columns.get(table.id.table_id, {}).values())
        if len(types) != len(table.header):  # the copy has other columns
            return table
        context = {name: value for name, value in table.context.items() if name != "schema"}
        return replace(table, context=context | {"column_types": types})


def _write_row(row: Sequence[Any]) -> str:
    cells = (" ".join(cell_text(cell).split()) for cell in row)
    return " | ".join(c if len(c) <= _LONGEST_CELL else f"{c[:_LONGEST_CELL]}..." for c in cells)


def create_statement(table: Table) -> str:
    """Return the CREATE TABLE statement, as the database has it or from header and keys.

    ```python
    from target_bench import Table, TableId
    from target_bench.plugin_tools import create_statement

    print(create_statement(Table(TableId("sky", "moons"), ["planet", "moons"], [])))
    # CREATE TABLE "moons" (
    #   "planet",
    #   "moons"
    # )
    ```
    """
    own = table.context.get("schema")
    if own:
        return str(own)
    types = table.context.get("column_types") or [""] * len(table.header)
    named = zip(table.header, types, strict=True)
    columns = [f"  {quote(name)} {kind}".rstrip() for name, kind in named]
    primary = table.context.get("primary_key") or []
    if primary:
        columns.append(f"  PRIMARY KEY ({', '.join(quote(str(name)) for name in primary)})")
    for column, target in table.context.get("foreign_keys") or []:
        columns.append(f"  FOREIGN KEY ({quote(str(column))}) REFERENCES {target}")
    return f"CREATE TABLE {quote(table.id.table_id)} (\n" + ",\n".join(columns) + "\n)"
