"""The bootstrap, with which intervals of the package are compared."""

from collections import Counter

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_DRAWS = 100  # in memory at a time


def resampled_totals(statistics: Floats, resamples: int, seed: int = 0) -> Floats:
    """Return (resamples, m) column sums, each over n rows drawn with replacement.

    Efron & Tibshirani 1993, section 13.3. How often each distinct row is drawn is multinomial, so
    one draw per distinct row is enough; the order of the rows changes nothing.

    Args:
        statistics: (n, m) one row per query.
        resamples: how many draws.
        seed: of the random numbers.
    """
    n, width = statistics.shape
    raw, size = statistics.tobytes(), width * statistics.itemsize
    tally = Counter(raw[start : start + size] for start in range(0, len(raw), size))
    rows = sorted(tally)
    distinct = np.frombuffer(b"".join(rows), dtype=statistics.dtype).reshape(-1, width)
    share = np.array([tally[row] for row in rows]) / n
    generator = np.random.default_rng(seed)
    totals = np.empty((resamples, width))
    for start in range(0, resamples, _DRAWS):
        weights = generator.multinomial(n, share, size=min(_DRAWS, resamples - start))
        totals[start : start + _DRAWS] = weights.astype(np.float64) @ distinct
    return totals
