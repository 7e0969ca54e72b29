"""SQLite files opened for reading, and what their schema says."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from target_bench.core.errors import DataError

SYSTEM = "sqlite_"
"""How the names of SQLite's own tables begin."""


@contextmanager
def opened(path: Path) -> Iterator[sqlite3.Connection]:
    """Open the database, read-only; bytes that are not UTF-8 read as escapes.

    Raises:
        DataError: there is no such file, it is not a whole database, or another program writes it.
    """
    if not path.is_file():
        raise DataError(f"{path}: there is no such file")
    try:
        with closing(sqlite3.connect(_uri(path), uri=True)) as database:
            database.text_factory = lambda raw: raw.decode("utf-8", "backslashreplace")
            yield database
    except sqlite3.Error as error:
        locked = "locked" in str(error)
        advice = "Close the program that writes it." if locked else "Is it whole, and a database?"
        raise DataError(f"{path}: cannot be read as SQLite: {error}. {advice}") from error


def _check_whole(path: Path, head: bytes) -> None:
    """Refuse a file that is shorter than its own header says (a download that broke off).

    The number of pages counts only if the last program that wrote the file kept it up to date
    (SQLite's file format, section 1.3.7).
    """
    if len(head) < 100 or not head.startswith(b"SQLite format 3\0") or head[24:28] != head[92:96]:
        return
    page = int.from_bytes(head[16:18], "big")
    if page & (page - 1):  # no power of two: not SQLite's
        return
    wanted = (65536 if page == 1 else page) * int.from_bytes(head[28:32], "big")
    there = path.stat().st_size
    if there < wanted and not _log(path).exists():
        raise DataError(
            f"{path}: cannot be read as SQLite: it is truncated: {there:,} of {wanted:,} bytes. "
            "Copy or download it again, or move it away."
        )


def _log(path: Path) -> Path:
    return path.with_name(f"{path.name}-wal")


def _uri(path: Path) -> str:
    """Return the address that opens it read-only.

    No file is left beside a database that has a write-ahead log.
    """
    try:
        with path.open("rb") as file:
            head = file.read(100)
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror}") from error
    _check_whole(path, head)
    has_log = head[18:20] == b"\x02\x02"
    still = has_log and not _log(path).exists()
    return f"{path.resolve().as_uri()}?mode=ro{'&immutable=1' * still}"


def base_tables(database: sqlite3.Connection) -> list[str]:
    """Return the names of the base tables, in the order of the schema."""
    return _names(database, "table")


def views(database: sqlite3.Connection) -> list[str]:
    """Return the names of the views, in the order of the schema."""
    return _names(database, "view")


def _names(database: sqlite3.Connection, kind: str) -> list[str]:
    found = database.execute(
        "SELECT name FROM sqlite_master WHERE type = ? ORDER BY rowid", (kind,)
    )
    return [name for (name,) in found if not name.lower().startswith(SYSTEM)]


def columns(database: sqlite3.Connection) -> dict[str, dict[str, str]]:
    """Return table or view -> column -> declared type (empty where none is declared).

    A view of a table that is gone has no columns.
    """
    named = "SELECT name, type FROM pragma_table_xinfo(?) WHERE hidden <> 1"
    found = {
        table: dict(database.execute(named, (table,)).fetchall()) for table in base_tables(database)
    }
    for view in views(database):
        try:
            found[view] = dict(database.execute(named, (view,)).fetchall())
        except sqlite3.OperationalError:
            found[view] = {}
    return found


def quoted(name: str) -> str:
    """Return an identifier in double quotes, as SQLite and DuckDB read it."""
    return '"' + name.replace('"', '""') + '"'
