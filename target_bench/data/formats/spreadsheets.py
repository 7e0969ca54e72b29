"""Workbooks (``.xlsx``, ``.xls``, ``.ods``): every sheet is a table, merged cells are kept.

calamine reads them, whatever the suffix says. An error such as ``#N/A`` is an empty cell.
Percentages and padded digits are the text that a person sees; durations count hours.
"""

import html
import io
import re
import zipfile
from collections.abc import Iterator
from datetime import datetime, time, timedelta
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

from target_bench.core.errors import DataError
from target_bench.core.grid import CellGrid, GridCell
from target_bench.core.release import Release
from target_bench.core.schema import Cell
from target_bench.data.formats.cells import convert_cells
from target_bench.data.formats.csv_files import is_text
from target_bench.data.formats.file_tables import FileSettings, FileTable
from target_bench.data.formats.headers import Line, find_preamble
from target_bench.data.formats.number_formats import (
    Shown,
    parse_column,
    read_xlsx_numbers,
    show_ods_number,
)

_PREAMBLE = "sheets have rows before their header, which were left out of the table"
_HEADER_ROWS = "sheets have a header of several rows"
_NO_VALUE = "workbooks have formulas without a stored value, which are empty cells"
_XLS = (
    "workbooks of Excel 97 are read without the formats of their numbers, 0.075 for 7.5 % (save "
    "them as .xlsx)"
)
_HIDDEN = "sheets are hidden in their workbook and are tables all the same"
_DIVIDED = (
    "sheets are divided by empty rows or columns, as between several tables, and are one table each"
)

_MOST_CELLS = 20_000_000  # of the rectangle that a sheet's filled cells span
_MOST_BYTES = 2_000_000_000  # of what is packed into a workbook
_ENOUGH_ROWS = 1000
_YEARS = (1500, 2199)
_EXACT = 2**53  # the largest whole number that every spreadsheet program keeps

_XLSX_CELL = re.compile(
    rb'<(?:\w+:)?c\s(?:[^>]*\s)?r="([A-Z]{1,3})(\d+)"[^>/]*>'
    rb"(?!\s*(?:<v\s*/>|<v></v>)?\s*</)"
)
"""A cell that is not empty, and where it is."""
_XLSX_NO_VALUE = re.compile(rb"(?:</f>|<f[^>]*/>)\s*(?:<v\s*/>|<v></v>)?\s*</c>")
_ODS_TAG = re.compile(
    rb"<table:table [^>]*>|<table:table-row[^>]*>|"
    rb"<table:(?:covered-)?table-cell(?:[^>]*/>|[^>]*>.*?</table:(?:covered-)?table-cell>)",
    re.DOTALL,
)
_ODS_NOTE = re.compile(rb"<office:annotation.*?</office:annotation>", re.DOTALL)
_ODS_LINE = re.compile(rb"<text:p[^>/]*>(.*?)</text:p>", re.DOTALL)
_ODS_VALUE = re.compile(rb'office:(value-type|value)="([^"]*)"')
_ODS_NAME = re.compile(rb'table:name="([^"]*)"')
_ODS_COUNT = re.compile(rb'number-((?:rows|columns)-(?:repeated|spanned))="(\d+)"')


class Span(NamedTuple):
    """A merged cell: its first row and column, and over how many it reaches."""

    row: int
    column: int
    rows: int
    columns: int

    def covers(self) -> Iterator[tuple[int, int]]:
        """Yield row and column of every place that it covers."""
        rows = range(self.row, self.row + self.rows)
        return product(rows, range(self.column, self.column + self.columns))


class Sheet(NamedTuple):
    """A sheet: rows of one length, empty cells None; the value of a merged cell at its place."""

    name: str
    rows: list[list[Cell]]
    spans: list[Span]
    above: int  # how many rows of the file are above the first one here

    def cut(self, top: int, left: int, bottom: int, right: int) -> "Sheet":
        """Cut out what is between rows and columns; merged cells end where it does."""
        rows = [
            [row[j] if j < len(row) else None for j in range(left, right)]
            for row in self.rows[top:bottom]
        ]
        spans = [
            Span(
                s.row - top,
                s.column - left,
                min(s.rows, bottom - s.row),
                min(s.columns, right - s.column),
            )
            for s in self.spans
            if top <= s.row < bottom and left <= s.column < right
        ]
        inside = [s for s in spans if s.rows * s.columns > 1 and rows[s.row][s.column] is not None]
        return Sheet(self.name, rows, inside, self.above + top)


def read_workbook(
    release: Release, path: Path, settings: FileSettings | None = None
) -> list[FileTable]:
    """Read the sheets of a workbook that are not empty, in their order."""
    content = release.content(path)
    if not content:
        raise DataError(f"{path}: the file is empty. Download it again, or remove it.")
    try:
        sheets = list(_read_sheets(release, path, content))
    except DataError:
        raise
    except Exception as error:  # of calamine, or of a damaged zip archive
        advice = "Open it in a spreadsheet program and save it again, without a password, as .xlsx."
        if is_text(content):
            advice = "It is text. Rename it to end in .csv."
        raise DataError(f"{path}: not a workbook that can be read ({error}). {advice}") from error
    if not sheets:
        raise DataError(f"{path}: every sheet is empty")
    settings = settings or FileSettings()
    return [_build_table(release, path, sheet, settings) for sheet in sheets]


# Sheets as the file has them


def _read_sheets(release: Release, path: Path, content: bytes) -> Iterator[Sheet]:
    """Yield the sheets that are not empty, without empty rows and columns at their edges."""
    from python_calamine import CalamineWorkbook, SheetTypeEnum, SheetVisibleEnum

    ods_spans: list[list[Span]] = []
    shown: Shown
    if zipfile.is_zipfile(io.BytesIO(content)):
        parts = zipfile.ZipFile(io.BytesIO(content))
        ods_spans, shown = _look_into_archive(release, path, parts)
        shown = shown or read_xlsx_numbers(parts)
    else:
        shown = {}
        release.remark(_XLS, str(path))
    book = CalamineWorkbook.from_filelike(io.BytesIO(content))
    for number, info in enumerate(book.sheets_metadata):
        if info.typ != SheetTypeEnum.WorkSheet:  # a chart
            continue
        sheet = book.get_sheet_by_name(info.name)
        top, left = sheet.start or (0, 0)
        rows = [[*map(_convert_value, row)] for row in sheet.to_python(skip_empty_area=True)]
        for (i, j), text in shown.get(info.name, {}).items():
            if i - top < len(rows) and j - left < len(rows[i - top]):
                rows[i - top][j - left] = text
        filled = [(i, j) for i, row in enumerate(rows) for j, c in enumerate(row) if c is not None]
        if not filled:
            continue
        spans = [
            Span(i - top, j - left, below - i + 1, right - j + 1)
            for (i, j), (below, right) in sheet.merged_cell_ranges or ()
        ]
        if not spans and ods_spans:
            spans = [s._replace(row=s.row - top, column=s.column - left) for s in ods_spans[number]]
        if info.visible != SheetVisibleEnum.Visible:
            release.remark(_HIDDEN, f"{path}, sheet {info.name!r}")
        above, beside = min(i for i, _ in filled), min(j for _, j in filled)
        below, after = max(i for i, _ in filled) + 1, max(j for _, j in filled) + 1
        yield Sheet(info.name, rows, spans, top).cut(above, beside, below, after)


def _convert_value(value: Any) -> Cell:
    if isinstance(value, float) and value.is_integer() and abs(value) < _EXACT:
        return int(value)
    if isinstance(value, datetime) and value.time() == time.min:
        value = value.date()
    if isinstance(value, timedelta):  # of days, no person counts the hours
        seconds = round(value.total_seconds())
        sign, seconds = "-" * (seconds < 0), abs(seconds)
        value = f"{sign}{seconds // 3600}:{seconds // 60 % 60:02}:{seconds % 60:02}"
    return None if value == "" else convert_cells([value])[0]


def _look_into_archive(
    release: Release, path: Path, parts: zipfile.ZipFile
) -> tuple[list[list[Span]], Shown]:
    """Return merged cells and shown numbers of an OpenDocument workbook, which calamine leaves out.

    Refuses what would not fit into memory: calamine ends the process there.
    """
    size = sum(part.file_size for part in parts.infolist())
    if size > _MOST_BYTES:
        raise DataError(
            f"{path}: holds {size:,} bytes when it is unpacked, and at most {_MOST_BYTES:,} are "
            "read. Save its sheets as CSV or Parquet files."
        )
    for name in parts.namelist():
        if name.startswith("xl/worksheets/") and name.endswith(".xml"):
            sheet = parts.read(name)
            places = {
                (int(row), parse_column(column.decode()))
                for column, row in _XLSX_CELL.findall(sheet)
            }
            if places:
                _check_size(path, max(i for i, _ in places), max(j for _, j in places))
            if _XLSX_NO_VALUE.search(sheet):
                release.remark(_NO_VALUE, f"{path}, {name}")
    if "content.xml" not in parts.namelist():
        return [], {}
    return _look_into_ods(path, parts.read("content.xml"))


def _look_into_ods(path: Path, content: bytes) -> tuple[list[list[Span]], Shown]:
    sheets: list[list[Span]] = []
    shown: dict[str, dict[tuple[int, int], str]] = {}
    texts: dict[tuple[int, int], str] = {}
    row = column = repeated = high = wide = 0
    for element in _ODS_TAG.findall(_ODS_NOTE.sub(b"", content)):
        tag, _, inner = element.partition(b">")
        counts = {name: int(n) for name, n in _ODS_COUNT.findall(tag)}
        if tag.startswith(b"<table:table "):
            sheets.append([])
            name = _ODS_NAME.search(tag)
            texts = shown.setdefault(html.unescape(name[1].decode()) if name else "", {})
            row = column = repeated = high = wide = 0
        elif tag.startswith(b"<table:table-row"):
            row, column, repeated = row + repeated, 0, counts.get(b"rows-repeated", 1)
        else:
            rows, columns = counts.get(b"rows-spanned", 1), counts.get(b"columns-spanned", 1)
            if rows * columns > 1 and sheets:
                sheets[-1].append(Span(row, column, rows, columns))
            first, column = column, column + counts.get(b"columns-repeated", 1)
            if b"value-type=" in tag:
                high, wide = max(high, row + repeated), max(wide, column)
                _check_size(path, high, wide)
                text = _show_ods_cell(tag, inner)
                if text is not None:
                    places = product(range(row, row + repeated), range(first, column))
                    texts.update(dict.fromkeys(places, text))
    return sheets, shown


def _show_ods_cell(tag: bytes, inner: bytes) -> str | None:
    values = {name: value.decode("utf-8", "replace") for name, value in _ODS_VALUE.findall(tag)}
    lines = (re.sub(rb"<[^>]*>", b"", line) for line in _ODS_LINE.findall(inner))
    text = html.unescape(b" ".join(lines).decode("utf-8", "replace")).strip()
    return show_ods_number(values.get(b"value-type", ""), values.get(b"value", ""), text)


def _check_size(path: Path, high: int, wide: int) -> None:
    if high * wide > _MOST_CELLS:
        raise DataError(
            f"{path}: the cells of a sheet are spread over {high:,} rows and {wide:,} columns; at "
            f"most {_MOST_CELLS:,} cells are read. Remove what is far below or beside the table, "
            "or save it as a CSV or Parquet file."
        )


# Where the table begins, and its header


def _build_table(release: Release, path: Path, sheet: Sheet, settings: FileSettings) -> FileTable:
    place = f"{path}, sheet {sheet.name!r}"
    if settings.preamble is None:
        start = _count_rows_before(sheet)
        if start:
            release.remark(_PREAMBLE, f"{place}: {sheet.above + start}")
    else:
        start = max(settings.preamble - sheet.above, 0)
    preamble = "\n".join(str(c) for row in sheet.rows[:start] for c in row if c is not None)
    body = sheet.cut(start, 0, len(sheet.rows), len(sheet.rows[0]))
    n = _count_header_rows(body) if settings.header_rows is None else settings.header_rows
    if len(body.rows) < max(n, 1):
        raise DataError(
            f"{place}: too few rows after the preamble: {len(body.rows)}, with {n} header rows"
        )
    if n > 1 and settings.header_rows is None:
        release.remark(_HEADER_ROWS, f"{place}: {n}")
    if any(set(line) == {None} for line in (*body.rows, *zip(*body.rows, strict=True))):
        release.remark(_DIVIDED, place)
    grid = _build_grid(body, n)
    header, _ = grid.rectangular()
    rows = _fill_spans(body)
    return FileTable(header, rows[n:], sheet.name, grid if body.spans else None, preamble)


def _fill_spans(sheet: Sheet) -> list[list[Cell]]:
    """Return the rows with the value of a merged cell at all its places."""
    rows = [list(row) for row in sheet.rows]
    for span in sheet.spans:
        for i, j in span.covers():
            rows[i][j] = sheet.rows[span.row][span.column]
    return rows


def _count_rows_before(sheet: Sheet) -> int:
    width = len(sheet.rows[0])
    across = {s.row for s in sheet.spans if s.columns == width > 1}
    lines = []
    for i, row in enumerate(_fill_spans(sheet)[:_ENOUGH_ROWS]):
        cells = ["" if cell is None else str(cell) for cell in row]
        if any(cells):
            lines.append(Line(i + 1, i, cells[:1] if i in across else cells))
    return find_preamble(lines)


def _count_header_rows(sheet: Sheet) -> int:
    n = 1
    while n + 1 < len(sheet.rows):
        # a cell that is merged down to the last row is a note beside the table
        reaches = any(s.row < n < s.row + s.rows < len(sheet.rows) for s in sheet.spans)
        if not (reaches and _has_no_number(sheet, n)) and not _is_second_header(sheet, n):
            break
        n += 1
    return n


def _has_no_number(sheet: Sheet, number: int) -> bool:
    """Return whether a row has no number but years, and under wide merged cells above it."""
    wide = [s for s in sheet.spans if s.row < number and s.columns > 1]
    under = {j for s in wide for j in range(s.column, s.column + s.columns)}
    alone = [cell for j, cell in enumerate(sheet.rows[number]) if j not in under]
    return not any(isinstance(c, int | float) and not _YEARS[0] <= c <= _YEARS[1] for c in alone)


def _is_second_header(sheet: Sheet, number: int) -> bool:
    """Return whether a row holds the names of the columns under merged cells of the row above."""
    row, below = sheet.rows[number], sheet.rows[number + 1 :]
    wide = [s for s in sheet.spans if s.row == number - 1 and s.columns > 1]
    under = {j for s in wide for j in range(s.column, s.column + s.columns)}
    if not under or not all(isinstance(cell, str | None) for cell in row):
        return False
    is_alone = all(cell is None for j, cell in enumerate(row) if j not in under)
    columns = ([cells[j] for cells in below if cells[j] is not None] for j in under)
    return is_alone or any(
        column and all(isinstance(cell, int | float) for cell in column) for column in columns
    )


def _build_grid(sheet: Sheet, header_rows: int) -> CellGrid:
    first = {(s.row, s.column): s for s in sheet.spans}
    covered = {place for s in sheet.spans for place in s.covers()} - first.keys()
    rows = []
    for i, row in enumerate(sheet.rows):
        line = []
        for j, cell in enumerate(row):
            if (i, j) not in covered:
                span = first.get((i, j), Span(i, j, 1, 1))
                text = "" if cell is None else str(cell)
                line.append(GridCell(text, span.rows, span.columns, i < header_rows))
        rows.append(tuple(line))
    return CellGrid(tuple(rows))
