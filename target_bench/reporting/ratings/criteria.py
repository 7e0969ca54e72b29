"""What people are asked about an answer."""

from dataclasses import dataclass
from typing import Any, Literal

CriteriaName = Literal["struc-bench", "totto"]


@dataclass(frozen=True, slots=True)
class Criterion:
    """A question about an answer, whose reply is a number.

    Attributes:
        name: its short name.
        question: as it is asked.
        options: the numbers that may be given, each with its words; of ``coverage`` none, as they
            follow from the number of highlighted cells.
        low: the lowest number.
        high: the highest one.
    """

    name: str
    question: str
    options: tuple[tuple[float, str], ...]
    low: float
    high: float

    def accepts(self, value: object) -> bool:
        """Return whether a value is one of its numbers."""
        if isinstance(value, bool) or not isinstance(value, int | float):
            return False
        if self.options:
            return value in [number for number, _ in self.options]
        return self.low <= value <= self.high

    @property
    def expected(self) -> str:
        """What it accepts, in words."""
        if self.options:
            return "one of " + ", ".join(f"{number:g}" for number, _ in self.options)
        return f"a number from {self.low:g} to {self.high:g}"

    def shown(self, cells: int) -> list[list[Any]]:
        """List the options of an answer: number and words.

        Args:
            cells: the highlighted cells of its query.
        """
        if self.options:
            return [list(option) for option in self.options]
        return [[round(n / max(cells, 1), 6), f"{n} of {cells}"] for n in range(cells + 1)]


def _scale(name: str, question: str, options: tuple[tuple[float, str], ...]) -> Criterion:
    numbers = [number for number, _ in options]
    return Criterion(name, question, options, min(numbers), max(numbers))


_ONE_TO_TEN = tuple((float(n), str(n)) for n in range(1, 11))

CRITERIA: dict[CriteriaName, tuple[Criterion, ...]] = {
    "struc-bench": (
        _scale(
            "content",
            "How similar is the content to that of the reference? 1: nothing is the same, 10: all "
            "cells hold the same.",
            _ONE_TO_TEN,
        ),
        _scale(
            "format",
            "How similar is the format: rows, columns, their order, the way it is written? 1: not "
            "at all, 10: the same.",
            _ONE_TO_TEN,
        ),
    ),
    "totto": (
        _scale(
            "fluency",
            "Is the sentence grammatical and natural?",
            ((0.0, "not fluent"), (1.0, "mostly fluent"), (2.0, "fluent")),
        ),
        _scale(
            "faithfulness",
            "Is everything that it says supported by the table or by a reference?",
            ((0.0, "no"), (1.0, "yes")),
        ),
        Criterion("coverage", "How many highlighted cells does it cover?", (), 0.0, 1.0),
    ),
}
"""The questions of Struc-Bench's (Tang et al. 2023) and of ToTTo's (Parikh et al. 2020) raters."""
