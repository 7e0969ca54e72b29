"""Numbers of queries: Connor's formula, and what a simulated test finds with them."""

from math import sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from target_bench.metrics.sample_size import detectable_with, queries_needed


def test_against_the_formula_by_hand() -> None:
    """Share of 0.3, difference of 0.1: (1.96 sqrt(.3) + .8416 sqrt(.29))² / .01 = 233.1."""
    wanted = (1.959964 * sqrt(0.3) + 0.841621 * sqrt(0.29)) ** 2 / 0.01
    assert 233 < wanted < 234
    assert queries_needed(0.1, 0.3) == 234
    assert queries_needed(0.6, 0.3) is None


@pytest.mark.parametrize(("effect", "share"), [(0.1, 0.3), (0.05, 0.15), (0.2, 0.4)])
def test_that_many_queries_show_the_difference_in_80_of_100_samples(
    effect: float, share: float
) -> None:
    """McNemar's test without continuity correction, which the formula is about."""
    n = queries_needed(effect, share)
    assert n is not None
    generator = np.random.default_rng(0)
    better, worse = (share + effect) / 2, (share - effect) / 2
    drawn = generator.multinomial(n, [better, worse, 1 - share], size=4000)
    wins, losses = drawn[:, 0], drawn[:, 1]
    statistic = (wins - losses) / np.sqrt(np.maximum(wins + losses, 1))
    assert 0.77 < float((np.abs(statistic) > 1.959964).mean()) < 0.83


@given(st.integers(1, 100_000), st.floats(0.001, 1))
def test_detectable_is_the_inverse(n: int, share: float) -> None:
    found = detectable_with(n, share)
    if found is None:
        return
    needed = queries_needed(found * (1 + 1e-9), share)
    if needed is not None:
        assert abs(needed - n) <= 1


def test_faults() -> None:
    for effect, share in ((0.0, 0.1), (0.1, -0.1), (0.1, 1.1)):
        with pytest.raises(ValueError, match="effect="):
            queries_needed(effect, share)
    with pytest.raises(ValueError, match="n=0"):
        detectable_with(0, 0.1)
    assert detectable_with(5, 0.0) is None
