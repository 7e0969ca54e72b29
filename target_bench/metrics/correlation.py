"""Correlations of two series of numbers, such as ratings and a metric, with 95% intervals."""

from dataclasses import dataclass
from math import atanh, sqrt, tanh
from statistics import NormalDist

import numpy as np
from numpy.typing import ArrayLike

LEVEL = 0.95
FEWEST = 5
"""Pairs that an interval needs."""

_Z = NormalDist().inv_cdf((1 + LEVEL) / 2)


@dataclass(frozen=True, slots=True)
class Correlation:
    """A correlation.

    Attributes:
        value: from -1 to 1; None where one series is constant, or there are fewer than two pairs.
        low: lower bound of the 95% interval; None for fewer than five pairs.
        high: upper bound.
    """

    value: float | None
    low: float | None = None
    high: float | None = None

    def __str__(self) -> str:
        if self.value is None:
            return "–"
        bounds = "" if self.low is None else f" ({self.low:.3f} to {self.high:.3f})"
        return f"{self.value:.3f}{bounds}"


@dataclass(frozen=True, slots=True)
class Correlations:
    """Three correlations of the same pairs.

    Attributes:
        n: the pairs in which both are known.
        pearson: Pearson's r.
        spearman: Spearman's rho, equal values with their mean rank.
        kendall: Kendall's tau-b.
    """

    n: int
    pearson: Correlation
    spearman: Correlation
    kendall: Correlation


def correlations(first: ArrayLike, second: ArrayLike) -> Correlations:
    """Return Pearson's, Spearman's and Kendall's correlation of two series, and their intervals.

    The intervals are Fisher's: the normal one of the transformed value, with the variance 1/(n-3)
    for Pearson (Fisher 1921), (1 + rho²/2)/(n-3) for Spearman (Bonett & Wright 2000) and
    0.437/(n-4) for Kendall (Fieller, Hartley & Pearson 1957). With many equal values they are
    approximate.

    Args:
        first: (n,) numbers; NaN where unknown.
        second: (n,) numbers; NaN where unknown.

    Raises:
        ValueError: they differ in length.
    """
    x, y = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    if x.shape != y.shape:
        raise ValueError(f"series of {len(x)} and {len(y)} numbers")
    both = ~(np.isnan(x) | np.isnan(y))
    x, y = x[both], y[both]
    n = len(x)
    if n < 2 or np.ptp(x) == 0 or np.ptp(y) == 0:
        return Correlations(n, *[Correlation(None)] * 3)
    from scipy.stats import kendalltau, pearsonr, spearmanr

    r, rho, tau = (
        max(-1.0, min(1.0, float(measure(x, y)[0])))
        for measure in (pearsonr, spearmanr, kendalltau)
    )
    return Correlations(
        n,
        _with_interval(r, n, 1 / max(n - 3, 1)),
        _with_interval(rho, n, (1 + rho**2 / 2) / max(n - 3, 1)),
        _with_interval(tau, n, 0.437 / max(n - 4, 1)),
    )


def _with_interval(value: float, n: int, variance: float) -> Correlation:
    if n < FEWEST:
        return Correlation(value)
    if abs(value) == 1:
        return Correlation(value, value, value)
    middle, reach = atanh(value), _Z * sqrt(variance)
    return Correlation(value, tanh(middle - reach), tanh(middle + reach))
