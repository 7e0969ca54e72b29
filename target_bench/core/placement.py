"""Placement of large objects: in this process, or where an executor puts them.

What is too large for one machine is made of parts that are objects of their own. It asks ``hold``
for each, and calls their methods; it does not know where they are.
"""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, Protocol


class Pending(Protocol):
    """The answer of a call that may be under way."""

    def result(self) -> Any:
        """Wait for it; an error of the method is raised here."""
        ...


class Held(Protocol):
    """An object that lives somewhere."""

    def call(self, method: str, *arguments: Any) -> Pending:
        """Call one of its methods; calls are answered in their order."""
        ...


Place = Callable[[Callable[[], object]], Held]
"""Makes an object somewhere, from a function that can be pickled."""


class Here:
    """An object in this process, with a thread of its own.

    Args:
        make: makes it.
    """

    def __init__(self, make: Callable[[], object]) -> None:
        self._object = make()
        self._pool = ThreadPoolExecutor(1)

    def call(self, method: str, *arguments: Any) -> Pending:
        """Call a method in its thread."""
        return self._pool.submit(getattr(self._object, method), *arguments)


_place: Place = Here


def hold(make: Callable[[], object]) -> Held:
    """Make an object where objects are put now."""
    return _place(make)


@contextmanager
def placed(place: Place) -> Iterator[None]:
    """Put the objects that this process holds at another place for the time of a block."""
    global _place
    earlier, _place = _place, place
    try:
        yield
    finally:
        _place = earlier
