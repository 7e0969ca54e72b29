"""TEDS against the recursive edit distance, over the nodes that the official code counts."""

from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rapidfuzz.distance import Levenshtein

from benchmarks.table_metrics.tree_similarity import teds, tree_distance, tree_of
from tests.table_metrics.pairs import table_pairs

Grid = list[list[str]]
Tree = tuple[str, str, tuple["Tree", ...]]
ROWS = st.lists(st.sampled_from(["", "a", "ab", "xyz"]), min_size=1, max_size=3)
GRIDS = st.lists(ROWS, min_size=1, max_size=3)


def _tree(grid: Grid) -> Tree:
    rows: list[Tree] = [("tr", "", tuple(("td", cell, ()) for cell in row)) for row in grid]
    parts: list[Tree] = [("thead", "", tuple(rows[:1]))]
    return ("table", "", (*parts, *([("tbody", "", tuple(rows[1:]))] if rows[1:] else [])))


def _size(forest: tuple[Tree, ...]) -> int:
    return sum(1 + _size(tree[2]) for tree in forest)


@cache
def _distance(left: tuple[Tree, ...], right: tuple[Tree, ...]) -> float:
    if not left or not right:
        return _size(left) + _size(right)
    (tag, text, below), (other_tag, other_text, other_below) = left[-1], right[-1]
    if tag != other_tag:
        renamed = 1.0
    else:
        renamed = Levenshtein.normalized_distance(text, other_text) if tag == "td" else 0.0
    return min(
        _distance(left[:-1] + below, right) + 1,
        _distance(left, right[:-1] + other_below) + 1,
        _distance(left[:-1], right[:-1]) + _distance(below, other_below) + renamed,
    )


@given(GRIDS, GRIDS)
def test_as_defined(left: Grid, right: Grid) -> None:
    distance = tree_distance(tree_of(left), tree_of(right))
    assert distance == pytest.approx(_distance((_tree(left),), (_tree(right),)))
    assert (
        teds(left, right)
        == pytest.approx(_official(left, right))
        == pytest.approx(teds(right, left))
    )


def _official(left: Grid, right: Grid) -> float:
    """The distance over the nodes below ``table`` of the larger tree."""
    distance = _distance((_tree(left),), (_tree(right),))
    return 1 - distance / max(_size(_tree(grid)[2]) for grid in (left, right))


def test_300_pairs_are_scored_as_by_the_official_algorithm() -> None:
    for left, right in table_pairs(300, seed=13):
        assert teds(left, right) == pytest.approx(_official(left, right)), (left, right)


def test_by_hand() -> None:
    grid = [["a", "b"], ["c", "d"]]
    assert teds(grid, grid) == 1
    assert teds(grid, [["a", "b"], ["c", "x"]]) == pytest.approx(1 - 1 / 8)
    assert teds(grid, [["a", "b"]]) == pytest.approx(1 - 4 / 8)
    assert (teds([], []), teds(grid, [])) == (1, 0)
