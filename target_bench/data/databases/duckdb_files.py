"""DuckDB files: opening them for reading, and what tables they hold."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from target_bench.core.errors import DataError
from target_bench.sql.databases import Declared, quoted

Keys = tuple[tuple[str, ...], tuple[tuple[str, str], ...]]


@contextmanager
def opened_duckdb(path: Path) -> Iterator[Any]:
    """Open a database file of DuckDB, for reading alone.

    Raises:
        DataError: it cannot be opened, or what is done inside fails.
    """
    import duckdb

    try:
        with duckdb.connect(path, read_only=True) as database:
            yield database
    except duckdb.Error as error:
        raise DataError(f"{path}: cannot be read as DuckDB: {error}") from error


def duckdb_tables(database: Any) -> Iterator[Declared]:
    """Yield the base tables of a database, in the order of their names, as ``StoredTable`` has."""
    declared = database.execute(
        "SELECT schema_name, table_name, sql FROM duckdb_tables() "
        "WHERE NOT internal AND database_name = current_database() "
        "ORDER BY schema_name, table_name"
    ).fetchall()
    for schema, name, statement in declared:
        source = f"{quoted(schema)}.{quoted(name)}"
        cursor = database.execute(f"SELECT * FROM {source} LIMIT 0")  # noqa: S608 (quoted)
        columns = [(column[0], str(column[1])) for column in cursor.description]
        primary, foreign = _duckdb_keys(database, schema, name)
        yield (
            name if schema == "main" else f"{schema}.{name}",
            source,
            tuple(column for column, _ in columns),
            tuple(kind for _, kind in columns),
            primary,
            foreign,
            statement or "",
        )


def _duckdb_keys(database: Any, schema: str, name: str) -> Keys:
    constraints = database.execute(
        "SELECT constraint_type, constraint_column_names, referenced_table, "
        "referenced_column_names FROM duckdb_constraints() "
        "WHERE schema_name = ? AND table_name = ?",
        [schema, name],
    ).fetchall()
    primary = (
        column for kind, columns, *_ in constraints if kind == "PRIMARY KEY" for column in columns
    )
    foreign = (
        (column, f"{table}.{to}")
        for kind, columns, table, targets in constraints
        if kind == "FOREIGN KEY"
        for column, to in zip(columns, targets, strict=True)
    )
    return tuple(primary), tuple(foreign)
