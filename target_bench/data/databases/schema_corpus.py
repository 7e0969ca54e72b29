"""Shared parts of Spider and BIRD: tables from schemas and files, gold tables from gold SQL."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from target_bench.core.errors import DataError
from target_bench.core.schema import Table, TableId
from target_bench.data.databases.release_folder import DatabaseFile
from target_bench.data.databases.schemas import Schema, TableSchema
from target_bench.data.databases.stored_tables import LazyRows, StoredTable, built, sound_tables

Descriptions = Mapping[str, Mapping[str, str]]
"""Table -> column -> what it holds; both names in lower case."""


def tables_of(
    schema: Schema, file: DatabaseFile | None, descriptions: Descriptions | None = None
) -> Iterator[Table]:
    """Yield the tables of a database, in the order and spelling of its schema.

    Header, types, statement and rows come from the database file; where that is missing, cannot be
    read, or has no such table, from the schema, and there are no rows. Keys are those that either
    names.

    The context has ``title`` (the table's name as people say it), ``columns`` and ``column_types``
    (aligned with the header), ``primary_key``, ``foreign_keys``, ``schema`` (the CREATE TABLE
    statement) and, where there are descriptions, ``column_descriptions`` (column -> text).
    """
    stored = _stored(file)
    for table in schema.tables:
        there = stored.get(table.name.lower())
        header = there.header if there else tuple(column.name for column in table.columns)
        rows = LazyRows(file.path, there.source, file.version) if file and there else ()
        described = (descriptions or {}).get(table.name.lower(), {})
        yield Table(
            TableId(schema.id, table.name),
            header,
            rows,
            _context(table, there, header, described),
        )


def _stored(file: DatabaseFile | None) -> dict[str, StoredTable]:
    """Return the tables of a database file by lower-case name; of one that cannot be read, none."""
    try:
        return {t.name.lower(): t for t in sound_tables(file.path)} if file else {}
    except DataError:  # reading the corpus reports it, and its queries are not run
        return {}


def _context(
    table: TableSchema,
    stored: StoredTable | None,
    header: Iterable[str],
    descriptions: Mapping[str, str],
) -> dict[str, Any]:
    titles = {column.name.lower(): column.title for column in table.columns}
    described = {
        name: descriptions[name.lower()] for name in header if name.lower() in descriptions
    }
    return {
        "title": table.title,
        "columns": [titles.get(name.lower(), name) for name in header],
        **table.context,
        **(stored.context if stored else {}),
        **({"column_descriptions": described} if described else {}),
    }


def gold_of(sql: str, schema: Schema, file: DatabaseFile | None, place: str) -> tuple[TableId, ...]:
    """Return the tables that gold SQL needs, in the order and spelling of the schema.

    SQLite compiles the SQL on a database that has the schema and no rows, so the gold tables are
    the same whichever databases are here; only what that refuses is compiled on the file itself.

    Raises:
        DataError: SQLite refuses the SQL, or it reads no table.
    """
    from target_bench.sql.gold_tables import gold_tables

    try:
        names = gold_tables(sql, built(f"{schema.id}-schema", schema.script))
    except (ValueError, DataError) as error:
        if file is None:
            raise DataError(f"{place}: SQLite cannot compile the gold SQL: {error}") from error
        try:
            names = gold_tables(sql, file.path)
        except ValueError as again:
            raise DataError(f"{place}: SQLite cannot compile the gold SQL: {again}") from again
    spelled = {table.name.lower(): table.name for table in schema.tables}
    gold = tuple(TableId(schema.id, spelled[n.lower()]) for n in names if n.lower() in spelled)
    if not gold:
        raise DataError(f"{place}: the gold SQL reads no table of {schema.id}: {sql!r:.200}")
    return gold
