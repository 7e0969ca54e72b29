"""Percentile bootstrap over queries (Efron & Tibshirani 1993, section 13.3)."""

from collections import Counter
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

RESAMPLES = 1000
LEVEL = 0.95
SIGNATURE = f"bootstrap:percentile|resamples:{RESAMPLES}|level:{LEVEL}|seed:0"

_CHUNK = 100
_DECIMALS = 6  # far below the Monte-Carlo error, far above what the order of a sum changes


class Summed(Protocol):
    """What a metric is here: a function of column sums."""

    def value(self, totals: NDArray[np.float64], /) -> NDArray[np.float64]:
        """(...) scores from (..., m) sums."""


def interval(metric: Summed, statistics: NDArray[np.float64]) -> tuple[float, float]:
    """The 95% interval of a metric over resampled queries.

    It depends on the metric's own statistics alone: neither the order of the queries nor the other
    metrics of a run change it. Draws that hold no query that the metric is over (their value is
    NaN) are left out.

    Args:
        metric: the metric.
        statistics: (n, m) sufficient statistics, one row a query.

    Returns:
        (low, high); NaN for a metric that is over no query.
    """
    values = metric.value(resampled_totals(statistics))
    values = values[~np.isnan(values)]
    if not len(values):
        return np.nan, np.nan
    low, high = np.quantile(values, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return round(float(low), _DECIMALS), round(float(high), _DECIMALS)


def resampled_totals(
    statistics: NDArray[np.float64], resamples: int = RESAMPLES, seed: int = 0
) -> NDArray[np.float64]:
    """(resamples, m) column sums, each over n rows drawn with replacement.

    How often each distinct row is drawn is multinomial, so one draw a distinct row is enough; the
    order of the rows changes nothing.

    Args:
        statistics: (n, m) one row a query.
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
    for start in range(0, resamples, _CHUNK):
        weights = generator.multinomial(n, share, size=min(_CHUNK, resamples - start))
        totals[start : start + _CHUNK] = weights.astype(np.float64) @ distinct
    return totals
