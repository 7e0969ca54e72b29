"""GriTS, content: similarity of two tables as grids of texts (Smock, Pesala & Abraham 2023).

The most similar substructures of two grids are chosen rows and columns of each, in their order.
Finding them is NP-hard; as in the paper (section 3.3), rows and columns are aligned apart. The
similarity of two cells is that of the authors' code (``grits.py`` of table-transformer): difflib's
matching blocks, which the paper calls the longest common subsequence. GriTS of topology compares
spans, which tables as texts do not have; it is left out.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from target_bench.tables.h_score import difflib_ratio

Grid = Sequence[Sequence[str]]
Floats = NDArray[np.float64]


def grits(reference: Grid, prediction: Grid) -> float:
    """Return GriTS_Con from 0 to 1: twice the similarity of the aligned cells over all.

    The similarity of two cells is twice the length of difflib's matching blocks over the sum of the
    lengths; empty cells are alike. The blocks depend on which text is the first, so the reference
    is. Takes time and memory of the product of the numbers of cells.

    Args:
        one: the reference: rows of equal length, header included.
        other: the answer: the same.
    """
    sizes = [len(grid) * len(grid[0]) if grid else 0 for grid in (reference, prediction)]
    if not all(sizes):
        return float(sizes[0] == sizes[1])
    similar = _cells(reference, prediction)
    by_columns = similar.transpose(1, 3, 0, 2)
    rows = _path(_longest(by_columns))
    columns = _path(_longest(similar.transpose(0, 2, 1, 3)))
    matched = sum(similar[i, j, k, m] for i, k in rows for j, m in columns)
    return float(2 * matched / sum(sizes))


def _cells(reference: Grid, prediction: Grid) -> Floats:
    """Return (rows, columns, rows, columns) similarities; each pair of texts is compared once."""
    texts = [
        np.unique([cell for row in grid for cell in row], return_inverse=True)
        for grid in (reference, prediction)
    ]
    (left, first), (right, second) = texts
    similar = np.array([[difflib_ratio(str(a), str(b)) for b in right] for a in left])
    shapes = (len(reference), len(reference[0]), len(prediction), len(prediction[0]))
    return np.asarray(similar[np.ix_(first.ravel(), second.ravel())]).reshape(shapes)


def _longest(similar: Floats) -> Floats:
    """Return (...) similarity of the best alignment of two sequences, from (n, m, ...) of items."""
    n, m = similar.shape[:2]
    best = np.zeros((m + 1, *similar.shape[2:]))
    for i in range(n):
        before = best.copy()
        for j in range(m):
            np.maximum(before[j] + similar[i, j], before[j + 1], out=best[j + 1])
            np.maximum(best[j + 1], best[j], out=best[j + 1])
    return best[m]


def _path(similar: Floats) -> list[tuple[int, int]]:
    """Return the pairs of the best alignment of two sequences, from (n, m) of items."""
    n, m = similar.shape
    best = np.zeros((n + 1, m + 1))
    for i in range(n):
        row = np.maximum(best[i, :-1] + similar[i], best[i, 1:])
        best[i + 1, 1:] = np.maximum.accumulate(row)
    pairs = []
    i, j = n, m
    while i and j:
        if best[i, j] == best[i - 1, j - 1] + similar[i - 1, j - 1]:
            i, j = i - 1, j - 1
            pairs.append((i, j))
        elif best[i, j] == best[i - 1, j]:
            i -= 1
        else:
            j -= 1
    return pairs
