"""95% intervals of scores and of paired differences that hold near the ends of the scale, too.

A score has Wilson's score interval (Wilson 1927), with the effective number of queries in place of
their number: the number of right-or-wrong queries whose share would vary as much as the score does
(Korn & Graubard 1998; Franco, Little, Louis & Slud 2019). How much a score varies is estimated by
the jackknife (Tukey 1958; Efron & Tibshirani 1993, chapter 11), with one query added that is as far
apart as queries can be. So one rule serves shares, means,
pooled ratios, averages over labels and corpus scores, and for a share of queries it is Wilson's
interval exactly.

The difference of two systems on the same queries has Newcombe's hybrid score interval (Newcombe
1998b, method 10; Zou & Donner 2008), built from both scores' intervals and their correlation.

``benchmarks/coverage.py`` computes how often they cover the truth. Nothing here is random.
"""

import re
from dataclasses import dataclass
from statistics import NormalDist
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

LEVEL = 0.95
SIGNATURE = f"interval:wilson|effective_n:jackknife+1|level:{LEVEL}"

_Z = NormalDist().inv_cdf((1 + LEVEL) / 2)
_DECIMALS = 6  # far below what an interval means, far above what the order of a sum changes
_CONSTANT = 1e-18  # a variance, as a share of the squared scale, that is rounding


class Bounded(Protocol):
    """The parts of a metric that an interval needs; see ``interfaces.Metric``."""

    def value(self, totals: Floats, /) -> Floats:
        """Return (...) scores from (..., m) sums."""

    def bounds(self, statistics: Floats, /) -> tuple[float, float]:
        """Return the lowest and the highest value that the score can have."""

    def weights(self, statistics: Floats, /) -> Floats:
        """Return (n,) the weight of each query in the score; 0 for one that it is not over."""

    def without(self, total: Floats, rows: Floats, /) -> Floats:
        """Return (n,) scores of all queries but one, for the jackknife."""


def definition(signature: str) -> str:
    """Return the part of a score's signature that decides its value, without the interval.

    Scores of version 0.1.0 name a percentile bootstrap there.
    """
    return re.split(r"\|(?:interval|bootstrap):", signature, maxsplit=1)[0]


def interval(metric: Bounded, statistics: Floats) -> tuple[float, float]:
    """Return the 95% interval of a score.

    It depends on the metric's own statistics alone: neither the order of the queries nor the other
    metrics of a run change it. Where no two queries differ, as for a perfect score, the effective
    number of queries is that of their weights (Kish 1965, section 8.2): a perfect score of n
    queries has the interval from n / (n + 3.84) to 1.

    Args:
        metric: the metric.
        statistics: (n, m) sufficient statistics, one row a query.

    Returns:
        (low, high); NaN for a metric that is over no query.
    """
    estimate = _estimate(metric, statistics)
    return _rounded(estimate.low), _rounded(estimate.high)


def interval_of_difference(metric: Bounded, first: Floats, second: Floats) -> tuple[float, float]:
    """Return the 95% interval of the first system's score less the second's, on the same queries.

    Where no query tells the two apart, it reaches as far to both sides as Wilson's interval of
    nothing seen in n queries.

    Args:
        metric: the metric.
        first: (n, m) sufficient statistics, one row a query.
        second: the same of the other system, queries in the same order.

    Returns:
        (low, high); NaN if the metric is over no query of one system.
    """
    one, other = _estimate(metric, first), _estimate(metric, second)
    difference = one.value - other.value
    together = _correlation(one.influence, other.influence)
    down = _hypotenuse(one.value - one.low, other.high - other.value, together)
    up = _hypotenuse(one.high - one.value, other.value - other.low, together)
    low, high = difference - down, difference + up
    apart = one.influence - other.influence
    if (apart**2).mean() <= _CONSTANT * one.span**2 and one.value == one.value:
        reach = _reach(max(one.effective, other.effective)) * one.span
        low, high = min(low, difference - reach), max(high, difference + reach)
    widest = max(one.span, other.span)
    return _rounded(max(low, -widest)), _rounded(min(high, widest))


@dataclass(frozen=True, slots=True)
class _Estimate:
    """A score with its interval.

    Attributes:
        value: the score.
        low: lower bound.
        high: upper bound.
        influence: (n,) by how much each query moves the score, times n; 0 where it does not count.
        span: the length of the metric's scale.
        effective: how many queries of equal weight there are in effect.
    """

    value: float
    low: float
    high: float
    influence: Floats
    span: float
    effective: float


def _estimate(metric: Bounded, statistics: Floats) -> _Estimate:
    total = statistics.sum(axis=0)
    value = float(metric.value(total))
    weights = metric.weights(statistics)
    if not weights.any():  # a ratio that is 0 because there is nothing to divide by
        weights = np.ones(len(statistics))
    counted = weights > 0
    n = int(counted.sum())
    influence = np.zeros(len(statistics))
    if np.isnan(value) or not n:
        return _Estimate(value, np.nan, np.nan, influence, np.nan, np.nan)
    if n > 1:
        moved = (n - 1) * (value - metric.without(total, statistics[counted]))
        influence[counted] = moved - moved.mean()
    lowest, highest = metric.bounds(statistics)
    lowest, highest = min(lowest, value), max(highest, value)
    span, effective = highest - lowest, float(weights.sum() ** 2 / (weights**2).sum())
    place = (value - lowest) / span
    variance = float((influence[counted] ** 2).mean()) / span**2
    if variance <= _CONSTANT or not 0 < place < 1:
        reach = _reach(effective)
        low, high = place - place * reach, place + (1 - place) * reach
    else:
        low, high = _wilson(place, _effective(n, place, variance))
    bounds = (lowest + span * low, lowest + span * high)
    return _Estimate(value, *bounds, influence, span, effective)


def _effective(n: int, share: float, variance: float) -> float:
    """Return how many right-or-wrong queries vary as much.

    Their variance is ``share * (1 - share)``.

    One query of that variance is added to the n that were seen, because values that lie close
    together say little of rare ones that do not. For right-or-wrong queries it changes nothing.
    """
    most = share * (1 - share)
    return n * most * (n + 1) / (n * variance + most)


def _wilson(share: float, n: float) -> tuple[float, float]:
    """Return Wilson's interval of a share of n; n need not be whole."""
    middle = (share + _Z**2 / (2 * n)) / (1 + _Z**2 / n)
    half = _Z * np.sqrt(share * (1 - share) / n + _Z**2 / (4 * n**2)) / (1 + _Z**2 / n)
    return max(0.0, middle - half), min(1.0, middle + half)


def _reach(n: float) -> float:
    """Return the upper bound of Wilson's interval of nothing seen in n queries."""
    return _Z**2 / (n + _Z**2)


def _hypotenuse(mine: float, theirs: float, correlation: float) -> float:
    return float(np.sqrt(max(0.0, mine**2 - 2 * correlation * mine * theirs + theirs**2)))


def _correlation(first: Floats, second: Floats) -> float:
    """Return the correlation of two influences of mean 0; 0 where one of them is constant."""
    both = float(np.sqrt((first @ first) * (second @ second)))
    return float(first @ second) / both if both else 0.0


def _rounded(bound: float) -> float:
    return round(bound, _DECIMALS)
