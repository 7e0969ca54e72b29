"""Precision, recall and F1 of row headers, column headers and cells (Wu et al. 2022).

A table is taken apart into sets: its row headers, its column headers, and a tuple of headers and
value for each cell that is not empty. Every element is compared with the most similar one of the
other side, so one may serve many.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from target_bench.tables.character_f import character_f, character_f_of_all

Grid = Sequence[Sequence[str]]
Element = tuple[str, ...]
Similarity = Literal["exact", "chrf"]
Part = Literal["row_header", "col_header", "cells"]


class PRF(NamedTuple):
    """Precision, recall and their harmonic mean, from 0 to 1."""

    precision: float
    recall: float
    f1: float


NONE = PRF(0.0, 0.0, 0.0)


@dataclass(frozen=True, slots=True)
class Headers:
    """The kinds of headers that tables have.

    Attributes:
        row: whether the first cell of a row names it.
        column: whether the first row names the columns.
    """

    row: bool = True
    column: bool = True


BOTH = Headers()

_MANY_PAIRS = 2_000
"""Pairs of texts from which on they are compared all at once."""


def parse_paper_format(text: str, strict: bool = False) -> list[list[str]] | None:
    """Read a table in the format of the paper: rows divided by ``" <NEWLINE> "``, cells by bars.

    There are no escapes. Rows get the length of the first.

    Args:
        text: the table.
        strict: whether rows of different length are an error, as in the rate of wrong formats.

    Returns:
        The rows; none of an empty text; None where rows differ in length and ``strict`` is set.
    """
    rows = [_cells(line) for line in text.replace(" <NEWLINE> ", "\n").strip().splitlines()]
    if strict and len(set(map(len, rows))) > 1:
        return None
    return rectangular(rows)


def _cells(line: str) -> list[str]:
    line = line.strip()
    line = line if line.startswith("|") else f"|{line}"
    line = line if line.endswith("|") else f"{line}|"
    return [cell.strip() for cell in line[1:-1].split("|")]


def table_by_name(text: str, name: str) -> str:
    """Return the table of a name: what follows the line ``name:`` up to the next title."""
    found: list[str] = []
    inside = False
    for line in map(str.strip, text.replace(" <NEWLINE> ", "\n").strip().splitlines()):
        if inside and line.endswith(":"):
            break
        if inside:
            found.append(line)
        inside = inside or line == f"{name}:"
    return " <NEWLINE> ".join(found)


def rectangular(rows: Grid) -> list[list[str]]:
    """Cut or fill every row to the length of the first."""
    width = len(rows[0]) if rows else 0
    return [[*row[:width], *[""] * (width - len(row))] for row in rows]


def is_empty(table: Grid, headers: Headers = BOTH) -> bool:
    """Return whether a table has no place for a value beside its headers."""
    if not table or not any(table):
        return True
    return (headers.row and len(table[0]) < 2) or (headers.column and len(table) < 2)


def header_cell_scores(
    answer: Grid, gold: Grid, similarity: Similarity = "exact", headers: Headers = BOTH
) -> Mapping[Part, PRF] | None:
    """Compare two rectangular tables.

    Args:
        answer: the rows of the answer, header included.
        gold: those of the reference.
        similarity: of two texts: equality, or chrF.
        headers: the kinds of headers.

    Returns:
        What was compared -> its scores; None where the reference is empty, which is in no mean.
        A reference without a value, which the official script refuses, has cells of 0.
    """
    if is_empty(gold, headers):
        return None
    kinds: list[Part] = ["row_header"] if headers.row else []
    if headers.column:
        kinds.append("col_header")
    kinds.append("cells")
    if is_empty(answer, headers):
        return dict.fromkeys(kinds, NONE)
    compare = _exact if similarity == "exact" else _soft
    left, right = _taken_apart(answer, headers), _taken_apart(gold, headers)
    return {kind: compare(left[kind], right[kind]) for kind in kinds}


def _taken_apart(table: Grid, headers: Headers) -> dict[Part, list[Element]]:
    first_row, first_column = int(headers.column), int(headers.row)
    corner = headers.row and headers.column
    rows: list[Element] = [(row[0],) for row in table[corner:]]
    columns: list[Element] = [(name,) for name in table[0][corner:]]
    cells: list[Element] = [
        (*row[:first_column], *([table[0][j]] if headers.column else []), row[j])
        for row in table[first_row:]
        for j in range(first_column, len(row))
        if row[j] != ""
    ]
    found: dict[Part, list[Element]] = {"row_header": rows, "col_header": columns, "cells": cells}
    return {part: list(dict.fromkeys(elements)) for part, elements in found.items()}


def _exact(answer: Sequence[Element], gold: Sequence[Element]) -> PRF:
    if not answer or not gold:
        return NONE
    shared = len(set(answer) & set(gold))
    return _prf(shared / len(answer), shared / len(gold))


def _soft(answer: Sequence[Element], gold: Sequence[Element]) -> PRF:
    if not answer or not gold:
        return NONE
    similar = np.ones((len(gold), len(answer)))
    for part in range(len(gold[0])):
        similar *= _similar([one[part] for one in gold], [one[part] for one in answer])
    return _prf(float(similar.max(axis=0).mean()), float(similar.max(axis=1).mean()))


def _similar(gold: Sequence[str], answer: Sequence[str]) -> NDArray[np.float64]:
    """Return (gold, answer) values of chrF; each pair of distinct texts is compared once."""
    right, left = list(dict.fromkeys(gold)), list(dict.fromkeys(answer))
    if len(right) * len(left) < _MANY_PAIRS:
        found = np.array([[character_f(one, other) for one in left] for other in right])
    else:
        found = character_f_of_all(left, right)
    rows = {text: place for place, text in enumerate(right)}
    columns = {text: place for place, text in enumerate(left)}
    chosen: NDArray[np.float64] = found[
        np.ix_([rows[text] for text in gold], [columns[text] for text in answer])
    ]
    return chosen


def _prf(precision: float, recall: float) -> PRF:
    both = precision + recall
    return PRF(precision, recall, 2 * precision * recall / both if both else 0.0)
