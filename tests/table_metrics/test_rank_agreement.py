"""Rank agreement: ends of the scale, ties, and what the measures have to do with each other."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.table_metrics.rank_agreement import (
    MEASURES,
    agreements,
    footrule,
    order_of,
    rank_agreement,
    rank_biased_overlap,
)

ORDERS = st.integers(2, 8).flatmap(lambda n: st.permutations(range(n)))


@given(ORDERS)
def test_the_order_itself_agrees_and_its_reverse_does_not(order: list[int]) -> None:
    n = len(order)
    scores = [float(n - order.index(item)) for item in range(n)]
    same = rank_agreement(order, scores)
    assert [same.spearman, same.kendall, same.weighted_tau] == pytest.approx([1, 1, 1])
    assert same.footrule == 0
    assert same.rbo == pytest.approx(1 - 0.9**n)
    other = rank_agreement(order, [-score for score in scores])
    assert [other.spearman, other.kendall] == pytest.approx([-1, -1])
    assert other.footrule == pytest.approx(1)


@given(st.lists(st.integers(0, 3), min_size=2, max_size=8))
def test_any_increasing_function_of_the_scores_agrees_alike(scores: list[int]) -> None:
    order = list(range(len(scores)))
    assert rank_agreement(order, scores) == rank_agreement(order, [2.0**s for s in scores])


def test_ties_share_a_rank_and_keep_their_order_where_one_is_needed() -> None:
    assert order_of([1, 2, 2, 3]) == [3, 1, 2, 0]
    assert rank_agreement([0, 1, 2], [1, 1, 1]).spearman == 0
    assert rank_agreement([0, 1, 2], [1, 1, 1]).footrule == 0
    assert rank_agreement([1, 2, 0], [0.5, 1, 1]).spearman == pytest.approx(0.8660254)


def test_overlap_and_footrule_by_hand() -> None:
    assert rank_biased_overlap([0, 1], [1, 0], 0.5) == 0.5 * (0 + 0.5)
    assert rank_biased_overlap([0, 1], [1, 0], 1) == 0.5
    assert footrule([0, 1, 2], [2, 1, 0]) == 4
    values = agreements([[0, 1], [1, 0]], [[2, 1], [2, 1]])
    assert values.shape == (2, len(MEASURES))
    assert np.allclose(values[:, 0], [1, -1])


@pytest.mark.parametrize(("order", "scores"), [([0], [1.0]), ([0, 0], [1, 2]), ([1, 2], [1, 2])])
def test_what_is_not_an_order(order: list[int], scores: list[float]) -> None:
    with pytest.raises(ValueError, match="is not one of"):
        rank_agreement(order, scores)
