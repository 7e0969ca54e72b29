"""Workbooks written to disk, as ``.xlsx``, ``.xls`` and ``.ods``."""

from collections.abc import Mapping, Sequence
from datetime import datetime, time
from pathlib import Path
from typing import Any

Rows = Sequence[Sequence[Any]]
Spans = Sequence[tuple[int, int, int, int]]
"""First row and column from 0, and how many rows and columns are merged."""

Codes = Mapping[tuple[int, int], str]
"""Row and column from 0 -> code of the number format, in every sheet."""


def write_workbook(
    path: Path,
    sheets: Mapping[str, Rows],
    merged: Mapping[str, Spans] | None = None,
    codes: Codes | None = None,
) -> Path:
    """Write a workbook in the format of its suffix."""
    if path.suffix == ".ods":
        _write_ods(path, sheets, merged or {})
    else:
        write = {".xlsx": _write_xlsx, ".xls": _write_xls}[path.suffix]
        write(path, sheets, merged or {}, codes or {})
    return path


def _write_xlsx(
    path: Path, sheets: Mapping[str, Rows], merged: Mapping[str, Spans], codes: Codes
) -> None:
    import openpyxl

    book = openpyxl.Workbook()
    book.remove(book.active)
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(list(row))
        for (i, j), code in codes.items():
            sheet.cell(i + 1, j + 1).number_format = code
        for row_number, column, high, wide in merged.get(name, ()):
            sheet.merge_cells(None, row_number + 1, column + 1, row_number + high, column + wide)
    book.save(path)


def _write_xls(
    path: Path, sheets: Mapping[str, Rows], merged: Mapping[str, Spans], codes: Codes
) -> None:
    import xlwt

    book = xlwt.Workbook()
    kinds = {datetime: "YYYY-MM-DD hh:mm", time: "hh:mm:ss"}
    styles: dict[object, Any] = {}
    for code in {*kinds.values(), *codes.values()}:
        styles[code] = xlwt.XFStyle()
        styles[code].num_format_str = code
    for name, rows in sheets.items():
        sheet = book.add_sheet(name)
        for i, row in enumerate(rows):
            for j, value in enumerate(row):
                if value is not None:
                    code = codes.get((i, j), kinds.get(type(value), ""))
                    sheet.write(i, j, value, styles.get(code, xlwt.Style.default_style))
        for i, j, high, wide in merged.get(name, ()):
            sheet.merge(i, i + high - 1, j, min(j + wide, 256) - 1)
    book.save(str(path))


def _write_ods(path: Path, sheets: Mapping[str, Rows], merged: Mapping[str, Spans]) -> None:
    from odf.opendocument import OpenDocumentSpreadsheet
    from odf.table import Table, TableRow

    book = OpenDocumentSpreadsheet()
    for name, rows in sheets.items():
        spans = {(i, j): (high, wide) for i, j, high, wide in merged.get(name, ())}
        table = Table(name=name)
        for i, row in enumerate(rows):
            line = TableRow()
            for j, value in enumerate(row):
                line.addElement(_ods_cell(value, spans.get((i, j), (1, 1))))
            table.addElement(line)
        table.addElement(TableRow(numberrowsrepeated=1_000_000))
        book.spreadsheet.addElement(table)
    book.save(str(path))


def _ods_cell(value: Any, span: tuple[int, int]) -> Any:
    from odf.table import TableCell
    from odf.text import P

    spans: dict[str, Any] = {}
    if span != (1, 1):
        spans = {"numberrowsspanned": span[0], "numbercolumnsspanned": span[1]}
    if isinstance(value, datetime):
        return TableCell(valuetype="date", datevalue=value.isoformat(), **spans)
    if isinstance(value, bool):
        return TableCell(valuetype="boolean", booleanvalue=str(value).lower(), **spans)
    if isinstance(value, int | float):
        return TableCell(valuetype="float", value=value, **spans)
    cell = TableCell(**spans) if value is None else TableCell(valuetype="string", **spans)
    if value is not None:
        cell.addElement(P(text=value))
    return cell
