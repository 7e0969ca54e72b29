"""Reads from caches while something is timed: such a time says nothing about a system.

What a run has computed itself and reads again does not count, as a cold run does so too. All is of
the whole process, so that a plug-in's own threads count; of two runs that are timed at once in one
process neither time says much anyway.
"""

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from threading import Lock
from typing import Any

ANSWERS = "recorded answers"
"""What the cache of answers is called, and the one store of it."""

_lock = Lock()
_reads: Counter[str] = Counter()
_computed: set[tuple[Hashable, Hashable]] = set()
_off: ContextVar[bool] = ContextVar("target_bench_caches_off", default=False)


class CacheWatch:
    """Watches a run from now on: what it computes, and which caches it reads besides."""

    def __init__(self) -> None:
        with _lock:
            _computed.clear()
            self._earlier = Counter(_reads)

    def used(self) -> list[str]:
        """Return the caches that were read since the last call, sorted by name."""
        with _lock:
            now = Counter(_reads)
        used, self._earlier = sorted(now - self._earlier), now
        return used


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
        _reads[cache] += 1


def record_computed(store: Hashable, keys: Iterable[Hashable]) -> None:
    """Record that the run has computed these entries of a store."""
    with _lock:
        _computed.update((store, key) for key in keys)


def record_reads(cache: str, store: Hashable, keys: Iterable[Hashable]) -> None:
    """Note a read of these entries of a store, unless the run has computed all of them."""
    with _lock:
        if not all((store, key) in _computed for key in keys):
            _reads[cache] += 1


def record_answers(generator: Any, any_cached: bool) -> None:
    """Note whether a generator says that some of its answers came from a cache.

    It is believed, but for one whose class has a true ``answers_are_noted``: its answers come out
    of the cache of answers, which knows what the run has asked for itself.
    """
    if any_cached and not getattr(type(generator), "answers_are_noted", False):
        note_cached(ANSWERS)


@contextmanager
def turned_off() -> Iterator[None]:
    """Switch off the caches of results that cost no money, in this thread."""
    token = _off.set(True)
    try:
        yield
    finally:
        _off.reset(token)


def is_off() -> bool:
    """Return whether caches are switched off in this thread."""
    return _off.get()
