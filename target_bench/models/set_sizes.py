"""How many of the ranked tables of a question are its set: by gaps or shares of scores."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Sizes = NDArray[np.int64]


def shares(scores: Floats, filled: NDArray[np.bool_]) -> Floats:
    """Return scores as shares of the first one of their ranking.

    Where the first one is not above 0, tables of the same score have 1 and the others 0.

    Args:
        scores: (n, w) scores, best first.
        filled: (n, w) where there is a table; the rest has 0.
    """
    first = scores[:, :1]
    shared = np.divide(scores, first, out=(scores == first).astype(np.float64), where=first > 0)
    return np.where(filled, shared, 0.0)


def by_gap(scores: Floats, filled: NDArray[np.bool_]) -> Sizes:
    """Return (n,) how many tables stand before the largest drop of the scores, the first of them.

    Of one table or none, that is all; where all scores are equal too.
    """
    there: Sizes = filled.sum(axis=1)
    if scores.shape[1] < 2:
        return there
    gaps = np.where(filled[:, 1:], scores[:, :-1] - scores[:, 1:], 0.0)
    sizes: Sizes = np.where(gaps.max(axis=1) > 0, gaps.argmax(axis=1) + 1, there)
    return sizes


def by_share(scores: Floats, filled: NDArray[np.bool_], least: float) -> Sizes:
    """Return (n,) how many tables have at least this share of the first one's score."""
    sizes: Sizes = ((shares(scores, filled) >= least) & filled).sum(axis=1)
    return sizes
