"""RMS: Relative Mapping Similarity of two tables (DePlot, Liu et al. 2023, section 3.2).

A table is a set of entries: the headers of a row and of a column, and the value. Entries are paired
so that their headers differ least, and scored by headers and values together. Thresholds and the
reading of numbers are those of the authors' code: texts from half of their length on, and numbers
from a tenth of the reference on, differ altogether. Case does not count. ``nan`` and ``inf`` are
texts: in that code they differ from themselves.
"""

from collections.abc import Sequence
from math import isfinite

import numpy as np
from numpy.typing import NDArray
from rapidfuzz.distance import Levenshtein
from rapidfuzz.process import cdist

from target_bench.metrics.tables.header_cell_scores import NONE, PRF

Grid = Sequence[Sequence[str]]
Floats = NDArray[np.float64]

TEXT, NUMBER = 0.5, 0.1
"""The distances from which two texts, and two numbers, are altogether different."""


def relative_mapping(reference: Grid, answer: Grid) -> PRF:
    """Return precision, recall and F1 of the entries, for the answer or its transpose: the better.

    Entries of equal headers are all kept, where the code of the authors keeps the last.

    Args:
        reference: rows of equal length, the header first.
        answer: the same.
    """
    wanted = _entries(reference)
    readings = (_entries(answer), _entries(list(zip(*answer, strict=True))))
    return max((_compared(wanted, given) for given in readings), key=lambda found: found.f1)


def _entries(table: Grid) -> list[tuple[str, str]]:
    """Return key and value of each cell below and beside the headers."""
    lower = [[cell.lower() for cell in row] for row in table]
    return [
        (f"{row[0]} {name}", value)
        for row in lower[1:]
        for name, value in zip(lower[0][1:], row[1:], strict=True)
    ]


def _compared(wanted: list[tuple[str, str]], given: list[tuple[str, str]]) -> PRF:
    if not wanted or not given:
        return PRF(1.0, 1.0, 1.0) if not wanted and not given else NONE
    from scipy.optimize import linear_sum_assignment

    keys = _similar([key for key, _ in wanted], [key for key, _ in given])
    rows, columns = linear_sum_assignment(keys, maximize=True)
    total = sum(
        keys[i, j] * _value(wanted[i][1], given[j][1]) for i, j in zip(rows, columns, strict=True)
    )
    precision, recall = float(total / len(given)), float(total / len(wanted))
    both = precision + recall
    return PRF(precision, recall, 2 * precision * recall / both if both else 0.0)


def _similar(wanted: Sequence[str], given: Sequence[str]) -> Floats:
    """Return (wanted, given): 1 less the edits over the longer length; 0 from ``TEXT`` edits on."""
    found = cdist(wanted, given, scorer=Levenshtein.normalized_similarity, dtype=np.float64)
    return np.where(found > 1 - TEXT, found, 0.0)


def _value(wanted: str, given: str) -> float:
    number, other = _number(wanted), _number(given)
    if number and other is not None:
        distance = abs((number - other) / number)
        return 1 - distance if distance < NUMBER else 0.0
    similar = float(Levenshtein.normalized_similarity(wanted, given))
    return similar if similar > 1 - TEXT else 0.0


def _number(text: str) -> float | None:
    try:
        number = float(text.rstrip("%")) / 100 if text.endswith("%") else float(text)
    except ValueError:
        return None
    return number if isfinite(number) else None
