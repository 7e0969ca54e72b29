"""What came out of a cache while something was timed: such a time says nothing about a system.

Notes are of the whole process, so that those of a plug-in's own threads count too. Of two runs
that are timed at once in one process each hears of the other's: at worst a time is not shown.
"""

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from threading import Lock

ANSWERS = "recorded answers"
"""What the cache of answers is called, and the one store of it."""

_lock = Lock()
_noted: Counter[str] = Counter()
_made: dict[Hashable, set[Hashable]] = {}
_watches = 0
_off: ContextVar[bool] = ContextVar("target_bench_caches_off", default=False)


class Watch:
    """Sees which caches are read from now on."""

    def __init__(self) -> None:
        self._earlier = Counter(_noted)

    def used(self) -> list[str]:
        """The caches that were read since the last call, or since the watch began; sorted."""
        with _lock:
            now = Counter(_noted)
        found = sorted(now - self._earlier)
        self._earlier = now
        return found


@contextmanager
def watched() -> Iterator[Watch]:
    """Watch a run. What it makes itself and finds again is no loan: a cold run does so too."""
    global _watches
    with _lock:
        _made.clear()
        _watches += 1
        watch = Watch()
    try:
        yield watch
    finally:
        with _lock:
            _watches -= 1
            if not _watches:
                _made.clear()


def note(cache: str) -> None:
    """Something was read from a cache, which is called so in messages."""
    with _lock:
        _noted[cache] += 1


def made(store: Hashable, keys: Iterable[Hashable]) -> None:
    """These entries of a store were worked out just now."""
    with _lock:
        if _watches:
            _made.setdefault(store, set()).update(keys)


def found(cache: str, store: Hashable, keys: Iterable[Hashable]) -> None:
    """These entries of a store were read; a note, unless all of them were made in this run."""
    with _lock:
        here = _made.get(store, set())
        if not all(key in here for key in keys):
            _noted[cache] += 1


def answered(any_cached: bool) -> None:
    """A generator gave answers, and says itself whether it had any of them before.

    Those that went through the cache of answers are known better: an equal prompt of the same run
    is no loan.
    """
    with _lock:
        if any_cached and ANSWERS not in _made:
            _noted[ANSWERS] += 1


@contextmanager
def turned_off() -> Iterator[None]:
    """Have this thread neither read nor write what can be worked out without cost."""
    token = _off.set(True)
    try:
        yield
    finally:
        _off.reset(token)


def is_off() -> bool:
    """Whether this thread should work everything out itself."""
    return _off.get()
