"""Answers are read once each, within the time that there is."""

from collections.abc import Callable
from typing import Generic, TypeVar

from target_bench.core.task import TimeLimit

T = TypeVar("T")


class Reading(Generic[T]):
    """Reads answers, each text once.

    Args:
        read: reads a text.
        time: what all answers together may take.
    """

    def __init__(self, read: Callable[[str], T], time: TimeLimit) -> None:
        self._read = read
        self._time = time
        self._known: dict[str, T] = {}

    def __call__(self, text: str) -> T:
        """Return the value that is read from a text.

        Raises:
            BudgetError: the time is over.
        """
        if text not in self._known:
            self._time.check()
            self._known[text] = self._read(text)
        return self._known[text]
