"""How many queries show a difference of two systems, before any is labelled or from a pilot.

The test is paired, two-sided at 0.05, and finds the difference in 80 of 100 samples. Two systems
differ on a share of the queries, by one size, up or down. Then the paired randomisation test is
the sign test (exact test of McNemar 1947), and its power is a sum of binomial probabilities
(Connor 1987, "Sample size for testing differences in proportions for the paired-sample design",
Biometrics 43, 207-211, equation 1). Fewer than six queries show nothing: with five that all differ
in one direction, p is 2 / 2⁵ = 0.0625.
"""

from math import floor, isqrt, sqrt
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from target_bench.metrics.run_scores import Bounded, estimate

Floats = NDArray[np.float64]

LEVEL = 0.05
POWER = 0.8
FEWEST = 6
"""With fewer queries, p is not below ``LEVEL`` even if all differ in one direction."""

_QUANTILE = NormalDist().inv_cdf(1 - LEVEL / 2)
_PRECISION = 1e-8
_REACH = 6  # standard deviations beyond which the number of differing queries never lies
_SMOOTH = 1_000  # variance of that number up to which one query more may lower the power


def power(n: int, effect: float, share: float) -> float:
    """Return how likely the test is to find a difference.

    Args:
        n: how many queries.
        effect: the true difference of the means, in sizes: wins less losses, as a share of all
            queries; from 0 to 1.
        share: the share of queries that differ; no smaller than the effect, which is taken for it
            where it is.
    """
    from scipy.special import bdtr

    share = max(share, effect)
    spread = _REACH * (sqrt(n * share * (1 - share)) + 1)
    first, last = max(FEWEST, floor(n * share - spread)), min(n, floor(n * share + spread))
    if first > last:
        return 0.0
    differ = np.arange(first, last + 1)
    probability = np.diff(bdtr(np.arange(first - 1, last + 1), n, share))
    most = _most(differ)
    wins = (1 + effect / share) / 2
    return float(probability @ (bdtr(most, differ, wins) + bdtr(most, differ, 1 - wins)))


def _most(differ: NDArray[np.int_]) -> Floats:
    """Return how many queries of the rarer direction p stays below ``LEVEL`` with."""
    from scipy.special import bdtr

    near: Floats = np.floor((differ - _QUANTILE * np.sqrt(differ) - 1) / 2).clip(min=0)
    near += bdtr(near + 1, differ, 0.5) <= LEVEL / 2
    near -= bdtr(near, differ, 0.5) > LEVEL / 2
    return near


def queries_needed(effect: float, share: float, size: float = 1.0) -> int | None:
    """Return the smallest number of queries that shows a difference; None: it cannot be that large.

    Args:
        effect: the true difference of the means, above 0.
        share: the share of queries that differ, from 0 to 1. Where it is too small for the effect,
            as many differ as that takes.
        size: by how much they differ.

    Raises:
        ValueError: an argument is not in its range.
    """
    if effect <= 0 or not 0 <= share <= 1 or size <= 0:
        raise ValueError(f"effect={effect}, share={share}, size={size}")
    if effect > size:
        return None
    effect, few, enough = effect / size, FEWEST - 1, FEWEST
    while power(enough, effect, share) < POWER:
        few, enough = enough, 2 * enough
    while enough - few > 1:
        middle = (few + enough) // 2
        if power(middle, effect, share) < POWER:
            few = middle
        else:
            enough = middle
    share = max(share, effect)
    if enough * share * (1 - share) > _SMOOTH:
        return enough
    lowest = max(FEWEST, enough - 2 * isqrt(enough))
    return next(n for n in range(lowest, enough + 1) if power(n, effect, share) >= POWER)


def detectable_with(n: int, share: float, size: float = 1.0) -> float | None:
    """Return the smallest difference that n queries show; None where they show none.

    Args:
        n: how many queries.
        share: as for ``queries_needed``.
        size: as for ``queries_needed``.

    Raises:
        ValueError: an argument is not in its range.
    """
    if n < 1 or not 0 <= share <= 1 or size <= 0:
        raise ValueError(f"n={n}, share={share}, size={size}")
    if n < FEWEST:
        return None
    low, high = 0.0, 1.0
    while high - low > _PRECISION:
        middle = (low + high) / 2
        low, high = (middle, high) if power(n, middle, share) < POWER else (low, middle)
    return high * size


def detectable(metric: Bounded, first: Floats, second: Floats) -> float | None:
    """Return the smallest difference of a metric that as many queries are likely to show.

    The queries that differ are those to which the two systems contribute otherwise; their size is
    the root mean square of the differences. Where none differs, it is the length of the scale.

    Args:
        metric: the metric.
        first: (n, m) sufficient statistics, one row per query.
        second: the same of the other system, queries in the same order.
    """
    one, other = estimate(metric, first), estimate(metric, second)
    counted = (metric.weights(first) > 0) | (metric.weights(second) > 0)
    n = int(counted.sum())
    if np.isnan(one.value - other.value) or not n:
        return None
    apart = (one.influence - other.influence)[counted] + one.value - other.value
    share = float((first != second).any(axis=1)[counted].mean())
    size = sqrt(float((apart**2).mean()) / share) if share else 0.0
    return detectable_with(n, share, size or max(one.span, other.span))
