"""RMS: Relative Mapping Similarity of two tables (DePlot, Liu et al. 2023, section 3.2).

A table is a set of entries: the headers of a row and of a column, and the value. Entries are paired
so that their headers differ least, and scored by headers and values together. Case does not count.

It computes what ``deplot/metrics.py`` of the authors documents. Texts differ altogether above half
of their length. ``anls_metric`` of pix2struct, which that file calls, has ``<`` there on its main
branch, and ``<=`` in the authors' correction of 2023 (pull request 44, not merged), which is taken
here. Numbers differ altogether from a tenth of the reference on. Of entries with equal headers the
last one counts. ``nan`` and ``inf`` are numbers that differ from themselves.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from rapidfuzz.distance import Levenshtein
from rapidfuzz.process import cdist

from target_bench.tables.header_cell_scores import PRF

Grid = Sequence[Sequence[str]]
Floats = NDArray[np.float64]

TEXT, NUMBER = 0.5, 0.1
"""The distance above which two texts, and from which two numbers, are altogether different."""


def relative_mapping(reference: Grid, answer: Grid) -> PRF:
    """Return precision, recall and F1 of the entries, for the answer or its transpose: the better.

    Args:
        reference: rows of equal length, the header first.
        answer: the same.
    """
    expected = _entries(reference)
    readings = (_entries(list(zip(*answer, strict=True))), _entries(answer))
    return max((_compared(expected, given) for given in readings), key=lambda scores: scores.f1)


def _entries(table: Grid) -> dict[str, str]:
    """Return key -> value of each cell below and beside the headers."""
    lower = [[cell.lower().strip() for cell in row] for row in table]
    return {
        f"{row[0]} {name}": value
        for row in lower[1:]
        for name, value in zip(lower[0][1:], row[1:], strict=True)
    }


def _compared(wanted: dict[str, str], given: dict[str, str]) -> PRF:
    if not wanted or not given:
        both_empty = not wanted and not given
        return PRF(float(not given), float(not wanted), float(both_empty))
    from scipy.optimize import linear_sum_assignment

    keys = _similar(list(wanted), list(given))
    values, others = list(wanted.values()), list(given.values())
    # Least cost, not most similarity: of equally good assignments scipy takes another one then.
    rows, columns = linear_sum_assignment(1 - keys)
    total = sum(
        keys[i, j] * _value(values[i], others[j]) for i, j in zip(rows, columns, strict=True)
    )
    precision, recall = float(total / len(given)), float(total / len(wanted))
    both = precision + recall
    return PRF(precision, recall, 2 * precision * recall / both if both else 0.0)


def _similar(wanted: Sequence[str], given: Sequence[str]) -> Floats:
    """Return (wanted, given): 1 less the edits over the longer length; 0 above ``TEXT`` edits."""
    similar = cdist(wanted, given, scorer=Levenshtein.normalized_similarity, dtype=np.float64)
    return np.where(similar >= 1 - TEXT, similar, 0.0)


def _value(wanted: str, given: str) -> float:
    number, other = _number(wanted), _number(given)
    if number and other is not None:
        distance = abs((number - other) / number)
        return 1 - distance if distance < NUMBER else 0.0
    similar = float(Levenshtein.normalized_similarity(wanted, given))
    return similar if similar >= 1 - TEXT else 0.0


def _number(text: str) -> float | None:
    try:
        return float(text.rstrip("%")) / 100 if text.endswith("%") else float(text)
    except ValueError:
        return None
