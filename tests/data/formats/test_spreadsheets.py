"""Workbooks: sheets, merged cells, headers of several rows, rows before the header."""

import zipfile
from datetime import datetime
from pathlib import Path
from typing import Any

import openpyxl
import pytest

from target_bench.core.errors import DataError
from target_bench.core.release import Release
from target_bench.data.formats.file_tables import FileSettings, FileTable, read_file
from target_bench.data.formats.spreadsheets import read_workbook
from tests.data.workbooks import Rows, write_workbook

BOOK: dict[str, Rows] = {"Sales": [["Region", "2020"], ["N", 1], ["S", 2.5]]}


def _read(path: Path, **settings: Any) -> tuple[list[FileTable], list[str]]:
    release = Release(path.parent, "")
    tables = read_workbook(release, path, FileSettings(**settings))
    return tables, [note for note in release.notes if "Excel 97" not in note]


def _grid(table: FileTable) -> list[list[Any]]:
    return [list(table.header), *map(list, table.rows)]


WRITERS = {"t.xlsx": "openpyxl", "t.xls": "xlwt", "t.ods": "odf"}


@pytest.fixture(params=WRITERS)
def path(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    pytest.importorskip(WRITERS[request.param])
    return tmp_path / str(request.param)


def test_a_sheet_is_a_table_with_typed_cells(path: Path) -> None:
    day, minute = datetime(2020, 2, 1), datetime(2020, 2, 1, 13, 45)
    rows: Rows = [
        ["name", "n", "share", "day", "empty", "seen", "open"],
        ["Ann", 3, 0.5, day, None, minute, True],
        ["Bo", 4, 1, day, 7, minute, False],
    ]
    (table,), notes = _read(write_workbook(path, {"S": rows}))
    assert _grid(table) == [
        ["name", "n", "share", "day", "empty", "seen", "open"],
        ["Ann", 3, 0.5, "2020-02-01", None, "2020-02-01T13:45:00", True],
        ["Bo", 4, 1, "2020-02-01", 7, "2020-02-01T13:45:00", False],
    ]
    assert type(table.rows[0][6]) is bool
    assert (table.sheet, table.grid, table.preamble, notes) == ("S", None, "", [])


def test_rows_before_the_header(path: Path) -> None:
    rows: Rows = [["Sales report"], [], ["Region", "2020", "2021"], ["N", 1, 2], ["S", 3, 4]]
    (table,), notes = _read(write_workbook(path, {"S": rows}))
    assert _grid(table) == [["Region", "2020", "2021"], ["N", 1, 2], ["S", 3, 4]]
    assert table.preamble == "Sales report"
    assert notes == [
        "sheets have rows before their header, which were left out of the table: 1 (the first: "
        f"{path}, sheet 'S': 2)"
    ]
    (all_rows,), _ = _read(path, preamble=0)
    assert all_rows.header == ["Sales report", "", ""]


def test_an_empty_row_between_a_merged_title_and_the_header(path: Path) -> None:
    rows: Rows = [["Sales report", None], [], ["Month", "Sales"], ["May", 1], ["June", 2]]
    (table,), _ = _read(write_workbook(path, {"S": rows}, {"S": [(0, 0, 1, 2)]}))
    assert _grid(table) == [["Month", "Sales"], ["May", 1], ["June", 2]]
    assert table.preamble == "Sales report"


def test_merged_cells_and_a_header_of_two_rows(path: Path) -> None:
    rows: Rows = [["Region", "2020", None], [None, "Q1", "Q2"], ["N", 1, 2], [None, 3, 4]]
    merged = [(0, 0, 2, 1), (0, 1, 1, 2), (2, 0, 2, 1)]
    (table,), notes = _read(write_workbook(path, {"S": rows}, {"S": merged}))
    assert _grid(table) == [["Region", "2020 Q1", "2020 Q2"], ["N", 1, 2], ["N", 3, 4]]
    assert table.grid is not None
    assert table.grid.header_rows == 2
    assert table.grid.rows[0][1] == ("2020", 1, 2, True)
    assert table.grid.rows[2][0] == ("N", 2, 1, False)
    assert "sheets have a header of several rows: 1 (the first: " in notes[0]
    (first,), _ = _read(path, header_rows=1)
    assert _grid(first)[:2] == [["Region", "2020", "2020"], ["Region", "Q1", "Q2"]]


def test_a_wide_name_over_texts_of_records_is_the_whole_header(path: Path) -> None:
    rows: Rows = [["Name", None, "City"], ["Ann", "Lee", "Oslo"], ["Bo", "Poe", "Nice"]]
    (table,), notes = _read(write_workbook(path, {"S": rows}, {"S": [(0, 0, 1, 2)]}))
    assert _grid(table) == [["Name", "Name", "City"], *rows[1:]]
    assert notes == []


def test_formulas_without_a_value_are_noted(tmp_path: Path) -> None:
    """A program that writes a formula need not compute it; such a cell is empty."""
    pytest.importorskip("openpyxl")
    path = write_workbook(tmp_path / "t.xlsx", {"S": [["a", "b"], [1, "=A2+1"], [2, 5]]})
    (table,), notes = _read(path)
    assert _grid(table) == [["a", "b"], [1, None], [2, 5]]
    assert notes == [
        "workbooks have formulas without a stored value, which are empty cells: 1 (the first: "
        f"{path}, xl/worksheets/sheet1.xml)"
    ]


def test_hidden_sheets_are_noted(tmp_path: Path) -> None:
    path = write_workbook(tmp_path / "t.xlsx", {"A": BOOK["Sales"], "B": BOOK["Sales"]})
    book = openpyxl.load_workbook(path)
    book["B"].sheet_state = "hidden"
    book.save(path)
    tables, notes = _read(path)
    assert [table.sheet for table in tables] == ["A", "B"]
    start = "sheets are hidden in their workbook and are tables all the same: 1 (the first: "
    assert notes == [f"{start}{path}, sheet 'B')"]


def test_a_cell_that_is_merged_over_a_whole_sheet(tmp_path: Path) -> None:
    """A file of 5 kB, with a cell over 17 billion places: it ends where the filled cells do."""
    path = write_workbook(tmp_path / "t.xlsx", BOOK, {"Sales": [(1, 0, 2, 1)]})
    with zipfile.ZipFile(path) as book:
        parts = {name: book.read(name) for name in book.namelist()}
    with zipfile.ZipFile(path, "w") as book:
        for name, part in parts.items():
            book.writestr(name, part.replace(b'ref="A2:A3"', b'ref="A2:XFD1048576"'))
    assert _grid(_read(path)[0][0]) == [["Region", "2020"], ["N", "N"], ["N", "N"]]


def test_repeated_cells_of_opendocument_have_a_limit(tmp_path: Path) -> None:
    opendocument = pytest.importorskip("odf.opendocument")
    from odf.table import Table, TableCell, TableRow

    def written(n_rows: int, n_columns: int) -> Path:
        book, table = opendocument.OpenDocumentSpreadsheet(), Table(name="S")
        row = TableRow(numberrowsrepeated=n_rows)
        row.addElement(TableCell(valuetype="float", value=1, numbercolumnsrepeated=n_columns))
        table.addElement(row)
        book.spreadsheet.addElement(table)
        book.save(str(tmp_path / "t.ods"))
        return tmp_path / "t.ods"

    (table,), _ = _read(written(3, 2))
    assert _grid(table) == [["1", "1"], [1, 1], [1, 1]]
    with pytest.raises(DataError, match="at most 20,000,000 cells are read"):
        _read(written(1_000_000, 1_000))


def test_the_content_decides_which_kind_of_workbook_it_is(path: Path, tmp_path: Path) -> None:
    write_workbook(path, BOOK)
    other = path.rename(tmp_path / ("t.xlsx" if path.suffix == ".ods" else "t.ods"))
    (table,) = read_file(Release(tmp_path, ""), other, FileSettings())
    assert _grid(table) == BOOK["Sales"]


@pytest.mark.parametrize("name", ["t.csv", "t.tsv", "t.xlsx", "t.xlsm", "t.ods", "t.xls"])
@pytest.mark.parametrize("end", [4, 10, 300, 3000, -1])
def test_a_damaged_workbook_is_never_called_text(tmp_path: Path, name: str, end: int) -> None:
    whole = write_workbook(tmp_path / "whole.xlsx", BOOK).read_bytes()
    path = tmp_path / name
    path.write_bytes(whole[:end])
    with pytest.raises(DataError, match=rf"^{path}: not (text, but a|a) workbook") as caught:
        read_file(Release(tmp_path, ""), path, FileSettings())
    assert ".csv." not in str(caught.value)


def test_keys_and_values_before_the_header(path: Path) -> None:
    rows: Rows = [["Report", "Sales"], ["Date", "2024-01-05"], [], ["Region", "Units", "Price"]]
    (table,), _ = _read(write_workbook(path, {"S": [*rows, ["N", 1, 2], ["S", 3, 4]]}))
    assert _grid(table) == [["Region", "Units", "Price"], ["N", 1, 2], ["S", 3, 4]]
    assert table.preamble == "Report\nSales\nDate\n2024-01-05"


@pytest.mark.parametrize("place", [0, 2])
@pytest.mark.parametrize("high", [3, 5])
def test_a_merged_note_beside_the_table_is_no_header(path: Path, place: int, high: int) -> None:
    """Whether it reaches to the last row or not."""
    rows: list[list[Any]] = [["Name", "Amount"], *([name, n] for n, name in enumerate("abcd", 10))]
    rows = [[*row[:place], "Note" if i == 0 else None, *row[place:]] for i, row in enumerate(rows)]
    (table,), _ = _read(write_workbook(path, {"S": rows}, {"S": [(0, place, high, 1)]}))
    assert list(table.header) == [*["Name", "Amount"][:place], "Note", *["Name", "Amount"][place:]]
    assert len(table.rows) == 4


@pytest.mark.parametrize("sub", [["Q1", "Q2"], [2019, 2020], [1, 2]])
def test_merged_headers_stay_headers(path: Path, sub: list[Any]) -> None:
    rows: Rows = [["Name", "Amount", None], [None, *sub], ["a", 1, 2], ["b", 3, 4]]
    spans = {"S": [(0, 0, 2, 1), (0, 1, 1, 2)]}
    (table,), _ = _read(write_workbook(path, {"S": rows}, spans))
    assert list(table.header) == ["Name", f"Amount {sub[0]}", f"Amount {sub[1]}"]


@pytest.mark.parametrize(
    ("value", "code", "shown"),
    [
        (0.075, "0.0%", "7.5%"),
        (-0.125, "0%;[Red]-0%", "-13%"),
        (0.0705, "0.00%", "7.05%"),
        (0.0705, "0.0%", "7.1%"),
        (501, "00000", "00501"),
        (0, "00000", "00000"),
        (7, '[=1]"yes";[=0]"no";0', 7),
        (30.5 / 24, "[h]:mm", "30:30:00"),
        (30.5 / 24, "[h]:mm:ss.0", "30:30:00"),
        (1 / 24, "[mm]:ss", "1:00:00"),
        (45000, "dd/mm/yyyy", "2023-03-15"),
        (1234.5, "#,##0.00", 1234.5),
        (1234.5, '#,##0.00" €"', 1234.5),
        (0, '_-* #,##0.00_-;-* #,##0.00_-;_-* "-"??_-', 0),
        (3, "0", 3),
        (-3, "0;0", -3),
        (1.5, "000", 1.5),
        ("a", "0.0%", "a"),
    ],
)
def test_numbers_are_what_a_person_sees(tmp_path: Path, value: Any, code: str, shown: Any) -> None:
    """Percentages and padded digits; others stay numbers, dates are ISO's."""
    path = tmp_path / "t.xlsx"
    rows: Rows = [["name", "plain", "n"], [value, 0.075, 5]]
    write_workbook(path, {"Déjà & vu": rows}, codes={(1, 0): code})
    (table,), _ = _read(path)
    assert _grid(table) == [["name", "plain", "n"], [shown, 0.075, 5]]


@pytest.mark.parametrize(
    ("kind", "value", "text", "cell"),
    [
        ("percentage", 0.075, "7.5%", "7.5%"),
        ("float", 501, "00501", "00501"),
        ("float", 0, "000", "000"),
        ("float", 1234567, "1 234 567", 1234567),
        ("float", 1234.5, "1.234,50", 1234.5),
        ("float", -5, "-5", -5),
        ("float", 3, "3 kg", 3),
        ("currency", 1234.5, "1,234.50 €", 1234.5),
        ("time", "PT30H30M00S", "30:30", "30:30"),
        ("time", "PT08H15M00S", "08:15", "08:15"),
    ],
)
def test_numbers_of_opendocument_are_what_a_person_sees(
    tmp_path: Path, kind: str, value: Any, text: str, cell: Any
) -> None:
    opendocument = pytest.importorskip("odf.opendocument")
    from odf.office import Annotation
    from odf.table import Table, TableCell, TableRow
    from odf.text import P, Span

    book, table = opendocument.OpenDocumentSpreadsheet(), Table(name="Q&A")
    values = {"timevalue": value} if kind == "time" else {"value": value}
    shown = TableCell(valuetype=kind, numbercolumnsrepeated=2, **values)
    note, line = Annotation(), P()
    note.addElement(P(text="a note, 100%"))
    line.addElement(Span(text=text))
    for element in (note, line) if text else (note,):
        shown.addElement(element)
    for cells in ([None, "a", "b"], [None, shown]):
        row = TableRow()
        for content in cells:
            name = TableCell(valuetype="string") if isinstance(content, str) else TableCell()
            if isinstance(content, str):
                name.addElement(P(text=content))
            row.addElement(content if content is shown else name)
        table.addElement(row)
    book.spreadsheet.addElement(table)
    book.save(str(tmp_path / "t.ods"))
    (read,), _ = _read(tmp_path / "t.ods")
    assert _grid(read) == [["a", "b"], [cell, cell]]


def test_numbers_of_excel_97_are_read_without_their_formats(tmp_path: Path) -> None:
    path = tmp_path / "t.xls"
    write_workbook(path, {"S": [["share", "n"], [0.075, 501]]}, codes={(1, 0): "0.0%"})
    release = Release(tmp_path, "")
    (table,) = read_workbook(release, path)
    assert _grid(table) == [["share", "n"], [0.075, 501]]
    (note,) = release.notes
    assert note.startswith("workbooks of Excel 97 are read without the formats of their numbers")
