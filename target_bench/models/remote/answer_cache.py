"""The cache of answers: a request that was answered once is never sent again.

One SQLite file, shared by all runs, processes and threads. A key is a hash of everything that
determines an answer; neither prompts nor API keys are stored. Every row has a seal over key and
answer; a row that is not what was recorded is removed, and the request is sent again.
"""

import hashlib
import json
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, nullcontext, suppress
from dataclasses import astuple, dataclass
from pathlib import Path
from threading import Lock
from typing import Any, TypeVar

import portalocker

from target_bench.core import cache_use
from target_bench.core.errors import StoreError, reason
from target_bench.core.files import cache_root, seal_of

T = TypeVar("T")

FORMAT = 2
"""The version of the file's layout; a file of another version is moved aside."""

_KEYS = 1  # the version of the keys: another one would ask everything again
_BUSY = 60.0  # seconds to wait for another process that writes
_COLUMNS = "text, finish_reason, input_tokens, output_tokens"
_ROW = f"SELECT {_COLUMNS}, seal FROM answers WHERE key = ?"  # noqa: S608 (our own words)
_INSERT = "INSERT OR IGNORE INTO answers VALUES (?, ?, ?, ?, ?, ?, ?)"
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
class ModelReply:
    """Reply of a model.

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
    try:
        database = _connected(file(), "ro")
    except sqlite3.Error:
        database = None
    seen: set[str] = set()
    with nullcontext() if database is None else closing(database):
        for request in requests:
            name = key(request)
            if name not in seen and not _is_recorded(database, name):
                yield request
            seen.add(name)


def _is_recorded(database: sqlite3.Connection | None, key: str) -> bool:
    try:
        row = database.execute(_ROW, (key,)).fetchone() if database else None
    except sqlite3.Error:
        return False
    return row is not None and _is_whole(key, row)


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
        self._database: sqlite3.Connection | None = None
        self._file = 0
        self._do(lambda database: database.execute(_ROW, ("",)).fetchone())

    def get(self, key: str) -> ModelReply | None:
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
        return ModelReply(*row[:-1])

    def put(self, key: str, answer: ModelReply) -> None:
        """Record an answer; the first one for a key stays.

        Raises:
            StoreError: there is no room, or the file cannot be written.
        """
        values = astuple(answer)
        created = time.strftime("%Y-%m-%dT%H:%M:%S%z")
        row = (key, *values, created, seal_of([key, *values]))
        cache_use.made(cache_use.ANSWERS, [key])
        self._do(lambda database: database.execute(_INSERT, row))

    def __len__(self) -> int:
        row = self._do(lambda database: database.execute("SELECT count(*) FROM answers").fetchone())
        return int(row[0])

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            if self._database is not None:
                self._database.close()

    def _do(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Work on the file; a damaged one is moved aside, and a new one begun."""
        with self._lock:
            try:
                try:
                    return work(self._opened())
                except sqlite3.DatabaseError as error:
                    if not is_damage(error):
                        raise
                    self._move_aside(error)
                    return work(self._opened())
            except (OSError, sqlite3.Error, portalocker.LockException) as error:
                raise StoreError(
                    f"answers cannot be recorded in {self._path}: {reason(error)}. Free disk "
                    "space, fix its permissions, name another folder with $TARGET_BENCH_CACHE, or "
                    "pass cache=false to the generator."
                ) from error

    def _opened(self) -> sqlite3.Connection:
        if self._database is None:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with self._alone():
                self._file = self._path.stat().st_ino if self._path.exists() else 0
                self._database = _connected(self._path, "rwc")
                self._file = self._path.stat().st_ino
        return self._database

    def _alone(self) -> portalocker.Lock:
        """Keep other processes from opening or moving the file."""
        return portalocker.Lock(self._path.with_name(f"{self._path.name}.lock"), timeout=_BUSY)

    def _move_aside(self, error: Exception) -> None:
        """Rename the file, unless another process has done so and begun a new one."""
        if self._database is not None:
            self._database.close()
            self._database = None
        with self._alone():
            if self._path.stat().st_ino != self._file:
                return
            aside = self._path.with_name(f"{self._path.name}.aside-{time.time_ns()}")
            self._path.rename(aside)
            for end in ("-wal", "-shm"):
                with suppress(OSError):
                    self._path.with_name(self._path.name + end).rename(f"{aside}{end}")
        self._warn(
            f"the recorded answers in {self._path} cannot be used ({error}); the file was moved to "
            f"{aside.name} and a new one begun"
        )


def _connected(path: Path, mode: str) -> sqlite3.Connection:
    """Open the file, and see that it is one of answers; ``mode`` is that of SQLite's addresses.

    Raises:
        sqlite3.Error: it cannot be opened, or holds something else.
    """
    address = f"{path.resolve().as_uri()}?mode={mode}"
    database = sqlite3.connect(
        address, timeout=_BUSY, isolation_level=None, check_same_thread=False, uri=True
    )
    database.text_factory = _text
    try:
        version = database.execute("PRAGMA user_version").fetchone()[0]
        if version == 0 and mode == "rwc":
            database.execute("PRAGMA journal_mode = WAL").fetchone()
            database.executescript(_TABLE)
        elif version != FORMAT:
            raise sqlite3.DatabaseError(f"its layout is version {version}, not {FORMAT}")
        database.execute("PRAGMA synchronous = NORMAL")
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
        return True  # raised by _connected
    return name.startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB")) or name == "SQLITE_ERROR"
