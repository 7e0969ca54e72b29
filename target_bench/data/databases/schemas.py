"""What Spider and BIRD share: schemas (``tables.json``), their tables, gold tables of gold SQL."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from target_bench.core.errors import DataError
from target_bench.core.release import Release, field
from target_bench.core.schema import Table, TableId
from target_bench.data.databases.built_files import build_sqlite
from target_bench.data.databases.release_folder import DatabaseFile
from target_bench.data.databases.stored_tables import LazyRows, StoredTable, read_stored_tables
from target_bench.sql.databases import quote

_SQL_TYPES = {"number": "NUMERIC", "time": "TEXT", "others": "", "boolean": "BOOLEAN"}  # Spider's
_RESERVED = "sqlite_"  # how the names of SQLite's own tables begin


class DeclaredTable(NamedTuple):
    """A table of a schema, and what people call it and its columns (by name in lower case)."""

    stored: StoredTable
    title: str
    columns: Mapping[str, str]


@dataclass(frozen=True)
class Schema:
    """The schema of a database: its id and its tables."""

    id: str
    tables: tuple[DeclaredTable, ...]

    @cached_property
    def script(self) -> str:
        """The SQL text of the database without rows."""
        return ";\n".join(table.stored.schema for table in self.tables) + ";\n"


def read_schemas(release: Release, path: Path) -> dict[str, Schema]:
    """Return the schemas of a ``tables.json`` by database id, in the order of the file."""
    by_id: dict[str, Schema] = {}
    for place, record in release.json_list(path, "schema"):
        name = field(record, "db_id", str, place)
        if name in by_id:
            raise DataError(f"{place}: db_id {name!r} occurs twice")
        by_id[name] = Schema(name, tuple(_read_tables(record, f"{path}, database {name}")))
    return by_id


def _read_tables(record: Mapping[str, Any], place: str) -> Iterator[DeclaredTable]:
    names = field(record, "table_names_original", list, place)
    titles = field(record, "table_names", list, place)
    originals = field(record, "column_names_original", list, place)
    readable = field(record, "column_names", list, place)
    types = field(record, "column_types", list, place)
    primary = field(record, "primary_keys", list, place)
    foreign = field(record, "foreign_keys", list, place)
    if len(names) != len(titles) or not len(originals) == len(readable) == len(types):
        raise DataError(
            f"{place}: {len(names)} table_names_original, {len(titles)} table_names; "
            f"{len(originals)} column_names_original, {len(readable)} column_names, "
            f"{len(types)} column_types: they should be as many"
        )
    try:
        columns = [(owner, str(name)) for owner, name in originals]
        column_titles = [str(title) for _, title in readable]
        keys = sorted({i for key in primary for i in (key if isinstance(key, list) else [key])})
        links = [(*columns[i], str(names[columns[j][0]]), columns[j][1]) for i, j in foreign]
        for number, (name, title) in enumerate(zip(map(str, names), titles, strict=True)):
            if name.lower().startswith(_RESERVED):
                continue
            here = [i for i, (owner, _) in enumerate(columns) if owner == number]
            header = tuple(columns[i][1] for i in here)
            kinds = tuple(str(types[i]) for i in here)
            key = tuple(columns[i][1] for i in keys if columns[i][0] == number)
            links_here = [link[1:] for link in links if link[0] == number]
            stored = StoredTable(
                name,
                quote(name),
                header,
                kinds,
                key,
                tuple((column, f"{table}.{to}") for column, table, to in links_here),
                _write_statement(name, header, kinds, key, links_here),
            )
            called = {columns[i][1].lower(): column_titles[i] for i in here}
            yield DeclaredTable(stored, str(title), called)
    except (TypeError, ValueError, IndexError) as error:
        raise DataError(f"{place}: columns and keys make no schema: {error}") from error


def _write_statement(
    name: str,
    header: tuple[str, ...],
    types: tuple[str, ...],
    primary_key: tuple[str, ...],
    foreign_keys: list[tuple[str, str, str]],
) -> str:
    """Return CREATE TABLE with columns and keys."""
    columns: dict[str, tuple[str, str]] = {}
    for column, kind in zip(header, types, strict=True):
        columns.setdefault(column.lower(), (column, kind))  # a name twice would be refused
    lines = [
        f"{quote(column)} {_SQL_TYPES.get(kind, kind.upper())}".rstrip()
        for column, kind in columns.values()
    ]
    if primary_key:
        lines.append(f"PRIMARY KEY ({', '.join(map(quote, primary_key))})")
    lines += [
        f"FOREIGN KEY ({quote(column)}) REFERENCES {quote(table)} ({quote(to)})"
        for column, table, to in foreign_keys
    ]
    inner = ",\n".join(f"  {line}" for line in lines)
    return f"CREATE TABLE {quote(name)} (\n{inner}\n)"


Descriptions = Mapping[str, Mapping[str, str]]
"""Table -> column -> what it holds; both names in lower case."""


def build_tables(
    schema: Schema, file: DatabaseFile | None, descriptions: Descriptions | None = None
) -> Iterator[Table]:
    """Yield the tables of a database, in the order and spelling of its schema."""
    stored = _list_stored(file)
    for declared, title, called in schema.tables:
        there = stored.get(declared.name.lower())
        header = (there or declared).header
        rows = LazyRows(file.path, there.source, file.version) if file and there else ()
        texts = (descriptions or {}).get(declared.name.lower(), {})
        described = {name: texts[name.lower()] for name in header if name.lower() in texts}
        context = {
            "title": title,
            "columns": [called.get(name.lower(), name) for name in header],
            **declared.context,  # keys are those that either names
            **(there.context if there else {}),
            **({"column_descriptions": described} if described else {}),
        }
        yield Table(TableId(schema.id, declared.name), header, rows, context)


def _list_stored(file: DatabaseFile | None) -> dict[str, StoredTable]:
    """Return the tables of a database file by lower-case name; of one that cannot be read, none."""
    try:
        tables = read_stored_tables(file.path, first_rows=True) if file else []
    except DataError:  # reading the corpus reports it, and its queries are not run
        return {}
    return {table.name.lower(): table for table in tables}


def find_gold(
    sql: str, schema: Schema, file: DatabaseFile | None, place: str
) -> tuple[TableId, ...]:
    """Return the tables that gold SQL needs, in the order and spelling of the schema."""
    from target_bench.sql.gold_tables import gold_tables

    try:
        # on a database without rows, so that gold is the same whichever databases are here
        names = gold_tables(sql, build_sqlite(f"{schema.id}-schema", schema.script))
    except (ValueError, DataError) as error:
        if file is None:
            raise DataError(f"{place}: SQLite cannot compile the gold SQL: {error}") from error
        try:
            names = gold_tables(sql, file.path)
        except ValueError as again:
            raise DataError(f"{place}: SQLite cannot compile the gold SQL: {again}") from again
    spelled = {table.stored.name.lower(): table.stored.name for table in schema.tables}
    gold = tuple(TableId(schema.id, spelled[n.lower()]) for n in names if n.lower() in spelled)
    if not gold:
        raise DataError(f"{place}: the gold SQL reads no table of {schema.id}: {sql!r:.200}")
    return gold
