"""Intervals of scores and of differences, paired tests, and power.

All work on sufficient statistics (``core.metric.Metric``): one row per query; the metric is a
function of the column sums. So one rule serves means, pooled ratios, averages over labels and
corpus scores such as BLEU. ``docs/significance.md`` explains them, ``benchmarks/coverage.py``
computes how often the intervals hold the truth. No interval is random.

* A score: Wilson's interval (1927) with an effective number of queries: that of right-or-wrong
  queries whose share would vary as much (Korn & Graubard 1998; Franco et al. 2019), by the
  jackknife (Tukey 1958; Efron & Tibshirani 1993, chapter 11). Of a share it is Wilson's exactly.
* A difference on the same queries: Newcombe's hybrid score interval (Newcombe 1998b, method 10; Zou
  & Donner 2008), of both scores' intervals and their correlation.
* Where databases are a sample, too: the jackknife leaves out one after another, and the quantile is
  that of Student's t (CR3: Bell & McCaffrey 2002; Cameron, Gelbach & Miller 2008).
* The paired test is the randomisation test, two-sided (Fisher; Smucker et al. 2007, section 3.1):
  under the null hypothesis two systems could have swapped their answers to any query. A sampled
  p-value counts the observed outcome (Phipson & Smyth 2010).
* Power: two systems differ on a share of the queries by one size, so that the test is the sign test
  (McNemar 1947), with the power of Connor 1987, equation 1.
"""

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from math import floor, sqrt
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from target_bench.core.metric import Floats, Metric, compute_score, mean, to_mean_statistics

LEVEL = 0.95
SIGNATURE = f"interval:wilson|effective_n:jackknife+1|level:{LEVEL}"

_Z = NormalDist().inv_cdf((1 + LEVEL) / 2)
_DECIMALS = 6  # far below what an interval means, far above what the order of a sum changes
_CONSTANT = 1e-18  # a variance, as a share of the squared scale, that is rounding


# Intervals


def interval(metric: Metric[Any], statistics: Floats) -> tuple[float, float]:
    """Return the 95% interval of a score; NaN for a metric that is over no query.

    It depends only on the metric's own statistics: neither the order of the queries nor the other
    metrics of a run change it. A perfect score of n queries has the interval n / (n + 3.84) to 1.
    """
    score = estimate(metric, statistics)
    return round(score.low, _DECIMALS), round(score.high, _DECIMALS)


@dataclass(frozen=True, slots=True)
class ScoreEstimate:
    """A score with its interval."""

    value: float
    low: float
    high: float
    influence: Floats  # (n,) by how much each query moves it, times n; 0 where it does not count
    scale: tuple[float, float]  # the lowest and the highest possible score
    # Kish's effective number of queries (1965, section 8.2), which is about weights and not the one
    # of Wilson's interval; NaN where the score is undefined without one of the queries: then its
    # interval is the whole scale
    kish_n: float

    @property
    def span(self) -> float:
        """The length of the scale."""
        return self.scale[1] - self.scale[0]


def estimate(metric: Metric[Any], statistics: Floats) -> ScoreEstimate:
    """Estimate a score with its interval; NaN for a metric that is over no query."""
    value = compute_score(metric, statistics)
    weights = metric.weights(statistics)
    if not weights.any():  # a ratio that is 0 because there is nothing to divide by
        weights = np.ones(len(statistics))
    counted = weights > 0
    n = int(counted.sum())
    influence = np.zeros(len(statistics))
    if np.isnan(value) or not n:
        return ScoreEstimate(value, np.nan, np.nan, influence, (np.nan, np.nan), np.nan)
    lowest, highest = metric.bounds(statistics)
    lowest, highest = min(lowest, value), max(highest, value)
    scale = lowest, highest
    if n > 1:
        without = metric.leave_one_out(statistics.sum(axis=0), statistics[counted])
        if np.isnan(without).any():
            return ScoreEstimate(value, lowest, highest, influence, scale, np.nan)
        moved = (n - 1) * (value - without)
        influence[counted] = moved - moved.mean()
    span, kish_n = highest - lowest, float(weights.sum() ** 2 / (weights**2).sum())
    if span == 0:  # no value is possible but this one
        return ScoreEstimate(value, value, value, influence, scale, kish_n)
    variance = float((influence[counted] ** 2).mean()) / span**2
    low, high = _bound_share((value - lowest) / span, variance, n, kish_n)
    return ScoreEstimate(value, lowest + span * low, lowest + span * high, influence, scale, kish_n)


def _bound_share(share: float, variance: float, n: int, kish_n: float) -> tuple[float, float]:
    """Return the interval of a share, of which n queries have influences of this variance."""
    if variance <= _CONSTANT or not 0 < share < 1:  # no two queries differ
        unseen = _bound_unseen(kish_n)
        return share - share * unseen, share + (1 - share) * unseen
    # Values that lie close together say little of rare ones that do not. So one query more is
    # counted, with the largest variance at this share, that of right-or-wrong queries, whose
    # interval stays Wilson's.
    most = share * (1 - share)
    padded = (n * variance + most) / (n + 1)
    return _wilson(share, n * most / padded)


def _wilson(share: float, n: float, z: float = _Z) -> tuple[float, float]:
    """Return Wilson's interval of a share of n; n need not be whole."""
    middle = (share + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z * np.sqrt(share * (1 - share) / n + z**2 / (4 * n**2)) / (1 + z**2 / n)
    return max(0.0, middle - half), min(1.0, middle + half)


def _bound_unseen(n: float) -> float:
    """Return the upper bound of Wilson's interval of a share of 0 in n queries."""
    return _Z**2 / (n + _Z**2)


def interval_of_difference(
    metric: Metric[Any], first: Floats, second: Floats
) -> tuple[float, float]:
    """Return the 95% interval of the first system's score less the second's, on the same queries.

    Where no query tells the two apart, it is as wide to both sides as Wilson's interval of a share
    of 0. NaN if the metric is over no query of one system.
    """
    mine, theirs = estimate(metric, first), estimate(metric, second)
    difference = mine.value - theirs.value
    correlation = _correlate(mine.influence, theirs.influence)
    below = _combine(mine.value - mine.low, theirs.high - theirs.value, correlation)
    above = _combine(mine.high - mine.value, theirs.value - theirs.low, correlation)
    apart = mine.influence - theirs.influence
    if (apart**2).mean() <= _CONSTANT * mine.span**2 and not np.isnan(mine.value):
        unseen = _bound_unseen(max(mine.kish_n, theirs.kish_n)) * mine.span
        below, above = max(below, unseen), max(above, unseen)
    return _clip(difference - below, difference + above, max(mine.span, theirs.span))


def _combine(mine: float, theirs: float, correlation: float) -> float:
    """Return the distance of a difference to its bound, given those of both scores to theirs."""
    return float(np.sqrt(max(0.0, mine**2 - 2 * correlation * mine * theirs + theirs**2)))


def _clip(low: float, high: float, widest: float) -> tuple[float, float]:
    return round(max(low, -widest), _DECIMALS), round(min(high, widest), _DECIMALS)


def _correlate(first: Floats, second: Floats) -> float:
    """Return the correlation of two influences of mean 0; 0 where one of them is constant."""
    norms = float(np.sqrt((first @ first) * (second @ second)))
    return float(first @ second) / norms if norms else 0.0


# Intervals where clusters of queries, such as databases, are a sample too


def sum_by_cluster(statistics: Floats, clusters: Sequence[Hashable]) -> Floats:
    """Return (k, m) sums of statistics over the queries of each cluster."""
    _, rows = np.unique(np.array(list(map(str, clusters))), return_inverse=True)
    sums = np.zeros((int(rows.max(initial=-1)) + 1, statistics.shape[1]))
    np.add.at(sums, rows, statistics)
    return sums


def interval_by_cluster(
    metric: Metric[Any], statistics: Floats, clusters: Sequence[Hashable]
) -> tuple[float, float]:
    """Return the 95% interval of a score where the clusters of queries are a sample, too.

    It contains the interval for these clusters, and is the same where no two clusters differ. With
    one cluster it is the whole scale. NaN for a metric that is over no query.
    """
    score = estimate(metric, statistics)
    lowest, span = score.scale[0], score.span
    if np.isnan(score.low) or span == 0:
        return score.low, score.high
    (without,) = _leave_out_clusters(metric, [statistics], clusters)
    if len(without) < 2 or np.isnan(without).any():
        return score.scale
    share = (score.value - lowest) / span
    variance = _jackknife_variance(without) / span**2
    if variance <= _CONSTANT or not 0 < share < 1:
        return round(score.low, _DECIMALS), round(score.high, _DECIMALS)
    low, high = _wilson(share, share * (1 - share) / variance, _t_quantile(len(without)))
    low, high = min(score.low, lowest + span * low), max(score.high, lowest + span * high)
    return round(low, _DECIMALS), round(high, _DECIMALS)


def interval_of_difference_by_cluster(
    metric: Metric[Any], first: Floats, second: Floats, clusters: Sequence[Hashable]
) -> tuple[float, float]:
    """Return the 95% interval of a difference where the clusters of queries are a sample, too.

    It contains the interval for these clusters. With one cluster it is the whole scale. NaN if the
    metric is over no query of one system.
    """
    low, high = interval_of_difference(metric, first, second)
    mine, theirs = estimate(metric, first), estimate(metric, second)
    widest = max(mine.span, theirs.span)
    if np.isnan(low):
        return low, high
    apart = np.subtract(*_leave_out_clusters(metric, [first, second], clusters))
    if len(apart) < 2 or np.isnan(apart).any():
        return -widest, widest
    half = _t_quantile(len(apart)) * sqrt(_jackknife_variance(apart))
    difference = mine.value - theirs.value
    return _clip(min(low, difference - half), max(high, difference + half), widest)


def _leave_out_clusters(
    metric: Metric[Any], sides: Sequence[Floats], clusters: Sequence[Hashable]
) -> list[Floats]:
    """Return the scores of each system without each cluster, for the jackknife.

    Clusters in which the metric is over no query of any system are passed over.
    """
    weights = np.sum([metric.weights(side) for side in sides], axis=0)
    counted = sum_by_cluster(weights[:, None], clusters)[:, 0] > 0
    sums = (sum_by_cluster(side, clusters)[counted] for side in sides)
    return [metric.leave_one_out(s.sum(axis=0), rows) for s, rows in zip(sides, sums, strict=True)]


def _jackknife_variance(without: Floats) -> float:
    n = len(without)
    return float((n - 1) / n * ((without - without.mean()) ** 2).sum())


def _t_quantile(clusters: int) -> float:
    """Return the quantile of Student's t for intervals over some clusters."""
    from scipy.special import stdtrit

    return float(stdtrit(clusters - 1, (1 + LEVEL) / 2))


# Paired tests

ScoreFunction = Callable[[Floats], Floats]
"""(..., m) sums of statistics -> (...) scores."""

RESAMPLES = 10_000
_BLOCK = 2_000_000  # bits in memory at a time
_ROUNDING = 1e-10  # differences closer than this, as a share of the scores, are equal


@dataclass(frozen=True, slots=True)
class PairedTest:
    """Two systems compared on the same queries."""

    difference: float  # the first score minus the second
    p: float  # two-sided
    exact: bool  # whether ``p`` is over all swaps and not over sampled ones


def compare(
    first: Floats,
    second: Floats,
    value: ScoreFunction = mean,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> PairedTest:
    """Return difference and p-value of two systems.

    Args:
        first: (n, m) statistics, one row per query; or (n,) per-query values of a mean.
        second: the same of the other system, queries in the same order.
        value: the score of sums of statistics.
        resamples: how many ways to swap answers are drawn at most.
        seed: of the random numbers.
    """
    first, second = _check_paired(first, second, resamples)
    observed = _subtract(first.sum(axis=0), second.sum(axis=0), value)
    if np.isnan(observed):
        raise ValueError("the metric is over no query")
    return PairedTest(observed, *randomization_test(first, second, value, resamples, seed))


def randomization_test(
    first: Floats,
    second: Floats,
    value: ScoreFunction = mean,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> tuple[float, bool]:
    """Return the p-value of the paired randomisation test, and whether it is exact.

    Where there are no more ways to swap answers than ``resamples``, all of them are tried, and the
    test is exact. Swaps after which the score of a system is undefined do not count. Neither the
    order of the queries nor that of the systems changes the result. Arguments and errors as for
    ``compare``.
    """
    first, second = _check_paired(first, second, resamples)
    mine, theirs = first.sum(axis=0), second.sum(axis=0)
    rounding = _ROUNDING * max(abs(float(value(mine))), abs(float(value(theirs))))
    observed = abs(_subtract(mine, theirs, value)) - rounding
    rows = _sort_rows(first - second)
    # swapping rows moves the sums of both systems by as much, to either side of the middle
    middle, half = (mine + theirs) / 2, rows.sum(axis=0) / 2
    n = len(rows)
    exact = n < 63 and 2**n <= resamples
    extreme = counted = 0
    for choice in _all_choices(n) if exact else _draw_choices(n, resamples, seed):
        moved = choice.astype(np.float64) @ rows
        differences = value(middle - half + moved) - value(middle + half - moved)
        extreme += int((np.abs(differences) >= observed).sum())
        counted += int((~np.isnan(differences)).sum())
    if not counted:
        raise ValueError("the score of a system is undefined after every swap of answers")
    return (extreme / counted, True) if exact else ((extreme + 1) / (counted + 1), False)


def randomization_tests(
    values: NDArray[np.floating[Any]], pairs: Sequence[tuple[int, int]]
) -> list[float]:
    """Return p-values of the paired randomisation test of means, for many pairs of systems.

    Where all queries that differ do so by the same amount, as those with one gold table do, this is
    the sign test. Where few differ, all swaps are tried. Both are exact. Elsewhere this takes the
    normal limit of the test: under random swaps the sum of differences d has mean 0 and variance
    sum(d²). Nothing is sampled, so p-values can be as small as Holm's correction over thousands of
    pairs needs.
    """
    if values.ndim != 2 or not values.shape[1] or np.isnan(values).any():
        raise ValueError("expected a number for every system and query")
    from scipy.special import ndtr

    p_values = []
    for first, second in pairs:
        differences = values[first].astype(np.float64) - values[second]
        p = _sign_test(differences)
        # as a number of Python: 2 to the power of 64 is 0 in numpy
        if p is None and 2 ** int(np.count_nonzero(differences)) <= RESAMPLES:
            p, _ = randomization_test(values[first], values[second])
        elif p is None:
            p = 2 * float(ndtr(-abs(differences.sum()) / np.linalg.norm(differences)))
        p_values.append(p)
    return p_values


def _sign_test(differences: NDArray[np.floating[Any]]) -> float | None:
    """Return the exact p-value if all differences that are not 0 are of one size, else None."""
    sizes = np.abs(differences)
    largest = sizes.max()
    differences = np.where(sizes > 1e-9 * largest, differences, 0)  # ties that were rounded
    n = np.count_nonzero(differences)
    if np.count_nonzero(sizes > (1 - 1e-9) * largest) < n:  # thirds are rounded
        return None
    from scipy.special import bdtr

    rarer = min(np.count_nonzero(differences > 0), np.count_nonzero(differences < 0))
    return min(1.0, 2 * float(bdtr(rarer, n, 0.5))) if n else 1.0


def wins_ties_losses(first: Floats, second: Floats) -> tuple[int, int, int]:
    """Count the queries on which the first is better, as good and worse, not those with NaN."""
    tied = np.isclose(first, second, rtol=1e-9, atol=1e-12)  # False with a NaN, as > and < are
    wins, losses = (first > second) & ~tied, (first < second) & ~tied
    return int(wins.sum()), int(tied.sum()), int(losses.sum())


def least_p(n: int) -> float:
    """Return the smallest p-value that the randomisation test of n queries can have."""
    return 2.0 ** (1 - n) if n < 63 and 2**n <= RESAMPLES else 1 / (RESAMPLES + 1)


def holm(p_values: Sequence[float]) -> list[float]:
    """Correct p-values for a family of tests, in their order.

    Holm 1979, "A simple sequentially rejective multiple test procedure": the i-th smallest of m
    times m - i + 1, never less than a smaller one's, at most 1.
    """
    corrected = [0.0] * len(p_values)
    largest = 0.0
    for rank, i in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        largest = max(largest, min(1.0, p_values[i] * (len(p_values) - rank)))
        corrected[i] = largest
    return corrected


def _check_paired(first: Floats, second: Floats, resamples: int) -> tuple[Floats, Floats]:
    if np.shape(first) != np.shape(second):
        raise ValueError(f"paired values of shapes {np.shape(first)} and {np.shape(second)}")
    if not len(first):
        raise ValueError("there is no query to compare on")
    if resamples < 1:
        raise ValueError(f"resamples={resamples}: expected a number from 1")
    if np.ndim(first) == 1:
        return to_mean_statistics(first), to_mean_statistics(second)
    return first, second


def _subtract(first: Floats, second: Floats, value: ScoreFunction) -> float:
    return float(value(first) - value(second))


def _sort_rows(differences: Floats) -> Floats:
    """Return the rows that are not 0, sorted, the first number of each made positive.

    So the same swaps are drawn whatever the order of queries and systems is.
    """
    rows = differences[differences.any(axis=1)]
    if not len(rows):
        return rows
    leading = rows[np.arange(len(rows)), (rows != 0).argmax(axis=1)]
    rows = rows * np.sign(leading)[:, None]
    ordered: Floats = rows[np.lexsort(rows.T[::-1])]
    return ordered


def _all_choices(n: int) -> Iterator[NDArray[np.uint8]]:
    """Yield every row of n bits, in blocks."""
    step = max(1, _BLOCK // max(n, 1))
    for start in range(0, 2**n, step):
        numbers = np.arange(start, min(start + step, 2**n))
        yield ((numbers[:, None] >> np.arange(n)) & 1).astype(np.uint8)


def _draw_choices(n: int, resamples: int, seed: int) -> Iterator[NDArray[np.uint8]]:
    """Yield ``resamples`` rows of n random bits, in blocks."""
    generator = np.random.default_rng(seed)
    step = max(1, _BLOCK // n)
    for start in range(0, resamples, step):
        size = (min(step, resamples - start), (n + 7) // 8)
        packed = generator.integers(0, 256, size=size, dtype=np.uint8)
        yield np.unpackbits(packed, axis=1, count=n)


# Power

ALPHA = 0.05
POWER = 0.8
FEWEST = 6  # with fewer queries, p is not below ALPHA even if all differ in one direction

_PRECISION = 1e-8
_SPREAD = 6  # standard deviations beyond which the number of differing queries practically never is


def power(n: int, effect: float, share: float) -> float:
    """Return the probability that the sign test of n queries finds a difference.

    Args:
        n: how many queries.
        effect: wins less losses, as a share of all queries.
        share: the share of queries that differ, at least ``effect``.
    """
    from scipy.special import bdtr

    share = max(share, effect)
    if share == 0:  # the systems never differ
        return 0.0
    spread = _SPREAD * (sqrt(n * share * (1 - share)) + 1)
    first, last = max(FEWEST, floor(n * share - spread)), min(n, floor(n * share + spread))
    if first > last:
        return 0.0
    differ = np.arange(first, last + 1)
    probability = np.diff(bdtr(np.arange(first - 1, last + 1), n, share))
    most = _critical_counts(differ)
    wins = (1 + effect / share) / 2
    return float(probability @ (bdtr(most, differ, wins) + bdtr(most, differ, 1 - wins)))


def _critical_counts(differ: NDArray[np.int_]) -> Floats:
    """Return how often the rarer of wins and losses may occur for p to be at most ``ALPHA``."""
    from scipy.special import bdtr

    # the normal approximation is off by one at most
    counts: Floats = np.floor((differ - _Z * np.sqrt(differ) - 1) / 2).clip(min=0)
    counts += bdtr(counts + 1, differ, 0.5) <= ALPHA / 2
    counts -= bdtr(counts, differ, 0.5) > ALPHA / 2
    return counts


def detectable_difference(n: int, share: float, size: float = 1.0) -> float | None:
    """Return the smallest difference that n queries find with ``POWER``; None for too few queries.

    Args:
        n: how many queries.
        share: the share of queries that differ.
        size: by how much each of them does.
    """
    if n < 1 or not 0 <= share <= 1 or size <= 0:
        raise ValueError(
            f"n={n}, share={share}, size={size}: expected n from 1, share from 0 to 1, size above 0"
        )
    if n < FEWEST:
        return None
    low, high = 0.0, 1.0
    while high - low > _PRECISION:
        middle = (low + high) / 2
        low, high = (middle, high) if power(n, middle, share) < POWER else (low, middle)
    return high * size


def detectable(metric: Metric[Any], first: Floats, second: Floats) -> float | None:
    """Return the smallest difference of a metric that as many queries find with ``POWER``.

    Queries differ where the statistics of the two systems do, and all are taken to differ by the
    root mean square of their differences; where none differs, by the length of the scale.
    """
    mine, theirs = estimate(metric, first), estimate(metric, second)
    counted = (metric.weights(first) > 0) | (metric.weights(second) > 0)
    n = int(counted.sum())
    if np.isnan(mine.value - theirs.value) or not n:
        return None
    apart = (mine.influence - theirs.influence)[counted] + mine.value - theirs.value
    share = float((first != second).any(axis=1)[counted].mean())
    has_size = share and not np.isnan(mine.kish_n + theirs.kish_n)
    size = sqrt(float((apart**2).mean()) / share) if has_size else 0.0
    size = size or max(mine.span, theirs.span)
    return detectable_difference(n, share, size) if size else None  # else all values are the same
