"""Precision, recall and F1 of row headers, column headers and cells (Wu et al. 2022).

A table is taken apart into sets: its row headers, its column headers, and a tuple of headers and
value for each cell that is not empty. Every element is compared with the most similar one of the
other side, by equality or by chrF, so one may serve many.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

Grid = Sequence[Sequence[str]]
Element = tuple[str, ...]
Similarity = Literal["exact", "chrf"]
Similar = Callable[[Sequence[str], Sequence[str]], NDArray[np.float64]]
"""Texts of the reference, texts of the answer -> (reference, answer) similarities from 0 to 1."""
Part = Literal["row_header", "col_header", "cells"]


class PRF(NamedTuple):
    """Precision, recall and their harmonic mean, from 0 to 1."""

    precision: float
    recall: float
    f1: float


_NONE = PRF(0.0, 0.0, 0.0)


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


def header_cell_scores(
    answer: Grid,
    gold: Grid,
    similarity: Similarity | Similar = "exact",
    headers: Headers = BOTH,
) -> Mapping[Part, PRF] | None:
    """Compare two rectangular tables.

    Args:
        answer: the rows of the answer, header included.
        gold: those of the reference.
        similarity: of two texts: equality, chrF, or a function of your own.
        headers: the kinds of headers.

    Returns:
        What was compared -> its scores; None where the reference is empty, which is in no mean.
        A reference without a value, which the official script refuses, has cells of 0.
    """
    if is_empty(gold, headers):
        return None
    right = _split_elements(gold, headers)
    if is_empty(answer, headers):
        return dict.fromkeys(right, _NONE)
    left = _split_elements(answer, headers)
    scores: dict[Part, PRF] = {}
    for kind, elements in right.items():
        if not left[kind] or not elements:
            scores[kind] = _NONE
        elif similarity == "exact":
            shared = len(set(left[kind]) & set(elements))
            scores[kind] = _combine(shared / len(left[kind]), shared / len(elements))
        else:
            measure = similarity if callable(similarity) else _compare_by_chrf
            scores[kind] = _compare_softly(measure, left[kind], elements)
    return scores


def is_empty(table: Grid, headers: Headers = BOTH) -> bool:
    """Return whether a table has no room for a value beside its headers."""
    if not table or not any(table):
        return True
    return (headers.row and len(table[0]) < 2) or (headers.column and len(table) < 2)


def rectangular(rows: Grid) -> list[list[str]]:
    """Cut or fill every row to the length of the first."""
    width = len(rows[0]) if rows else 0
    return [[*row[:width], *[""] * (width - len(row))] for row in rows]


def parse_paper_format(text: str) -> list[list[str]]:
    """Read a table in the format of the paper: rows divided by ``" <NEWLINE> "``, cells by bars.

    There are no escapes. Rows get the length of the first.
    """
    rows = []
    for line in text.replace(" <NEWLINE> ", "\n").strip().splitlines():
        cells = line.strip().removeprefix("|")
        rows.append([cell.strip() for cell in cells.removesuffix("|").split("|")])
    return rectangular(rows)


def _split_elements(table: Grid, headers: Headers) -> dict[Part, list[Element]]:
    first_row, first_column = int(headers.column), int(headers.row)
    corner = headers.row and headers.column
    elements: dict[Part, list[Element]] = {}
    if headers.row:
        elements["row_header"] = [(row[0],) for row in table[corner:]]
    if headers.column:
        elements["col_header"] = [(name,) for name in table[0][corner:]]
    elements["cells"] = [
        (*row[:first_column], *([table[0][j]] if headers.column else []), row[j])
        for row in table[first_row:]
        for j in range(first_column, len(row))
        if row[j] != ""
    ]
    return {kind: list(dict.fromkeys(some)) for kind, some in elements.items()}


def _compare_softly(measure: Similar, answer: Sequence[Element], gold: Sequence[Element]) -> PRF:
    similar = np.ones((len(gold), len(answer)))
    for theirs, mine in zip(zip(*gold, strict=True), zip(*answer, strict=True), strict=True):
        similar *= measure(theirs, mine)
    return _combine(float(similar.max(axis=0).mean()), float(similar.max(axis=1).mean()))


def _combine(precision: float, recall: float) -> PRF:
    both = precision + recall
    return PRF(precision, recall, 2 * precision * recall / both if both else 0.0)


# chrF of single cells (Popović 2015, as sacreBLEU computes it): many short texts at once.

_ORDERS = 6
_BETA_SQUARED = 4.0
_TINY = 1e-16


def _compare_by_chrf(gold: Sequence[str], answer: Sequence[str]) -> NDArray[np.float64]:
    """Return (gold, answer) values of chrF; each pair of distinct texts is compared once."""
    rows, columns = ({text: i for i, text in enumerate(dict.fromkeys(s))} for s in (gold, answer))
    similar = compute_chrf(list(columns), list(rows))
    pairs = np.ix_([rows[text] for text in gold], [columns[text] for text in answer])
    chosen: NDArray[np.float64] = similar[pairs]
    return chosen


def compute_chrf(answers: Sequence[str], golds: Sequence[str]) -> NDArray[np.float64]:
    """Return (gold, answer) values of sentence chrF from 0 to 1; 0 for an empty text.

    Its order is 6 and its beta 2, white space is left out, and orders for which a text is too short
    do not count.
    """
    precision, recall, orders = (np.zeros((len(golds), len(answers))) for _ in range(3))
    for order in range(1, _ORDERS + 1):
        columns: dict[tuple[str, int], int] = {}
        left, right = (_mark_ngrams(texts, order, columns) for texts in (answers, golds))
        left.resize(len(answers), len(columns))
        shared = (right @ left.T).toarray()
        n_left, n_right = np.diff(left.indptr), np.diff(right.indptr)
        precision += shared / np.maximum(n_left, 1)
        recall += shared / np.maximum(n_right, 1)[:, None]
        orders += (n_left > 0) & (n_right > 0)[:, None]
    precision, recall = precision / np.maximum(orders, 1), recall / np.maximum(orders, 1)
    weighted = _BETA_SQUARED * precision + recall + _TINY
    values: NDArray[np.float64] = (1 + _BETA_SQUARED) * precision * recall / weighted
    return values


def _mark_ngrams(texts: Sequence[str], order: int, columns: dict[tuple[str, int], int]) -> Any:
    """Return a sparse matrix of 0 and 1: text by the nth occurrence of an n-gram.

    New ones are added to ``columns``.
    """
    from scipy.sparse import csr_array

    ends, indices = [0], []
    for text in texts:
        squeezed = "".join(text.split())
        counts: Counter[str] = Counter()
        for i in range(len(squeezed) - order + 1):
            gram = squeezed[i : i + order]
            counts[gram] += 1
            indices.append(columns.setdefault((gram, counts[gram]), len(columns)))
        ends.append(len(indices))
    return csr_array((np.ones(len(indices)), indices, ends), shape=(len(texts), len(columns)))
