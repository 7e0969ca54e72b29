"""Database files: which engine runs one, what a SQLite file declares, opening it for reading."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, NamedTuple

from target_bench.core.errors import DataError

EngineName = Literal["sqlite", "duckdb"]

Kind = Literal["int", "real", "bool", "text", "any"]
"""``bool`` is SQLite's 0 or 1 where DuckDB has a truth value; ``any`` is not known."""

SYSTEM = "sqlite_"
"""Prefix of SQLite's internal tables."""

Declared = tuple[
    str, str, tuple[str, ...], tuple[str, ...], tuple[str, ...], tuple[tuple[str, str], ...], str
]
"""Name, source, header, types, primary key, foreign keys and statement of a table."""


class Database(NamedTuple):
    """A database file in one state: a file that changed is another database."""

    path: str  # absolute
    engine: EngineName
    state: tuple[int, ...]  # device, inode, bytes and time of change


def database(path: Path) -> Database:
    """Return the database in a file, whose first bytes show the engine.

    Raises:
        DataError: there is no such file, it cannot be read, or it is of neither engine.
    """
    try:
        status = path.stat()
    except OSError as error:
        raise DataError(
            f"database {path}: {error.strerror}. Put it there, or leave its queries out."
        ) from error
    state = (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns)
    absolute = str(path.absolute())
    return Database(absolute, _read_engine(absolute, state), state)


def find_engine(file: Path | None) -> EngineName | None:
    """Return the engine of a database; None where there is no file, or it is of neither engine."""
    try:
        return None if file is None else database(file).engine
    except DataError:
        return None


@lru_cache(maxsize=4096)
def _read_engine(path: str, state: tuple[int, ...]) -> EngineName:  # noqa: ARG001 (part of the key)
    try:
        with Path(path).open("rb") as file:
            first = file.read(16)
    except OSError as error:
        raise DataError(f"database {path} cannot be read: {error.strerror}") from error
    if first == b"SQLite format 3\0":
        return "sqlite"
    if first[8:12] == b"DUCK":
        return "duckdb"
    what = "begins neither as SQLite nor as DuckDB does" if first else "is an empty file"
    raise DataError(f"database {path} {what}. Fetch or copy it again.")


@contextmanager
def open_sqlite(path: Path) -> Iterator[sqlite3.Connection]:
    """Open the database, read-only; bytes that are not UTF-8 read as escapes.

    Raises:
        DataError: there is no such file, it is not a whole database, or another program writes it.
    """
    if not path.is_file():
        raise DataError(f"{path}: there is no such file")
    try:
        with closing(sqlite3.connect(_make_uri(path), uri=True)) as database:
            database.text_factory = lambda raw: raw.decode("utf-8", "backslashreplace")
            yield database
    except sqlite3.Error as error:
        locked = "locked" in str(error)
        advice = "Close the program that writes it." if locked else "Is it whole, and a database?"
        raise DataError(f"{path}: cannot be read as SQLite: {error}. {advice}") from error


def _make_uri(path: Path) -> str:
    try:
        with path.open("rb") as file:
            head = file.read(20)
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror}") from error
    # A database with a write-ahead log is opened so that no file is left beside it.
    is_still = head[18:] == b"\x02\x02" and not path.with_name(f"{path.name}-wal").exists()
    return f"{path.resolve().as_uri()}?mode=ro{'&immutable=1' if is_still else ''}"


def base_tables(database: sqlite3.Connection, kind: str = "table") -> list[str]:
    """Return the names of the base tables (or views, as ``kind``), in the order of the schema."""
    rows = database.execute("SELECT name FROM sqlite_master WHERE type = ? ORDER BY rowid", (kind,))
    return [name for (name,) in rows if not name.lower().startswith(SYSTEM)]


def columns(database: sqlite3.Connection) -> dict[str, dict[str, str]]:
    """Return table or view -> column -> declared type (empty where none is declared).

    A view of a table that is gone has no columns.
    """
    named = "SELECT name, type FROM pragma_table_xinfo(?) WHERE hidden <> 1"
    types = {
        table: dict(database.execute(named, (table,)).fetchall()) for table in base_tables(database)
    }
    for view in base_tables(database, "view"):
        try:
            types[view] = dict(database.execute(named, (view,)).fetchall())
        except sqlite3.OperationalError:
            types[view] = {}
    return types


def declared_tables(database: sqlite3.Connection) -> Iterator[Declared]:
    """Yield the base tables of a SQLite database, in the order of their names."""
    tables = database.execute(
        "SELECT name, sql FROM sqlite_master WHERE type = 'table' "
        "AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY name"
    ).fetchall()
    for name, schema in tables:
        columns = database.execute(
            "SELECT name, type, pk FROM pragma_table_info(?)", (name,)
        ).fetchall()
        types = {column: kind for column, kind, _ in columns}
        header = _read_header(database, f"{quote(name)} NOT INDEXED")
        foreign = database.execute(
            'SELECT "from", "table", "to" FROM pragma_foreign_key_list(?)', (name,)
        ).fetchall()
        yield (
            name,
            f"{quote(name)} NOT INDEXED",  # the rows as they are stored, not as an index has them
            header,
            tuple(types.get(column, "") for column in header),
            tuple(column for column, _, place in sorted(columns, key=lambda c: c[2]) if place),
            tuple((column, f"{table}.{to}" if to else table) for column, table, to in foreign),
            schema or "",
        )


def _read_header(database: Any, source: str) -> tuple[str, ...]:
    cursor = database.execute(f"SELECT * FROM {source} LIMIT 0")  # noqa: S608 (quoted)
    return tuple(column[0] for column in cursor.description)


def quote(name: str) -> str:
    """Return an identifier in double quotes, as SQLite and DuckDB read it."""
    return '"' + name.replace('"', '""') + '"'


def classify_type(name: str) -> Kind:
    """Return the kind of values of a type of DuckDB's, or one declared in SQLite."""
    name = name.upper()
    words: tuple[tuple[Kind, tuple[str, ...]], ...] = (
        ("int", ("INT",)),
        ("text", ("CHAR", "TEXT", "CLOB", "DATE", "TIME")),
        ("real", ("REAL", "DOUB", "FLOA", "DEC", "NUM")),
        ("bool", ("BOOL",)),
    )
    return next((kind for kind, parts in words if any(part in name for part in parts)), "any")
