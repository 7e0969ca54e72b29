"""Similarities of sequences against plain definitions of them."""

from difflib import SequenceMatcher

from hypothesis import given
from hypothesis import strategies as st

from target_bench.tables.h_score import difflib_ratio, similarity

ITEMS = st.lists(st.sampled_from(["", "", "", "a", "b", "cc", "12"]), max_size=30)
LONG = st.lists(st.integers(0, 12), min_size=190, max_size=260)


@given(ITEMS, ITEMS)
def test_ratio_is_difflibs(one: list[str], other: list[str]) -> None:
    assert difflib_ratio(one, other) == SequenceMatcher(None, one, other).ratio()


@given(LONG, LONG)
def test_ratio_is_difflibs_where_items_are_popular(one: list[int], other: list[int]) -> None:
    assert difflib_ratio(one, other) == SequenceMatcher(None, one, other).ratio()


@given(ITEMS, ITEMS)
def test_repaired_similarity_is_bounded_and_symmetric(one: list[str], other: list[str]) -> None:
    found = similarity(one, other)
    assert 0 <= found <= 1
    assert found == similarity(other, one)
    assert (found == 1) == (one == other)
