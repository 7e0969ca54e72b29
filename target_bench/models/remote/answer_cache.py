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
from contextlib import closing, nullcontext
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any, TypeVar

from target_bench.core import cache_use
from target_bench.core.files import cache_root, seal_of
from target_bench.models.cache_file import CacheFile, connected

T = TypeVar("T")

FORMAT = 2
"""The version of the file's layout; a file of another version is moved aside."""

_KEYS = 1  # the version of the keys: another one would ask everything again
_COLUMNS = "text, finish_reason, input_tokens, output_tokens"
_ROW = f"SELECT {_COLUMNS}, seal FROM answers WHERE key = ?"  # noqa: S608 (our own words)
_DELETE = "DELETE FROM answers WHERE key = ?"
_INSERT = "INSERT OR IGNORE INTO answers VALUES (?, ?, ?, ?, ?, ?, ?)"
_TABLE = """
    PRAGMA journal_mode = WAL;  -- for many small writes; not for drives of several machines
    BEGIN;
    CREATE TABLE answers (
        key TEXT PRIMARY KEY,
        text TEXT NOT NULL,
        finish_reason TEXT,
        input_tokens INTEGER,
        output_tokens INTEGER,
        created TEXT NOT NULL,
        seal TEXT
    ) WITHOUT ROWID;
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
        database = connected(file(), FORMAT)
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

    def __init__(self, path: Path, warn: Callable[[str], object]) -> None:
        self._path = path
        self._warn = warn
        self._file = CacheFile(path, _TABLE, FORMAT, "answers", warn)
        self._file.do(lambda database: database.execute(_ROW, ("",)).fetchone())

    def get(self, key: str) -> ModelReply | None:
        """Return the recorded answer; one that is not what was recorded is removed.

        Raises:
            StoreError: the file cannot be read.
        """
        row = self._file.do(lambda database: database.execute(_ROW, (key,)).fetchone())
        if row is None:
            return None
        if not _is_whole(key, row):
            self._file.do(
                lambda database: database.execute("DELETE FROM answers WHERE key = ?", (key,))
            )
            self._warn(
                f"an answer recorded in {self._path} is damaged; it was removed and the request is "
                "sent again"
            )
            return None
        cache_use.record_reads(cache_use.ANSWERS, cache_use.ANSWERS, [key])
        return ModelReply(*row[:-1])

    def put(self, key: str, answer: ModelReply) -> None:
        """Record an answer; the first one for a key stays.

        Raises:
            StoreError: there is no room, or the file cannot be written.
        """
        values = astuple(answer)
        created = time.strftime("%Y-%m-%dT%H:%M:%S%z")
        row = (key, *values, created, seal_of([key, *values]))
        cache_use.record_computed(cache_use.ANSWERS, [key])
        self._file.do(lambda database: database.execute(_INSERT, row))

    def __len__(self) -> int:
        row = self._file.do(
            lambda database: database.execute("SELECT count(*) FROM answers").fetchone()
        )
        return int(row[0])

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def _is_whole(key: str, row: tuple[Any, ...]) -> bool:
    """Return whether a row is what was recorded; a damaged one may hold values of other types."""
    if any(isinstance(value, bytes) for value in row):  # text that is no UTF-8
        return False
    *answer, seal = row
    return bool(seal == seal_of([key, *answer]))
