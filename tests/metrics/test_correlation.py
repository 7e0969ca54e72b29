"""Correlations and their intervals."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from target_bench.metrics.correlation import correlations

NAN = float("nan")
numbers = st.one_of(st.integers(-3, 3).map(float), st.just(NAN))


def test_known_values() -> None:
    found = correlations([1, 2, 3, 4, 5, NAN], [2, 1, 4, 3, 5, 1])
    assert found.n == 5
    assert found.pearson.value == pytest.approx(0.8)
    assert found.spearman.value == pytest.approx(0.8)
    assert found.kendall.value == pytest.approx(0.6)
    reach = 1.959963985 * np.sqrt(1 / 2)
    assert found.pearson.low == pytest.approx(np.tanh(np.arctanh(0.8) - reach))
    assert found.pearson.high == pytest.approx(np.tanh(np.arctanh(0.8) + reach))


@pytest.mark.parametrize(
    ("first", "second", "n"),
    [([], [], 0), ([1], [1], 1), ([1, 1, 1], [1, 2, 3], 3), ([1, NAN], [NAN, 1], 0)],
)
def test_none_without_a_difference(first: list[float], second: list[float], n: int) -> None:
    found = correlations(first, second)
    assert found.n == n
    assert found.pearson.value is found.spearman.value is found.kendall.value is None
    assert str(found.kendall) == "–"


def test_few_pairs_have_no_interval() -> None:
    found = correlations([1, 2, 3], [3, 2, 1])
    assert found.spearman.value == -1
    assert found.spearman.low is None
    assert str(found.spearman) == "-1.000"


def test_lengths_differ() -> None:
    with pytest.raises(ValueError, match="2 and 1"):
        correlations([1, 2], [1])


@given(st.lists(st.tuples(numbers, numbers), max_size=12))
def test_bounds_and_symmetry(pairs: list[tuple[float, float]]) -> None:
    first, second = [a for a, _ in pairs], [b for _, b in pairs]
    found, turned = correlations(first, second), correlations(second, first)
    for name in ("pearson", "spearman", "kendall"):
        one, other = getattr(found, name), getattr(turned, name)
        assert one.value == pytest.approx(other.value) or one.value is other.value is None
        if one.low is not None:
            assert -1 <= one.low <= one.value <= one.high <= 1
