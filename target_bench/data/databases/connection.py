"""SQLite and DuckDB files: opening them for reading, and what tables they hold."""

import re
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from target_bench.core.errors import DataError
from target_bench.sql.engines import sqlite_files
from target_bench.sql.engines.sqlite_files import quoted
from target_bench.sql.gold_tables import gold_tables


@dataclass(frozen=True, slots=True)
class StoredTable:
    """A table as its database declares it.

    Attributes:
        name: its name; of a DuckDB table outside the schema ``main``, ``schema.name``.
        source: the name as SQL writes it.
        header: the names of its columns.
        types: their declared types, empty where none is declared.
        primary_key: the columns of the primary key, in its order.
        foreign_keys: (column, ``table.column`` it refers to) pairs; the table alone where no
            column is declared.
        schema: the CREATE TABLE statement.
    """

    name: str
    source: str
    header: tuple[str, ...]
    types: tuple[str, ...]
    primary_key: tuple[str, ...]
    foreign_keys: tuple[tuple[str, str], ...]
    schema: str

    @property
    def context(self) -> dict[str, Any]:
        """Keys, types and statement as a table's context has them; what is empty is left out."""
        found = {
            "primary_key": list(self.primary_key),
            "foreign_keys": [list(pair) for pair in self.foreign_keys],
            "column_types": list(self.types) if any(self.types) else [],
            "schema": self.schema,
        }
        return {name: value for name, value in found.items() if value}


def is_duckdb(path: Path) -> bool:
    """Return whether a file is a DuckDB database, by its first bytes.

    Raises:
        DataError: it cannot be read.
    """
    try:
        with path.open("rb") as file:
            return file.read(12)[8:] == b"DUCK"
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror}") from error


@contextmanager
def opened(path: Path) -> Iterator[Any]:
    """Open a database file, for reading alone.

    Bytes of text that are not UTF-8 come as backslash, x and two digits. No file is left beside the
    database.

    Raises:
        DataError: it cannot be opened, or what is done inside fails; the message names the file.
    """
    with _opened_duckdb(path) if is_duckdb(path) else sqlite_files.opened(path) as database:
        yield database


def stored_tables(path: Path) -> list[StoredTable]:
    """Return the base tables of a database file, in the order of their names.

    Raises:
        DataError: it cannot be read.
    """
    with opened(path) as database:
        return list(_duckdb_tables(database) if is_duckdb(path) else _sqlite_tables(database))


def sound_tables(path: Path) -> list[StoredTable]:
    """Return the base tables after reading a first row of each; a damaged one raises.

    Raises:
        DataError: it, or one of its tables, cannot be read.
    """
    tables = stored_tables(path)
    with opened(path) as database:
        for table in tables:
            database.execute(f"SELECT * FROM {table.source} LIMIT 1").fetchone()  # noqa: S608 (quoted)
    return tables


def tables_read(sql: str, path: Path) -> list[str]:
    """Return the names of the base tables that a query reads, as ``stored_tables`` has them.

    Views are resolved to the tables under them.

    Raises:
        ValueError: it does not compile (in DuckDB: cannot be parsed) there.
        DataError: the file cannot be read.
    """
    if not is_duckdb(path):
        return list(gold_tables(sql, path))
    with opened(path) as database:
        tables = database.execute(
            "SELECT schema_name, table_name FROM duckdb_tables() "
            "WHERE NOT internal AND database_name = current_database() ORDER BY ALL"
        ).fetchall()
        views = database.execute(
            "SELECT schema_name, view_name, sql FROM duckdb_views() "
            "WHERE NOT internal AND database_name = current_database()"
        ).fetchall()
        named = _named_in_duckdb(database, sql)
        inside = {(schema, name): query for schema, name, query in views}
        while used := [view for view in inside if _is_named(view, named)]:
            for view in used:
                body = re.split(r"\sAS\s", inside.pop(view), maxsplit=1)[1]
                named |= _named_in_duckdb(database, body)
    read = [table for table in tables if _is_named(table, named)]
    return [name if schema == "main" else f"{schema}.{name}" for schema, name in read]


def _named_in_duckdb(database: Any, sql: str) -> set[str]:
    """Return the tables and views that a query names, in lower case, with schema if given."""
    import duckdb

    try:
        found = database.get_table_names(sql, qualified=True)
    except duckdb.Error as error:
        raise ValueError(str(error)) from error
    return {name.partition(" AS ")[0].replace('"', "").lower() for name in found}


def _is_named(table: tuple[str, str], named: set[str]) -> bool:
    schema, name = (part.replace('"', "").lower() for part in table)
    qualified = f"{schema}.{name}"
    return (
        qualified in named
        or (schema == "main" and name in named)
        or any(other.endswith(f".{qualified}") for other in named)
    )


def _sqlite_tables(database: sqlite3.Connection) -> Iterator[StoredTable]:
    found = database.execute(
        "SELECT name, sql FROM sqlite_master WHERE type = 'table' "
        "AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY name"
    ).fetchall()
    for name, schema in found:
        columns = database.execute(
            "SELECT name, type, pk FROM pragma_table_info(?)", (name,)
        ).fetchall()
        types = {column: kind for column, kind, _ in columns}
        header = _header(database, f"{quoted(name)} NOT INDEXED")
        foreign = database.execute(
            'SELECT "from", "table", "to" FROM pragma_foreign_key_list(?)', (name,)
        ).fetchall()
        yield StoredTable(
            name,
            f"{quoted(name)} NOT INDEXED",  # the rows as they are stored, not as an index has them
            header,
            tuple(types.get(column, "") for column in header),
            tuple(column for column, _, place in sorted(columns, key=lambda c: c[2]) if place),
            tuple((column, f"{table}.{to}" if to else table) for column, table, to in foreign),
            schema or "",
        )


def _header(database: Any, source: str) -> tuple[str, ...]:
    cursor = database.execute(f"SELECT * FROM {source} LIMIT 0")  # noqa: S608 (quoted)
    return tuple(column[0] for column in cursor.description)


@contextmanager
def _opened_duckdb(path: Path) -> Iterator[Any]:
    import duckdb

    try:
        with duckdb.connect(path, read_only=True) as database:
            yield database
    except duckdb.Error as error:
        raise DataError(f"{path}: cannot be read as DuckDB: {error}") from error


def _duckdb_tables(database: Any) -> Iterator[StoredTable]:
    found = database.execute(
        "SELECT schema_name, table_name, sql FROM duckdb_tables() "
        "WHERE NOT internal AND database_name = current_database() "
        "ORDER BY schema_name, table_name"
    ).fetchall()
    for schema, name, statement in found:
        source = f"{quoted(schema)}.{quoted(name)}"
        cursor = database.execute(f"SELECT * FROM {source} LIMIT 0")  # noqa: S608 (quoted)
        columns = [(column[0], str(column[1])) for column in cursor.description]
        primary, foreign = _duckdb_keys(database, schema, name)
        yield StoredTable(
            name if schema == "main" else f"{schema}.{name}",
            source,
            tuple(column for column, _ in columns),
            tuple(kind for _, kind in columns),
            primary,
            foreign,
            statement or "",
        )


def _duckdb_keys(
    database: Any, schema: str, name: str
) -> tuple[tuple[str, ...], tuple[tuple[str, str], ...]]:
    found = database.execute(
        "SELECT constraint_type, constraint_column_names, referenced_table, "
        "referenced_column_names FROM duckdb_constraints() "
        "WHERE schema_name = ? AND table_name = ?",
        [schema, name],
    ).fetchall()
    primary = (column for kind, columns, *_ in found if kind == "PRIMARY KEY" for column in columns)
    foreign = (
        (column, f"{table}.{to}")
        for kind, columns, table, targets in found
        if kind == "FOREIGN KEY"
        for column, to in zip(columns, targets, strict=True)
    )
    return tuple(primary), tuple(foreign)
