"""What cost time or money, recorded in an SQLite file for several threads and processes."""

import hashlib
import json
import sqlite3
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from math import inf
from pathlib import Path
from threading import RLock
from typing import Any, NamedTuple, TypeVar

import portalocker

from target_bench.core import cache_use
from target_bench.core.errors import StoreError, reason
from target_bench.core.files import cache_root, exclusive_lock

T = TypeVar("T")

LAYOUT = 4
"""The version of the file's layout; a file of another version is refused."""

_KEYS = 1  # the version of the keys of answers: another one would ask everything again
_BUSY = 60.0  # seconds to wait for another process that writes
_AT_ONCE = 500  # keys in a statement; SQLite allows at least 999


class Cache:
    """Key -> value, both bytes. A damaged row counts as not recorded.

        cache = Cache(cache_root() / "answers.sqlite", "answers")
        cache.put({b"key": b"value"})
        cache.get(b"key")  # b"value"

    Every method raises ``StoreError`` where the file cannot be read or written.

    Args:
        path: the file; made when the first value is recorded.
        holds: what it holds, for messages, as ``answers``.
        wal: write ahead, which is fast for many small values; not for drives that several machines
            share.
    """

    def __init__(self, path: Path, holds: str, *, wal: bool = False) -> None:
        self.path = path
        self._holds = holds
        self._wal = wal
        # re-entrant: a thread that reads from ``get_many`` may call ``put`` or ``close`` meanwhile
        self._lock = RLock()
        self._database: sqlite3.Connection | None = None

    def get(self, key: bytes) -> bytes | None:
        """Return the recorded value."""
        return dict(self.get_many([key])).get(key)

    def get_many(self, keys: Sequence[bytes]) -> Iterator[tuple[bytes, bytes]]:
        """Yield the keys that are recorded with their values, in any order."""
        if self._database is None and not self.path.exists():
            return
        with self._connected() as database:
            for start in range(0, len(keys), _AT_ONCE):
                some = keys[start : start + _AT_ONCE]
                marks = ",".join("?" * len(some))
                query = f"SELECT key, value, crc FROM cache WHERE key IN ({marks})"  # noqa: S608 (only marks)
                for key, value, crc in database.execute(query, some):
                    if type(value) is bytes and crc == zlib.crc32(key + value):
                        yield key, value

    def put(self, values: Mapping[bytes, bytes]) -> None:
        """Record values, all or none; without any, see that the file can be written."""
        rows = [(key, value, zlib.crc32(key + value)) for key, value in values.items()]
        with self._connected() as database, database:  # commits, or rolls back
            database.execute("BEGIN IMMEDIATE")
            database.executemany("INSERT OR REPLACE INTO cache VALUES (?, ?, ?)", rows)

    @contextmanager
    def claim(self, name: str) -> Iterator[None]:
        """Hold the right to compute something; who else wants it waits, in any process.

        The claim is a lock on a file, which is there only while somebody holds or wants it, so that
        claims of many requests leave nothing behind. The system releases the claim of a process
        that is killed.
        """
        path = self.path.with_suffix(".claims") / f"{name}.lock"
        with ExitStack() as stack:
            try:  # polled, as a wait of the system ends after ten seconds on Windows
                file = stack.enter_context(exclusive_lock(path, patience=inf))
            except OSError as error:
                problem = f"no claim on {self._holds} can be made at {path} ({reason(error)})"
                raise StoreError(problem) from error
            try:
                yield
            finally:
                with suppress(OSError):  # Windows removes no open file
                    path.unlink()
                with suppress(OSError, portalocker.LockException):
                    portalocker.unlock(file)  # a forked process may have the file open, too

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            if self._database is not None:
                self._database.close()
                self._database = None

    @contextmanager
    def _connected(self) -> Iterator[sqlite3.Connection]:
        with self._lock:
            try:
                if self._database is None:
                    self._database = self._open()
                yield self._database
            except (OSError, sqlite3.Error, UnicodeError, portalocker.LockException) as error:
                raise StoreError(
                    f"{self._holds} cannot be recorded in {self.path} ({reason(error)}). Free "
                    "disk space, fix its permissions, remove the file if it is damaged or of "
                    "another version, name another folder with $TARGET_BENCH_CACHE, or do without "
                    "(cache=false)"
                ) from error

    def _open(self) -> sqlite3.Connection:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        lock = self.path.with_name(f"{self.path.name}.lock")
        with portalocker.Lock(lock, timeout=_BUSY, check_interval=0.01):
            database = sqlite3.connect(
                self.path, timeout=_BUSY, isolation_level=None, check_same_thread=False
            )
            try:
                version = database.execute("PRAGMA user_version").fetchone()[0]
                if version == 0:
                    database.executescript(
                        f"PRAGMA journal_mode = {'WAL' if self._wal else 'DELETE'}; BEGIN;"
                        "CREATE TABLE cache (key BLOB PRIMARY KEY, value BLOB, crc INTEGER);"
                        f"PRAGMA user_version = {LAYOUT}; COMMIT;"
                    )
                elif version != LAYOUT:
                    raise sqlite3.DatabaseError(f"its layout is version {version}, not {LAYOUT}")
                database.execute("PRAGMA synchronous = NORMAL")
            except BaseException:
                database.close()
                raise
        return database


class ModelReply(NamedTuple):
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


class AnswerCache(Cache):
    """The answers of models: a request that was answered once is never sent again.

    A key is a hash of everything that determines an answer; neither prompts nor API keys are
    stored. The file is ``answers.sqlite`` in $TARGET_BENCH_CACHE, or in the user's cache.
    """

    def __init__(self) -> None:
        super().__init__(cache_root() / "answers.sqlite", "answers", wal=True)

    def get_reply(self, key: str) -> ModelReply | None:
        """Return the recorded answer, and note that it was read."""
        value = self.get(key.encode())
        if value is None:
            return None
        cache_use.record_reads(cache_use.ANSWERS, cache_use.ANSWERS, [key])
        return ModelReply(*json.loads(value))

    def put_reply(self, key: str, reply: ModelReply) -> None:
        """Record an answer."""
        cache_use.record_computed(cache_use.ANSWERS, [key])
        # A lone surrogate is not UTF-8; written with a backslash it is what JSON has for it.
        text = json.dumps(reply, ensure_ascii=False)
        self.put({key.encode(): text.encode("utf-8", "backslashreplace")})


def request_key(provider: str, base_url: str, body: Mapping[str, Any]) -> str:
    """Hash a request: provider, address and all that is sent but the API key."""
    whole = json.dumps([_KEYS, provider, base_url, body], sort_keys=True, default=str)
    return hashlib.sha256(whole.encode()).hexdigest()


def select_unrecorded(requests: Iterable[T], make_key: Callable[[T], str]) -> Iterator[T]:
    """Yield the requests whose answers are not recorded, the first of equal ones."""
    with closing(AnswerCache()) as cache:
        seen: set[str] = set()
        for request in requests:
            key = make_key(request)
            if key not in seen and cache.get(key.encode()) is None:
                yield request
            seen.add(key)
