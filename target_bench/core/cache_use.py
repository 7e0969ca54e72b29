"""Reads from caches while something is timed: such a time says nothing about a system.

Notes are of the whole process, so that those of a plug-in's own threads count too. Of two runs
that are timed at once in one process each also gets the other's: at worst a time is not shown. What
was made belongs to the run that made it: to another it is a loan.
"""

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from threading import Lock
from typing import Any, Protocol

ANSWERS = "recorded answers"
"""What the cache of answers is called, and the one store of it."""

lock = Lock()
noted: Counter[str] = Counter()
_off: ContextVar[bool] = ContextVar("target_bench_caches_off", default=False)


class Watching(Protocol):
    """What watches a run (``runs.times.Watch``).

    Attributes:
        made: the entries that the run has computed, by store.
    """

    made: dict[Hashable, set[Hashable]]


watches: list[Watching] = []
watching: ContextVar[Watching | None] = ContextVar("target_bench_watch", default=None)


def _made_here() -> dict[Hashable, set[Hashable]]:
    """Return the entries that the run of this thread has made, by store."""
    watch = watching.get()
    if watch in watches:
        return watch.made
    return watches[0].made if len(watches) == 1 else {}


def note(cache: str) -> None:
    """Note that something was read from the cache of this name."""
    with lock:
        noted[cache] += 1


def made(store: Hashable, keys: Iterable[Hashable]) -> None:
    """Record that this run has computed these entries of a store."""
    with lock:
        _made_here().setdefault(store, set()).update(keys)


def found(cache: str, store: Hashable, keys: Iterable[Hashable]) -> None:
    """Note a read of these entries of a store, unless this run has made all of them."""
    with lock:
        here = _made_here().get(store, set())
        if not all(key in here for key in keys):
            noted[cache] += 1


def answered(generator: Any, any_cached: bool) -> None:
    """Note whether a generator says that some of its answers came from a cache.

    It is believed, but for one whose class has a true ``answers_are_noted``: its answers come out
    of the cache of answers, which knows that an equal prompt of the same run is not a loan.
    """
    if any_cached and not getattr(type(generator), "answers_are_noted", False):
        note(ANSWERS)


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
