"""Paired tests: equal to scipy's and ranx's, exact where they can be, and indifferent to order.

ranx has one test that scipy has not in its form, Fisher's randomisation test over 0/1 swaps of
queries. It brings 34 packages and 165 MB along (numba, llvmlite, pandas, fastparquet, ir-datasets,
lxml, seaborn), so what it says is recorded here and it is not a dependency of the tests.
"""

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from target_bench.core.metric import Floats, mean, to_mean_statistics
from target_bench.metrics import stats
from target_bench.metrics.scores import make_default_metric
from target_bench.metrics.stats import compare, holm, randomization_test, wins_ties_losses

SMALL = (
    np.array([0.1, 0.9, 0.4, 1.0, 0.0, 0.7, 0.3, 0.8]),
    np.array([0.2, 0.3, 0.4, 0.5, 0.0, 0.1, 0.35, 0.2]),
)
values = st.lists(
    st.tuples(st.sampled_from([0.0, 0.25, 0.5, 1.0]), st.sampled_from([0.0, 0.25, 0.5, 1.0])),
    min_size=1,
    max_size=11,
)


def _normal(n: int, shift: float) -> tuple[Floats, Floats]:
    generator = np.random.default_rng(3)
    second = generator.normal(size=n)
    return second + generator.normal(shift, 1, size=n), second


def _of_scipy(first: Floats, second: Floats, **more: Any) -> float:
    result = scipy_stats.permutation_test(
        (first, second),
        lambda a, b, axis: np.mean(a - b, axis=axis),
        permutation_type="samples",
        vectorized=True,
        **more,
    )
    return float(result.pvalue)


@settings(max_examples=60, deadline=None)
@given(values)
def test_exact_as_all_flips(pairs: list[tuple[float, float]]) -> None:
    first, second = (np.array(side) for side in zip(*pairs, strict=True))
    differences = first - second
    flips = np.array(list(itertools.product((-1, 1), repeat=len(pairs))))
    means = np.abs((flips * differences).mean(axis=1))
    expected = (means >= abs(differences.mean()) - 1e-12).mean()
    p, exact = randomization_test(first, second)
    assert exact
    assert p == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("shift", [0.0, 0.15, 0.3])
def test_sampled_as_in_scipy(shift: float) -> None:
    first, second = _normal(150, shift)
    p, exact = randomization_test(first, second)
    assert not exact
    theirs = _of_scipy(first, second, n_resamples=20_000, rng=np.random.default_rng(1))
    assert p == pytest.approx(theirs, abs=0.02)
    assert p == pytest.approx(scipy_stats.ttest_rel(first, second).pvalue, abs=0.02)


@pytest.mark.parametrize(("shift", "p"), [(0.0, 0.23182), (0.15, 0.00229), (0.3, 0.000005)])
def test_sampled_as_in_ranx(shift: float, p: float) -> None:
    """``fisher_randomization_test`` of ranx 0.3.21, with 200,000 permutations and its seed 42.

    Where several swaps give the very same difference (``SMALL``) ranx misses some of them, for it
    compares sums without a tolerance: 0.0935 in place of 0.125, which scipy has too.
    """
    sampled, _ = randomization_test(*_normal(150, shift), resamples=200_000)
    assert sampled == pytest.approx(p, rel=0.1, abs=1e-5)


@settings(max_examples=40, deadline=None)
@given(values.filter(lambda pairs: len(pairs) > 1), st.randoms(use_true_random=False))
def test_order_changes_nothing(pairs: list[tuple[float, float]], random: Any) -> None:
    """Of the queries, and of the systems."""
    shuffled = list(pairs)
    random.shuffle(shuffled)
    first, second = (np.array(side) for side in zip(*pairs, strict=True))
    third, fourth = (np.array(side) for side in zip(*shuffled, strict=True))
    p = randomization_test(first, second, resamples=60)
    assert p == randomization_test(third, fourth, resamples=60)
    assert p == randomization_test(second, first, resamples=60)


@settings(max_examples=40, deadline=None)
@given(values, st.integers(0, 3))
def test_p_is_a_probability_above_zero(pairs: list[tuple[float, float]], seed: int) -> None:
    first, second = (np.array(side) for side in zip(*pairs, strict=True))
    for resamples in (1, 50):
        p, exact = randomization_test(first, second, resamples=resamples, seed=seed)
        least = 2.0 ** -len(pairs) if exact else 1 / (resamples + 1)
        assert least <= p <= 1


def test_the_same_twice_is_not_a_difference() -> None:
    result = compare(SMALL[0], SMALL[0])
    assert (result.difference, result.p) == (0, 1)


def test_seed_decides_and_blocks_do_not(monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = _normal(64, 0.2)
    tested = compare(first, second, resamples=500, seed=1)
    assert tested == compare(first, second, resamples=500, seed=1)
    assert tested.p != compare(first, second, resamples=500, seed=2).p
    monkeypatch.setattr(stats, "_BLOCK", 64 * 7)
    assert tested == compare(first, second, resamples=500, seed=1)
    monkeypatch.setattr(stats, "_BLOCK", 3)
    assert randomization_test(*SMALL)[0] == pytest.approx(
        _of_scipy(*SMALL, n_resamples=np.inf), abs=1e-12
    )


def test_corpus_level_metric() -> None:
    """BLEU: swaps of whole answers, the corpus score each time."""
    bleu = make_default_metric("sacrebleu")
    assert bleu is not None
    generator = np.random.default_rng(0)
    reference = generator.integers(5, 12, size=8)
    sides = []
    for share in (0.9, 0.5):
        right = generator.binomial(reference, share)
        counts = [np.maximum(right - i, 0) for i in range(4)]
        totals = [np.maximum(reference - i, 1) for i in range(4)]
        sides.append(np.column_stack([reference, reference, *counts, *totals]).astype(float))
    first, second = sides
    p, exact = randomization_test(first, second, bleu.value)
    assert exact
    observed = abs(bleu.value(first.sum(axis=0)) - bleu.value(second.sum(axis=0)))
    differences = []
    for flips in itertools.product((False, True), repeat=8):
        flipped = np.array(flips)[:, None]
        mine, theirs = np.where(flipped, second, first), np.where(flipped, first, second)
        differences.append(abs(bleu.value(mine.sum(axis=0)) - bleu.value(theirs.sum(axis=0))))
    assert p == pytest.approx(np.mean(np.array(differences) >= observed - 1e-9))


def test_queries_that_are_left_out() -> None:
    """A NaN is in neither numerator nor denominator, also of one side alone."""
    first, second = np.array([1.0, 0.0, np.nan, 1.0]), np.array([1.0, np.nan, np.nan, 0.0])
    assert mean(to_mean_statistics(first).sum(axis=0)) == pytest.approx(2 / 3)
    assert compare(first, second).difference == pytest.approx(2 / 3 - 1 / 2)
    assert wins_ties_losses(first, second) == (1, 1, 0)


def test_draws_without_a_query_are_left_out() -> None:
    """One query of forty is judged: a third of all draws hold none, and say nothing."""
    first, second = np.full(40, np.nan), np.full(40, np.nan)
    first[3], second[3] = 0.75, 0.25
    result = compare(first, second, resamples=200)
    assert result.difference == 0.5
    assert 1 / 201 <= result.p <= 1


def test_holm_as_published() -> None:
    """The steps of Holm 1979; order and ties of the input do not matter."""
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.9, 0.8]) == [1.0, 1.0]
    assert holm([0.02]) == [0.02]
    assert holm([]) == []


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_holm_lies_between_p_and_bonferroni(p_values: list[float]) -> None:
    corrected = holm(p_values)
    pairs = list(zip(p_values, corrected, strict=True))
    assert all(p <= c <= min(1.0, p * len(p_values)) + 1e-12 for p, c in pairs)
    assert [c for _, c in sorted(pairs)] == sorted(corrected)


def test_what_cannot_be_compared() -> None:
    with pytest.raises(ValueError, match="shapes"):
        compare(np.ones(3), np.ones(4))
    with pytest.raises(ValueError, match="no query"):
        compare(np.ones(0), np.ones(0))
    with pytest.raises(ValueError, match="resamples=0"):
        compare(np.ones(3), np.ones(3), resamples=0)
