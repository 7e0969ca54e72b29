"""Workbooks (``.xlsx``, ``.xls``, ``.ods``): every sheet is a table, merged cells are kept."""

import io
import re
import warnings
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, time
from itertools import product
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from target_bench.core.errors import DataError
from target_bench.core.grid import CellGrid, GridCell
from target_bench.core.release import Release
from target_bench.core.schema import Cell
from target_bench.core.user_code import described
from target_bench.data.formats import signatures
from target_bench.data.formats.cells import cells

SUFFIXES = (".xlsx", ".xlsm", ".xls", ".ods")

_PREAMBLE = "sheets have rows before their header, which were left out of the table"
_HEADER_ROWS = "sheets have a header of several rows"
_NO_VALUE = "cells hold a formula without a stored value and are empty"
_HIDDEN = "sheets are hidden in their workbook and are tables all the same"
_DIVIDED = (
    "sheets are divided by empty rows or columns, as between several tables, and are one table each"
)

_MOST_CELLS = 20_000_000  # of the rectangle that a sheet's filled cells span
_MERGED = re.compile(rb'<(?:\w+:)?mergeCell\s[^>]*?ref="(\w+:\w+)"')
_MOST_MERGED = 2_000_000  # places that the merged cells of a sheet reach over
_MOST_BYTES = 2_000_000_000  # of what is packed into a workbook


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
        hidden: whether its program does not show it.
        above: how many empty rows of the file are above the first one here.
    """

    name: str
    rows: list[list[Cell]]
    spans: list[Span]
    hidden: bool = False
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
    """
    content = release.content(path)
    if not content:
        raise DataError(f"{path}: the file is empty. Get it anew, or remove it.")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of parts that hold no cells, such as validation rules
            sheets = [*map(_trimmed, _READERS[path.suffix.lower()](release, path, content))]
    except DataError:
        raise
    except Exception as error:  # packages that read workbooks raise anything about damaged ones
        advice = signatures.advice(content, path.suffix.lower()) or (
            "Open it in a spreadsheet program and save it again, without a password, as .xlsx."
        )
        said = " ".join(described(error).split())  # openpyxl says some over several lines
        raise DataError(f"{path}: not a workbook that can be read ({said}). {advice}") from error
    filled = [sheet for sheet in sheets if sheet.rows]
    if not filled:
        raise DataError(f"{path}: every sheet is empty")
    for sheet in filled:
        if sheet.hidden:
            release.remark(_HIDDEN, f"{path}, sheet {sheet.name!r}")
    return [_table(release, path, sheet, preamble, header_rows) for sheet in filled]


_Places = dict[tuple[int, int], Cell]
"""(row, column), from 0 -> the cell there, of those that are not empty."""


def _xlsx(release: Release, path: Path, content: bytes) -> Iterator[Sheet]:
    import openpyxl

    parts = _unpacked(path, content)
    _check_merged(path, parts)
    has_formulas = _has_formulas(parts)
    book = openpyxl.load_workbook(io.BytesIO(content), data_only=True)
    formulas = openpyxl.load_workbook(io.BytesIO(content)) if has_formulas else None
    for sheet in book.worksheets:
        place = f"{path}, sheet {sheet.title!r}"
        values = _openpyxl_places(sheet)
        if formulas is not None:
            for i, j in _openpyxl_places(formulas[sheet.title], "f").keys() - values.keys():
                release.remark(_NO_VALUE, f"{place}, row {i + 1}, column {j + 1}")
        spans = [
            Span(r.min_row - 1, r.min_col - 1, r.size["rows"], r.size["columns"])
            for r in sheet.merged_cells.ranges
        ]
        rows = _rows(place, {where: _plain(value) for where, value in values.items()})
        yield Sheet(sheet.title, rows, spans, sheet.sheet_state != "visible")


def _openpyxl_places(sheet: Any, kind: str | None = None) -> dict[tuple[int, int], Any]:
    """Return the cells that are not empty, or those of one of openpyxl's kinds.

    A sheet's public iterators make a cell for every place up to the last one, which a format alone
    may have put at XFD1048576.
    """
    found = ((row - 1, column - 1, cell) for (row, column), cell in sheet._cells.items())
    return {
        (i, j): cell.value
        for i, j, cell in found
        if cell.value is not None and kind in (None, cell.data_type)
    }


def _unpacked(path: Path, content: bytes) -> zipfile.ZipFile:
    """Return the parts of a workbook that is a zip archive."""
    parts = zipfile.ZipFile(io.BytesIO(content))
    size = sum(part.file_size for part in parts.infolist())
    if size > _MOST_BYTES:
        raise DataError(
            f"{path}: holds {size:,} bytes when it is unpacked, and at most {_MOST_BYTES:,} are "
            "read. Save its sheets as CSV or Parquet files."
        )
    return parts


def _sheet_parts(parts: zipfile.ZipFile) -> Iterator[bytes]:
    for name in parts.namelist():
        if name.startswith("xl/worksheets/") and name.endswith(".xml"):
            yield parts.read(name)


def _has_formulas(parts: zipfile.ZipFile) -> bool:
    return any(b"<f" in sheet for sheet in _sheet_parts(parts))


def _check_merged(path: Path, parts: zipfile.ZipFile) -> None:
    """Refuse merged cells over millions of places: openpyxl makes an object for each."""
    from openpyxl.utils.cell import range_boundaries

    for sheet in _sheet_parts(parts):
        merged = 0
        for ref in _MERGED.findall(sheet):
            left, top, right, bottom = range_boundaries(ref.decode())
            merged += (right - left + 1) * (bottom - top + 1)
        if merged > _MOST_MERGED:
            raise DataError(
                f"{path}: its merged cells reach over {merged:,} places of a sheet; at most "
                f"{_MOST_MERGED:,} are read. Merge no more than the cells of the table, or save it "
                "as a CSV or Parquet file."
            )


def _plain(value: Any) -> Cell:
    if isinstance(value, datetime) and value.time() == time.min:
        value = value.date()
    return cells([value])[0]


def _xls(_: Release, path: Path, content: bytes) -> Iterator[Sheet]:
    import xlrd
    from openpyxl.styles.numbers import is_timedelta_format
    from openpyxl.utils.datetime import MAC_EPOCH, WINDOWS_EPOCH, from_excel

    def value_of(cell: Any) -> Cell:
        if cell.ctype == xlrd.XL_CELL_NUMBER:
            return int(cell.value) if cell.value.is_integer() else float(cell.value)
        if cell.ctype == xlrd.XL_CELL_DATE:
            number_format = book.format_map[book.xf_list[cell.xf_index].format_key].format_str
            return _plain(from_excel(cell.value, epoch, is_timedelta_format(number_format)))
        if cell.ctype == xlrd.XL_CELL_BOOLEAN:
            return bool(cell.value)
        if cell.ctype == xlrd.XL_CELL_ERROR:
            return str(xlrd.error_text_from_code.get(cell.value, f"#{cell.value}"))
        return str(cell.value) or None

    silent = io.StringIO()  # it prints what it finds odd
    book = xlrd.open_workbook(file_contents=content, formatting_info=True, logfile=silent)
    epoch = MAC_EPOCH if book.datemode else WINDOWS_EPOCH
    for sheet in book.sheets():
        places: _Places = {}
        for i in range(sheet.nrows):
            places |= {(i, j): value_of(cell) for j, cell in enumerate(sheet.row(i))}
        merged = sheet.merged_cells
        spans = [Span(top, left, bottom - top, right - left) for top, bottom, left, right in merged]
        rows = _rows(f"{path}, sheet {sheet.name!r}", places)
        yield Sheet(sheet.name, rows, spans, bool(sheet.visibility))


_OFFICE, _TABLE, _TEXT, _STYLE = (
    f"{{urn:oasis:names:tc:opendocument:xmlns:{name}:1.0}}"
    for name in ("office", "table", "text", "style")
)


def _ods(_: Release, path: Path, content: bytes) -> Iterator[Sheet]:
    root = ElementTree.fromstring(_unpacked(path, content).read("content.xml"))  # noqa: S314 (expat has limits of its own)
    hidden = {
        style.get(f"{_STYLE}name")
        for style in root.iter(f"{_STYLE}style")
        for properties in style.iter(f"{_STYLE}table-properties")
        if properties.get(f"{_TABLE}display") == "false"
    }
    for table in root.iter(f"{_TABLE}table"):
        name = table.get(f"{_TABLE}name", "")
        place = f"{path}, sheet {name!r}"
        places: _Places = {}
        spans: list[Span] = []
        i = 0
        for row in table.iter(f"{_TABLE}table-row"):
            repeated = int(row.get(f"{_TABLE}number-rows-repeated", 1))
            filled = _ods_row(row, i, spans)
            _check_size(place, repeated, sum(len(columns) for columns, _ in filled))
            for n, (columns, value) in product(range(repeated if filled else 0), filled):
                places |= {(i + n, j): value for j in columns}
            i += repeated
        yield Sheet(name, _rows(place, places), spans, table.get(f"{_TABLE}style-name") in hidden)


def _ods_row(row: ElementTree.Element, number: int, spans: list[Span]) -> list[tuple[range, Cell]]:
    """Return the columns of each value of a row, and note which cells are merged."""
    filled: list[tuple[range, Cell]] = []
    j = 0
    for cell in row:
        if cell.tag not in (f"{_TABLE}table-cell", f"{_TABLE}covered-table-cell"):
            continue
        repeated = int(cell.get(f"{_TABLE}number-columns-repeated", 1))
        value = _ods_value(cell)
        high = int(cell.get(f"{_TABLE}number-rows-spanned", 1))
        wide = int(cell.get(f"{_TABLE}number-columns-spanned", 1))
        if high * wide > 1:
            spans.append(Span(number, j, high, wide))
        if value is not None:
            filled.append((range(j, j + repeated), value))
        j += repeated
    return filled


def _ods_value(cell: ElementTree.Element) -> Cell:
    kind = cell.get(f"{_OFFICE}value-type")
    if kind in ("float", "currency", "percentage"):
        value = float(cell.get(f"{_OFFICE}value", ""))
        return int(value) if value.is_integer() else value
    if kind == "date":
        return cell.get(f"{_OFFICE}date-value", "").removesuffix("T00:00:00")
    if kind == "boolean":
        return cell.get(f"{_OFFICE}boolean-value") == "true"
    lines = map(_ods_text, cell.findall(f"{_TEXT}p"))
    return "\n".join(lines) or cell.get(f"{_OFFICE}string-value") or None


def _ods_text(element: ElementTree.Element) -> str:
    """Return the text of a paragraph, in which blanks, tabs and line ends are elements."""
    text = element.text or ""
    for part in element:
        if part.tag == f"{_TEXT}s":
            text += " " * int(part.get(f"{_TEXT}c", 1))
        elif part.tag in (f"{_TEXT}tab", f"{_TEXT}line-break"):
            text += "\t" if part.tag == f"{_TEXT}tab" else "\n"
        else:
            text += _ods_text(part)
        text += part.tail or ""
    return text


_READERS: Mapping[str, Callable[[Release, Path, bytes], Iterator[Sheet]]] = {
    ".xlsx": _xlsx,
    ".xlsm": _xlsx,
    ".xls": _xls,
    ".ods": _ods,
}


def _rows(place: str, places: _Places) -> list[list[Cell]]:
    """Return the rectangle from the first row and column to the last cell."""
    high = max((i for i, _ in places), default=-1) + 1
    wide = max((j for _, j in places), default=-1) + 1
    _check_size(place, high, wide)
    rows: list[list[Cell]] = [[None] * wide for _ in range(high)]
    for (i, j), value in places.items():
        rows[i][j] = value
    return rows


def _check_size(place: str, high: int, wide: int) -> None:
    if high * wide > _MOST_CELLS:
        raise DataError(
            f"{place}: its cells are spread over {high:,} rows and {wide:,} columns; at most "
            f"{_MOST_CELLS:,} cells are read. Remove what is far below or beside the table, or "
            "save it as a CSV or Parquet file."
        )


def _is_filled(cell: Cell) -> bool:
    return cell is not None and cell != ""


def _has_cell(line: Sequence[Cell]) -> bool:
    return any(map(_is_filled, line))


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
    merged = [s for s in clipped if s.rows * s.columns > 1]
    return Sheet(sheet.name, rows, merged, sheet.hidden, top)


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
    if not all(map(_has_cell, (*body.rows, *zip(*body.rows, strict=True)))):
        release.remark(_DIVIDED, place)
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
