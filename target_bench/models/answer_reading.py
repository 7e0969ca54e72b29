"""Answers are read once each, within the time that there is."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from time import monotonic
from typing import Generic, TypeVar

from target_bench.core.errors import BudgetError
from target_bench.core.reasoning import without_reasoning
from target_bench.core.schema import Dataset, Generation
from target_bench.core.task import Predictions
from target_bench.core.unicode_text import compose

T = TypeVar("T")

_END: ContextVar[float | None] = ContextVar("target_bench_end_of_scoring", default=None)


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Limit the time for reading, judging and scoring answers, in this thread."""
    token = _END.set(monotonic() + seconds)
    try:
        yield
    finally:
        _END.reset(token)


def seconds_left() -> float | None:
    """Return the seconds that are left for answers; None without a limit."""
    end = _END.get()
    return None if end is None else end - monotonic()


def check_time() -> None:
    """Raise a ``BudgetError`` where no time is left."""
    left = seconds_left()
    if left is not None and left < 0:
        raise BudgetError("the time for all answers together is over")


class AnswerReader(Generic[T]):
    """Reads answers with a function, each text once; a ``BudgetError`` when the time is over."""

    def __init__(self, read: Callable[[str], T]) -> None:
        self._read = read
        self._known: dict[str, T] = {}

    def __call__(self, text: str) -> T:
        """Return the value that is read from a text."""
        if text not in self._known:
            check_time()
            self._known[text] = self._read(text)
        return self._known[text]

    def read_all(self, dataset: Dataset, predictions: Predictions) -> list[T | None]:
        """Read the answers to all queries of a dataset, in its order; a failed one is None."""
        texts = (get_text(predictions.answers[query.id]) for query in dataset.queries)
        return [None if text is None else self(text) for text in texts]


def get_text(answer: Generation) -> str | None:
    """Return the text of an answer; None for one that failed."""
    return None if answer.error is not None else answer.text


def answer_alone(text: str) -> str | None:
    """Return an answer in NFC without its blocks of reasoning; None if it holds nothing else."""
    answer = compose(without_reasoning(text))
    return None if text and not answer else answer
