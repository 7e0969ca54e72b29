"""What holds of every comparison: equal tables, changed order, exchanged sides, other formats."""

import random
from collections.abc import Sequence
from datetime import date

from hypothesis import example, given, settings
from hypothesis import strategies as st

from target_bench.tables.comparison import TableComparison, compare_tables

Rows = list[list[str]]

CELLS = st.one_of(
    st.text(st.characters(codec="utf-8"), max_size=12),
    st.integers(-10_000, 10_000).map(str),
    st.floats(-1e6, 1e6).map(lambda number: f"{number:,.2f}"),
    st.dates().map(str),
    st.sampled_from(["", "-", "yes", "no", "12%", "$1.2 million", "3 km", "a, b", "10:30", "(12)"]),
)


@st.composite
def tables(draw: st.DrawFn, most_rows: int = 5) -> Rows:
    """Draw a table: rows of one length, the header first."""
    width = draw(st.integers(1, 5))
    row = st.lists(CELLS, min_size=width, max_size=width)
    return draw(st.lists(row, min_size=1, max_size=most_rows + 1))


@st.composite
def named_tables(draw: st.DrawFn) -> Rows:
    """Draw a table with names of columns and keys of rows that are all different."""
    width, height = draw(st.integers(2, 5)), draw(st.integers(2, 6))
    numbers = st.lists(st.integers(1, 9999), min_size=width - 1, max_size=width - 1)
    rows = [[f"{_NAMES[i]} {i}", *map(str, draw(numbers))] for i in range(height)]
    return [[f"{_COLUMNS[j]}" for j in range(width)], *rows]


_NAMES = ("Amsterdam", "Berlin", "Copenhagen", "Dublin", "Edinburgh", "Florence")
_COLUMNS = ("city", "population", "founded", "area", "students")


@given(tables())
@example([["a"], ["1", "2"], []])
@example([["", ""], ["", ""]])
@example([["1/2"], ["١٢"], ["²"], ["1e999"], ["9" * 400]])
def test_a_table_equals_itself(table: Rows) -> None:
    found = compare_tables(table, table)
    assert found.score() == 1
    assert all(cell.outcome == "exact" and cell.difference is None for cell in found.cells)
    assert not found.transposed


@given(tables(), tables())
@settings(deadline=None)
def test_any_two_tables_are_compared(one: Rows, two: Rows) -> None:
    found = compare_tables(one, two)
    assert 0 <= found.score() <= 1
    structure = found.structure
    assert structure.matched_rows + structure.missing_rows == len(found.reference.rows)
    assert structure.matched_rows + structure.extra_rows == len(found.prediction.rows)
    assert all(0 <= d.share <= 1 for cell in found.cells if (d := cell.difference) is not None)
    assert str(found)
    assert found._repr_html_()


@given(named_tables(), st.randoms(use_true_random=False))
def test_the_order_of_rows_and_columns_does_not_count(table: Rows, rng: random.Random) -> None:
    columns = rng.sample(range(len(table[0])), len(table[0]))
    rows = rng.sample(table[1:], len(table) - 1)
    shuffled = [[row[j] for j in columns] for row in (table[0], *rows)]
    found = compare_tables(table, shuffled)
    assert found.score() == 1
    assert all(cell.outcome == "exact" for cell in found.cells)


@given(named_tables())
def test_a_transposed_table_is_equal(table: Rows) -> None:
    found = compare_tables(table, [list(row) for row in zip(*table, strict=True)])
    assert found.transposed
    assert found.score() == 1


@given(named_tables(), st.data())
def test_what_is_missing_on_one_side_is_extra_on_the_other(
    table: Rows, data: st.DataObject
) -> None:
    keep = data.draw(st.sets(st.integers(1, len(table) - 1), min_size=1))
    width = data.draw(st.integers(1, len(table[0])))
    less = [row[:width] for i, row in enumerate(table) if i == 0 or i in keep]
    there, back = compare_tables(table, less), compare_tables(less, table)
    expected = (len(table) - 1 - len(keep), len(table[0]) - width)
    assert _lacks(there, "missing") == _lacks(back, "extra") == expected
    assert _lacks(there, "extra") == _lacks(back, "missing") == (0, 0)


def _lacks(found: TableComparison, side: str) -> Sequence[int]:
    return tuple(getattr(found.structure, f"{side}_{part}") for part in ("rows", "columns"))


@given(named_tables())
def test_other_formats_of_numbers_are_equal(table: Rows) -> None:
    written = [table[0], *([key, *(f"{int(n):,}.00" for n in rest)] for key, *rest in table[1:])]
    found = compare_tables(table, written)
    assert found.score() == 1


@given(st.lists(st.dates(date(1000, 1, 1)), min_size=2, max_size=6, unique=True))
def test_other_formats_of_dates_are_equal(days: Sequence[date]) -> None:
    forms = ("%Y-%m-%d", "%d %B %Y", "%b %d, %Y", "%d-%B-%Y")
    one, *others = (
        [["id", "day"], *([f"r{i}", day.strftime(form)] for i, day in enumerate(days))]
        for form in forms
    )
    assert all(compare_tables(one, other).score() == 1 for other in others)


@given(st.lists(st.integers(1, 100_000), min_size=2, max_size=6, unique=True))
def test_other_units_are_equal(metres: Sequence[int]) -> None:
    one = [["river", "length (m)"], *([f"r{i}", str(m)] for i, m in enumerate(metres))]
    two = [["river", "length (km)"], *([f"r{i}", f"{m / 1000}"] for i, m in enumerate(metres))]
    three = [["river", "length"], *([f"r{i}", f"{m / 1000} km"] for i, m in enumerate(metres))]
    assert compare_tables(one, two).score() == 1
    assert compare_tables(one, three).score() == 1
