"""Results of gold statements, computed once: by content of the database, statement and limits.

Each lies in a file of its own: JSON, compressed with a checksum, moved to its place when whole.
"""

import gzip
import hashlib
import json
import re
import sqlite3
import time
import warnings
import zlib
from collections.abc import Callable
from contextlib import suppress
from dataclasses import astuple
from pathlib import Path
from threading import Lock
from typing import Any

from target_bench.core.errors import DataError, StoreError
from target_bench.core.files import atomic_write, cache_root, digest
from target_bench.core.registry import installed_version
from target_bench.core.schema import Executed
from target_bench.sql.engines.databases import Database, database
from target_bench.sql.workers.pool import Pool, Statement

FORMAT = 1
"""The version of the files and of the rules by which cells are read; others are not used."""

_PASSING = {"timeout", "memory", "unusable"}  # outcomes that another day may not have
_MOVING = re.compile(
    r"now|random|current|today|uuid|nextval"
    r"|\b\w*(date|time|day|epoch)\s*\(\s*\)|strftime\s*\([^,()]*\)",
    re.IGNORECASE,
)


def folder() -> Path:
    """Return ``gold`` in the cache folder: $TARGET_BENCH_CACHE, or the user's."""
    return cache_root() / "gold"


class GoldResults:
    """A store of gold results: each statement runs once for a state of its database.

    Run again every time: statements that ask for the time or for chance, those to be repeated
    (their times have to be of today), and those that met a limit of time or memory.

    Args:
        pool: runs what is not recorded.
        folder: where results are kept; default: in the cache folder.
        warn: gets a message for each damaged file, which is moved aside.
    """

    def __init__(
        self,
        pool: Pool,
        folder: Path | None = None,
        warn: Callable[[str], None] = warnings.warn,
    ) -> None:
        self._pool = pool
        self._folder = _default() if folder is None else folder
        self._warn = warn
        self._hashes: dict[Database, str] = {}
        self._locks: dict[str, Lock] = {}

    def execute(self, statement: Statement) -> Executed:
        """Return the result of one statement, run in this thread if it is not recorded.

        ``seconds`` are those of the run that was recorded. A statement whose database cannot be
        read has the outcome ``unusable``. Threads that ask for the same statement at the same time
        run it once.

        Raises:
            ConfigError: as for the pool.
            BudgetError: the pool's budget is spent.
            StoreError: a result cannot be recorded.
        """
        place = self._place(statement)
        if place is None:
            return self._pool.run_here(statement)
        with self._locks.setdefault(str(place), Lock()):
            found = self._recorded(place)
            if found is None:
                found = self._pool.run_here(statement)
                self._record(place, found)
        return found

    def _place(self, statement: Statement) -> Path | None:
        """Return the file of a statement's result, or None if it is not to be kept."""
        if statement.repeat > 1 or _MOVING.search(statement.sql):
            return None
        try:
            where = database(statement.database, statement.engine)
            if where not in self._hashes:
                self._hashes[where] = digest(Path(where.path))
        except (DataError, OSError):  # which the pool will tell
            return None
        engine = sqlite3.sqlite_version if where.engine == "sqlite" else installed_version("duckdb")
        determining = [
            FORMAT,
            self._hashes[where],
            where.engine,
            engine,
            astuple(self._pool.limits),
            statement.sql,
        ]
        key = hashlib.sha256(json.dumps(determining).encode()).hexdigest()
        return self._folder / key[:2] / f"{key}.json.gz"

    def _recorded(self, place: Path | None) -> Executed | None:
        if place is None:
            return None
        try:
            with gzip.open(place, "rt", encoding="utf-8") as file:
                return _executed(json.load(file, object_hook=_bytes))
        except (gzip.BadGzipFile, EOFError, zlib.error, ValueError, KeyError, TypeError) as error:
            aside = place.with_name(f"{place.name}.aside-{time.time_ns()}")
            with suppress(OSError):
                place.rename(aside)
            self._warn(
                f"the recorded result {place} cannot be used ({error}); it was moved to "
                f"{aside.name} and the statement is run again"
            )
            return None
        except OSError:  # most often, there is none; if it is worse, recording it will tell
            return None

    def _record(self, place: Path | None, result: Executed) -> None:
        if place is None or result.outcome in _PASSING or result.message.startswith("the process"):
            return
        text = json.dumps(_record(result), default=_tagged)
        try:
            atomic_write(place, gzip.compress(text.encode(), compresslevel=1), durable=False)
        except OSError as error:
            raise StoreError(
                f"a gold result cannot be recorded in {place.parent}: {error.strerror}. Make room "
                "or fix its permissions, or name another folder with $TARGET_BENCH_CACHE."
            ) from error


_default = folder


def _record(result: Executed) -> dict[str, Any]:
    return {
        "outcome": result.outcome,
        "columns": result.columns,
        "rows": result.rows,
        "message": result.message,
        "seconds": result.seconds,
    }


def _executed(record: dict[str, Any]) -> Executed:
    return Executed(
        outcome=record["outcome"],
        columns=tuple(record["columns"]),
        rows=tuple(map(tuple, record["rows"])),
        message=record["message"],
        seconds=tuple(record["seconds"]),
    )


def _tagged(cell: bytes) -> dict[str, str]:
    return {"hex": cell.hex()}


def _bytes(found: dict[str, Any]) -> Any:
    return bytes.fromhex(found["hex"]) if found.keys() == {"hex"} else found
