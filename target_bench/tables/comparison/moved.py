"""Values that are right but stand in the wrong place: shifted, or exchanged between columns."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

import numpy as np


class Moved(NamedTuple):
    """Values of the reference that stand elsewhere in the prediction.

    Attributes:
        kind: ``down``: the values of a column stand in other rows; ``right``: those of some rows
            stand in other columns; ``exchanged``: two columns have each other's values; ``order``:
            all columns are right, but in another order, which costs nothing.
        columns: names of the columns in the reference; none for ``right`` and ``order``.
        by: rows further down, or columns further right; negative for up and left.
        n: how many cells (``down``) or rows that is; 0 for ``order``.
    """

    kind: Literal["down", "right", "exchanged", "order"]
    columns: tuple[str, ...] = ()
    by: int = 0
    n: int = 0

    def __str__(self) -> str:
        rows = "1 row" if self.n == 1 else f"{self.n:,} rows"
        steps, way = abs(self.by), int(self.by > 0)
        if self.kind == "order":
            return "The columns stand in another order, which costs nothing."
        if self.kind == "exchanged":
            return f"The values of {self.columns[0]} and {self.columns[1]} are exchanged in {rows}."
        if self.kind == "down":
            down = f"{steps} row{'s' * (steps > 1)} {('higher', 'lower')[way]}"
            return f"The values of {self.columns[0]} stand {down} than the others."
        right = f"{steps} column{'s' * (steps > 1)} further {('left', 'right')[way]}"
        return f"In {rows} values stand {right}."


_STEPS = (1, -1, 2, -2, 3, -3)
_SHARE = 0.8  # share of the wrong cells that a shift or an exchange has to explain

_LEAST = {"down": 3, "right": 2}
"""Wrong cells that a shift has to explain at least, so that it is no chance."""


class PairedCell(NamedTuple):
    """The keys of a matched cell in both tables, "" for empty ones, and whether it is right."""

    reference: object
    prediction: object
    is_right: bool


def moved_values(
    names: Sequence[str], places: Sequence[int], cells: Sequence[Sequence[PairedCell]]
) -> tuple[Moved, ...]:
    """Return what stands elsewhere: of matched rows and columns, by values in any format.

    A shift has to explain four of five wrong cells of its column or row, three at least in a column
    and two in a row, of different values. Values are exchanged where both cells of a row are wrong
    and each has what belongs into the other; that is said of columns with several such rows, four
    of five at least of the rows in which both are wrong and should not be empty, or with one where
    there are no more rows.

    Args:
        names: of the matched columns in the reference, in their order there.
        places: of these columns in the prediction.
        cells: of these columns in each matched row.
    """
    if all(cell.is_right for line in cells for cell in line):
        return (Moved("order"),) if list(places) != sorted(places) else ()
    columns = zip(names, zip(*cells, strict=True), strict=False)
    down = ((name, *_shift(column, "down")) for name, column in columns)
    right = Counter(by for line in cells if (by := _shift(line, "right")[0]))
    return (
        *_exchanged(cells, names),
        *(Moved("down", (name,), by, n) for name, by, n in down if by),
        *(Moved("right", (), by, n) for by, n in sorted(right.items())),
    )


def _exchanged(cells: Sequence[Sequence[PairedCell]], names: Sequence[str]) -> Iterator[Moved]:
    counts: Counter[tuple[int, int]] = Counter()
    for line in cells:
        wrong = {cell.reference: i for i, cell in enumerate(line) if _is_wrong(cell)}
        for i in wrong.values():
            k = wrong.get(line[i].prediction)
            if k is not None and i < k and line[k].prediction == line[i].reference:
                counts[i, k] += 1
    are_wrong = np.array([[_is_wrong(cell) for cell in line] for line in cells], dtype=float)
    both_wrong = are_wrong.T @ are_wrong
    for (i, k), n in sorted(counts.items()):
        if n >= _SHARE * both_wrong[i, k] and (n > 1 or len(cells) == 1):
            yield Moved("exchanged", (names[i], names[k]), 0, n)


def _is_wrong(cell: PairedCell) -> bool:
    """Return whether a cell that should hold something holds something else, or nothing."""
    return not cell.is_right and cell.reference != ""


def _shift(line: Sequence[PairedCell], way: Literal["down", "right"]) -> tuple[int, int]:
    """Return by how many places values of a line are shifted, and how many; zeros for none."""
    wrong = [i for i, c in enumerate(line) if not c.is_right and c.prediction != ""]
    for by in _STEPS if len(wrong) >= _LEAST[way] else ():
        inside = [i for i in wrong if 0 <= i - by < len(line)]
        moved = [i for i in inside if line[i].prediction == line[i - by].reference]
        different = {line[i].prediction for i in moved}
        if len(moved) >= _SHARE * len(inside) and len(different) >= _LEAST[way]:
            return by, len(moved)
    return 0, 0
