"""The one rule that turns scores into a ranking.

Scores are rounded to five decimals, higher is better, and equal ones keep the order of the tables
in the corpus. Batch size, thread count and hash seed change the last bits of a score, never its
fifth decimal, so they never change a ranking.
"""

import numpy as np
from numpy.typing import NDArray

DECIMALS = 5
"""Decimals that decide a ranking."""


def rounded(scores: NDArray[np.floating]) -> NDArray[np.float64]:
    """Scores as whole numbers of 1e-5, the values that rank; always a new array."""
    whole: NDArray[np.float64] = np.multiply(scores, 10.0**DECIMALS, dtype=np.float64)
    np.rint(whole, out=whole)
    whole += 0.0  # minus zero becomes zero: which of the two it was depends on the last bits
    return whole


def top_k(scores: NDArray[np.floating], k: int) -> NDArray[np.intp]:
    """The ``k`` best columns of each row, best first, by the rule of this module.

    Rounded score and column are packed into one number, so that every key is unique and a
    partition is exact.

    Args:
        scores: (n, m) finite scores, higher is better.
        k: how many to return; no more than ``m`` come back.

    Returns:
        (n, min(k, m)) column numbers.

    Raises:
        ValueError: a score is so large that its fifth decimal is lost in double precision.
    """
    n_columns = scores.shape[1]
    k = min(k, n_columns)
    radix = 1 << (n_columns - 1).bit_length() if n_columns > 1 else 1
    keys = rounded(scores)
    if keys.size and not max(keys.max(), -keys.min()) < 2**53 / radix:
        raise ValueError(f"scores must be finite and below {2**53 / radix / 10**DECIMALS:.0f}")
    keys *= radix
    keys += np.arange(n_columns - 1, -1, -1)
    if k < n_columns:
        keys.partition(n_columns - k, axis=1)
        keys = keys[:, n_columns - k :]
    best = np.sort(keys, axis=1)[:, ::-1].astype(np.int64)
    columns: NDArray[np.intp] = n_columns - 1 - (best & (radix - 1))
    return columns


def ranking_order(
    scores: NDArray[np.floating], positions: NDArray[np.integer], lists: NDArray[np.integer]
) -> NDArray[np.intp]:
    """The order of several rankings laid end to end, each by the rule of this module.

    Args:
        scores: (m,) scores of tables.
        positions: (m,) places of the same tables in the corpus.
        lists: (m,) which ranking each belongs to, ascending.

    Returns:
        (m,) indices; the rankings stay where they are, each is best first.
    """
    return np.lexsort((positions, -rounded(scores), lists))
