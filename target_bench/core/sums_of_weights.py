"""Scores of many tables for one query at a time, and those that may be among the best."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Places = NDArray[np.int64]

_GROUP = 64

_SLACK = 2.0**-30
"""More than rounding moves a score, as a share of it."""


class Sums:
    """Adds up the weights of a query's terms, one query after the other. For one thread.

    Args:
        queries: (queries, terms) CSR matrix.
        weights: (terms, tables) CSR matrix; of 64-bit floats, or it is copied.
        k: how many tables are looked for.
    """

    def __init__(self, queries: Any, weights: Any, k: int) -> None:
        # The loop inside scipy's products. The products themselves would copy the weights of the
        # terms, or walk over all terms. The loop holds no lock, so threads work beside each other.
        from scipy.sparse._sparsetools import csc_matvec

        self._add = csc_matvec
        self._queries, self._k = queries, k
        self._starts = np.asarray(weights.indptr)  # slices of mapped arrays are slow
        self._weights = np.asarray(weights.indices), np.asarray(weights.data, dtype=np.float64)
        self._scores = np.empty(weights.shape[1])

    def candidates(self, i: int, offset: float = 0.0) -> tuple[Places, Floats]:
        """Return the tables that may be among the ``k`` best of a query, and their scores.

        Args:
            i: the row of the query.
            offset: what will be added to each score.

        Returns:
            (n,) places in ascending order, of all tables that may be; (n,) scores, all above 0.
        """
        self._score(i)
        places = _candidates(self._scores, self._k, offset)
        return places, self._scores[places]

    def _score(self, i: int) -> None:
        self._scores.fill(0.0)
        queries, n_tables = self._queries, len(self._scores)
        for place in range(queries.indptr[i], queries.indptr[i + 1]):
            term, factor = queries.indices[place], queries.data[place : place + 1]
            starts = self._starts[term : term + 2]
            self._add(n_tables, 1, starts, *self._weights, factor, self._scores)


def _candidates(scores: Floats, k: int, offset: float) -> Places:
    n_groups = len(scores) // _GROUP
    if n_groups <= k:
        return np.flatnonzero(scores > 0)
    n_grouped = n_groups * _GROUP
    grouped = scores[:n_grouped].reshape(_GROUP, n_groups)
    maxima = grouped.max(axis=0)
    bound = _bound(maxima, k, offset)
    groups = np.flatnonzero(maxima > bound)
    if len(groups) > n_groups // 4:  # many ties
        return np.flatnonzero(scores > bound)
    rows, columns = np.nonzero(grouped[:, groups] > bound)
    rest = n_grouped + np.flatnonzero(scores[n_grouped:] > bound)
    return np.concatenate([np.sort(rows * n_groups + groups[columns]), rest])


def _bound(maxima: Floats, k: int, offset: float) -> float:
    """Return a score below all of the ``k`` best, and not below 0.

    ``k`` groups whose best is at least x hold ``k`` scores of at least x. Rounding may make ties of
    scores just below.

    Args:
        maxima: the best score of each group, of more than ``k``.
        k: how many are looked for.
        offset: what will be added to each score.
    """
    place = len(maxima) - k
    least: float = np.partition(maxima, place)[place]
    return max(0.0, least - _SLACK * (least + abs(offset)))
