"""Rows and columns of two tables that belong together, by names and by values (TabAlign by rules).

With n and m rows and k columns, similarities take O(n·m·k) time and O(n·m) memory, and the best
assignment (Jonker & Volgenant 1987) O(min(n, m)²·max(n, m)).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from rapidfuzz.distance import Indel
from rapidfuzz.process import cdist

from target_bench.tables.cell_texts import with_decimal_points, without_marks
from target_bench.tables.comparison.differences import is_abbreviation
from target_bench.tables.comparison.values import (
    Cells,
    CellValue,
    Unit,
    converted,
    name_of,
    number_key,
    read_column,
    words,
)

Matrix = NDArray[np.float64]
Pairs = list[tuple[int, int]]

LEAST_COLUMN = 0.35
"""Similarity below which columns do not belong together."""

LEAST_ROW = 0.4
"""Similarity below which rows do not belong together."""

_BY_NAME = 0.6  # what equal words of names count in the similarity of columns
_NEAREST = 0.9  # similarity of cells that are almost equal
_ABBREVIATED = 0.85  # similarity of a name and its abbreviation
_COMPARED = 100  # characters of a text that alignment looks at
_YEARS = 3652.5  # days that make dates have nothing in common

_YES_NO = 0.125
"""What a column of yes and no counts in pairing rows: by chance half of its cells are equal, so
that without this three of them outvote the names of the rows."""

_ORDER = 1e-6  # what decides between equals: a place nearer to the own one


@dataclass(frozen=True, slots=True)
class Grid:
    """A table as it is compared: names of columns, and rows of one length.

    Attributes:
        header: the names; those of several levels as a path with dots.
        rows: the cells.
    """

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


class ReadTable(NamedTuple):
    """A table with its cells and names read.

    Attributes:
        grid: the table.
        names: of its columns, without units.
        units: the unit in the name of each column; None where it has none.
        values: the cells of each column.
    """

    grid: Grid
    names: tuple[str, ...]
    units: tuple[Unit | None, ...]
    values: Sequence[Cells]


def read_table(grid: Grid) -> ReadTable:
    """Read the cells of a table and the names of its columns."""
    names = [name_of(name) for name in grid.header]
    unmarked = [tuple(map(without_marks, row)) for row in grid.rows]
    rows = with_decimal_points(unmarked) or unmarked
    columns = zip(*rows, strict=True) if rows else [()] * len(names)
    return ReadTable(
        grid,
        tuple(name.text for name in names),
        tuple(name.unit for name in names),
        [read_column(column) for column in columns],
    )


class Merged(NamedTuple):
    """Columns of one table whose cells stand together in one column of the other.

    Attributes:
        parts: places of the columns apart.
        whole: place of the column with all.
        in_prediction: whether the prediction has them together; else it has split one.
    """

    parts: tuple[int, ...]
    whole: int
    in_prediction: bool

    def has(self, reference: int, prediction: int) -> bool:
        """Return whether a column of the reference and one of the prediction are both in it."""
        part, whole = (reference, prediction) if self.in_prediction else (prediction, reference)
        return part in self.parts and whole == self.whole


def align(reference: ReadTable, prediction: ReadTable) -> tuple[Pairs, Pairs]:
    """Return pairs of columns and pairs of rows that belong together.

    Columns are paired by their names and shared values, rows by the cells of paired columns; then
    columns that are left by the cells of paired rows, and rows again. Columns of different names
    that share nothing but empty cells stay apart.
    """
    columns = _assigned(_column_similarities(reference, prediction), LEAST_COLUMN)
    rows = _align_rows(reference, prediction, columns)
    known = _with_evidence(reference, prediction, columns, rows)
    if known != columns:
        columns, rows = known, _align_rows(reference, prediction, known)
    more = _columns_by_rows(reference, prediction, columns, rows)
    if not more:
        return columns, rows
    columns = sorted([*columns, *more])
    return columns, _align_rows(reference, prediction, columns)


def _align_rows(reference: ReadTable, prediction: ReadTable, columns: Pairs) -> Pairs:
    """Return pairs of rows that belong together, by the cells of paired columns."""
    n, m = len(reference.grid.rows), len(prediction.grid.rows)
    if not n or not m or not columns:
        return [(i, i) for i in range(min(n, m))] if not columns else []
    total, weights = np.zeros((n, m)), 0.0
    for i, j in columns:
        cells = reference.values[i]
        weight = 0.1 + len({cell.key for cell in cells}) / n
        if {cell.type for cell in cells} <= {"bool", "empty"}:
            weight *= _YES_NO
        others = _in_unit(prediction.values[j], prediction.units[j], reference.units[i])
        total += weight * _cell_similarities(cells, others)
        weights += weight
    pairs = _assigned(total / weights, LEAST_ROW)
    if n != m:
        return pairs
    # of as many rows on both sides the rest is paired in its order: rows that were replaced
    left = ([row for row in range(n) if row not in taken] for taken in _taken(pairs))
    return sorted([*pairs, *zip(*left, strict=True)])


def _taken(pairs: Pairs) -> tuple[set[int], set[int]]:
    """Return the places of either side that are paired."""
    return {i for i, _ in pairs}, {j for _, j in pairs}


def _in_unit(cells: Cells, source: Unit | None, target: Unit | None) -> Cells:
    """Return cells with their numbers in the unit of another column, where both are known."""
    if source is None or target is None or source == target:
        return cells
    in_target = []
    for cell in cells:
        if cell.type == "number" and cell.unit is None:
            number = converted(cell.number, source, target)
            if number is None:
                return cells
            cell = cell._replace(
                number=number, key=number_key(float(f"{number:.6g}"), cell.relation)
            )
        in_target.append(cell)
    return in_target


def _assigned(similarities: Matrix, least: float) -> Pairs:
    """Return the best assignment, without pairs below a similarity; ties keep the order."""
    # imported here: it takes a third of a second, and every look at the tasks imports this module
    from scipy.optimize import linear_sum_assignment

    n, m = similarities.shape
    if not n or not m:
        return []
    apart = np.abs(np.arange(n)[:, None] - np.arange(m)[None, :]) / max(n, m)
    first, second = linear_sum_assignment(similarities - _ORDER * apart, maximize=True)
    return [
        (int(i), int(j)) for i, j in zip(first, second, strict=True) if similarities[i, j] >= least
    ]


def _cell_similarities(reference: Cells, prediction: Cells) -> Matrix:
    """Return (n, m) similarities of the cells of two columns, from 0 to 1."""
    left_cells, first = _distinct(reference)
    right_cells, second = _distinct(prediction)
    similar = np.zeros((len(left_cells), len(right_cells)))
    for kind, reach in (("number", None), ("date", _YEARS)):
        places = [_places(side, kind) for side in (left_cells, right_cells)]
        if all(map(len, places)):
            a, b = (
                np.array([side[i].scaled for i in at], np.float64)
                for side, at in zip((left_cells, right_cells), places, strict=True)
            )
            size = reach or np.maximum(np.abs(a)[:, None], np.abs(b)[None, :])
            close = 1 - np.abs(a[:, None] - b[None, :]) / np.where(size == 0, 1, size)
            similar[np.ix_(*places)] = _NEAREST * np.clip(close, 0, 1)
    texts = [_places(side, "string", "list") for side in (left_cells, right_cells)]
    if all(map(len, texts)):
        left, right = (
            [_start(side[i].text) for i in at]
            for side, at in zip((left_cells, right_cells), texts, strict=True)
        )
        ratio = cdist(left, right, scorer=Indel.normalized_similarity)
        similar[np.ix_(*texts)] = _NEAREST * np.maximum(ratio, _initials(left, right))
    place = {value.key: j for j, value in enumerate(right_cells)}
    for i, value in enumerate(left_cells):
        if value.key in place:
            similar[i, place[value.key]] = 1.0
    return similar[np.ix_(first, second)]


def _start(text: str) -> str:
    return words(text)[:_COMPARED]


def _initials(left: Sequence[str], right: Sequence[str]) -> Matrix:
    """Return 1 where one text is the initials of the other, else 0."""
    same = np.zeros((len(left), len(right)))
    for texts, others, turned in ((left, right, same), (right, left, same.T)):
        short = {text.replace(" ", ""): j for j, text in enumerate(others)}
        for i, text in enumerate(texts):
            letters = "".join(word[0] for word in text.split())
            if len(letters) > 1 and letters in short:
                turned[i, short[letters]] = 1.0
    return same


def _distinct(cells: Cells) -> tuple[list[CellValue], list[int]]:
    """Return the first cell of each key, and for each cell the place of its key among them."""
    first: dict[object, CellValue] = {}
    for cell in cells:
        first.setdefault(cell.key, cell)
    place = {key: i for i, key in enumerate(first)}
    return list(first.values()), [place[cell.key] for cell in cells]


def _places(values: Cells, *types: str) -> list[int]:
    return [i for i, value in enumerate(values) if value.type in types]


def _column_similarities(reference: ReadTable, prediction: ReadTable) -> Matrix:
    names = _name_similarities(reference.names, prediction.names)
    similar: Matrix = np.where(names == 1, 0.9, _BY_NAME * names)
    keys = [
        [frozenset(c.key for c in cells) for cells in side.values]
        for side in (reference, prediction)
    ]
    for i, left in enumerate(keys[0]):
        for j, right in enumerate(keys[1]):
            if left or right:
                similar[i, j] += 0.4 * len(left & right) / max(len(left), len(right))
    return similar


@lru_cache(maxsize=1024)
def _name_similarities(first: tuple[str, ...], second: tuple[str, ...]) -> Matrix:
    """Return similarities of the names of columns, from 0 to 1."""
    if not first or not second:
        return np.zeros((len(first), len(second)))
    left, right = [_start(name) for name in first], [_start(name) for name in second]
    similar = np.array(cdist(left, right, scorer=Indel.normalized_similarity), np.float64)
    for i, name in enumerate(left):
        for j, other in enumerate(right):
            if similar[i, j] < _ABBREVIATED and (
                is_abbreviation(name, other) or is_abbreviation(other, name)
            ):
                similar[i, j] = _ABBREVIATED
    return similar


def _with_evidence(
    reference: ReadTable, prediction: ReadTable, columns: Pairs, rows: Pairs
) -> Pairs:
    """Return the pairs of columns with alike names, or with a row in which both are filled.

    That cells of both are empty does not make columns of different names one.
    """
    names = _name_similarities(reference.names, prediction.names)
    return [
        (i, j)
        for i, j in columns
        if _BY_NAME * names[i, j] >= LEAST_COLUMN
        or any(
            "empty" not in (reference.values[i][r].type, prediction.values[j][s].type)
            for r, s in rows
        )
    ]


def _columns_by_rows(
    reference: ReadTable, prediction: ReadTable, columns: Pairs, rows: Pairs
) -> Pairs:
    """Return pairs of columns that are left, whose cells agree in the rows that are paired."""
    left = [
        [i for i in range(len(table.names)) if i not in taken]
        for table, taken in zip((reference, prediction), _taken(columns), strict=True)
    ]
    if not all(left) or not rows:
        return []
    names = _name_similarities(reference.names, prediction.names)
    similar = np.zeros((len(left[0]), len(left[1])))
    for place, i in enumerate(left[0]):
        for other, j in enumerate(left[1]):
            cells = [(reference.values[i][r], prediction.values[j][s]) for r, s in rows]
            similar[place, other] = 0.3 * names[i, j] + 0.7 * _agreement(cells)
    return [(left[0][i], left[1][j]) for i, j in _assigned(similar, 0.5)]


def _agreement(pairs: Sequence[tuple[CellValue, CellValue]]) -> float:
    """Return how well the cells of two columns agree, row by row; proportional numbers do."""
    both = [(a, b) for a, b in pairs if a.type != "empty" and b.type != "empty"]
    if not both:
        return 0.0
    numbers = [(a.number, b.number) for a, b in both if a.type == b.type == "number"]
    if len(numbers) == len(both) > 2:
        ratios = np.array([b / a for a, b in numbers if a and b])
        several = len(ratios) > 2 and len(set(numbers)) > 2
        if several and np.ptp(ratios) <= 0.01 * abs(ratios.mean()):
            return _NEAREST
    return sum(_similarity(a, b) for a, b in both) / len(pairs)


def _similarity(first: CellValue, second: CellValue) -> float:
    if first.key == second.key:
        return 1.0
    if first.type == second.type == "string":
        return float(Indel.normalized_similarity(_start(first.text), _start(second.text)))
    return 0.0


# Columns that were merged or split.

_LEAST_MERGED = 0.6  # share of the rows in which one cell has to contain the others


def merged_columns(
    reference: ReadTable, prediction: ReadTable, columns: Pairs, rows: Pairs
) -> tuple[Merged, ...]:
    """Return the columns that were merged in the prediction, then those that were split."""
    turned_columns, turned_rows = ([(j, i) for i, j in pairs] for pairs in (columns, rows))
    return (
        *_merged(reference, prediction, columns, rows, in_prediction=True),
        *_merged(prediction, reference, turned_columns, turned_rows, in_prediction=False),
    )


def _merged(
    apart: ReadTable, together: ReadTable, columns: Pairs, rows: Pairs, in_prediction: bool
) -> Iterator[Merged]:
    """Yield columns of one table, one of them not paired at least, that one of the other holds."""
    paired = dict(columns)
    if not rows or len(paired) == len(apart.names):
        return
    texts = [
        ["" if column[i].type == "empty" else _spaced(column[i]) for i, _ in rows]
        for column in apart.values
    ]
    for j, cells in enumerate(together.values):
        whole = [_spaced(cells[place]) for _, place in rows]
        parts = [
            i
            for i, part in enumerate(texts)
            if (i not in paired or paired[i] == j) and _is_held(part, whole)
        ]
        # no part alone is the whole in most rows
        if len(parts) > 1 and all(
            sum(apart.values[part][r].key == cells[s].key for r, s in rows) < len(rows) / 2
            for part in parts
        ):
            yield Merged(tuple(parts), j, in_prediction)
            return


def _spaced(cell: CellValue) -> str:
    return f" {words(cell.text)} "


def _is_held(part: Sequence[str], whole: Sequence[str]) -> bool:
    """Return whether the cells of a column stand in those of another; empty ones do not count."""
    known = [a in b for a, b in zip(part, whole, strict=True) if a]
    return bool(known) and sum(known) >= _LEAST_MERGED * len(known)
