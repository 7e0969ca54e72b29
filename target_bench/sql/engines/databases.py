"""Database files and their engines."""

from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from target_bench.core.errors import DataError
from target_bench.sql.engines.base import EngineName


class Database(NamedTuple):
    """A database file in one state: a file that changed is another database.

    Attributes:
        path: absolute.
        engine: what runs it.
        state: device, inode, bytes and time of change.
    """

    path: str
    engine: EngineName
    state: tuple[int, ...]


def database(path: Path, engine: EngineName | None = None) -> Database:
    """Return the database in a file; its first bytes show the engine, unless it is named.

    Raises:
        DataError: there is no such file, it cannot be read, or it is of neither engine.
    """
    try:
        found = path.stat()
    except OSError as error:
        raise DataError(
            f"database {path}: {error.strerror}. Put it there, or leave its queries out."
        ) from error
    state = (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns)
    absolute = str(path.absolute())
    return Database(absolute, engine or _engine(absolute, state), state)


def ran_in(asked: str, files: Iterable[Path | None]) -> str:
    """Return the engines that statements on these files run in; several with ``+``.

    Args:
        asked: ``duckdb`` for DuckDB with any file, ``sqlite`` for that of the file.
        files: database files; None and what cannot be read tell nothing.
    """
    found = {engine_of(asked, file) for file in set(files)}
    return named(asked, found)


def engine_of(asked: str, file: Path | None) -> EngineName | None:
    """Return the engine that statements on a file run in; None without a database file.

    Args:
        asked: as for ``ran_in``.
        file: a database file, or None for a missing one.
    """
    if file is None:
        return None
    try:
        return "duckdb" if asked == "duckdb" else database(file).engine
    except DataError:
        return None


def named(asked: str, engines: Iterable[str | None]) -> str:
    """Return the engines that ran, several joined with ``+``; by default the one asked for."""
    return "+".join(sorted({engine for engine in engines if engine is not None})) or asked


@lru_cache(maxsize=4096)
def _engine(path: str, state: tuple[int, ...]) -> EngineName:  # noqa: ARG001 (part of the key)
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
