"""The rules that turn scores into a ranking: no scale and no order of tables decides."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import NDArray

from target_bench.core.ranking import (
    DOUBLE_DIGITS,
    SINGLE_DIGITS,
    SortedRankings,
    is_rising,
    round_scores,
    sort_by_score,
    top_k,
)

coarse = st.sampled_from([-1.0, -0.0, 0.0, 0.1, 0.1 + 1e-15, 0.1 + 1e-7, 0.5, 3.0])
fine = st.floats(min_value=-1000, max_value=1000, allow_nan=False, width=32)
Floats = NDArray[np.float64]

SCALES = (1e-300, 1e-8, 1e-6, 3.7, 1e6, 1e290)


@st.composite
def score_matrices(draw: st.DrawFn) -> Floats:
    """A few rows of scores, most of them full of ties."""
    n_rows = draw(st.integers(min_value=1, max_value=4))
    n_columns = draw(st.integers(min_value=1, max_value=40))
    cells = draw(st.sampled_from([coarse, fine, coarse | fine]))
    row = st.lists(cells, min_size=n_columns, max_size=n_columns)
    return np.array(draw(st.lists(row, min_size=n_rows, max_size=n_rows)))


def _rounded(scores: Floats) -> Floats:
    """The first 32 binary digits of each score."""
    mantissas, exponents = np.frexp(scores)
    digits = np.trunc(mantissas * 2.0**32 + np.copysign(0.5, mantissas))
    return np.asarray(np.ldexp(digits, exponents - 32))


def _by_sorting(scores: Floats, k: int) -> list[list[int]]:
    """Best first, by the rounded scores, then by column."""
    whole = _rounded(scores)
    return [np.lexsort((np.arange(len(row)), -row))[:k].tolist() for row in whole]


@given(score_matrices(), st.data())
def test_top_k_is_a_sort(scores: Floats, data: st.DataObject) -> None:
    """For k below, at and above the number of columns."""
    m = scores.shape[1]
    k = data.draw(st.sampled_from([1, max(1, m - 1), m, m + 1, m + 7]))
    best, rounded = top_k(scores, k)
    assert best.shape == rounded.shape == (len(scores), min(k, m))
    assert best.tolist() == _by_sorting(scores, k)
    assert rounded.tolist() == np.take_along_axis(_rounded(scores), best, axis=1).tolist()


@given(score_matrices(), st.sampled_from([2.0**-900, 2.0**-20, 2.0, 2.0**900]))
def test_a_power_of_two_changes_nothing(scores: Floats, scale: float) -> None:
    best, rounded = top_k(scores, 9)
    again, scaled = top_k(scores * scale, 9)
    assert (best == again).all()
    assert (rounded * scale == scaled).all()


def test_more_columns_than_fit_into_a_key() -> None:
    scores = np.zeros((1, 2**21 + 3))
    scores[0, [5, 2**21 + 1]] = 1.0
    assert top_k(scores, 4)[0].tolist() == [[5, 2**21 + 1, 0, 1]]


@pytest.mark.parametrize("bad", [np.nan, -np.nan, np.inf, np.finfo(np.float64).max])
@pytest.mark.parametrize("n_columns", [1, 2, 10])
def test_scores_that_cannot_rank(bad: float, n_columns: int) -> None:
    scores = np.zeros((2, n_columns))
    scores[1, -1] = bad
    with pytest.raises(ValueError, match="scores must be finite"):
        top_k(scores, 1)


@given(
    hnp.arrays(np.float64, (3, 40), elements=st.floats(0.001, 1000)),
    st.randoms(use_true_random=False),
)
def test_sums_in_any_order_are_equal(terms: Floats, random: Any) -> None:
    """What a batch or a thread changes of a lexical score: the order of its additions."""
    order = np.random.default_rng(random.getrandbits(32)).permutation(40)
    sums, reordered = terms.sum(axis=1), terms[:, order].cumsum(axis=1)[:, -1]
    off = top_k(sums[:, None], 1)[1][:, 0] - top_k(reordered[:, None], 1)[1][:, 0]
    step = 2.0 ** (np.frexp(sums)[1] - 32)
    near_edge = np.abs(np.abs(sums / step % 1) - 0.5) < 1e-4
    assert (off[~near_edge] == 0).all()


@pytest.mark.parametrize("digits", [SINGLE_DIGITS, DOUBLE_DIGITS])
@pytest.mark.parametrize("unit", [1.0, 1 + 1e-7, 1 - 1e-7, 0.8, 1.3])
def test_graded_by_the_nearest_power_of_two(unit: float, digits: int) -> None:
    scores = np.array([0.3, -0.3, 1e-12, -1e-12, 1.0])
    grades = round_scores(scores, unit, digits)
    assert grades.tolist() == (np.rint(scores * 2.0**digits) / 2.0**digits).tolist()
    assert not np.signbit(grades[2:4]).any()
    for scale in (2.0**-700, 2.0**700, 2.0**1000):
        assert (
            round_scores(scores * scale, unit * scale, digits).tolist() == (grades * scale).tolist()
        )


def _settle(scores: Any, rows: Any = None) -> SortedRankings:
    values = np.atleast_2d(np.asarray(scores))
    places = np.arange(values.shape[1])[None, :] if rows is None else np.atleast_2d(rows)
    return sort_by_score(np.asarray(places), values)


def _order(scores: Any) -> list[int]:
    order: list[int] = _settle(scores).rows[0].tolist()
    return order


distinct = st.lists(
    st.floats(-50, 50, allow_nan=False), min_size=2, max_size=20, unique=True
).filter(lambda scores: np.diff(np.sort(np.abs(scores))).min() > 1e-4)
"""Scores far enough apart for every transformation below, in single precision too."""

INCREASING: dict[str, Callable[[Floats], Floats]] = {
    **{f"times {scale:g}": lambda x, scale=scale: x * scale for scale in SCALES},  # type: ignore[misc]
    "plus 1000": lambda x: x + 1000,
    "sigmoid": lambda x: 1 / (1 + np.exp(-x / 4)),
    "sharp sigmoid": lambda x: 1 / (1 + np.exp(-x / 2)),
    "tanh": lambda x: np.tanh(x / 10),
    "log": lambda x: np.log(x + 51),
    "cube": lambda x: x**3,
    "exp": np.exp,
    "minus the reciprocal": lambda x: -1 / (x + 51),
}


@pytest.mark.parametrize("name", INCREASING)
@given(scores=distinct)
def test_an_increasing_function_ranks_alike(name: str, scores: list[float]) -> None:
    values = np.array(scores)
    plain = np.argsort(-values).tolist()
    changed = INCREASING[name](values)
    gaps = np.diff(np.sort(changed))
    assume((gaps > 0).all())  # else floats do not tell them apart
    assert _order(changed) == plain
    assert not _settle(changed).tied.any()


@given(
    scores=st.lists(st.sampled_from([0.0, 0.5, 0.5 + 2**-53, 1.0, 1.0 - 2**-24]), max_size=12),
    seed=st.integers(0, 2**32 - 1),
)
def test_a_ranking_is_a_sort(scores: list[float], seed: int) -> None:
    """By score, then by place, for tables in any order."""
    values = np.array(scores)
    expected = np.lexsort((np.arange(len(values)), -values)).tolist()
    places = np.random.default_rng(seed).permutation(len(values))
    ranking = _settle(values[places], places)
    assert ranking.rows[0].tolist() == expected
    assert ranking.scores[0].tolist() == values[expected].tolist()
    assert ranking.tied[0] == (len(set(scores)) < len(scores))


def test_scores_that_run_out_of_digits_rank_as_they_are() -> None:
    """A sigmoid in single precision near 1: each score is a unit or two from the next."""
    ladder = np.float32(1) - np.arange(1, 30, dtype=np.float32) * np.float32(2**-24)
    for k in range(1, 30):
        assert _order(ladder[::-1][-k:]) == list(range(k - 1, -1, -1))
    assert not _settle(ladder).tied.any()


def test_unfilled_places_stay_last() -> None:
    ranking = _settle([[9.0, 7.0, 8.0], [1.0, 9.0, 9.0]], [[1, -1, -1], [4, 0, -1]])
    assert ranking.rows.tolist() == [[1, -1, -1], [0, 4, -1]]
    assert ranking.scores.tolist() == [[9.0, 0.0, 0.0], [9.0, 1.0, 0.0]]
    assert ranking.moved.tolist() == [False, True]
    assert ranking.tied.tolist() == [False, False]


def test_rises() -> None:
    assert is_rising(np.array([0.3, 0.2, 0.21]))
    assert not is_rising(np.array([0.91234567, 0.9123455, 0.9123458, 0.5]))
    assert not is_rising(np.array([]))
    assert not is_rising(np.array([0.3]))
