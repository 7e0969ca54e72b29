"""Percentile bootstrap over queries (Efron & Tibshirani 1993, section 13.3)."""

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from target_bench.interfaces import Metric

RESAMPLES = 1000
LEVEL = 0.95
SIGNATURE = f"bootstrap:percentile|resamples:{RESAMPLES}|level:{LEVEL}|seed:0"

_CHUNK = 100
_DECIMALS = 6  # far below the Monte-Carlo error, far above what the order of a sum changes


def intervals(
    metrics: Sequence[Metric[Any]], statistics: Sequence[NDArray[np.float64]]
) -> list[tuple[float, float]]:
    """The 95% interval of each metric, from the same resamples of the queries.

    Args:
        metrics: the metrics.
        statistics: for each metric its (n, m) sufficient statistics, queries in the same order.

    Returns:
        (low, high) for each metric.
    """
    if not metrics:
        return []
    columns = np.cumsum([0, *(s.shape[1] for s in statistics)])
    totals = _resampled_totals(np.hstack(statistics))
    bounds = []
    for metric, (start, stop) in zip(metrics, pairwise(columns), strict=True):
        values = metric.value(totals[:, start:stop])
        low, high = np.quantile(values, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
        bounds.append((round(float(low), _DECIMALS), round(float(high), _DECIMALS)))
    return bounds


def _resampled_totals(statistics: NDArray[np.float64]) -> NDArray[np.float64]:
    """(RESAMPLES, m) column sums, each over n rows drawn with replacement.

    How often each distinct row is drawn is multinomial, so one draw a distinct row is enough, and
    the order of the rows changes nothing.
    """
    tally = Counter(row.tobytes() for row in statistics)
    rows = sorted(tally)
    distinct = np.frombuffer(b"".join(rows), dtype=statistics.dtype).reshape(len(rows), -1)
    share = np.array([tally[row] for row in rows]) / len(statistics)
    generator = np.random.default_rng(0)
    totals = np.empty((RESAMPLES, statistics.shape[1]))
    for start in range(0, RESAMPLES, _CHUNK):
        weights = generator.multinomial(len(statistics), share, size=_CHUNK)
        totals[start : start + _CHUNK] = weights.astype(np.float64) @ distinct
    return totals
