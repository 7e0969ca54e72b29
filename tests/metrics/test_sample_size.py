"""Power: by hand, and what the test finds in simulated samples."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.stats import binom, multinomial

from target_bench.core.metric import MetricSpec, to_mean_statistics
from target_bench.metrics.scores import make_default_metric
from target_bench.metrics.stats import (
    FEWEST,
    detectable,
    detectable_difference,
    power,
    randomization_tests,
)
from target_bench.runs.slicing import make_mean


@given(st.integers(1, 12), st.floats(0.05, 1), st.floats(0.05, 1))
def test_power_is_that_of_all_outcomes(n: int, effect: float, share: float) -> None:
    share = max(share, effect)
    better, worse = (share + effect) / 2, (share - effect) / 2
    expected = 0.0
    for wins in range(n + 1):
        for losses in range(n + 1 - wins):
            p = 2 * binom.cdf(min(wins, losses), wins + losses, 0.5)
            if p < 0.05:
                counts = [wins, losses, n - wins - losses]
                expected += multinomial.pmf(counts, n, [better, worse, 1 - share])
    assert power(n, effect, share) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize(("n", "share", "size"), [(230, 0.3, 1), (7, 0.9, 1), (100, 0.5, 0.5)])
def test_difference_is_found_in_80_of_100_samples(n: int, share: float, size: float) -> None:
    """With the test of ``compare``."""
    effect = detectable_difference(n, share, size)
    assert effect is not None
    gain = effect / size
    share = max(share, gain)
    generator = np.random.default_rng(0)
    chances = [(share + gain) / 2, (share - gain) / 2, 1 - share]
    drawn = generator.choice([size, -size, 0.0], p=chances, size=(4000, n))
    values = np.vstack([drawn, np.zeros((1, n))])
    p_values = np.array(randomization_tests(values, [(i, 4000) for i in range(4000)]))
    assert (p_values < 0.05).mean() == pytest.approx(0.8, abs=0.02)


def test_systems_that_never_differ_show_nothing() -> None:
    assert power(100, 0, 0) == 0


def test_few_queries_show_nothing() -> None:
    """Five that all differ in one direction have p = 0.0625, and a sixth makes it 0.031."""
    assert detectable_difference(FEWEST - 1, 1) is None
    six = detectable_difference(6, 1)
    assert six is not None
    assert ((1 + six) / 2) ** 6 == pytest.approx(0.8, abs=1e-4)
    metric = make_default_metric("recall@10")
    assert metric is not None
    assert (
        detectable(metric, to_mean_statistics(np.ones(5)), to_mean_statistics(np.zeros(5))) is None
    )


def test_values_without_a_scale_that_are_all_the_same_say_nothing() -> None:
    same = make_mean("v", np.full(30, -1.0), MetricSpec("v", scale="unbounded", highest=-1.0))
    assert detectable(same.metric, same.statistics, same.statistics) is None


@given(st.integers(6, 20_000), st.floats(0, 1), st.floats(0.1, 1))
@settings(max_examples=30)
@example(n=51, share=1.0, size=1.0)
@example(n=18951, share=0.0, size=1.0)
def test_detectable_is_the_inverse(n: int, share: float, size: float) -> None:
    """Also where all queries differ, and another query can lower the power."""
    effect = detectable_difference(n, share, size)
    assert effect is not None
    assert power(n, effect / size, share) == pytest.approx(0.8, abs=1e-3)


@pytest.mark.parametrize(("rate", "size"), [(0.2, 1.0), (0.2, 0.5), (0.0, 1.0)])
def test_of_two_systems(rate: float, size: float) -> None:
    """Share and size are those of the queries that differ."""
    metric = make_default_metric("recall@10")
    assert metric is not None
    values = np.full(100, 0.5)
    other = values.copy()
    differ = round(rate * 100)
    other[:differ] += np.resize([size / 2, -size / 2], differ)
    effect = detectable(metric, to_mean_statistics(values), to_mean_statistics(other))
    expected = detectable_difference(100, rate, size / 2 if differ else 1.0)
    assert effect == pytest.approx(expected, abs=1e-5)
