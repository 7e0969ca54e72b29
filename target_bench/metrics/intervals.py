"""The 95% interval of a paired difference, and why intervals hold near the ends of the scale, too.

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

import numpy as np

from target_bench.metrics.run_scores import CONSTANT, DECIMALS, Bounded, Floats, estimate, reach_of


def interval_of_difference(metric: Bounded, first: Floats, second: Floats) -> tuple[float, float]:
    """Return the 95% interval of the first system's score less the second's, on the same queries.

    Where no query tells the two apart, it reaches as far to both sides as Wilson's interval of
    nothing seen in n queries.

    Args:
        metric: the metric.
        first: (n, m) sufficient statistics, one row per query.
        second: the same of the other system, queries in the same order.

    Returns:
        (low, high); NaN if the metric is over no query of one system.
    """
    one, other = estimate(metric, first), estimate(metric, second)
    difference = one.value - other.value
    together = _correlation(one.influence, other.influence)
    down = _hypotenuse(one.value - one.low, other.high - other.value, together)
    up = _hypotenuse(one.high - one.value, other.value - other.low, together)
    low, high = difference - down, difference + up
    apart = one.influence - other.influence
    if (apart**2).mean() <= CONSTANT * one.span**2 and one.value == one.value:
        reach = reach_of(max(one.effective, other.effective)) * one.span
        low, high = min(low, difference - reach), max(high, difference + reach)
    widest = max(one.span, other.span)
    return round(max(low, -widest), DECIMALS), round(min(high, widest), DECIMALS)


def _hypotenuse(mine: float, theirs: float, correlation: float) -> float:
    return float(np.sqrt(max(0.0, mine**2 - 2 * correlation * mine * theirs + theirs**2)))


def _correlation(first: Floats, second: Floats) -> float:
    """Return the correlation of two influences of mean 0; 0 where one of them is constant."""
    both = float(np.sqrt((first @ first) * (second @ second)))
    return float(first @ second) / both if both else 0.0
