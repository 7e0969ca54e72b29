"""Cells that differ: values that are not the same, however alike they are written."""

import time

import pytest

from target_bench.tables.comparison import compare_tables
from target_bench.tables.comparison.differences import Difference


def _compared(
    one: str, two: str, others: tuple[str, ...] = (), names: tuple[str, str] = ("value", "value")
) -> tuple[float, Difference | None]:
    """Return the score, and how one cell of a table differs; other rows are equal."""
    tables = [
        [["name", name], ["n0", text], *([f"n{i}", o] for i, o in enumerate(others, 1))]
        for name, text in zip(names, (one, two), strict=True)
    ]
    found = compare_tables(*tables)
    differences = [cell.difference for cell in found.cells if cell.difference is not None]
    return found.score(), differences[0] if differences else None


@pytest.mark.parametrize(
    ("one", "two"),
    [("5 million", "5"), ("$1.2 million", "1.2"), ("5M", "5"), ("12 k", "12"), ("5", "5 billion")],
)
def test_a_scale_that_is_left_out_or_added_is_another_number(one: str, two: str) -> None:
    score, found = _compared(one, two)
    assert score < 0.51
    assert found is not None
    assert found.kind == "unit"


def test_a_scale_in_the_name_of_a_column_counts() -> None:
    names = ("cost (million)", "cost")
    assert _compared("5", "5", names=names)[0] == pytest.approx(0.5, abs=1e-5)
    assert _compared("5", "5000000", names=names)[0] == 1
    assert _compared("5,000", "5", names=("cost (thousand)", "cost (million)"))[0] == 1


@pytest.mark.parametrize(
    ("one", "two", "names"),
    [
        ("$5", "5", ("cost (million)", "cost (million)")),
        ("$5", "$5 million", ("cost (million)", "cost (million)")),
        ("5 million", "$5 million", ("cost ($)", "cost ($)")),
        ("5", "5 million", ("cost ($ million)", "cost ($)")),
    ],
)
def test_the_units_of_a_cell_and_of_its_column_are_read_together(
    one: str, two: str, names: tuple[str, str]
) -> None:
    assert _compared(one, two, names=names)[0] == 1


def test_a_rounded_number_with_a_scale_is_nearly_right() -> None:
    _, found = _compared("1250000", "1.3 million", ("2000000",))
    assert found is not None
    assert found.kind == "numeric"
    assert found.share == pytest.approx(50_000 / 1_625_000)
    assert _compared("1250000", "1.25 million", ("2000000",))[0] == 1
    assert _compared("1249870", "1.25 million", ("2000000",))[0] == 1


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ("9780306406157", "9780306406158"),
        ("12345678901", "12345678902"),
        ("4111111111111111", "4111111111111112"),
        ("12345678901234567890", "12345678901234567891"),
        ("1e-13", "5e-13"),
        ("0.00000000000012", "0.00000000000013"),
        ("123.456789012345", "123.456789012346"),
    ],
)
def test_numbers_that_differ_in_any_digit_are_not_another_format(one: str, two: str) -> None:
    for first, second in ((one, two), (two, one)):
        _, found = _compared(first, second)
        assert found is not None
        assert found.kind == ("identifier" if one.isdigit() else "numeric")
        assert found.magnitude != 0


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ("0.3", "0.30000000000000004"),
        ("1.1 million", "1100000"),
        ("12,345,678,901,234,567", "12345678901234567"),
    ],
)
def test_equal_numbers_that_a_program_wrote_are_equal(one: str, two: str) -> None:
    assert _compared(one, two)[0] == 1


@pytest.mark.parametrize(
    ("one", "two", "others", "share"),
    [
        ("2 million", "1 million", ("500 thousand", "800 thousand"), 1 / 1.1),
        ("2 km", "1 km", ("500 m", "800 m"), 1 / 1.1),
        ("2 km", "1 km", ("3 km", "4 km"), 1 / 3),
        ("2 km", "1 km", ("1 kg", "4 km"), 1 / 3),
    ],
)
def test_the_mean_size_of_a_column_is_in_the_unit_of_the_cell(
    one: str, two: str, others: tuple[str, ...], share: float
) -> None:
    _, found = _compared(one, two, others)
    assert found is not None
    assert found.share == pytest.approx(share)


@pytest.mark.parametrize("number", ["1e308", "1e-300", "9" * 70 + "e250"])
def test_numbers_too_large_or_too_small_to_calculate_with_are_texts(number: str) -> None:
    assert _compared(number, number, (number, number))[0] == 1
    assert _compared(number, "5", (number,))[0] < 1
    assert _compared(number, number, (number,), ("length (mm)", "length (km)"))[0] == 1


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ("A+++", "A+"),
        ("C++", "C+"),
        ("C++", "C"),
        ("BBB-", "BBB"),
        ("AA-", "AA"),
        ("▲2.5%", "▼2.5%"),
        ("▲2.5%", "2.5%"),
        ("3 ↑", "3 ↓"),
        ("x > y", "x < y"),
        ("a=b", "a≠b"),
        ("a + b", "a b"),
        ("♥ 7", "♠ 7"),
        ("★★★", "★★"),
        ("🇫🇷 Paul", "🇩🇪 Paul"),
        ("5-6", "5.6"),
        ("10-3-1", "3-10-1"),
        ("1.2.3", "2.1.3"),
        ("6-4-2", "4-6-2"),
        ("Na", "-"),
        ("Nan", "NaN"),
    ],
)
def test_signs_and_the_order_of_numbers_are_not_another_format(one: str, two: str) -> None:
    assert _compared(one, two)[0] < 1
    assert _compared(two, one)[0] < 1


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ("A → B", "A -> B"),
        ("+5 of 7", "5 of 7"),
        ("Intel®", "Intel"),
        ("½ of it", "1/2 of it"),
        ("2-0", "2–0"),
        ("pre- and post-test", "Pre and Post Test"),
        ("1998*", "1998†"),
        ("12/31/1999", "31 December 1999"),
        ("31.12.99", "31 December 1999"),
        ("2001/2/13", "13 Feb 2001"),
        ("3:45", "3:45.00"),
        ("NA", "-"),
    ],
)
def test_signs_that_say_nothing_and_other_forms_of_dates_and_times_are_equal(
    one: str, two: str
) -> None:
    assert _compared(one, two)[0] == 1
    assert _compared(two, one)[0] == 1


def test_minutes_and_seconds_differ_by_seconds() -> None:
    _, found = _compared("3:45.50", "3:46")
    assert found is not None
    assert (found.kind, found.unit) == ("time", "seconds")
    assert found.magnitude == pytest.approx(0.5)
    assert found.share == pytest.approx(0.5 / 225.5)


def test_yes_and_no_of_one_letter_are_booleans_among_booleans_only() -> None:
    assert _compared("N", "No", ("yes", "Y"))[0] == 1
    assert _compared("N", "No", ("He", "Ne"))[0] < 1
    assert _compared("no", "false", ("He", "Ne"))[0] == 1


def _columns(one: list[str], two: list[str], name: str = "value") -> list[Difference | None]:
    """Return how the cells of a column differ, row by row; the rows have names."""
    tables = [[["name", name], *([f"n{i}", cell] for i, cell in enumerate(c))] for c in (one, two)]
    return [cell.difference for cell in compare_tables(*tables).cells if cell.column.reference]


def test_leading_zeros_of_identifiers_are_named_and_cost() -> None:
    zips = ["01037", "02139", "10001"]
    for one, two, zeros in ((zips, ["1037", "2139", "10001"], -1), (["1037"], ["01037"], 1)):
        found = _columns(one, two)
        assert found[0] == Difference("identifier", 0.5, zeros, "leading zeros")
    assert _columns(zips, ["1037", "2139", "10001"])[2] is None
    assert _columns(["05", "11"], ["5", "11"])[0] == Difference("format", 0.0), "a month"


def test_one_zero_before_an_amount_makes_no_identifiers() -> None:
    amounts = ["12", "150", "007", "98"]
    kinds = [d and d.kind for d in _columns(amounts, ["13", "150", "7", "98"])]
    assert kinds == ["numeric", None, "format", None]
    codes = ["030123", "0401234", "0511", "89"]  # most of them begin with zero
    assert _columns(codes, ["30123", *codes[1:]])[0] == Difference(
        "identifier", 0.5, -1, "leading zeros"
    )


def test_long_identifiers_are_no_amounts() -> None:
    ids = ["123456789012", "123456789345", "123456789678"]
    lost = ["1.23457E+11"] * 3
    assert _columns(ids, lost) == [Difference("identifier", 1.0)] * 3
    assert _columns(ids, [f"{number}.0" for number in ids]) == [Difference("format", 0.0)] * 3
    amounts = ["123456789000", "123456789345", "123456789678"]
    kinds = {found.kind for found in _columns(amounts, lost) if found is not None}
    assert kinds == {"numeric"}


def test_a_column_has_its_dates_in_one_order() -> None:
    """One cell decides: 01/18 has the month first, so 05/02 is not the 5th of February."""
    iso = ["2024-01-18", "2024-02-05", "2024-03-04", "2024-07-01"]
    american = ["01/18/2024", "02/05/2024", "03/04/2024", "07/01/2024"]
    exchanged = ["01/18/2024", "05/02/2024", "03/04/2024", "01/07/2024"]
    assert {d.kind for d in _columns(iso, american) if d} == {"format"}
    for reference in (iso, american):
        kinds = [d and d.kind for d in _columns(reference, exchanged)]
        assert kinds[1] == kinds[3] == "date"
        assert "date" not in (kinds[0], kinds[2])


def test_dates_of_which_no_cell_decides_are_in_the_order_that_fits_most() -> None:
    iso = ["2024-01-02", "2024-03-04", "2024-05-06"]
    day_first = ["02/01/2024", "04/03/2024", "06/05/2024"]
    assert {d.kind for d in _columns(iso, day_first) if d} == {"format"}
    mixed = [d and d.kind for d in _columns(iso, [*day_first[:2], "05/06/2024"])]
    assert mixed == ["format", "format", "date"]
    assert _columns(day_first, ["01/02/2024", *day_first[1:]])[0] is not None


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ("increase", "decrease"),
        ("active", "inactive"),
        ("not guilty", "guilty"),
        ("male", "female"),
        ("with insurance", "without insurance"),
        ("with", "without"),
        ("legal", "illegal"),
        ("possible", "impossible"),
        ("regular", "irregular"),
        ("approved", "disapproved"),
        ("is covered", "isn't covered"),
        ("hypertension", "hypotension"),
        ("North Korea", "South Korea"),
        ("internal", "external"),
        ("ascending order", "descending order"),
        ("accelerating", "decelerating"),
        ("symptomatic", "asymptomatic"),
        ("positive", "negative"),
        ("smoker", "non-smoker"),
        ("12 (2)", "12"),
    ],
)
def test_opposites_are_other_text_at_full_cost(one: str, two: str) -> None:
    for first, second in ((one, two), (two, one)):
        _, found = _compared(first, second)
        assert found is not None
        assert (found.kind, found.share) == ("different", 1.0) or found.kind == "type"
        assert found.share == 1.0


@pytest.mark.parametrize(
    ("one", "two", "kind"),
    [
        ("Room No. 5", "Room Number 5", "semantic"),
        ("non-fatal", "nonfatal", "typo"),
        ("Nonprofit organisation", "Non-profit organization", "typo"),
        ("no. of wins", "number of wins", "semantic"),
        ("Berne", "Bern", "typo"),
        ("Don Smith", "Dan Smith", "typo"),
        ("India", "Indja", "typo"),
        ("does not know", "doesn't know", "typo"),
    ],
)
def test_what_only_looks_like_an_opposite_is_none(one: str, two: str, kind: str) -> None:
    _, found = _compared(one, two)
    assert found is not None
    assert found.kind == kind
    assert found.share < 1


def test_a_word_that_the_reference_has_elsewhere_is_no_slip() -> None:
    assert _columns(["Austria", "Bern"], ["Austrla", "Bern"])[0] is not None
    found = _columns(["angel", "angle"], ["angle", "angle"])[0]
    assert found is not None
    assert found.kind == "different"
    slip = _columns(["angel", "Bern"], ["angle", "Bern"])[0]
    assert slip is not None
    assert slip.kind == "typo"


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ("USA", "United States"),
        ("United States of America", "USA"),
        ("U.S.", "USA"),
        ("UK", "United Kingdom"),
        ("Department of Justice", "DOJ"),
        ("Czechia", "Czech Republic"),
    ],
)
def test_short_names_of_one_thing_are_abbreviations(one: str, two: str) -> None:
    _, found = _compared(one, two)
    assert found is not None
    assert (found.kind, found.share) == ("abbreviation", 0.25)


def test_long_texts_are_compared_in_time_that_grows_with_their_words() -> None:
    one, two = (" ".join(f"{letter}{i}" for i in range(3_000)) for letter in ("ab", "xyz"))
    start = time.process_time()
    _, found = _compared(one, two)
    assert time.process_time() - start < 5
    assert found is not None
    assert found.kind == "different"
