"""Tables as answers: what is written is what is read."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from target_bench.components.written_tables import written
from target_bench.metrics.tables.answer_tables import FORMATS, TableFormat
from target_bench.metrics.tables.reading import read_tables

CELLS = st.text(alphabet="aB1é|&%#_${}~^\\<>\",:'", min_size=1, max_size=6)


@pytest.mark.parametrize("name", FORMATS)
@given(rows=st.lists(st.lists(CELLS, min_size=2, max_size=2), min_size=2, max_size=4))
def test_read_again(name: TableFormat, rows: list[list[str]]) -> None:
    found = read_tables(written(rows, name), name)
    assert found.faults == ()
    assert [[list(row) for row in table.rows] for table in found.tables] == [rows]
