"""How a CSV file is written."""

import pytest

from target_bench.data.formats.csv_dialect import separator_of, with_decimal_points


@pytest.mark.parametrize(
    ("text", "separator"),
    [
        ("a,b\n1,2\n", ","),
        ("a;b\n1,5;2,5\n", ";"),
        ("a|b\n1|2\n", "|"),
        ("a\tb\n1\t2\n", "\t"),
        ('"a;b",c\n1,2\n', ","),
        ("a,b\n1;2,3\n", ","),
        ("name\nAnn; Bob\nCyd\n", ","),
        ("", ","),
    ],
)
def test_what_divides_every_line_alike_is_the_separator(text: str, separator: str) -> None:
    assert separator_of(text) == separator


def test_decimal_commas_become_points_where_no_number_has_a_point() -> None:
    found = with_decimal_points([["1.234,5", "Ann, Bob", "1.234", "01.02.2020", "-0,5"]])
    assert found.had_commas
    assert found.rows == [["1234.5", "Ann, Bob", "1234", "01.02.2020", "-0.5"]]


@pytest.mark.parametrize("cells", [["1,234"], ["1,5", "2.5"], ["Ann"]])
def test_other_numbers_stay(cells: list[str]) -> None:
    found = with_decimal_points([cells])
    assert not found.had_commas
    assert found.rows == [cells]
