"""An SQLite file of what was recorded once, for several threads and processes."""

import sqlite3
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from threading import Lock
from typing import TypeVar

import portalocker

from target_bench.core.errors import StoreError, reason

T = TypeVar("T")

BUSY = 60.0
"""Seconds to wait for another process that writes."""

JOURNALS = ("-journal", "-wal", "-shm")
"""Ends of the names of SQLite's files beside a file."""

_UNREADABLE = (sqlite3.DatabaseError, UnicodeDecodeError)  # the latter is of an error's own message


class CacheFile:
    """A file that is opened when it is first worked on; a damaged one is moved aside.

    Args:
        path: the file; made if it is not there.
        tables: SQL that begins a transaction and makes its tables in it.
        version: of its layout; a file of another version counts as damaged.
        holds: what it holds, for messages, as ``answers``.
        warn: gets a message about a damaged file.
    """

    def __init__(
        self, path: Path, tables: str, version: int, holds: str, warn: Callable[[str], object]
    ) -> None:
        self._path = path
        self._tables = tables
        self._version = version
        self._holds = holds
        self._warn = warn
        self._lock = Lock()
        self._database: sqlite3.Connection | None = None
        self._inode = 0

    def do(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Return what work on the database gives; done again where a damaged file was replaced.

        Raises:
            StoreError: the file cannot be read or written.
        """
        with self._lock:
            try:
                try:
                    return work(self._opened())
                except _UNREADABLE as error:
                    if not _is_damage(error):
                        raise
                    self._move_aside(error)
                    return work(self._opened())
            except (OSError, sqlite3.Error, portalocker.LockException) as error:
                raise StoreError(
                    f"{self._holds} cannot be recorded in {self._path} ({reason(error)}). Free "
                    "disk space, fix its permissions, name another folder with "
                    "$TARGET_BENCH_CACHE, or do without (cache=false); what was recorded is kept."
                ) from error

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            if self._database is not None:
                self._database.close()

    def _opened(self) -> sqlite3.Connection:
        if self._database is None:
            with self._alone():
                self._inode = self._path.stat().st_ino if self._path.exists() else 0
                self._database = connected(self._path, self._version, self._tables)
                self._inode = self._path.stat().st_ino
        return self._database

    def _alone(self) -> portalocker.Lock:
        """Keep other processes from opening or moving the file."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        lock = self._path.with_name(f"{self._path.name}.lock")
        return portalocker.Lock(lock, timeout=BUSY, check_interval=0.01)

    def _move_aside(self, error: Exception) -> None:
        """Rename the file, unless another process has done so and begun a new one."""
        if self._database is not None:
            self._database.close()
            self._database = None
        with self._alone():
            if self._path.stat().st_ino != self._inode:
                return
            aside = self._path.with_name(f"{self._path.name}.aside-{time.time_ns()}")
            self._path.rename(aside)
            for end in JOURNALS:  # a new file may not be given what was not finished in this one
                with suppress(OSError):
                    self._path.with_name(self._path.name + end).rename(f"{aside}{end}")
        self._warn(
            f"the recorded {self._holds} in {self._path} cannot be used ({error}); the file was "
            f"moved to {aside.name} and a new one begun"
        )


def connected(path: Path, version: int, tables: str | None = None) -> sqlite3.Connection:
    """Open a file.

    Args:
        path: the file.
        version: of the layout.
        tables: SQL that begins a transaction and makes the tables of a new file in it; None to
            read a file that is there.

    Raises:
        sqlite3.Error: it cannot be opened, or is of another version.
    """
    database = sqlite3.connect(
        f"{path.resolve().as_uri()}?mode={'rw' if tables is None else 'rwc'}",
        timeout=BUSY,
        isolation_level=None,
        check_same_thread=False,
        uri=True,
    )
    database.text_factory = _text
    try:
        recorded = database.execute("PRAGMA user_version").fetchone()[0]
        if recorded == 0 and tables is not None:
            database.executescript(f"{tables} PRAGMA user_version = {version}; COMMIT;")
        elif recorded != version:
            raise sqlite3.DatabaseError(f"its layout is version {recorded}, not {version}")
        database.execute("PRAGMA synchronous = NORMAL")
    except BaseException:
        database.close()
        raise
    return database


def _text(raw: bytes) -> str | bytes:
    """Return text; damage may have made it something else than UTF-8."""
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return raw


def _is_damage(error: Exception) -> bool:
    """Return whether the file's content is at fault, not disk, permissions or another process."""
    if isinstance(error, sqlite3.ProgrammingError):
        return False  # the file was closed
    name: str | None = getattr(error, "sqlite_errorname", None)
    if name is None:
        return True  # of another version
    return name.startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB")) or name == "SQLITE_ERROR"
