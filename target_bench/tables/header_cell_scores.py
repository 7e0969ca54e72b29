"""Precision, recall and F1 of row headers, column headers and cells (Wu et al. 2022).

A table is taken apart into sets: its row headers, its column headers, and a tuple of headers and
value for each cell that is not empty. Every element is compared with the most similar one of the
other side, by equality or by chrF, so one may serve many.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
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
    given: dict[Part, bool] = {"row_header": headers.row, "col_header": headers.column}
    kinds: list[Part] = [*(kind for kind, is_there in given.items() if is_there), "cells"]
    if is_empty(answer, headers):
        return dict.fromkeys(kinds, _NONE)
    soft = partial(_soft, similarity if callable(similarity) else _similar)
    compare = _exact if similarity == "exact" else soft
    left, right = _split_elements(answer, headers), _split_elements(gold, headers)
    return {
        kind: compare(left[kind], right[kind]) if left[kind] and right[kind] else _NONE
        for kind in kinds
    }


def is_empty(table: Grid, headers: Headers = BOTH) -> bool:
    """Return whether a table has no place for a value beside its headers."""
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
    lines = text.replace(" <NEWLINE> ", "\n").strip().splitlines()
    return rectangular([_cells(line) for line in lines])


def _cells(line: str) -> list[str]:
    line = line.strip()
    line = line if line.startswith("|") else f"|{line}"
    line = line if line.endswith("|") else f"{line}|"
    return [cell.strip() for cell in line[1:-1].split("|")]


def _split_elements(table: Grid, headers: Headers) -> dict[Part, list[Element]]:
    first_row, first_column = int(headers.column), int(headers.row)
    corner = headers.row and headers.column
    elements: dict[Part, list[Element]] = {
        "row_header": [(row[0],) for row in table[corner:]],
        "col_header": [(name,) for name in table[0][corner:]],
        "cells": [
            (*row[:first_column], *([table[0][j]] if headers.column else []), row[j])
            for row in table[first_row:]
            for j in range(first_column, len(row))
            if row[j] != ""
        ],
    }
    return {part: list(dict.fromkeys(listed)) for part, listed in elements.items()}


def _exact(answer: Sequence[Element], gold: Sequence[Element]) -> PRF:
    shared = len(set(answer) & set(gold))
    return _prf(shared / len(answer), shared / len(gold))


def _soft(measure: Similar, answer: Sequence[Element], gold: Sequence[Element]) -> PRF:
    similar = np.ones((len(gold), len(answer)))
    for part in range(len(gold[0])):
        similar *= measure(
            [element[part] for element in gold], [element[part] for element in answer]
        )
    return _prf(float(similar.max(axis=0).mean()), float(similar.max(axis=1).mean()))


def _prf(precision: float, recall: float) -> PRF:
    both = precision + recall
    return PRF(precision, recall, 2 * precision * recall / both if both else 0.0)


# chrF of single cells (Popović 2015, as sacreBLEU computes it): short texts, many of which repeat.

_ORDER = 6
_BETA_SQUARED = 4.0
_TINY = 1e-16
_MANY_PAIRS = 2_000  # pairs of texts from which on they are compared all at once


def _similar(gold: Sequence[str], answer: Sequence[str]) -> NDArray[np.float64]:
    """Return (gold, answer) values of chrF; each pair of distinct texts is compared once."""
    rows = {text: place for place, text in enumerate(dict.fromkeys(gold))}
    columns = {text: place for place, text in enumerate(dict.fromkeys(answer))}
    if len(rows) * len(columns) < _MANY_PAIRS:
        similar = np.array([[compute_chrf(column, row) for column in columns] for row in rows])
    else:
        similar = compute_chrf_matrix(list(columns), list(rows))
    chosen: NDArray[np.float64] = similar[
        np.ix_([rows[text] for text in gold], [columns[text] for text in answer])
    ]
    return chosen


@lru_cache(maxsize=1 << 20)
def compute_chrf(answer: str, gold: str) -> float:
    """Return sentence chrF from 0 to 1: order 6, beta 2, white space left out; 0 for an empty text.

    Orders for which a text is too short do not count.
    """
    precision = recall = 0.0
    orders = 0
    for (left, n_left), (right, n_right) in zip(_ngrams(answer), _ngrams(gold), strict=True):
        if not n_left or not n_right:
            break
        orders += 1
        small, large = (left, right) if len(left) < len(right) else (right, left)
        shared = sum(min(n, large[gram]) for gram, n in small.items() if gram in large)
        precision += shared / n_left
        recall += shared / n_right
    if not orders:
        return 0.0
    precision, recall = precision / orders, recall / orders
    if precision + recall == 0:
        return 0.0
    return (1 + _BETA_SQUARED) * precision * recall / (_BETA_SQUARED * precision + recall + _TINY)


@lru_cache(maxsize=1 << 16)
def _ngrams(text: str) -> tuple[tuple[Counter[str], int], ...]:
    """Return the n-grams of a text and their number, for each order from 1."""
    squeezed = "".join(text.split())
    counts = (
        Counter(squeezed[i : i + order] for i in range(len(squeezed) - order + 1))
        for order in range(1, _ORDER + 1)
    )
    return tuple((grams, grams.total()) for grams in counts)


def compute_chrf_matrix(answers: Sequence[str], golds: Sequence[str]) -> NDArray[np.float64]:
    """Return (gold, answer) values of ``compute_chrf`` for many texts: the same, but sooner."""
    left, right = list(map(_ngrams, answers)), list(map(_ngrams, golds))
    precision, recall, orders = (np.zeros((len(golds), len(answers))) for _ in range(3))
    for order in range(_ORDER):
        n_left, n_right = (np.array([text[order][1] for text in side]) for side in (left, right))
        columns: dict[tuple[str, int], int] = {}
        of_answers, of_golds = (
            _occurrences([text[order][0] for text in side], columns) for side in (left, right)
        )
        of_answers.resize(len(answers), len(columns))
        shared = (of_golds @ of_answers.T).toarray()
        precision += shared / np.maximum(n_left, 1)
        recall += shared / np.maximum(n_right, 1)[:, None]
        orders += (n_left > 0) & (n_right > 0)[:, None]
    precision, recall = precision / np.maximum(orders, 1), recall / np.maximum(orders, 1)
    weighted = _BETA_SQUARED * precision + recall + _TINY
    values: NDArray[np.float64] = (1 + _BETA_SQUARED) * precision * recall / weighted
    return values


def _occurrences(texts: Sequence[Counter[str]], columns: dict[tuple[str, int], int]) -> Any:
    """Return a sparse matrix of 0 and 1: text by the nth occurrence of an n-gram.

    Args:
        texts: the n-grams of each.
        columns: (n-gram, n) -> its column; new ones are added.
    """
    from scipy.sparse import csr_array

    starts, places = [0], []
    for counts in texts:
        places += [
            columns.setdefault((gram, n), len(columns))
            for gram, count in counts.items()
            for n in range(count)
        ]
        starts.append(len(places))
    return csr_array((np.ones(len(places)), places, starts), shape=(len(texts), len(columns)))
