"""Rows and columns of two tables that belong together, by names and by values (TabAlign by rules).

With n and m rows and k columns, similarities take O(n·m·k) time and O(n·m) memory, and the best
assignment (Jonker & Volgenant 1987) O(min(n, m)²·max(n, m)).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import fmean
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from rapidfuzz.distance import Indel
from rapidfuzz.process import cdist

from target_bench.tables.cell_texts import convert_decimal_commas, strip_marks
from target_bench.tables.comparison.differences import is_abbreviation
from target_bench.tables.comparison.values import (
    Name,
    Value,
    Values,
    normalize_text,
    read_column,
    read_name,
)

Matrix = NDArray[np.float64]
Pairs = list[tuple[int, int]]

_LEAST_COLUMN = 0.35  # similarity below which columns do not belong together
_LEAST_BY_ROWS = 0.5  # the same of columns that are left, by the cells of paired rows
_LEAST_ROW = 0.4
_BY_NAME = 0.6  # what alike names count in the similarity of columns; equal ones count 0.9
_NEAREST = 0.9  # similarity of cells that are almost equal
_ABBREVIATED = 0.85  # similarity of a name and its abbreviation
_COMPARED = 100  # characters of a text that alignment looks at
_YEARS = 3652.5  # days that make dates have nothing in common
_YES_NO = 0.125  # weight of a column of yes and no, half of whose cells are equal by chance
_ORDER = 1e-6  # what decides between equals: a place nearer to the own one
_LEAST_MERGED = 0.6  # share of the rows in which a cell has to contain the others


@dataclass(frozen=True)
class Grid:
    """A table as it is compared, with its cells and names read."""

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]  # of the length of the header

    @cached_property
    def names(self) -> list[Name]:
        """The names of the columns, and the units in them."""
        return list(map(read_name, self.header))

    @cached_property
    def values(self) -> list[list[Value]]:
        """The cells of each column."""
        unmarked = [tuple(map(strip_marks, row)) for row in self.rows]
        rows = convert_decimal_commas(unmarked) or unmarked
        columns = zip(*rows, strict=True) if rows else [()] * len(self.names)
        return [read_column(c, name.unit) for c, name in zip(columns, self.names, strict=True)]

    @property
    def columns(self) -> list[tuple[str, ...]]:
        """The cells of each column as they are written, below its name."""
        return list(zip(self.header, *self.rows, strict=True))


def align(reference: Grid, prediction: Grid) -> tuple[Pairs, Pairs]:
    """Return pairs of columns and pairs of rows that belong together.

    Columns are paired by their names and shared values, rows by the cells of paired columns; then
    columns that are left by the cells of paired rows, and rows again. Columns of different names
    that share nothing but empty cells stay apart.
    """
    names = _compare_names(reference, prediction)
    similar: Matrix = np.where(names == 1, 0.9, _BY_NAME * names)
    keys = [[{cell.key for cell in cells} for cells in g.values] for g in (reference, prediction)]
    for i, j in np.ndindex(similar.shape):
        shared, largest = keys[0][i] & keys[1][j], max(len(keys[0][i]), len(keys[1][j]), 1)
        similar[i, j] += 0.4 * len(shared) / largest
    columns = _assign(similar, _LEAST_COLUMN)
    rows = _align_rows(reference, prediction, columns)

    def pair_cells(i: int, j: int) -> Iterator[tuple[Value, Value]]:
        return ((reference.values[i][r], prediction.values[j][s]) for r, s in rows)

    def share_filled_cell(i: int, j: int) -> bool:
        return any("empty" not in (a.type, b.type) for a, b in pair_cells(i, j))

    evident = [
        (i, j)
        for i, j in columns
        if _BY_NAME * names[i, j] >= _LEAST_COLUMN or share_filled_cell(i, j)
    ]
    if evident != columns:
        columns, rows = evident, _align_rows(reference, prediction, evident)
    left = [sorted({*range(n)} - {pair[k] for pair in columns}) for k, n in enumerate(names.shape)]
    if all(left) and rows:
        agree = [
            [
                0.3 * names[i, j] + 0.7 * fmean(_compare_two(*pair) for pair in pair_cells(i, j))
                for j in left[1]
            ]
            for i in left[0]
        ]
        if more := _assign(np.array(agree), _LEAST_BY_ROWS):
            columns = sorted([*columns, *((left[0][i], left[1][j]) for i, j in more)])
            rows = _align_rows(reference, prediction, columns)
    return columns, rows


def _compare_names(reference: Grid, prediction: Grid) -> Matrix:
    """Return similarities of the names of columns, in which abbreviations are nearly equal."""
    first, second = (
        [_shorten(name.text) for name in grid.names] for grid in (reference, prediction)
    )
    if not first or not second:
        return np.zeros((len(first), len(second)))
    similar = np.array(cdist(first, second, scorer=Indel.normalized_similarity), np.float64)
    for i, j in np.ndindex(similar.shape):
        if is_abbreviation(first[i], second[j]) or is_abbreviation(second[j], first[i]):
            similar[i, j] = max(float(similar[i, j]), _ABBREVIATED)
    return similar


def _shorten(text: str) -> str:
    return normalize_text(text)[:_COMPARED]


def _align_rows(reference: Grid, prediction: Grid, columns: Pairs) -> Pairs:
    """Return pairs of rows that belong together, by the cells of paired columns."""
    n, m = len(reference.rows), len(prediction.rows)
    if not n or not m or not columns:
        return [] if columns else [(i, i) for i in range(min(n, m))]
    total, weights = np.zeros((n, m)), 0.0
    for i, j in columns:
        cells, others = _convert_units(reference.values[i], prediction.values[j])
        weight = 0.1 + len({cell.key for cell in cells}) / n
        if {cell.type for cell in cells} <= {"bool", "empty"}:
            weight *= _YES_NO
        total += weight * _compare_cells(cells, others)
        weights += weight
    pairs = _assign(total / weights, _LEAST_ROW)
    if n != m:
        return pairs
    # of as many rows on both sides the rest is paired in its order: rows that were replaced
    left = (sorted({*range(n)} - {pair[side] for pair in pairs}) for side in (0, 1))
    return sorted([*pairs, *zip(*left, strict=True)])


def _convert_units(first: Values, second: Values) -> tuple[Values, Values]:
    """Return two columns in their base unit if all their numbers have units of one kind."""
    units = {cell.unit for cell in (*first, *second) if cell.type == "number"}
    if len(units) < 2 or len({unit.kind or unit for unit in units}) > 1:
        return first, second
    return [cell.convert() for cell in first], [cell.convert() for cell in second]


def _assign(similarities: Matrix, least: float) -> Pairs:
    """Return the best assignment, without pairs below a similarity; ties keep the order."""
    # imported here: it takes a third of a second, and every look at the tasks imports this module
    from scipy.optimize import linear_sum_assignment

    n, m = similarities.shape
    if not n or not m:
        return []
    apart = np.abs(np.arange(n)[:, None] - np.arange(m)[None, :]) / max(n, m)
    first, second = linear_sum_assignment(similarities - _ORDER * apart, maximize=True)
    pairs = ((int(i), int(j)) for i, j in zip(first, second, strict=True))
    return [(i, j) for i, j in pairs if similarities[i, j] >= least]


def _compare_cells(reference: Values, prediction: Values) -> Matrix:
    """Return similarities of the cells of two columns, from 0 to 1; each key is compared once."""
    left, right = ({cell.key: cell for cell in reversed(c)} for c in (reference, prediction))
    row_at, column_at = ({key: i for i, key in enumerate(side)} for side in (left, right))
    similar = np.zeros((len(left), len(right)))
    for kind in ("number", "date", "string"):
        some, others = ([c for c in side.values() if c.type == kind] for side in (left, right))
        if some and others:
            close = _compare_values(some, others)
            similar[np.ix_([row_at[c.key] for c in some], [column_at[c.key] for c in others])] = (
                _NEAREST * close
            )
    for key in left.keys() & right.keys():
        similar[row_at[key], column_at[key]] = 1.0
    return similar[
        np.ix_([row_at[c.key] for c in reference], [column_at[c.key] for c in prediction])
    ]


def _compare_values(left: Values, right: Values) -> Matrix:
    """Return similarities of values of one type, from 0 to 1."""
    if left[0].type == "string":
        texts, others = ([_shorten(cell.text) for cell in side] for side in (left, right))
        similar = np.array(cdist(texts, others, scorer=Indel.normalized_similarity), np.float64)
        for first, second, close in ((texts, others, similar), (others, texts, similar.T)):
            plain = np.array([text.replace(" ", "") for text in first], object)
            initials = np.array([_join_initials(text) for text in second], object)
            close[np.equal.outer(plain, initials)] = 1.0
        return similar
    a, b = (np.array([cell.amount for cell in side], np.float64) for side in (left, right))
    size: Matrix = np.maximum(np.abs(a)[:, None], np.abs(b)[None, :])
    if left[0].type == "date":
        size = np.full_like(size, _YEARS)
    apart = np.abs(a[:, None] - b[None, :]) / np.where(size == 0, 1, size)
    return np.clip(1 - apart, 0, 1)


def _join_initials(text: str) -> str | None:
    """Return the first letters of several words."""
    letters = "".join(word[0] for word in text.split())
    return letters if len(letters) > 1 else None


def _compare_two(first: Value, second: Value) -> float:
    if "empty" in (first.type, second.type):
        return 0.0
    if first.key == second.key:
        return 1.0
    if first.type == second.type == "string":
        return float(Indel.normalized_similarity(_shorten(first.text), _shorten(second.text)))
    return 0.0


class Merged(NamedTuple):
    """Columns of one table whose cells stand together in a column of the other."""

    parts: tuple[int, ...]
    whole: int
    in_prediction: bool  # whether the prediction has them together; else it has split one

    def has(self, reference: int | None, prediction: int | None) -> bool:
        """Return whether a column of the reference and one of the prediction are both in it."""
        part, whole = (reference, prediction) if self.in_prediction else (prediction, reference)
        return part in self.parts and whole == self.whole


def find_merged(
    reference: Grid, prediction: Grid, columns: Pairs, rows: Pairs
) -> tuple[Merged, ...]:
    """Return the columns that were merged in the prediction, then those that were split."""
    turned_columns, turned_rows = ([(j, i) for i, j in pairs] for pairs in (columns, rows))
    merged = _find_parts(reference, prediction, columns, rows)
    split = _find_parts(prediction, reference, turned_columns, turned_rows)
    return (
        *([Merged(*merged, in_prediction=True)] if merged else []),
        *([Merged(*split, in_prediction=False)] if split else []),
    )


def _find_parts(
    apart: Grid, together: Grid, columns: Pairs, rows: Pairs
) -> tuple[tuple[int, ...], int] | None:
    """Return columns of one table, one of them not paired at least, that one of the other holds."""
    paired = dict(columns)
    if not rows or len(paired) == len(apart.header):
        return None
    for j, cells in enumerate(together.values):
        whole = [f" {normalize_text(cells[s].text)} " for _, s in rows]
        parts = [
            i
            for i, column in enumerate(apart.values)
            if paired.get(i, j) == j and _are_inside([column[r] for r, _ in rows], whole)
        ]
        # no part alone is the whole in most rows
        if len(parts) > 1 and all(
            sum(apart.values[part][r].key == cells[s].key for r, s in rows) < len(rows) / 2
            for part in parts
        ):
            return tuple(parts), j
    return None


def _are_inside(cells: Sequence[Value], whole: Sequence[str]) -> bool:
    """Return whether the cells of a column stand in those of another; empty ones do not count."""
    inside = [
        f" {normalize_text(cell.text)} " in text
        for cell, text in zip(cells, whole, strict=True)
        if cell.type != "empty"
    ]
    return bool(inside) and fmean(inside) >= _LEAST_MERGED
