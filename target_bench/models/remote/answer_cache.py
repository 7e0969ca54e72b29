"""The cache of answers: a request that was answered once is never sent again.

One SQLite file, shared by all runs, processes and threads. A key is a hash of everything that
determines an answer; neither prompts nor API keys are stored. Every row has a seal over key and
answer; a row that is not what was recorded is removed, and the request is sent again.
"""

import hashlib
import json
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import astuple, dataclass
from pathlib import Path
from threading import Lock
from typing import Any, TypeVar

import portalocker

from target_bench.core import cache_use
from target_bench.core.errors import StoreError
from target_bench.core.files import cache_root, seal_of

T = TypeVar("T")

FORMAT = 2
"""The version of the file's layout; a file of another version is moved aside."""

_KEYS = 1  # the version of the keys: another one would ask everything again
_BUSY = 60.0  # seconds to wait for another process that writes
_COLUMNS = "text, finish_reason, input_tokens, output_tokens"
_ROW = f"SELECT {_COLUMNS}, seal FROM answers WHERE key = ?"  # noqa: S608 (our own words)
_TABLE = f"""
    CREATE TABLE IF NOT EXISTS answers (
        key TEXT PRIMARY KEY,
        text TEXT NOT NULL,
        finish_reason TEXT,
        input_tokens INTEGER,
        output_tokens INTEGER,
        created TEXT NOT NULL,
        seal TEXT
    ) WITHOUT ROWID;
    PRAGMA user_version = {FORMAT};
"""


@dataclass(frozen=True, slots=True)
class Answer:
    """Answer of a model.

    Attributes:
        text: the answer.
        finish_reason: why it ended, as the provider calls it.
        input_tokens: tokens of the prompt, where the provider counts them.
        output_tokens: tokens of the answer, where the provider counts them.
    """

    text: str
    finish_reason: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None


def storable(text: str) -> str:
    """Return the text with ``?`` for half a character, which cannot be stored."""
    return text.encode("utf-8", "replace").decode()


def storable_count(value: object) -> int | None:
    """Return a value as a count if it is one that can be stored."""
    return value if type(value) is int and 0 <= value < 2**63 else None


def file() -> Path:
    """Return ``responses.sqlite`` in the cache folder: $TARGET_BENCH_CACHE, or the user's."""
    return cache_root() / "responses.sqlite"


def request_key(provider: str, base_url: str, body: Mapping[str, Any]) -> str:
    """Return the hash of a request: provider, address and all that is sent but the API key."""
    whole = json.dumps([_KEYS, provider, base_url, body], sort_keys=True, default=str)
    return hashlib.sha256(whole.encode()).hexdigest()


def unrecorded(requests: Iterable[T], key: Callable[[T], str]) -> Iterator[T]:
    """Return the requests whose answers are not recorded; ``key`` gives a request's key.

    Nothing is changed: a file that cannot be read holds no answer here, and whoever records answers
    in it gets the error. Of equal requests the first counts.
    """
    seen: set[str] = set()
    with _as_it_stands() as database:
        for request in requests:
            wanted = key(request)
            if wanted not in seen and not _is_recorded(database, wanted):
                yield request
            seen.add(wanted)


@contextmanager
def _as_it_stands() -> Iterator[sqlite3.Connection | None]:
    """Open the file, read-only; None if it is not there or cannot be used."""
    try:
        database = sqlite3.connect(f"{file().resolve().as_uri()}?mode=ro", _BUSY, uri=True)
    except sqlite3.Error:
        yield None
        return
    database.text_factory = _text
    with closing(database):
        yield database if _found(database, "PRAGMA user_version") == (FORMAT,) else None


def _is_recorded(database: sqlite3.Connection | None, key: str) -> bool:
    if database is None:
        return False
    row = _found(database, _ROW, key)
    return row is not None and _is_whole(key, row)


def _found(database: sqlite3.Connection, query: str, *values: str) -> tuple[Any, ...] | None:
    """Return the first row; None if there is none, or none can be read."""
    try:
        row: tuple[Any, ...] | None = database.execute(query, values).fetchone()
    except sqlite3.Error:
        return None
    return row


class AnswerCache:
    """The answers recorded so far; safe for several threads and processes.

    Args:
        path: the file; made if it is not there.
        warn: gets a message about a damaged file, which is moved aside.

    Raises:
        StoreError: the file cannot be made or opened.
    """

    def __init__(self, path: Path, warn: Callable[[str], None]) -> None:
        self._path = path
        self._warn = warn
        self._lock = Lock()
        with self._lock:
            self._database = self._mended(None)

    def get(self, key: str) -> Answer | None:
        """Return the recorded answer; one that is not what was recorded is removed.

        Raises:
            StoreError: the file cannot be read.
        """
        row = self._do(lambda database: database.execute(_ROW, (key,)).fetchone())
        if row is None:
            return None
        if not _is_whole(key, row):
            self._do(lambda database: database.execute("DELETE FROM answers WHERE key = ?", (key,)))
            self._warn(
                f"an answer recorded in {self._path} is damaged; it was removed and the request is "
                "sent again"
            )
            return None
        cache_use.found(cache_use.ANSWERS, cache_use.ANSWERS, [key])
        return Answer(*row[:-1])

    def put(self, key: str, answer: Answer) -> None:
        """Record an answer; the first one for a key stays.

        Raises:
            StoreError: there is no room, or the file cannot be written.
        """
        self.put_many([(key, answer)])

    def put_many(self, answers: Sequence[tuple[str, Answer]]) -> None:
        """Record answers under their keys, all or none; the first one for a key stays.

        Raises:
            StoreError: there is no room, or the file cannot be written.
        """
        created = time.strftime("%Y-%m-%dT%H:%M:%S%z")
        rows = [
            (key, *(row := astuple(answer)), created, seal_of([key, *row]))
            for key, answer in answers
        ]
        cache_use.made(cache_use.ANSWERS, [key for key, _ in answers])

        def write(database: sqlite3.Connection) -> None:
            with database:
                database.execute("BEGIN IMMEDIATE")
                database.executemany(
                    "INSERT OR IGNORE INTO answers VALUES (?, ?, ?, ?, ?, ?, ?)", rows
                )

        self._do(write)

    def __len__(self) -> int:
        row = self._do(lambda database: database.execute("SELECT count(*) FROM answers").fetchone())
        return int(row[0])

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._database.close()

    def _do(self, work: Callable[[sqlite3.Connection], T]) -> T:
        with self._lock:
            try:
                try:
                    return work(self._database)
                except sqlite3.DatabaseError as error:
                    if not is_damage(error):
                        raise
                    self._database = self._mended(self._database)
                    return work(self._database)
            except sqlite3.Error as error:
                raise self._unusable(error) from error

    def _mended(self, damaged: sqlite3.Connection | None) -> sqlite3.Connection:
        """Return the open file; one that is damaged or of another version is moved aside first."""
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            lock = self._path.with_name(f"{self._path.name}.lock")
            with portalocker.Lock(lock, timeout=_BUSY):
                return self._opened_or_replaced(damaged)
        except (OSError, sqlite3.Error, portalocker.LockException) as error:
            raise self._unusable(error) from error

    def _opened_or_replaced(self, damaged: sqlite3.Connection | None) -> sqlite3.Connection:
        if damaged is not None:
            damaged.close()
        try:
            return _opened(self._path, thoroughly=damaged is not None)
        except sqlite3.DatabaseError as error:
            if not is_damage(error):
                raise
            aside = self._path.with_name(f"{self._path.name}.aside-{time.time_ns()}")
            self._path.rename(aside)
            for end in ("-wal", "-shm"):
                with suppress(OSError):
                    self._path.with_name(self._path.name + end).rename(f"{aside}{end}")
            self._warn(
                f"the recorded answers in {self._path} cannot be used ({error}); the file was "
                f"moved to {aside.name} and a new one begun"
            )
            return _opened(self._path, thoroughly=False)

    def _unusable(self, error: Exception) -> StoreError:
        return StoreError(
            f"answers cannot be recorded in {self._path}: {error}. Free disk space, fix its "
            "permissions, name another folder with $TARGET_BENCH_CACHE, or pass cache=false to the "
            "generator."
        )


def _opened(path: Path, thoroughly: bool) -> sqlite3.Connection:
    database = sqlite3.connect(path, timeout=_BUSY, isolation_level=None, check_same_thread=False)
    database.text_factory = _text
    try:
        database.execute("PRAGMA journal_mode = WAL").fetchone()
        database.execute("PRAGMA synchronous = NORMAL")
        version = database.execute("PRAGMA user_version").fetchone()[0]
        if version not in (0, FORMAT):
            raise sqlite3.DatabaseError(f"its layout is version {version}, not {FORMAT}")
        if version == 0:
            database.executescript(_TABLE)
        if thoroughly:
            found = database.execute("PRAGMA quick_check(1)").fetchone()[0]
            if found != "ok":
                raise sqlite3.DatabaseError(str(found))
        database.execute(f"SELECT key, {_COLUMNS}, created FROM answers LIMIT 1").fetchone()  # noqa: S608 (our own words)
    except BaseException:
        database.close()
        raise
    return database


def _is_whole(key: str, row: tuple[Any, ...]) -> bool:
    """Return whether a row is what was recorded; a damaged one may hold values of other types."""
    if any(isinstance(value, bytes) for value in row):  # text that is no UTF-8
        return False
    *answer, seal = row
    return bool(seal == seal_of([key, *answer]))


def _text(raw: bytes) -> str | bytes:
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return raw


def is_damage(error: Exception) -> bool:
    """Return whether the file's content is at fault, not disk, permissions or another process."""
    if isinstance(error, sqlite3.ProgrammingError):
        return False  # the file was closed
    name: str | None = getattr(error, "sqlite_errorname", None)
    if name is None:
        return True  # raised by _opened
    return name.startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB")) or name == "SQLITE_ERROR"
