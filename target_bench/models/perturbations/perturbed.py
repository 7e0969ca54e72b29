"""A table that was changed, and where: what every error and every harmless change returns."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Literal, NamedTuple, TypeVar, get_args

Rows = tuple[tuple[str, ...], ...]
"""The cells of a table, the header first."""

Level = Literal["easy", "medium", "hard"]
"""How hard an error is to notice: many places or a large change, some, one place or a small one."""

LEVELS: tuple[Level, ...] = get_args(Level)

Part = Literal["row", "column", "header", "cell"]

_SHARE: dict[Level, float] = {"easy": 1 / 3, "medium": 1 / 8, "hard": 0.0}

T = TypeVar("T")


class Difference(NamedTuple):
    """One true difference of a changed table.

    Attributes:
        part: what differs.
        row: its row in the reference, the header being 0; None of a column.
        column: its column in the reference; None of a row.
        extra: whether the reference does not have it; then the places are those in the changed
            table.
    """

    part: Part
    row: int | None = None
    column: int | None = None
    extra: bool = False


class Changed(NamedTuple):
    """A changed table and its true differences; none of a change that keeps the meaning."""

    rows: Rows
    differences: tuple[Difference, ...] = ()


@dataclass(frozen=True, slots=True)
class Change:
    """A way to change tables.

    Attributes:
        name: as in ``missing_row``.
        about: what it does, in a few words.
        apply: rows (rectangular, two rows and columns at least beside the header), random numbers
            and a level -> the changed table; None where it does not apply.
    """

    name: str
    about: str
    apply: Callable[[Rows, Random, Level], Changed | None]


def some(items: Sequence[T], rng: Random, level: Level, most: int | None = None) -> list[T]:
    """Draw as many items as the level says, one at least: a third, an eighth, or one.

    Args:
        items: what to draw from; not empty.
        rng: random numbers.
        level: how many.
        most: the largest number.
    """
    wanted = max(1, round(_SHARE[level] * len(items)))
    return rng.sample(items, min(wanted, len(items) if most is None else max(1, most)))


def with_cells(rows: Rows, cells: dict[tuple[int, int], str]) -> Rows:
    """Return the table with other texts in some cells, by row and column."""
    return tuple(
        tuple(cells.get((i, j), cell) for j, cell in enumerate(row)) for i, row in enumerate(rows)
    )


def places(rows: Rows) -> list[tuple[int, int]]:
    """Return row and column of every cell below the header."""
    return [(i, j) for i, row in enumerate(rows) if i for j in range(len(row))]
