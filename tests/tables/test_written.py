"""Tables as answers: what is written is what is read."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from target_bench.tables.answer_tables import FORMATS, TableFormat
from target_bench.tables.reading import read_tables
from tests.tables.written import written

CELLS = st.text(alphabet="aB1é|&%#_${}~^*[]\\<>\",:'", min_size=1, max_size=6).filter(
    lambda cell: not cell.startswith("~~~")  # at the start of a line it begins a code block
)


@pytest.mark.parametrize("name", FORMATS)
@given(rows=st.lists(st.lists(CELLS, min_size=2, max_size=2), min_size=2, max_size=4))
def test_read_again(name: TableFormat, rows: list[list[str]]) -> None:
    reading = read_tables(written(rows, name), name)
    assert reading.faults == ()
    assert [[list(row) for row in table.rows] for table in reading.tables] == [rows]


@pytest.mark.parametrize("cell", ["--", "a---b", "``", "''a''", "* 1", "[1] a", "*", "[2cm]"])
def test_marks_of_latex(cell: str) -> None:
    (table,) = read_tables(written([["a", "b"], [cell, cell]], "latex"), "latex").tables
    assert table.rows[1] == (cell, cell)
