"""Similarities of sequences against plain definitions of them."""

from difflib import SequenceMatcher

from hypothesis import given
from hypothesis import strategies as st

from target_bench.tables.hscore_v2 import similarity
from target_bench.tables.sequence_similarity import (
    common_subsequence,
    difflib_ratio,
    edit_distance,
)

ITEMS = st.lists(st.sampled_from(["", "", "", "a", "b", "cc", "12"]), max_size=30)
LONG = st.lists(st.integers(0, 12), min_size=190, max_size=260)


def _table(one: list[str], other: list[str]) -> tuple[int, int]:
    """Edit distance and length of the common subsequence, by the textbook's tables."""
    edits = list(range(len(other) + 1))
    common = [0] * (len(other) + 1)
    for i, item in enumerate(one, start=1):
        new_edits, new_common = [i], [0]
        for j, second in enumerate(other, start=1):
            least = min(new_edits[-1], edits[j]) + 1
            new_edits.append(min(least, edits[j - 1] + (item != second)))
            longest = max(new_common[-1], common[j])
            new_common.append(common[j - 1] + 1 if item == second else longest)
        edits, common = new_edits, new_common
    return edits[-1], common[-1]


@given(ITEMS, ITEMS)
def test_bits_count_as_tables_do(one: list[str], other: list[str]) -> None:
    assert (edit_distance(one, other), common_subsequence(one, other)) == _table(one, other)


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
