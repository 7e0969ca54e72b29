"""RMS by hand and by properties."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from target_bench.metrics.tables.relative_mapping import relative_mapping

TABLE = [["year", "Rome", "Oslo"], ["1990", "10", "200"], ["1991", "20", "n/a"]]
CELLS = st.text("ab1.%", max_size=4)
GRIDS = st.tuples(st.integers(1, 4), st.integers(1, 4)).flatmap(
    lambda size: st.lists(
        st.lists(CELLS, min_size=size[1], max_size=size[1]), min_size=size[0], max_size=size[0]
    )
)


def _with(row: int, column: int, text: str) -> list[list[str]]:
    return [
        [text if (i, j) == (row, column) else cell for j, cell in enumerate(cells)]
        for i, cells in enumerate(TABLE)
    ]


def test_numbers_within_a_tenth_count_in_part() -> None:
    assert relative_mapping(TABLE, _with(1, 2, "210")).f1 == pytest.approx((3 + 0.95) / 4)
    assert relative_mapping(TABLE, _with(1, 2, "220")).f1 == pytest.approx(3 / 4)


def test_texts_count_up_to_half_of_their_length() -> None:
    assert relative_mapping(TABLE, _with(2, 2, "n/b")).f1 == pytest.approx((3 + 2 / 3) / 4)
    assert relative_mapping(TABLE, _with(2, 2, "xyz")).f1 == pytest.approx(3 / 4)


def test_order_transposition_and_case_do_not_count() -> None:
    turned = [list(column) for column in zip(*TABLE, strict=True)]
    assert relative_mapping(TABLE, [TABLE[0], TABLE[2], TABLE[1]]).f1 == 1
    assert relative_mapping(TABLE, turned).f1 == 1
    assert relative_mapping(TABLE, _with(0, 1, "ROME")).f1 == 1


@pytest.mark.parametrize("text", ["nan", "inf", "1e999%"])
def test_what_is_no_finite_number_is_a_text(text: str) -> None:
    assert relative_mapping(_with(1, 1, text), _with(1, 1, text)).f1 == 1
    assert relative_mapping(_with(1, 1, text), TABLE).f1 == pytest.approx(3 / 4)


def test_a_missing_row_costs_recall() -> None:
    found = relative_mapping(TABLE, TABLE[:2])
    assert (found.precision, found.recall) == (1, 0.5)
    assert relative_mapping(TABLE, [["year"]]).f1 == 0


@given(GRIDS, GRIDS)
def test_bounds(one: list[list[str]], other: list[list[str]]) -> None:
    found = relative_mapping(one, other)
    assert all(-1e-12 <= value <= 1 + 1e-12 for value in found)
