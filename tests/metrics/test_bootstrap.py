"""The bootstrap interval."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from target_bench.metrics.bootstrap import LEVEL, RESAMPLES, SIGNATURE, interval
from target_bench.metrics.retrieval import judge, parse
from target_bench.metrics.sql import FAMILIES

MEAN = parse("recall@1")
POOLED = parse("recall_micro@1")
Floats = NDArray[np.float64]


def _rows(values: Floats) -> Floats:
    """Statistics of a mean."""
    return np.column_stack([values, np.ones(len(values))])


def _bernoulli(seed: int, n: int, share: float = 0.3) -> Floats:
    return _rows((np.random.default_rng(seed).random(n) < share).astype(np.float64))


@pytest.mark.parametrize("seed", range(5))
def test_holds_the_value(seed: int) -> None:
    rows = _bernoulli(seed, 100)
    low, high = interval(MEAN, rows)
    assert 0 <= low < rows[:, 0].mean() < high <= 1


def test_deterministic() -> None:
    rows = _bernoulli(1, 300)
    assert interval(MEAN, rows) == interval(MEAN, rows.copy())


@given(st.permutations(list(range(12))))
@settings(deadline=None, max_examples=20)
def test_order_of_queries_changes_nothing(order: list[int]) -> None:
    rows = _rows(np.linspace(0, 1, 12) ** 2)
    assert interval(MEAN, rows[order]) == interval(MEAN, rows)


def test_global_seed_changes_nothing() -> None:
    rows = _bernoulli(2, 50)
    np.random.seed(1)
    first = interval(MEAN, rows)
    np.random.seed(2)
    assert interval(MEAN, rows) == first


@pytest.mark.parametrize("value", [0.0, 0.25, 1 / 3, 2 / 3, 1.0])
@pytest.mark.parametrize("n", [1, 2, 50])
def test_no_spread(value: float, n: int) -> None:
    low, high = interval(MEAN, _rows(np.full(n, value)))
    assert low == high == pytest.approx(value, abs=1e-6)


def test_nothing_to_divide_by() -> None:
    assert interval(POOLED, np.zeros((5, 2))) == (0, 0)


def test_coverage() -> None:
    """95% intervals hold the true share about 95% of the time."""
    share, held = 0.3, 0
    for seed in range(200):
        low, high = interval(MEAN, _bernoulli(seed, 200, share))
        held += low <= share <= high
    assert 0.90 <= held / 200 <= 0.99


@pytest.mark.parametrize("n", [50, 400])
def test_width_is_that_of_the_normal_approximation(n: int) -> None:
    rows = _bernoulli(3, n, 0.5)
    share = rows[:, 0].mean()
    low, high = interval(MEAN, rows)
    assert high - low == pytest.approx(2 * 1.96 * np.sqrt(share * (1 - share) / n), rel=0.15)


def test_ratios_are_pooled_in_every_resample() -> None:
    """Against a plain bootstrap that draws the queries and divides the sums."""
    generator = np.random.default_rng(7)
    gold = generator.integers(1, 20, 80).astype(np.float64)
    found = np.minimum(gold, generator.integers(0, 5, 80))  # large queries do worse
    rows = np.column_stack([found, gold])
    draws = generator.integers(0, 80, (4000, 80))
    pooled = found[draws].sum(axis=1) / gold[draws].sum(axis=1)
    low, high = interval(POOLED, rows)
    expected_low, expected_high = np.quantile(pooled, [0.025, 0.975])
    assert low == pytest.approx(expected_low, abs=0.02)
    assert high == pytest.approx(expected_high, abs=0.02)
    assert low < found.sum() / gold.sum() < high
    means = (found / gold)[draws].mean(axis=1)
    assert abs(np.quantile(means, 0.025) - expected_low) > 0.02  # so the two do differ here


def test_a_ratio_that_is_the_same_for_every_query() -> None:
    """Sums vary from resample to resample, their ratio does not."""
    gold = np.arange(1.0, 41.0)
    assert interval(POOLED, np.column_stack([gold / 2, gold])) == (0.5, 0.5)


def test_on_judged_rankings() -> None:
    judged = judge(["a", "b", "c", "x"], ["a", "b", "c", "d"], 1)
    low, high = interval(MEAN, MEAN.statistics(judged))
    assert 0 <= low <= 0.75 <= high <= 1


def test_signature() -> None:
    assert f"|resamples:{RESAMPLES}|level:{LEVEL}|seed:" in SIGNATURE


def test_draws_that_hold_no_query_are_left_out() -> None:
    """A metric over one of fifty queries is in no draw of a third of them."""
    metric = FAMILIES["ex[bird]"].make()
    rows = np.zeros((50, 2))
    rows[0] = 1
    assert interval(metric, rows) == (1, 1)
    assert np.isnan(interval(metric, np.zeros((3, 2)))).all()
