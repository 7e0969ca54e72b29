"""Workbooks (``.xlsx``, ``.ods``): every sheet is a table, merged cells and their headers kept."""

import io
import warnings
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, time
from itertools import product
from pathlib import Path
from typing import Any

from target_bench.core.errors import DataError, MissingExtraError
from target_bench.core.grid import CellGrid, GridCell
from target_bench.core.release import Release
from target_bench.core.schema import Cell
from target_bench.data.formats.cells import cells

SUFFIXES = (".xlsx", ".xlsm", ".ods")
EXTRA = "spreadsheets"

_PREAMBLE = "sheets have rows before their header, which were left out of the table"
_HEADER_ROWS = "sheets have a header of several rows"
_NO_VALUE = "cells hold a formula without a stored value and are empty"


@dataclass(frozen=True)
class Span:
    """A merged cell: its first row and column, and over how many it reaches."""

    row: int
    column: int
    rows: int
    columns: int


@dataclass
class Sheet:
    """A sheet as its file has it.

    Attributes:
        name: what it is called.
        rows: its cells; rows may differ in length.
        spans: its merged cells; the value of each is at its first place.
        above: how many empty rows of the file are above the first one here.
    """

    name: str
    rows: list[list[Cell]]
    spans: list[Span]
    above: int = 0


@dataclass(frozen=True)
class SheetTable:
    """A sheet as a table.

    Attributes:
        name: what the sheet is called.
        header: the names of the columns.
        rows: the rows; a merged cell is repeated.
        grid: the cells with their spans; None if none is merged.
        preamble: the text before the header.
    """

    name: str
    header: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    grid: CellGrid | None
    preamble: str


def read_workbook(
    release: Release, path: Path, preamble: int | None = None, header_rows: int | None = None
) -> list[SheetTable]:
    """Return the sheets of a workbook that are not empty, in their order.

    Rows and columns that are empty at the edges are left out. The preamble is made of the leading
    rows with nothing but their first cell, in a sheet of at least three columns or where that cell
    is as wide as the sheet. The header is the next row; and the row below it, if a merged cell of
    the header reaches into it, or divides into its texts: it then has cells under such merged cells
    alone, or a column under them holds only numbers below.

    Args:
        release: reads the file, and keeps notes of what was found in it.
        path: the file.
        preamble: how many rows of every sheet stand before the header, counted from its first row,
            empty ones included; default: found.
        header_rows: how many rows the header of every sheet has; default: found.

    Raises:
        DataError: the file is broken, or no sheet holds a header and fits the settings.
        MissingExtraError: the package that reads this format is not installed.
    """
    read = _opendocument if path.suffix.lower() == ".ods" else _excel
    content = release.content(path)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of parts that hold no cells, such as validation rules
            sheets = [_trimmed(sheet) for sheet in read(release, path, content)]
    except (MissingExtraError, DataError):
        raise
    except Exception as error:
        from target_bench.data.formats import signatures

        advice = signatures.advice(content, path.suffix.lower().replace("xlsm", "xlsx")) or (
            "Open it in a spreadsheet program and save it again, without a password, as .xlsx."
        )
        raise DataError(
            f"{path}: not a workbook that can be read ({type(error).__name__}: {error}). {advice}"
        ) from error
    found = [_table(release, path, s, preamble, header_rows) for s in sheets if s.rows]
    if not found:
        raise DataError(f"{path}: every sheet is empty")
    return found


def _excel(release: Release, path: Path, content: bytes) -> Iterator[Sheet]:
    try:
        import openpyxl
    except ImportError as error:
        raise MissingExtraError("openpyxl", EXTRA, f"{path.name} (.xlsx)") from error
    book = openpyxl.load_workbook(io.BytesIO(content), data_only=True)
    formulas = openpyxl.load_workbook(io.BytesIO(content)) if _has_formulas(content) else None
    for sheet in book.worksheets:
        rows = [[_plain(cell) for cell in row] for row in sheet.iter_rows(values_only=True)]
        if formulas is not None:
            _note_formulas(release, f"{path}, sheet {sheet.title!r}", rows, formulas[sheet.title])
        merged = sheet.merged_cells.ranges
        spans = [
            Span(r.min_row - 1, r.min_col - 1, r.size["rows"], r.size["columns"]) for r in merged
        ]
        yield Sheet(sheet.title, rows, spans)


def _has_formulas(content: bytes) -> bool:
    with zipfile.ZipFile(io.BytesIO(content)) as parts:
        sheets = [name for name in parts.namelist() if name.startswith("xl/worksheets/")]
        return any(b"<f" in parts.read(name) for name in sheets if name.endswith(".xml"))


def _note_formulas(release: Release, place: str, rows: list[list[Cell]], written: Any) -> None:
    for i, row in enumerate(written.iter_rows(values_only=True)):
        for j, cell in enumerate(row):
            if isinstance(cell, str) and cell.startswith("=") and _at(rows, i, j) is None:
                release.remark(_NO_VALUE, f"{place}, row {i + 1}, column {j + 1}")


def _plain(value: Any) -> Cell:
    if isinstance(value, datetime) and value.time() == time.min:
        value = value.date()
    return cells([value])[0]


def _opendocument(_: Release, path: Path, content: bytes) -> Iterator[Sheet]:
    try:
        from odf.opendocument import load
        from odf.table import Table, TableRow
    except ImportError as error:
        raise MissingExtraError("odfpy", EXTRA, f"{path.name} (.ods)") from error
    for table in load(io.BytesIO(content)).spreadsheet.getElementsByType(Table):
        sheet = Sheet(table.getAttribute("name"), [], [])
        blank = 0
        for row in table.getElementsByType(TableRow):
            repeated = int(row.getAttribute("numberrowsrepeated") or 1)
            found = _opendocument_row(row, len(sheet.rows) + blank, sheet.spans)
            if not any(map(_is_filled, found)):
                blank += repeated
                continue
            sheet.rows += [[] for _ in range(blank)] + [list(found) for _ in range(repeated)]
            blank = 0
        yield sheet


def _opendocument_row(row: Any, number: int, spans: list[Span]) -> list[Cell]:
    found: list[Cell] = []
    blank = 0
    for cell in row.childNodes:
        if cell.qname[1] not in ("table-cell", "covered-table-cell"):
            continue
        repeated = int(cell.getAttribute("numbercolumnsrepeated") or 1)
        value = _opendocument_value(cell)
        if cell.qname[1] == "table-cell":
            high = int(cell.getAttribute("numberrowsspanned") or 1)
            wide = int(cell.getAttribute("numbercolumnsspanned") or 1)
            if high * wide > 1:
                spans.append(Span(number, len(found) + blank, high, wide))
        if value is None:
            blank += repeated
            continue
        found += [None] * blank + [value] * repeated
        blank = 0
    return found


def _opendocument_value(cell: Any) -> Cell:
    from odf.teletype import extractText

    kind = cell.getAttribute("valuetype")
    if kind in ("float", "currency", "percentage"):
        value = float(cell.getAttribute("value"))
        return int(value) if value.is_integer() else value
    if kind == "date":
        return str(cell.getAttribute("datevalue")).removesuffix("T00:00:00")
    if kind == "boolean":
        return bool(cell.getAttribute("booleanvalue") == "true")
    lines = [extractText(part) for part in cell.childNodes if part.qname[1] == "p"]
    return "\n".join(lines) or cell.getAttribute("stringvalue") or None


def _is_filled(cell: Cell) -> bool:
    return cell is not None and cell != ""


def _at(rows: Sequence[Sequence[Cell]], i: int, j: int) -> Cell:
    return rows[i][j] if i < len(rows) and j < len(rows[i]) else None


def _trimmed(sheet: Sheet) -> Sheet:
    """Return the sheet as a rectangle, without empty rows and columns at its edges.

    Merged cells end where the filled cells do.
    """
    filled = [
        (i, j) for i, row in enumerate(sheet.rows) for j, c in enumerate(row) if _is_filled(c)
    ]
    if not filled:
        return Sheet(sheet.name, [], [])
    top, left = min(i for i, _ in filled), min(j for _, j in filled)
    bottom, right = max(i for i, _ in filled) + 1, max(j for _, j in filled) + 1
    rows = [[_at(sheet.rows, i, j) for j in range(left, right)] for i in range(top, bottom)]
    clipped = [
        Span(
            s.row - top,
            s.column - left,
            min(s.rows, bottom - s.row),
            min(s.columns, right - s.column),
        )
        for s in sheet.spans
        if _is_filled(_at(sheet.rows, s.row, s.column))
    ]
    return Sheet(sheet.name, rows, [s for s in clipped if s.rows * s.columns > 1], top)


def _table(
    release: Release, path: Path, sheet: Sheet, preamble: int | None, header_rows: int | None
) -> SheetTable:
    place = f"{path}, sheet {sheet.name!r}"
    start = _preamble(sheet) if preamble is None else max(preamble - sheet.above, 0)
    if start and preamble is None:
        release.remark(_PREAMBLE, f"{place}: {sheet.above + start}")
    words = "\n".join(str(c) for row in sheet.rows[:start] for c in row if _is_filled(c))
    body = _below(sheet, start)
    n = _header_rows(body) if header_rows is None else header_rows
    if len(body.rows) < max(n, 1):
        raise DataError(f"{place}: {len(body.rows)} rows after the preamble, {n} of them a header")
    if n > 1 and header_rows is None:
        release.remark(_HEADER_ROWS, f"{place}: {n}")
    grid = _grid(body, n)
    header, _ = grid.rectangular()
    rows = _with_spans_repeated(body)[n:]
    return SheetTable(sheet.name, header, rows, grid if body.spans else None, words)


def _preamble(sheet: Sheet) -> int:
    width = len(sheet.rows[0])
    across = {s.row for s in sheet.spans if s.columns == width > 1}
    start = 0
    while start < len(sheet.rows) and _is_words(sheet.rows[start], start in across):
        start += 1
    return start if start + 1 < len(sheet.rows) else 0


def _is_words(row: Sequence[Cell], across: bool) -> bool:
    return not any(map(_is_filled, row[1:])) and (across or len(row) > 2)


def _below(sheet: Sheet, start: int) -> Sheet:
    spans = [Span(s.row - start, s.column, s.rows, s.columns) for s in sheet.spans]
    return Sheet(sheet.name, sheet.rows[start:], [s for s in spans if s.row >= 0])


def _header_rows(sheet: Sheet) -> int:
    n = 1
    while n + 1 < len(sheet.rows):
        reaches = any(s.row < n < s.row + s.rows for s in sheet.spans)
        if not reaches and not _divides(sheet, n):
            break
        n += 1
    return n


def _divides(sheet: Sheet, number: int) -> bool:
    """Return whether a row holds the names of the columns under merged cells of the row above."""
    row, below = sheet.rows[number], sheet.rows[number + 1 :]
    wide = [s for s in sheet.spans if s.row == number - 1 and s.columns > 1]
    under = {j for s in wide for j in range(s.column, s.column + s.columns)}
    if not under or not all(isinstance(cell, str) for cell in row if cell is not None):
        return False
    alone = not any(_is_filled(cell) for j, cell in enumerate(row) if j not in under)
    return alone or any(_are_numbers([cells[j] for cells in below]) for j in under)


def _are_numbers(column: Sequence[Cell]) -> bool:
    filled = [cell for cell in column if _is_filled(cell)]
    return bool(filled) and all(isinstance(cell, int | float) for cell in filled)


def _grid(sheet: Sheet, header_rows: int) -> CellGrid:
    first = {(s.row, s.column): s for s in sheet.spans}
    covered = {place for s in sheet.spans for place in _places(s)} - first.keys()
    rows = []
    for i, row in enumerate(sheet.rows):
        found = []
        for j, cell in enumerate(row):
            if (i, j) not in covered:
                span = first.get((i, j), Span(i, j, 1, 1))
                text = "" if cell is None else str(cell)
                found.append(GridCell(text, span.rows, span.columns, i < header_rows))
        rows.append(tuple(found))
    return CellGrid(tuple(rows))


def _places(span: Span) -> Iterator[tuple[int, int]]:
    rows = range(span.row, span.row + span.rows)
    return product(rows, range(span.column, span.column + span.columns))


def _with_spans_repeated(sheet: Sheet) -> list[list[Cell]]:
    rows = [list(row) for row in sheet.rows]
    for span in sheet.spans:
        for i, j in _places(span):
            rows[i][j] = sheet.rows[span.row][span.column]
    return rows
