"""Answers are read once each, within the time that there is."""

from collections.abc import Callable
from time import monotonic
from typing import Generic, TypeVar

from target_bench.core.errors import BudgetError

T = TypeVar("T")


class Reading(Generic[T]):
    """Reads answers, each text once; the time runs from the first one.

    Args:
        read: reads a text.
    """

    def __init__(self, read: Callable[[str], T]) -> None:
        self._read = read
        self._budget: float | None = None
        self._end: float | None = None
        self._known: dict[str, T] = {}

    def __call__(self, text: str) -> T:
        """Return the value that is read from a text.

        Raises:
            BudgetError: the time is over.
        """
        if text not in self._known:
            self.check()
            self._known[text] = self._read(text)
        return self._known[text]

    def limit_time(self, seconds: float) -> None:
        """Give all answers, and what is computed from them, no more than this."""
        self._budget = seconds

    def check(self) -> None:
        """See that time is left.

        Raises:
            BudgetError: the time is over.
        """
        if self._budget is None:
            return
        if self._end is None:
            self._end = monotonic() + self._budget
        if monotonic() > self._end:
            raise BudgetError("the time for all answers together is over")
