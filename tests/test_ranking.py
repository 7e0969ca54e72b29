"""The rule that turns scores into a ranking, against a plain sort."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from target_bench.ranking import ranking_order, rounded, top_k

coarse = st.sampled_from([-1.0, 0.0, 0.1, 0.1 + 1e-9, 0.10001, 0.5, 3.0])
fine = st.floats(min_value=-1000, max_value=1000, allow_nan=False, width=32)
Floats = NDArray[np.float64]


@st.composite
def score_matrices(draw: st.DrawFn) -> Floats:
    """A few rows of scores, most of them full of ties."""
    n_rows = draw(st.integers(min_value=1, max_value=4))
    n_columns = draw(st.integers(min_value=1, max_value=40))
    cells = draw(st.sampled_from([coarse, fine, coarse | fine]))
    row = st.lists(cells, min_size=n_columns, max_size=n_columns)
    return np.array(draw(st.lists(row, min_size=n_rows, max_size=n_rows)))


def _by_sorting(scores: Floats, k: int) -> list[list[int]]:
    """Best first, by fifth decimal, then by column."""
    orders = []
    for row in scores:
        keys = np.rint(row.astype(np.float64) * 1e5)
        orders.append(np.lexsort((np.arange(len(row)), -keys))[:k].tolist())
    return orders


@given(score_matrices(), st.data())
def test_top_k_is_a_sort(scores: Floats, data: st.DataObject) -> None:
    """For k below, at and above the number of columns."""
    m = scores.shape[1]
    k = data.draw(st.sampled_from([1, max(1, m - 1), m, m + 1, m + 7]))
    best = top_k(scores, k)
    assert best.shape == (len(scores), min(k, m))
    assert best.tolist() == _by_sorting(scores, k)


@given(score_matrices())
def test_top_k_of_float32_is_a_sort(scores: Floats) -> None:
    """Scores are rounded in double precision, whatever they come in."""
    single = scores.astype(np.float32)
    assert top_k(single, 5).tolist() == _by_sorting(single.astype(np.float64), 5)


@given(score_matrices(), st.integers(min_value=1, max_value=50))
def test_top_k_leaves_its_argument_alone(scores: Floats, k: int) -> None:
    before = scores.copy()
    top_k(scores, k)
    assert (scores == before).all()


@pytest.mark.parametrize("n_columns", [1, 2, 3, 4, 5, 8, 9, 1000, 1024, 1025])
def test_all_tied(n_columns: int) -> None:
    """Columns keep their order, around the powers of two as well."""
    for value in (0.0, -3.5, 7.25):
        scores = np.full((2, n_columns), value)
        for k in (1, n_columns):
            assert top_k(scores, k).tolist() == [list(range(min(k, n_columns)))] * 2


def test_one_column() -> None:
    assert top_k(np.array([[3.0], [-1.0]]), 5).tolist() == [[0], [0]]


def test_no_column_and_no_row() -> None:
    assert top_k(np.zeros((2, 0)), 5).shape == (2, 0)
    assert top_k(np.zeros((0, 3)), 2).shape == (0, 2)


def test_the_sixth_decimal_decides_nothing() -> None:
    assert top_k(np.array([[0.123451, 0.123454, 0.12346]]), 3).tolist() == [[2, 0, 1]]


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1e300, -1e300, 1e11, -1e11])
@pytest.mark.parametrize("n_columns", [1, 2, 10])
def test_scores_that_cannot_rank(bad: float, n_columns: int) -> None:
    scores = np.zeros((2, n_columns))
    scores[1, -1] = bad
    with pytest.raises(ValueError, match="scores must be finite and below"):
        top_k(scores, 1)


@pytest.mark.parametrize("n_columns", [2, 1000, 200_000])
def test_the_largest_scores_that_rank(n_columns: int) -> None:
    """Just below the limit that the message names, the order is still exact."""
    scores = np.zeros((1, n_columns))
    scores[0, 0] = 1e30
    with pytest.raises(ValueError, match=r"below \d+$") as caught:
        top_k(scores, 1)
    limit = float(str(caught.value).rpartition(" ")[2])
    scores[0, 0] = -limit + 2
    scores[0, -2:] = limit - 2.00001, limit - 2
    assert top_k(scores, 2).tolist() == [[n_columns - 1, n_columns - 2]]


def test_rounded_is_a_new_array_of_whole_numbers() -> None:
    scores = np.array([0.1, -2.000004, 3.0])
    assert rounded(scores).tolist() == [10000.0, -200000.0, 300000.0]
    assert rounded(scores) is not scores
    assert scores.tolist() == [0.1, -2.000004, 3.0]


@given(st.lists(st.lists(st.tuples(coarse, st.integers(0, 99)), max_size=12), max_size=5))
def test_ranking_order_of_lists_end_to_end(lists: list[list[tuple[float, int]]]) -> None:
    """Every list is sorted within its own place."""
    flat = [pair for one in lists for pair in one]
    scores = np.array([score for score, _ in flat], dtype=np.float64)
    places = np.array([place for _, place in flat], dtype=np.int64)
    numbers = np.repeat(np.arange(len(lists)), [len(one) for one in lists])
    order = ranking_order(scores, places, numbers).tolist()
    expected = [
        pair
        for one in lists
        for pair in sorted(one, key=lambda pair: (-round(pair[0] * 1e5), pair[1]))
    ]
    assert numbers[order].tolist() == numbers.tolist()
    assert [(round(flat[i][0] * 1e5), flat[i][1]) for i in order] == [
        (round(score * 1e5), place) for score, place in expected
    ]


def test_zero_has_no_sign() -> None:
    """The sign of a score that rounds to zero is noise, and noise is never stored."""
    assert np.signbit(rounded(np.array([-1e-9, -0.0, 0.0, 1e-9]))).tolist() == [False] * 4
