"""Every change: it changes what it says, where it says, and nothing else."""

from random import Random

import pytest

from benchmarks.table_metrics.changes import (
    CHANGES,
    ERRORS,
    HARMLESS_CHANGES,
    LEVELS,
    Changed,
    Level,
    Rows,
    date_in,
    opposite,
    written,
)
from benchmarks.table_metrics.numbers import written_number
from target_bench.tables.comparison import compare_tables

TABLE: Rows = (
    ("Name", "Opened", "Length (km)", "Visitors", "Free", "Weight", "Places", "Note"),
    ("Upper Harbour Bridge", "5 May 1998", "1.5", "12,400", "yes", "12 kg", "Oslo, Rome", ""),
    ("Castle Park Station", "17 June 2004", "20", "8,100", "no", "7.5 kg", "Bern, Paris", "new"),
    ("Western Museum Hall", "1 March 1971", "3.25", "1,005", "yes", "30 kg", "Lima, Quito", "old"),
    ("Grand Northern Tower", "9 July 2013", "11", "77,000", "no", "4 kg", "Cairo, Accra", "-"),
)


def _made(name: str, level: Level) -> list[Changed]:
    """What becomes of the table under several seeds; some changes miss it under some of them."""
    made = (CHANGES[name].apply(TABLE, Random(str(seed)), level) for seed in range(8))
    changed = [each for each in made if each is not None]
    assert changed
    return changed


@pytest.mark.parametrize("name", ERRORS)
@pytest.mark.parametrize("level", LEVELS)
def test_an_error_lies_where_it_is_said_to_lie(name: str, level: Level) -> None:
    for rows, differences in _made(name, level):
        assert rows != TABLE
        assert differences
        assert len(set(differences)) == len(differences)
        for difference in differences:
            table = rows if difference.extra else TABLE
            assert difference.row is None or difference.row < len(table)
            assert difference.column is None or difference.column < len(table[0])
        if (
            all(difference.part in ("cell", "header") for difference in differences)
            and name != "truncated"
        ):
            wrong = {
                (i, j)
                for i, row in enumerate(TABLE)
                for j, cell in enumerate(row)
                if rows[i][j] != cell
            }
            assert wrong == {(difference.row, difference.column) for difference in differences}


@pytest.mark.parametrize("name", HARMLESS_CHANGES)
def test_a_harmless_change_keeps_the_meaning(name: str) -> None:
    for rows, differences in _made(name, "hard"):
        assert rows != TABLE
        assert differences == ()
        assert compare_tables(TABLE, rows).score() == 1.0


def test_there_are_errors_of_all_kinds() -> None:
    assert len(ERRORS) >= 16
    assert len(HARMLESS_CHANGES) == 6
    plain: Rows = (("a", "b"), ("x", "y"), ("z", "w"))
    assert CHANGES["date_shifted"].apply(plain, Random(0), "easy") is None
    assert CHANGES["other_units"].apply(plain, Random(0), "easy") is None


def test_what_would_change_nothing_or_leaves_the_calendar_is_not_drawn() -> None:
    zero: Rows = (("a", "b"), ("x", "0 km"), ("y", "0.0 kg"))
    first: Rows = (("a", "b"), ("x", "0001-01-01"), ("y", "9999-12-31"))
    made = [CHANGES["date_shifted"].apply(first, Random(seed), "hard") for seed in range(8)]
    assert any(each is not None for each in made)
    assert CHANGES["wrong_unit"].apply(zero, Random(0), "easy") is None


def test_levels_say_how_many_places_change() -> None:
    counts = [len(_made("missing_cell", level)[0].differences) for level in LEVELS]
    assert counts == sorted(counts, reverse=True)
    assert counts[-1] == 1


def test_cells_are_read_only_where_they_are_certain() -> None:
    number = written_number("$1,250.50")
    assert number is not None
    assert str(number.value) == "1250.50"
    assert written(number, number.value * 2) == "$2,501.00"
    for text in ("2-1", "10:05", "3rd", "24: Live", "2018–present", "", "-"):
        assert written_number(text) is None
    assert date_in("31 February 2001") is None
    assert date_in("2001-02-03") == date_in("3 February 2001")[:1] + (0,)  # type: ignore[index]  # noqa: RUF005
    assert (opposite("Yes"), opposite("TRUE"), opposite("maybe")) == ("No", "FALSE", None)
