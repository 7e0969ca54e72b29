"""GriTS against the official algorithm worked out cell by cell, and by properties."""

from difflib import SequenceMatcher

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.table_metrics.grid_similarity import grits
from tests.table_metrics.pairs import Grid, table_pairs

CELLS = st.sampled_from(["", "a", "ab", "abc", "b c", "12"])
GRIDS = st.tuples(st.integers(1, 4), st.integers(1, 3)).flatmap(
    lambda size: st.lists(
        st.lists(CELLS, min_size=size[1], max_size=size[1]), min_size=size[0], max_size=size[0]
    )
)


def _like(left: str, right: str) -> float:
    if not left and not right:
        return 1.0
    blocks = SequenceMatcher(None, left, right).get_matching_blocks()
    return 2 * sum(block.size for block in blocks) / (len(left) + len(right))


def _aligned(n: int, m: int, like: list[list[float]]) -> tuple[float, list[tuple[int, int]]]:
    """The best alignment of two sequences, by trying every first step."""
    best: dict[tuple[int, int], tuple[float, list[tuple[int, int]]]] = {}
    for i in range(n + 1):
        for j in range(m + 1):
            if not i or not j:
                best[i, j] = (0.0, [])
                continue
            value, path = best[i - 1, j - 1]
            options = [
                (value + like[i - 1][j - 1], [*path, (i - 1, j - 1)]),
                best[i - 1, j],
                best[i, j - 1],
            ]
            best[i, j] = max(options, key=lambda option: option[0])
    return best[n, m]


def _defined(left: Grid, right: Grid) -> float:
    def by_rows(a: Grid, b: Grid) -> list[tuple[int, int]]:
        like = [
            [_aligned(len(x), len(y), [[_like(c, d) for d in y] for c in x])[0] for y in b]
            for x in a
        ]
        return _aligned(len(a), len(b), like)[1]

    rows = by_rows(left, right)
    columns = by_rows([list(c) for c in zip(*left)], [list(c) for c in zip(*right)])  # noqa: B905
    matched = sum(_like(left[i][j], right[k][m]) for i, k in rows for j, m in columns)
    return 2 * matched / (len(left) * len(left[0]) + len(right) * len(right[0]))


@given(GRIDS, GRIDS)
def test_as_defined(left: Grid, right: Grid) -> None:
    assert grits(left, right) == pytest.approx(_defined(left, right))
    assert 0 <= grits(left, right) <= 1 + 1e-12


def test_300_pairs_are_scored_as_by_the_official_algorithm() -> None:
    for left, right in table_pairs(300, seed=12):
        assert grits(left, right) == pytest.approx(_defined(left, right)), (left, right)


def test_blocks_are_not_the_longest_common_subsequence() -> None:
    """The longest common subsequence, abc, would give 6/16; the longest block is XY."""
    assert grits([["a1b2c3XY"]], [["XYa_b_c_"]]) == 4 / 16


@given(GRIDS)
def test_a_table_is_like_itself_and_as_its_transpose(grid: Grid) -> None:
    assert grits(grid, grid) == 1
    turned = [list(column) for column in zip(*grid, strict=True)]
    assert grits(turned, turned) == 1


def test_a_missing_row_and_empty_tables() -> None:
    grid = [["a", "b"], ["c", "d"], ["e", "f"]]
    assert grits(grid, grid[:2]) == pytest.approx(2 * 4 / 10)
    assert (grits([], []), grits(grid, [])) == (1, 0)
