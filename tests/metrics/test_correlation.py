"""Correlations and their intervals."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from target_bench.metrics.correlation import correlations

NAN = float("nan")
numbers = st.one_of(st.integers(-3, 3).map(float), st.just(NAN))


def test_known_values() -> None:
    result = correlations([1, 2, 3, 4, 5, NAN], [2, 1, 4, 3, 5, 1])
    assert result.n == 5
    assert result.pearson.value == pytest.approx(0.8)
    assert result.spearman.value == pytest.approx(0.8)
    assert result.kendall.value == pytest.approx(0.6)
    reach = 1.959963985 * np.sqrt(1 / 2)
    assert result.pearson.low == pytest.approx(np.tanh(np.arctanh(0.8) - reach))
    assert result.pearson.high == pytest.approx(np.tanh(np.arctanh(0.8) + reach))


@pytest.mark.parametrize(
    ("first", "second", "n"),
    [([], [], 0), ([1], [1], 1), ([1, 1, 1], [1, 2, 3], 3), ([1, NAN], [NAN, 1], 0)],
)
def test_none_without_a_difference(first: list[float], second: list[float], n: int) -> None:
    result = correlations(first, second)
    assert result.n == n
    assert result.pearson.value is result.spearman.value is result.kendall.value is None
    assert str(result.kendall) == "–"


def test_few_pairs_have_no_interval() -> None:
    result = correlations([1, 2, 3], [3, 2, 1])
    assert result.spearman.value == -1
    assert result.spearman.low is None
    assert str(result.spearman) == "-1.000"


def test_lengths_differ() -> None:
    with pytest.raises(ValueError, match="2 and 1"):
        correlations([1, 2], [1])


@given(st.lists(st.tuples(numbers, numbers), max_size=12))
def test_bounds_and_symmetry(pairs: list[tuple[float, float]]) -> None:
    first, second = [a for a, _ in pairs], [b for _, b in pairs]
    straight, turned = correlations(first, second), correlations(second, first)
    for name in ("pearson", "spearman", "kendall"):
        mine, theirs = getattr(straight, name), getattr(turned, name)
        assert mine.value == pytest.approx(theirs.value) or mine.value is theirs.value is None
        if mine.low is not None:
            assert -1 <= mine.low <= mine.value <= mine.high <= 1
