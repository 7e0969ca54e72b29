"""The cache of answers: a request that was answered once is never sent again.

A key is a hash of everything that determines an answer; neither prompts nor API keys are stored.
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from target_bench.core import cache_use
from target_bench.core.files import cache_root
from target_bench.models.cache import Cache

T = TypeVar("T")

_KEYS = 1  # the version of the keys: another one would ask everything again


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


def default_file() -> Path:
    """Return ``answers.sqlite`` in the cache folder: $TARGET_BENCH_CACHE, or the user's."""
    return cache_root() / "answers.sqlite"


def request_key(provider: str, base_url: str, body: Mapping[str, Any]) -> str:
    """Return the hash of a request: provider, address and all that is sent but the API key."""
    whole = json.dumps([_KEYS, provider, base_url, body], sort_keys=True, default=str)
    return hashlib.sha256(whole.encode()).hexdigest()


def select_unrecorded(requests: Iterable[T], key: Callable[[T], str]) -> Iterator[T]:
    """Yield the requests whose answers are not recorded, the first of equal ones.

    Raises:
        StoreError: the file cannot be read.
    """
    with closing(AnswerCache(default_file())) as cache:
        seen: set[str] = set()
        for request in requests:
            name = key(request)
            if name not in seen and cache.get(name.encode()) is None:
                yield request
            seen.add(name)


class AnswerCache(Cache):
    """The answers recorded so far."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, "answers", wal=True)

    def get_reply(self, key: str) -> ModelReply | None:
        """Return the recorded answer, and note that it was read.

        Raises:
            StoreError: the file cannot be read.
        """
        value = self.get(key.encode())
        if value is None:
            return None
        cache_use.record_reads(cache_use.ANSWERS, cache_use.ANSWERS, [key])
        return ModelReply(*json.loads(value))

    def put_reply(self, key: str, reply: ModelReply) -> None:
        """Record an answer.

        Raises:
            StoreError: there is no room, or the file cannot be written.
        """
        cache_use.record_computed(cache_use.ANSWERS, [key])
        self.put({key.encode(): json.dumps(reply, ensure_ascii=False).encode()})
