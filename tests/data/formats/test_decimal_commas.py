"""Numbers with decimal commas."""

import pytest

from target_bench.data.formats.single_table import with_decimal_points


def test_decimal_commas_become_points_where_no_number_has_a_point() -> None:
    rows = with_decimal_points([["1.234,5", "Ann, Bob", "1.234", "01.02.2020", "-0,5"]])
    assert rows == [("1234.5", "Ann, Bob", "1234", "01.02.2020", "-0.5")]


@pytest.mark.parametrize(
    "cells",
    [
        ["1,234"],
        ["1,5", "2.5"],
        ["Ann"],
        ["12,345", "1,234,567", "3,4"],
        ["12,345", "1,234.50", "3,4"],
    ],
)
def test_other_numbers_stay(cells: list[str]) -> None:
    assert with_decimal_points([cells]) is None
