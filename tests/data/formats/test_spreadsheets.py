"""Workbooks: sheets, merged cells, headers of several rows, rows before the header."""

from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from target_bench.core.errors import DataError, MissingExtraError
from target_bench.core.release import Release
from target_bench.data.formats.spreadsheets import SheetTable, read_workbook
from tests.data.workbooks import Rows, write_workbook

BOOK: dict[str, Rows] = {"Sales": [["Region", "2020"], ["N", 1], ["S", 2.5]]}


def _read(path: Path, **settings: Any) -> tuple[list[SheetTable], list[str]]:
    release = Release(path.parent, "")
    return read_workbook(release, path, **settings), release.notes


def _grid(table: SheetTable) -> list[list[Any]]:
    return [list(table.header), *map(list, table.rows)]


@pytest.fixture(params=["t.xlsx", "t.ods"])
def path(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    pytest.importorskip("openpyxl" if request.param.endswith("x") else "odf")
    return tmp_path / str(request.param)


def test_a_sheet_is_a_table_with_typed_cells(path: Path) -> None:
    day = datetime(2020, 2, 1)
    rows: Rows = [
        ["name", "n", "share", "day", "empty"],
        ["Ann", 3, 0.5, day, None],
        ["Bo", 4, 1, day, 7],
    ]
    (found,), notes = _read(write_workbook(path, {"S": rows}))
    assert _grid(found) == [
        ["name", "n", "share", "day", "empty"],
        ["Ann", 3, 0.5, "2020-02-01", None],
        ["Bo", 4, 1, "2020-02-01", 7],
    ]
    assert (found.name, found.grid, found.preamble, notes) == ("S", None, "", [])


def test_every_sheet_but_empty_ones(path: Path) -> None:
    found, _ = _read(write_workbook(path, {"A": BOOK["Sales"], "none": [], "B": BOOK["Sales"]}))
    assert [table.name for table in found] == ["A", "B"]


def test_empty_edges_are_left_out(path: Path) -> None:
    rows: Rows = [
        [None] * 5,
        [None, "Region", "2020", None, None],
        [None, "N", 1],
        [None, "S", 2.5],
        [None],
    ]
    (found,), _ = _read(write_workbook(path, {"S": rows}))
    assert _grid(found) == BOOK["Sales"]


def test_rows_before_the_header(path: Path) -> None:
    rows: Rows = [["Sales report"], [], ["Region", "2020", "2021"], ["N", 1, 2], ["S", 3, 4]]
    (found,), notes = _read(write_workbook(path, {"S": rows}))
    assert _grid(found) == [["Region", "2020", "2021"], ["N", 1, 2], ["S", 3, 4]]
    assert found.preamble == "Sales report"
    assert notes == [
        "1 sheets have rows before their header, which were left out of the table (the first: "
        f"{path}, sheet 'S': 2)"
    ]
    (all_rows,), _ = _read(path, preamble=0)
    assert all_rows.header == ["Sales report", "", ""]


def test_merged_cells_and_a_header_of_two_rows(path: Path) -> None:
    rows: Rows = [["Region", "2020", None], [None, "Q1", "Q2"], ["N", 1, 2], [None, 3, 4]]
    merged = [(0, 0, 2, 1), (0, 1, 1, 2), (2, 0, 2, 1)]
    (found,), notes = _read(write_workbook(path, {"S": rows}, {"S": merged}))
    assert _grid(found) == [["Region", "2020 Q1", "2020 Q2"], ["N", 1, 2], ["N", 3, 4]]
    assert found.grid is not None
    assert found.grid.header_rows == 2
    assert found.grid.rows[0][1] == ("2020", 1, 2, True)
    assert found.grid.rows[2][0] == ("N", 2, 1, False)
    assert "1 sheets have a header of several rows (the first: " in notes[0]
    (one,), _ = _read(path, header_rows=1)
    assert _grid(one)[:2] == [["Region", "2020", "2020"], ["Region", "Q1", "Q2"]]


def test_a_wide_name_over_texts_of_records_is_the_whole_header(path: Path) -> None:
    rows: Rows = [["Name", None, "City"], ["Ann", "Lee", "Oslo"], ["Bo", "Poe", "Nice"]]
    (found,), notes = _read(write_workbook(path, {"S": rows}, {"S": [(0, 0, 1, 2)]}))
    assert _grid(found) == [["Name", "Name", "City"], *rows[1:]]
    assert notes == []


def test_numbers_below_tell_names_of_columns_from_a_record(path: Path) -> None:
    rows: Rows = [["Region", "2020", None], ["name", "Q1", "Q2"], ["N", 1, 2]]
    (found,), _ = _read(write_workbook(path, {"S": rows}, {"S": [(0, 1, 1, 2)]}))
    assert _grid(found) == [["Region name", "2020 Q1", "2020 Q2"], ["N", 1, 2]]


def test_merged_cells_end_where_the_table_does(path: Path) -> None:
    """A title is often merged over the whole row of the program, a note down to its last."""
    rows: Rows = [["Sales"], ["Region", "2020"], ["N", 1], ["a note"]]
    merged = [(0, 0, 1, 300), (3, 0, 400, 1)]
    (found,), _ = _read(write_workbook(path, {"S": rows}, {"S": merged}))
    assert (_grid(found), found.preamble) == ([*rows[1:3], ["a note", None]], "Sales")


def test_a_preamble_that_is_set_counts_empty_rows_on_top(path: Path) -> None:
    rows: Rows = [[], [], ["Sales"], ["Region", "2020", "2021"], ["N", 1, 2], ["S", 3, 4]]
    (found,), notes = _read(write_workbook(path, {"S": rows}))
    assert notes[0].endswith("sheet 'S': 3)")
    (chosen,), _ = _read(path, preamble=3)
    assert _grid(chosen) == _grid(found) == [*rows[3:]]


def test_text_of_an_attribute_alone(tmp_path: Path) -> None:
    """OpenDocument lets a cell's text stand in ``office:string-value`` without a paragraph."""
    opendocument = pytest.importorskip("odf.opendocument")
    from odf.table import Table, TableCell, TableRow

    book, table = opendocument.OpenDocumentSpreadsheet(), Table(name="S")
    for value in ("city", "Oslo"):
        row = TableRow()
        row.addElement(TableCell(valuetype="string", stringvalue=value))
        table.addElement(row)
    book.spreadsheet.addElement(table)
    book.save(str(tmp_path / "t.ods"))
    (found,), _ = _read(tmp_path / "t.ods")
    assert _grid(found) == [["city"], ["Oslo"]]


def test_a_wide_name_over_numbers_is_the_whole_header(path: Path) -> None:
    rows: Rows = [["Region", "Position", None], ["N", 59.9, 10.7]]
    (found,), _ = _read(write_workbook(path, {"S": rows}, {"S": [(0, 1, 1, 2)]}))
    assert _grid(found) == [["Region", "Position", "Position"], ["N", 59.9, 10.7]]


def test_a_title_as_wide_as_the_sheet(path: Path) -> None:
    rows: Rows = [["Sales", None], ["Region", "2020"], ["N", 1]]
    (found,), _ = _read(write_workbook(path, {"S": rows}, {"S": [(0, 0, 1, 2)]}))
    assert (_grid(found), found.preamble) == ([["Region", "2020"], ["N", 1]], "Sales")


@pytest.mark.parametrize("rows", [[], [[None, None]]])
def test_a_workbook_without_cells(path: Path, rows: Rows) -> None:
    with pytest.raises(DataError, match="every sheet is empty"):
        _read(write_workbook(path, {"S": rows}))


def test_a_damaged_workbook(path: Path) -> None:
    write_workbook(path, BOOK)
    path.write_bytes(path.read_bytes()[:300])
    with pytest.raises(
        DataError, match=f"{path}: not a workbook that can be read .* save it again"
    ):
        _read(path)


def test_more_header_than_rows(path: Path) -> None:
    with pytest.raises(DataError, match="sheet 'S': 1 rows after the preamble, 2 of them a header"):
        _read(write_workbook(path, {"S": [["a", "b"]]}), header_rows=2)


def test_formulas_without_a_value_are_noted(tmp_path: Path) -> None:
    """A program that writes a formula need not compute it; such a cell is empty."""
    pytest.importorskip("openpyxl")
    path = write_workbook(tmp_path / "t.xlsx", {"S": [["a", "b"], [1, "=A2+1"], [2, 5]]})
    (found,), notes = _read(path)
    assert _grid(found) == [["a", "b"], [1, None], [2, 5]]
    assert notes == [
        "1 cells hold a formula without a stored value and are empty (the first: "
        f"{path}, sheet 'S', row 2, column 2)"
    ]


def test_the_error_names_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "openpyxl", None)
    (tmp_path / "t.xlsx").write_bytes(b"")
    with pytest.raises(MissingExtraError, match=r"target-bench\[spreadsheets\]"):
        _read(tmp_path / "t.xlsx")
