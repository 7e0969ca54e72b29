"""Paired tests between two systems that were asked the same queries.

They work on sufficient statistics (``core.metric.Metric``): one row per query; the metric is a
function of the column sums. So one test serves means, pooled ratios and
corpus-level scores such as BLEU.

* The randomisation test (Fisher; Smucker, Allan & Carterette 2007, "A comparison of statistical
  significance tests for information retrieval evaluation", section 3.1): under the null hypothesis
  the two systems could have swapped their answers to any query.
* The bootstrap test (Efron & Tibshirani 1993, section 16.4; Smucker et al. 2007, section 3.2): how
  far do differences over resampled queries lie from the observed one?

Both are two-sided. A sampled p-value counts the observed outcome (Phipson & Smyth 2010,
"Permutation p-values should never be zero"), so it is never less than 1 / (resamples + 1).
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from target_bench.core.metric import mean, of_mean
from target_bench.metrics.run_scores import LEVEL

Floats = NDArray[np.float64]
Value = Callable[[Floats], Floats]
TestName = Literal["randomization", "bootstrap"]

RESAMPLES = 10_000

_BLOCK = 2_000_000
"""Number of random numbers in memory at a time."""

_DRAWS = 100

_FEW = 500
"""Up to this many distinct rows it is cheaper to draw how often each occurs."""

_ROUNDING = 1e-10
"""Differences closer than this, as a share of the scores, are equal."""


@dataclass(frozen=True, slots=True)
class Paired:
    """Two systems compared on the same queries; differences are first minus second.

    Attributes:
        difference: of their scores.
        p: two-sided p-value.
        exact: whether ``p`` is over all swaps and not over sampled ones.
    """

    difference: float
    p: float
    exact: bool


@dataclass(frozen=True, slots=True)
class Effect:
    """Cohen's d_z: the mean difference of a query over the standard deviation of differences.

    Attributes:
        value: NaN where all queries differ by the same amount, which is not 0.
        low: lower bound of its 95% bootstrap interval (percentile).
        high: upper bound.
    """

    value: float
    low: float
    high: float


def compare(
    first: Floats,
    second: Floats,
    value: Value = mean,
    test: TestName = "randomization",
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Paired:
    """Return difference and p-value of two systems.

    Args:
        first: (n, m) statistics, one row per query; or (n,) per-query values of a mean.
        second: the same of the other system, queries in the same order.
        value: (..., m) sums of statistics -> (...) scores.
        test: which test.
        resamples: how many samples, of each kind.
        seed: of the random numbers.

    Raises:
        ValueError: the two are not of one shape, there is no query, the metric is over none of
            them, or no resample is wanted.
    """
    first, second = _checked(first, second, resamples)
    observed = _difference(first.sum(axis=0), second.sum(axis=0), value)
    if np.isnan(observed):
        raise ValueError("the metric is over no query")
    if test == "randomization":
        return Paired(observed, *randomization_test(first, second, value, resamples, seed))
    differences = _resampled_differences(first, second, value, resamples, seed)
    p = _bootstrap_p(observed, differences, _tolerance(first, second, value))
    return Paired(observed, p, exact=False)


def randomization_test(
    first: Floats,
    second: Floats,
    value: Value = mean,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> tuple[float, bool]:
    """Return the p-value of the paired randomisation test; for means it flips signs of differences.

    Where there are no more ways to swap than ``resamples``, all of them are looked at. Swaps that
    leave a system without any query that the metric is over do not count. Neither the
    order of the queries nor that of the systems changes the result. Arguments and errors as for
    ``compare``.

    Returns:
        p, and whether it is exact.
    """
    first, second = _checked(first, second, resamples)
    swapped = _unsigned(first - second)
    middle, half = (first.sum(axis=0) + second.sum(axis=0)) / 2, swapped.sum(axis=0) / 2
    observed = abs(_difference(first.sum(axis=0), second.sum(axis=0), value))
    observed -= _tolerance(first, second, value)
    n = len(swapped)
    exact = n < 63 and 2**n <= resamples
    extreme = known = 0
    for choice in _all_choices(n) if exact else _choices(n, resamples, seed):
        moved = choice.astype(np.float64) @ swapped
        differences = value(middle - half + moved) - value(middle + half - moved)
        extreme += int((np.abs(differences) >= observed).sum())
        known += int((~np.isnan(differences)).sum())
    return (extreme / known, True) if exact else ((extreme + 1) / (known + 1), False)


def randomization_tests(
    values: NDArray[np.floating[Any]],
    pairs: Sequence[tuple[int, int]],
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> list[float]:
    """Return p-values of ``randomization_test`` of means, for many pairs of systems at once.

    Where all queries that differ do so by the same amount, as those with one gold table do, the
    test is the sign test, and exact. All other pairs are tested under the same sampled swaps: two
    hundred systems take one matrix product, where a test of each pair takes minutes.

    Args:
        values: (m, n) per-query values, one row per system.
        pairs: the two rows of each test.
        resamples: how many samples.
        seed: of the random numbers.

    Raises:
        ValueError: a value is NaN, there is no query, or no resample is wanted.
    """
    if values.ndim != 2 or not values.shape[1] or resamples < 1 or np.isnan(values).any():
        raise ValueError("expected a number for every system and query, and a resample")
    p_values = [_sign_test(values[one] - values[other]) for one, other in pairs]
    left = [i for i, p in enumerate(p_values) if p is None]
    sampled = iter(_sampled(values, [pairs[i] for i in left], resamples, seed) if left else [])
    return [next(sampled) if p is None else p for p in p_values]


def _sign_test(differences: NDArray[np.floating[Any]]) -> float | None:
    """Return the exact p-value if all differences that are not 0 are of one size, else None."""
    sizes = np.abs(differences)
    n, largest = np.count_nonzero(sizes), sizes.max()
    if np.count_nonzero(sizes == largest) < n and n:
        return None
    from scipy.special import bdtr

    rarer = min(np.count_nonzero(differences > 0), np.count_nonzero(differences < 0))
    return min(1.0, 2 * float(bdtr(rarer, n, 0.5))) if n else 1.0


def _sampled(
    values: NDArray[np.floating[Any]], pairs: Sequence[tuple[int, int]], resamples: int, seed: int
) -> list[float]:
    rows, places = np.unique(np.array(pairs), return_inverse=True)
    first, second = places.reshape(-1, 2).T
    told_apart = values[rows]
    told_apart = told_apart[:, (told_apart != told_apart[:1]).any(axis=0)]
    n = told_apart.shape[1]
    totals = told_apart.sum(axis=1, dtype=np.float64)
    observed = totals[first] - totals[second]
    # what single precision may be wrong by in a sum is far below one query's difference
    tolerance = 1e-6 * max(n, 10) * float(np.abs(told_apart).max())
    narrow = np.ascontiguousarray(told_apart.T, dtype=np.float32)
    extreme = np.zeros(len(pairs), dtype=np.int64)
    for choice in _choices(n, resamples, seed):
        swapped = choice.astype(np.float32) @ narrow
        differences = observed - 2 * (swapped[:, first] - swapped[:, second])
        extreme += (np.abs(differences) >= np.abs(observed) - tolerance).sum(axis=0)
    return [float(count + 1) / (resamples + 1) for count in extreme]


def effect_size(first: Floats, second: Floats, resamples: int = RESAMPLES, seed: int = 0) -> Effect:
    """Return Cohen's d_z (Cohen 1988, section 2.3.5) of per-query values, with its interval.

    Args:
        first: (n,) per-query values; a pair with a NaN is left out.
        second: the same of the other system.
        resamples: how many for the interval.
        seed: of the random numbers.
    """
    differences = first - second
    differences = differences[~np.isnan(differences)]
    if len(differences) < 2:
        return Effect(np.nan, np.nan, np.nan)
    sums = np.column_stack([differences, differences**2, np.ones(len(differences))])
    sampled = _d_z(_resampled(sums, resamples, seed))
    sampled = sampled[~np.isnan(sampled)]
    found = float(_d_z(sums.sum(axis=0)))
    if np.isnan(found) or not len(sampled):
        return Effect(found, np.nan, np.nan)
    low, high = np.quantile(sampled, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return Effect(found, float(low), float(high))


def wins_ties_losses(first: Floats, second: Floats) -> tuple[int, int, int]:
    """Count the queries on which the first is better, as good and worse.

    Those with a NaN are left out.
    """
    known = ~np.isnan(first - second)
    tied = np.isclose(first, second, rtol=1e-9, atol=1e-12) & known
    wins = int(((first > second) & ~tied & known).sum())
    return wins, int(tied.sum()), int(known.sum()) - wins - int(tied.sum())


def least_p(n: int, resamples: int = RESAMPLES) -> float:
    """Return the smallest p-value that the randomisation test of n queries can have.

    Args:
        n: how many queries.
        resamples: as for ``randomization_test``.
    """
    return 2.0 ** (1 - n) if n < 63 and 2**n <= resamples else 1 / (resamples + 1)


def holm(p_values: Sequence[float]) -> list[float]:
    """Correct p-values for a family of tests, in their order.

    Holm 1979, "A simple sequentially rejective multiple test procedure": the i-th smallest of m
    times m - i + 1, never less than a smaller one's, at most 1.
    """
    corrected = [0.0] * len(p_values)
    largest = 0.0
    for place, i in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        largest = max(largest, min(1.0, p_values[i] * (len(p_values) - place)))
        corrected[i] = largest
    return corrected


def _checked(first: Floats, second: Floats, resamples: int) -> tuple[Floats, Floats]:
    if np.shape(first) != np.shape(second):
        raise ValueError(f"paired values of shapes {np.shape(first)} and {np.shape(second)}")
    if not len(first):
        raise ValueError("there is no query to compare on")
    if resamples < 1:
        raise ValueError(f"resamples={resamples}: expected a number from 1")
    if np.ndim(first) == 1:
        return of_mean(first), of_mean(second)
    return first, second


def _difference(first: Floats, second: Floats, value: Value) -> float:
    return float(value(first) - value(second))


def _tolerance(first: Floats, second: Floats, value: Value) -> float:
    """Return the size below which differences of the metric are rounding."""
    scores = float(value(first.sum(axis=0))), float(value(second.sum(axis=0)))
    return _ROUNDING * max(map(abs, scores))


def _unsigned(differences: Floats) -> Floats:
    """Return the rows that swapping changes, in canonical order and with canonical signs.

    The sign of a row is free, since the two systems are interchangeable.
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


def _choices(n: int, resamples: int, seed: int) -> Iterator[NDArray[np.uint8]]:
    """Yield ``resamples`` rows of n random bits, in blocks."""
    generator = np.random.default_rng(seed)
    step = max(1, _BLOCK // n)
    for start in range(0, resamples, step):
        size = (min(step, resamples - start), (n + 7) // 8)
        packed = generator.integers(0, 256, size=size, dtype=np.uint8)
        yield np.unpackbits(packed, axis=1, count=n)


def _resampled_differences(
    first: Floats, second: Floats, value: Value, resamples: int, seed: int
) -> Floats:
    width = first.shape[1]
    totals = _resampled(np.hstack([first, second]), resamples, seed)
    differences: Floats = value(totals[:, :width]) - value(totals[:, width:])
    return differences[~np.isnan(differences)]  # a draw without any query that the metric is over


def _resampled(statistics: Floats, resamples: int, seed: int) -> Floats:
    """Return ``resampled_totals``; where most rows are distinct, drawn one by one, faster."""
    rows, counts = np.unique(statistics, axis=0, return_counts=True)
    if len(rows) <= _FEW:
        return resampled_totals(statistics, resamples, seed)
    rows = np.repeat(rows, counts, axis=0)
    n, generator = len(rows), np.random.default_rng(seed)
    totals = np.empty((resamples, rows.shape[1]))
    step = max(1, _BLOCK // n)
    for start in range(0, resamples, step):
        size = min(step, resamples - start)
        drawn = (
            generator.integers(0, n, size=(size, n), dtype=np.int32) + np.arange(size)[:, None] * n
        )
        often = np.bincount(drawn.ravel(), minlength=size * n).reshape(size, n)
        totals[start : start + size] = often.astype(np.float64) @ rows
    return totals


def _bootstrap_p(observed: float, differences: Floats, tolerance: float) -> float:
    extreme = int((np.abs(differences - observed) >= abs(observed) - tolerance).sum())
    return (extreme + 1) / (len(differences) + 1)


def _d_z(sums: Floats) -> Floats:
    """Return (...) from (..., 3) sums of differences, of their squares, and of 1."""
    total, squares, n = sums[..., 0], sums[..., 1], sums[..., 2]
    mean_difference = total / n
    variance = (squares - total * mean_difference) / (n - 1)
    varied = variance > 1e-12 * squares / n
    out = np.where(mean_difference == 0, 0.0, np.nan)
    np.divide(mean_difference, np.sqrt(np.maximum(variance, 0)), out=out, where=varied)
    return out


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
