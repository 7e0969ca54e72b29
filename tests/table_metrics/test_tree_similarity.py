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
def _distance(one: tuple[Tree, ...], other: tuple[Tree, ...]) -> float:
    if not one or not other:
        return _size(one) + _size(other)
    (tag, text, below), (other_tag, other_text, other_below) = one[-1], other[-1]
    if tag != other_tag:
        renamed = 1.0
    else:
        renamed = Levenshtein.normalized_distance(text, other_text) if tag == "td" else 0.0
    return min(
        _distance(one[:-1] + below, other) + 1,
        _distance(one, other[:-1] + other_below) + 1,
        _distance(one[:-1], other[:-1]) + _distance(below, other_below) + renamed,
    )


@given(GRIDS, GRIDS)
def test_as_defined(one: Grid, other: Grid) -> None:
    found = tree_distance(tree_of(one), tree_of(other))
    assert found == pytest.approx(_distance((_tree(one),), (_tree(other),)))
    assert (
        teds(one, other) == pytest.approx(_official(one, other)) == pytest.approx(teds(other, one))
    )


def _official(one: Grid, other: Grid) -> float:
    """The distance over the nodes below ``table`` of the larger tree."""
    distance = _distance((_tree(one),), (_tree(other),))
    return 1 - distance / max(_size(_tree(grid)[2]) for grid in (one, other))


def test_300_pairs_are_scored_as_by_the_official_algorithm() -> None:
    for one, other in table_pairs(300, seed=13):
        assert teds(one, other) == pytest.approx(_official(one, other)), (one, other)


def test_by_hand() -> None:
    grid = [["a", "b"], ["c", "d"]]
    assert teds(grid, grid) == 1
    assert teds(grid, [["a", "b"], ["c", "x"]]) == pytest.approx(1 - 1 / 8)
    assert teds(grid, [["a", "b"]]) == pytest.approx(1 - 4 / 8)
    assert (teds([], []), teds(grid, [])) == (1, 0)
