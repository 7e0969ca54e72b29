"""The inputs of ToTTo's models: markers, headers by its heuristics, typed errors."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from target_bench.core.errors import DataError
from target_bench.core.grid import CellGrid, GridCell
from target_bench.core.schema import Linearised, Query, Table, TableId
from target_bench.data import highlights
from target_bench.data.highlights import grid_rows, write_full_table, write_subtable
from target_bench.data.table_text import Serializer

GRID = CellGrid(
    (
        (GridCell("Year", is_header=True), GridCell("Role", column_span=2, is_header=True)),
        (GridCell("2001"), GridCell("Pete"), GridCell("lead")),
        (GridCell("2002"),),
    )
)
HEADER, ROWS = GRID.rectangular()
TITLES = {"title": "Ann", "section_title": "Stage", "highlighted_cells": [[1, 2], [1, 0]]}
TABLE = Table(TableId("0", "a"), HEADER, ROWS, TITLES, GRID)
CELLS = (
    "<cell> lead <col_header> Role </col_header> </cell> "
    "<cell> 2001 <col_header> Year </col_header> </cell>"
)
SPANS = st.builds(
    GridCell,
    text=st.text("ab", max_size=2),
    row_span=st.integers(1, 3),
    column_span=st.integers(1, 3),
    is_header=st.booleans(),
)
GRIDS = st.lists(st.lists(SPANS, max_size=3).map(tuple), max_size=4).map(tuple).map(CellGrid)


def test_formats() -> None:
    def written(name: Linearised) -> str:
        return Serializer(format=name)(TABLE)

    titles = "<page_title> Ann </page_title> <section_title> Stage </section_title>"
    assert written("totto_subtable") == f"<table> {CELLS} </table>"
    assert written("totto_subtable_metadata") == f"{titles} <table> {CELLS} </table>"
    full = written("totto_full")
    assert full.count("<highlighted_cell>") == 2
    assert full.startswith("<table> <row> <cell> Year </cell> <cell> Role <row_header> Year")
    assert full.endswith("</row> </table>")


@pytest.mark.parametrize("place", [[3, 0], [1, 9], [-4, 0], [0, -3]])
def test_a_highlight_out_of_range(place: list[int]) -> None:
    with pytest.raises(DataError, match=r"highlighted_cells: there is no (row|column) -?\d"):
        write_subtable(GRID.rows, [place])


def test_no_highlight_in_the_table() -> None:
    with pytest.raises(DataError, match=r"none of .* is a cell of the table"):
        write_full_table(GRID.rows, [[9, 9]])
    assert "highlighted" not in write_full_table(GRID.rows, [[9, 9]], strict=False)
    assert write_subtable(GRID.rows, []) == "<table> </table>"


@given(GRIDS)
def test_header_rows_are_those_of_the_rectangle(grid: CellGrid) -> None:
    """Found without laying the cells out, as many as whose places hold header cells alone."""
    n = 0
    for row in grid.places():
        if not any(row) or not all(cell is None or cell.is_header for cell in row):
            break
        n += 1
    assert grid.header_rows == n
    if grid.rectangular()[0]:
        header, rows = grid.rectangular()
        assert grid_rows(Table(TableId("0", "t"), header, rows, {}, grid)) == grid.rows


@pytest.mark.parametrize(
    ("named", "fault"),
    [
        ([[1, 0]], None),
        ([], "no highlight"),
        (None, "no highlight"),
        ([[1, 0], [7, 0]], "out of range"),
        ([[-1, 0]], "out of range"),
        (["x"], "out of range"),
        ([[True, 0]], "out of range"),
    ],
)
def test_faults_of_highlights(named: object, fault: str | None) -> None:
    assert highlights.find_fault(GRID.rows, named) == fault
    query = Query("q", "?", (), metadata={"highlighted_cells": named})
    marked = highlights.mark_highlighted(query, TABLE)
    n_marked = (fault is None) + (named == [[1, 0], [7, 0]])
    assert len(marked.context["highlighted_cells"]) == n_marked


def test_cells_in_words() -> None:
    assert highlights.write_highlighted(TABLE) == "Role: lead; Year: 2001"
