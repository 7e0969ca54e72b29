"""The tables of one SQLite or DuckDB file, with queries from a JSON-lines file beside it."""

import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from target_bench.corpora import own
from target_bench.corpora.cells import cells
from target_bench.corpora.folder import queries_of, splits_of
from target_bench.errors import DataError
from target_bench.interfaces import CorpusLoader
from target_bench.release import Release
from target_bench.schema import Query, Table, TableId

SUFFIXES = (".sqlite", ".sqlite3", ".db", ".duckdb")


class DatabaseFile(CorpusLoader):
    """The base tables of a database, cells with their own types, rows in storage order.

    A table's id is the database's file name without suffix and the table's name; its title is the
    table's name, and its context holds primary and foreign keys.

    Args:
        path: the database file; it is opened read-only.
        queries: the queries; default: ``<name>.queries.jsonl`` or ``queries.jsonl`` beside it.

    Raises:
        DataError: there is no such file.
    """

    def __init__(self, path: Path, queries: Path | None = None) -> None:
        if not path.is_file():
            raise DataError(f"{path}: there is no such file")
        self.path = path
        self.embedded = path.parent
        self._queries = queries
        release = Release(path.parent, str(path))
        found = self._find_queries(release)
        self.info = own.info(path, splits_of(release, found) if found else ())

    def tables(self, release: Release, split: str) -> Iterable[Table]:  # noqa: ARG002
        """Every base table, in the order of their names."""
        release.note(self.path)
        wal = release.find(f"{self.path.name}{'.' if _is_duckdb(self.path) else '-'}wal")
        if wal is not None:  # what was written but is not in the file itself yet
            release.note(wal)
        read = _duckdb_tables if _is_duckdb(self.path) else _sqlite_tables
        for name, header, rows, keys in read(self.path):
            yield Table(
                TableId(self.path.stem, name),
                header,
                [self._cells(name, row) for row in rows],
                {"title": name} | keys,
            )

    def _cells(self, name: str, row: tuple[Any, ...]) -> Any:
        try:
            return list(cells(row))
        except TypeError as error:
            raise DataError(f"{self.path}, table {name}: {error}") from error

    def queries(self, release: Release, split: str) -> Iterable[Query]:
        """The queries of the file beside it; their gold tables are names of its tables."""
        path = self._find_queries(release)
        if path is None:
            release.require(f"{self.path.stem}.queries.jsonl", "queries.jsonl")
            return []
        return queries_of(release, path, split, self.path.stem)

    def _find_queries(self, release: Release) -> Path | None:
        if self._queries is None:
            return release.find(f"{self.path.stem}.queries.jsonl") or release.find("queries.jsonl")
        if not self._queries.is_file():
            raise DataError(f"{self._queries}: there is no such file")
        return self._queries


Found = Iterator[tuple[str, list[str], Iterable[tuple[Any, ...]], dict[str, Any]]]


def _is_duckdb(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(12)[8:] == b"DUCK"


def _sqlite_tables(path: Path) -> Found:
    try:
        with closing(sqlite3.connect(_uri(path), uri=True)) as database:
            database.text_factory = lambda raw: raw.decode("utf-8", "backslashreplace")
            names = database.execute(
                "SELECT name FROM sqlite_master WHERE type = 'table' "
                "AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY name"
            ).fetchall()
            for (name,) in names:
                cursor = database.execute(f"SELECT * FROM {_quoted(name)}")  # noqa: S608 (quoted)
                header = [column[0] for column in cursor.description]
                yield name, header, cursor, _sqlite_keys(database, name)
    except sqlite3.Error as error:
        locked = "locked" in str(error)
        advice = "Close the program that writes it." if locked else "Is it whole, and a database?"
        raise DataError(f"{path}: cannot be read as SQLite: {error}. {advice}") from error


def _uri(path: Path) -> str:
    """Read-only, and without leaving a file beside a database that has a write-ahead log."""
    with path.open("rb") as file:
        has_log = file.read(20)[18:] == b"\x02\x02"
    still = has_log and not path.with_name(f"{path.name}-wal").exists()
    return f"{path.resolve().as_uri()}?mode=ro{'&immutable=1' * still}"


def _sqlite_keys(database: sqlite3.Connection, name: str) -> dict[str, Any]:
    columns = database.execute("SELECT name, pk FROM pragma_table_info(?)", (name,)).fetchall()
    foreign = database.execute(
        'SELECT "from", "table", "to" FROM pragma_foreign_key_list(?)', (name,)
    ).fetchall()
    primary = [column for column, place in sorted(columns, key=lambda c: c[1]) if place]
    return _keys(
        primary, [[column, f"{table}.{to}" if to else table] for column, table, to in foreign]
    )


def _duckdb_tables(path: Path) -> Found:
    import duckdb

    try:
        with duckdb.connect(path, read_only=True) as database:
            names = database.execute(
                "SELECT schema_name, table_name FROM duckdb_tables() "
                "WHERE NOT internal AND database_name = current_database() "
                "ORDER BY schema_name, table_name"
            ).fetchall()
            for schema, name in names:
                table = f"{_quoted(schema)}.{_quoted(name)}"
                cursor = database.cursor().execute(f"SELECT * FROM {table}")  # noqa: S608 (quoted)
                header = [column[0] for column in cursor.description]
                shown = name if schema == "main" else f"{schema}.{name}"
                yield shown, header, _fetched(cursor), _duckdb_keys(database, schema, name)
    except duckdb.Error as error:
        raise DataError(f"{path}: cannot be read as DuckDB: {error}") from error


def _fetched(cursor: Any) -> Iterator[tuple[Any, ...]]:
    while rows := cursor.fetchmany(10_000):
        yield from rows


def _duckdb_keys(database: Any, schema: str, name: str) -> dict[str, Any]:
    found = database.execute(
        "SELECT constraint_type, constraint_column_names, referenced_table, "
        "referenced_column_names FROM duckdb_constraints() "
        "WHERE schema_name = ? AND table_name = ?",
        [schema, name],
    ).fetchall()
    primary = [column for kind, columns, *_ in found if kind == "PRIMARY KEY" for column in columns]
    foreign = [
        [column, f"{table}.{to}"]
        for kind, columns, table, targets in found
        if kind == "FOREIGN KEY"
        for column, to in zip(columns, targets, strict=True)
    ]
    return _keys(primary, foreign)


def _keys(primary: list[str], foreign: list[list[str]]) -> dict[str, Any]:
    keys = {"primary_key": primary, "foreign_keys": foreign}
    return {name: columns for name, columns in keys.items() if columns}


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
