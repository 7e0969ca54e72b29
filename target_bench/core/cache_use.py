"""Cache hits while a run is timed: its times then say nothing about a system, and are left out.

An entry that the run has computed itself is no hit: it would be there in a run without any cache.
Hits and computed entries are those of the whole process, so that a plug-in's own threads count. Of
two runs that are timed at once in one process neither time says much anyway.
"""

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from threading import Lock
from typing import Any

ANSWERS = "recorded answers"
"""The name of the cache of answers, and of its only store."""

_lock = Lock()
_hits: Counter[str] = Counter()
_computed: set[tuple[Hashable, Hashable]] = set()
_disabled: ContextVar[bool] = ContextVar("target_bench_caches_disabled", default=False)


class CacheWatch:
    """Tells which caches a run hits from now on."""

    def __init__(self) -> None:
        with _lock:
            _computed.clear()
            self._earlier = Counter(_hits)

    def take_hits(self) -> list[str]:
        """Return the caches that were hit since the last call, sorted by name."""
        with _lock:
            now = Counter(_hits)
        new, self._earlier = now - self._earlier, now
        return sorted(new)


def note_cached(cache: str) -> None:
    """Note that something was read from the cache of this name.

    ```python
    from target_bench.plugin_tools import note_cached

    lengths = {"Mars": 4}

    def look_up(text):
        if text in lengths:
            note_cached("lengths")
        return lengths.setdefault(text, len(text))

    print(look_up("Mars"))  # 4
    ```
    """
    with _lock:
        _hits[cache] += 1


def record_computed(store: Hashable, keys: Iterable[Hashable]) -> None:
    """Record that the run has computed these entries of a store."""
    with _lock:
        _computed.update((store, key) for key in keys)


def record_reads(cache: str, store: Hashable, keys: Iterable[Hashable]) -> None:
    """Record a hit if one of the entries that were read of a store is none the run computed."""
    with _lock:
        if any((store, key) not in _computed for key in keys):
            _hits[cache] += 1


def note_cached_answers(generator: Any, any_cached: bool) -> None:
    """Record a hit if a generator says that answers came from a cache.

    One whose class sets ``records_cache_hits`` answers from the cache of answers, which records its
    own hits: it alone knows which answers the run has asked for itself.
    """
    if any_cached and not getattr(type(generator), "records_cache_hits", False):
        note_cached(ANSWERS)


@contextmanager
def disable_embedding_cache() -> Iterator[None]:
    """Have embeddings computed anew in this thread; recorded answers are still read."""
    token = _disabled.set(True)
    try:
        yield
    finally:
        _disabled.reset(token)


def is_embedding_cache_disabled() -> bool:
    """Return whether the cache of embeddings is disabled in this thread."""
    return _disabled.get()
