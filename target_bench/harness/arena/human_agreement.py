"""How far the scores of a metric go with rankings by people."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from target_bench.harness.arena.comparison_sets import ComparisonSet
from target_bench.harness.arena.tested_metrics import MetricUnderTest
from target_bench.metrics.rank_agreement import MEASURES, agreements
from target_bench.metrics.run_scores import LEVEL, mean, of_mean
from target_bench.metrics.significance import holm, randomization_tests, resampled_totals

Floats = NDArray[np.float64]

RESAMPLES = 10_000
FILE_ORDER = "file order"
"""The baseline that knows nothing: earlier tables are better."""


@dataclass(frozen=True, slots=True)
class Mean:
    """A mean over sets, with its 95% bootstrap interval (percentile)."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class HumanAgreement:
    """The agreement of one metric with the rankings.

    Attributes:
        name: of the metric.
        n: sets that it scores; one in which a table has no score is left out.
        means: measure of ``MEASURES`` -> its mean over these sets.
        rho: (sets,) Spearman's rho of each set; NaN of one that is left out.
        tied: the share of sets with equal scores.
        seconds: of processor time, for all tables.
        pairs: how many tables these are.
    """

    name: str
    n: int
    means: Mapping[str, Mean]
    rho: Floats
    tied: float
    seconds: float
    pairs: int


def human_agreement(sets: Sequence[ComparisonSet], metric: MetricUnderTest) -> HumanAgreement:
    """Score all tables of all sets with a metric and compare their order with that of people."""
    values, seconds = metric.values([pair for one in sets for pair in one.pairs])
    return agreement_of(metric.spec.name, sets, _by_set(sets, values), seconds)


def file_order(sets: Sequence[ComparisonSet]) -> HumanAgreement:
    """Return the agreement of scores that fall in the order of the file."""
    falling = [np.arange(len(one.pairs), 0, -1, dtype=np.float64) for one in sets]
    return agreement_of(FILE_ORDER, sets, falling, 0.0)


def agreement_of(
    name: str, sets: Sequence[ComparisonSet], scores: Sequence[Floats], seconds: float
) -> HumanAgreement:
    """Compare scores of the tables of each set with the order of people.

    Args:
        name: what gave the scores.
        sets: the sets.
        scores: of the tables of each set; higher is better.
        seconds: of processor time that it took.
    """
    kept = [i for i, found in enumerate(scores) if not np.isnan(found).any()]
    rounded = [np.round(scores[i], _DIGITS).tolist() for i in kept]
    found = agreements([sets[i].order for i in kept], rounded)
    rho = np.full(len(sets), np.nan)
    rho[kept] = found[:, 0]
    return HumanAgreement(
        name,
        len(kept),
        {measure: _mean(column) for measure, column in zip(MEASURES, found.T, strict=True)},
        rho,
        float(np.mean([len(set(one)) < len(one) for one in rounded])) if kept else 0.0,
        seconds,
        sum(map(len, scores)),
    )


_DIGITS = 9
"""Decimals by which scores are compared: what lies below is rounding."""


def _by_set(sets: Sequence[ComparisonSet], values: Floats) -> list[Floats]:
    return np.split(values, list(accumulate(len(one.pairs) for one in sets))[:-1])


def _mean(values: Floats) -> Mean:
    if not len(values):
        return Mean(np.nan, np.nan, np.nan)
    sampled = mean(resampled_totals(of_mean(values), RESAMPLES))
    low, high = np.quantile(sampled, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return Mean(float(values.mean()), float(low), float(high))


@dataclass(frozen=True, slots=True)
class PairedTest:
    """Two metrics on the same sets, by Spearman's rho.

    Attributes:
        first: the name of one.
        second: the name of the other.
        difference: of their means, over the sets that both score.
        p: of the paired randomisation test, two-sided.
        corrected: the same after Holm, over all pairs.
    """

    first: str
    second: str
    difference: float
    p: float
    corrected: float


def paired_tests(found: Sequence[HumanAgreement]) -> list[PairedTest]:
    """Test every two metrics against each other; sets that one of them leaves out do not count."""
    pairs = [(i, j) for j in range(len(found)) for i in range(j)]
    p_values, differences = [], []
    for i, j in pairs:
        rho = np.vstack([found[i].rho, found[j].rho])
        rho = rho[:, ~np.isnan(rho).any(axis=0)]
        differences.append(float(rho[0].mean() - rho[1].mean()) if rho.size else np.nan)
        p_values.append(randomization_tests(rho, [(0, 1)])[0] if rho.size else 1.0)
    return [
        PairedTest(found[i].name, found[j].name, difference, p, corrected)
        for (i, j), difference, p, corrected in zip(
            pairs, differences, p_values, holm(p_values), strict=True
        )
    ]
