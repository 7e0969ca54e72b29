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
from contextlib import closing, contextmanager, nullcontext
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any, TypeVar

from target_bench.core import cache_use
from target_bench.core.files import cache_root, seal_of
from target_bench.models.cache_file import CacheFile, claimed

T = TypeVar("T")

FORMAT = 2
"""The version of the file's layout."""

_KEYS = 1  # the version of the keys: another one would ask everything again
_ROW = "SELECT text, finish_reason, input_tokens, output_tokens, seal FROM answers WHERE key = ?"
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


def file() -> Path:
    """Return ``responses.sqlite`` in the cache folder: $TARGET_BENCH_CACHE, or the user's."""
    return cache_root() / "responses.sqlite"


def request_key(provider: str, base_url: str, body: Mapping[str, Any]) -> str:
    """Return the hash of a request: provider, address and all that is sent but the API key."""
    whole = json.dumps([_KEYS, provider, base_url, body], sort_keys=True, default=str)
    return hashlib.sha256(whole.encode()).hexdigest()


def unrecorded(requests: Iterable[T], key: Callable[[T], str]) -> Iterator[T]:
    """Yield the requests whose answers are not recorded, the first of equal ones.

    Args:
        requests: any requests.
        key: gives a request's key.

    Raises:
        StoreError: the file cannot be read.
    """
    with closing(AnswerCache(file())) if file().exists() else nullcontext() as cache:
        seen: set[str] = set()
        for request in requests:
            name = key(request)
            if name not in seen and (cache is None or cache.look_up(name) is None):
                yield request
            seen.add(name)


class AnswerCache:
    """The answers recorded so far; safe for several threads and processes.

    Args:
        path: the file; made if it is not there.

    Raises:
        StoreError: the file cannot be made or opened.
    """

    def __init__(self, path: Path) -> None:
        self._file = CacheFile(path, _TABLE, FORMAT, "answers")
        self._claims = path.with_suffix(".claims")
        self.look_up("")

    def get(self, key: str) -> ModelReply | None:
        """Return the recorded answer, and note that it was read.

        Raises:
            StoreError: the file cannot be read.
        """
        reply = self.look_up(key)
        if reply is not None:
            cache_use.record_reads(cache_use.ANSWERS, cache_use.ANSWERS, [key])
        return reply

    def look_up(self, key: str) -> ModelReply | None:
        """Return the recorded answer; one that is not what was recorded is removed.

        Raises:
            StoreError: the file cannot be read.
        """

        def read(database: sqlite3.Connection) -> ModelReply | None:
            row = database.execute(_ROW, (key,)).fetchone()
            if row is None:
                return None
            *answer, seal = row
            if any(isinstance(value, bytes) for value in answer) or seal != seal_of([key, *answer]):
                database.execute("DELETE FROM answers WHERE key = ?", (key,))
                return None
            return ModelReply(*answer)

        return self._file.do(read)

    def put(self, key: str, answer: ModelReply) -> None:
        """Record an answer; the first one for a key stays.

        Raises:
            StoreError: there is no room, or the file cannot be written.
        """
        values = astuple(answer)
        row = (key, *values, time.strftime("%Y-%m-%dT%H:%M:%S%z"), seal_of([key, *values]))
        insert = "INSERT OR IGNORE INTO answers VALUES (?, ?, ?, ?, ?, ?, ?)"
        cache_use.record_computed(cache_use.ANSWERS, [key])
        self._file.do(lambda database: database.execute(insert, row))

    @contextmanager
    def claim(self, key: str) -> Iterator[None]:
        """Hold the right to send a request; who else wants to send it waits, in any process.

        The system releases the claim of a process that is killed.

        Raises:
            StoreError: the claim cannot be made.
        """
        with claimed(self._claims / f"{key}.lock", "answers"):
            yield

    def close(self) -> None:
        """Close the file."""
        self._file.close()
