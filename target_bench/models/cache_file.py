"""An SQLite file of what was recorded once, for several threads and processes."""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from math import inf
from pathlib import Path
from threading import Lock
from typing import TypeVar

import portalocker

from target_bench.core.errors import StoreError, reason
from target_bench.core.files import exclusive_lock

T = TypeVar("T")

BUSY = 60.0
"""Seconds to wait for another process that writes."""


class CacheFile:
    """A file that is made, or opened, when it is first worked on.

    Args:
        path: the file.
        tables: SQL that begins a transaction and makes the tables of a new file in it.
        version: of its layout; a file of another version is refused.
        holds: what it holds, for messages, as ``answers``.
    """

    def __init__(self, path: Path, tables: str, version: int, holds: str) -> None:
        self._path = path
        self._tables = tables
        self._version = version
        self._holds = holds
        self._lock = Lock()
        self._database: sqlite3.Connection | None = None

    def do(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Return what work on the database gives.

        Raises:
            StoreError: the file is damaged, or cannot be read or written.
        """
        with self._lock:
            try:
                if self._database is None:
                    self._database = self._made()
                return work(self._database)
            except (OSError, sqlite3.Error, UnicodeError, portalocker.LockException) as error:
                raise StoreError(
                    f"{self._holds} cannot be recorded in {self._path} ({reason(error)}). Free "
                    "disk space, fix its permissions, remove the file if it is damaged or of "
                    "another version, name another folder with $TARGET_BENCH_CACHE, or do without "
                    "(cache=false)"
                ) from error

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            if self._database is not None:
                self._database.close()

    def _made(self) -> sqlite3.Connection:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        lock = self._path.with_name(f"{self._path.name}.lock")
        with portalocker.Lock(lock, timeout=BUSY, check_interval=0.01):
            return connected(self._path, self._version, self._tables)


@contextmanager
def claimed(path: Path, holds: str) -> Iterator[None]:
    """Hold a claim, which threads and processes have one after the other.

    The file is there while somebody holds or wants the claim, so that claims of many requests leave
    nothing behind. The system releases what a killed process held.

    Args:
        path: the file of the claim.
        holds: what the cache holds, for messages.

    Raises:
        StoreError: the file cannot be made.
    """
    with ExitStack() as stack:
        try:  # polled, as a wait of the system ends after ten seconds on Windows
            file = stack.enter_context(exclusive_lock(path, patience=inf))
        except OSError as error:
            problem = f"no claim on {holds} can be made at {path} ({reason(error)})"
            raise StoreError(problem) from error
        try:
            yield
        finally:
            with suppress(OSError):  # Windows removes no open file
                path.unlink()
            with suppress(OSError, portalocker.LockException):
                portalocker.unlock(file)  # a forked process may have the file open, too


def connected(path: Path, version: int, tables: str | None = None) -> sqlite3.Connection:
    """Open a file.

    Args:
        path: the file.
        version: of the layout.
        tables: as of ``CacheFile``; None to open only a file that is there.

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
    database.text_factory = lambda raw: raw.decode("utf-8", "replace")  # damage may leave any bytes
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
