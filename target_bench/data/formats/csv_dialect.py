"""How a CSV file is written: what its cells are divided by, and its decimal mark."""

import csv
import io
import re
from collections.abc import Sequence
from typing import NamedTuple

SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
"""What cells may be divided by, and what that is called."""

_LINES = 100
"""Lines that are looked at."""

_DECIMAL_COMMA = re.compile(r"[-+]?(?:\d{1,3}(?:\.\d{3})+|\d+),\d+")
_SURELY_DECIMAL = re.compile(r"[-+]?(?:\d+(?:\.\d{3})*,(?:\d{1,2}|\d{4,})|0,\d+)")
_DECIMAL_POINT = re.compile(r"[-+]?(?:\d+\.(?:\d{1,2}|\d{4,})|0\.\d+)")
_GROUPED = re.compile(r"[-+]?\d{1,3}(?:\.\d{3})+")


def separator_of(text: str) -> str:
    """Return the separator of the cells of a CSV file; a comma where nothing else fits better.

    Another one fits where the comma does not divide the header, or not all rows alike.
    """
    lines = text.splitlines(keepends=True)[:_LINES]
    widths = {one: _width(lines, one) for one in SEPARATORS}
    return "," if widths[","] > 1 else max(widths, key=lambda one: widths[one])


def _width(lines: Sequence[str], separator: str) -> int:
    """Return the cells of every line; 0 where lines differ."""
    try:
        rows = [row for row in csv.reader(io.StringIO("".join(lines)), delimiter=separator) if row]
    except csv.Error:
        return 0
    widths = {len(row) for row in rows}
    return widths.pop() if len(widths) == 1 else 0


class Decimals(NamedTuple):
    """Rows whose numbers have decimal points.

    Attributes:
        rows: the rows.
        had_commas: whether the file has decimal commas.
    """

    rows: Sequence[Sequence[str]]
    had_commas: bool


def with_decimal_points(rows: Sequence[Sequence[str]]) -> Decimals:
    """Write numbers with decimal points, where some can only have decimal commas and none a point.

    ``1,234`` alone may be a thousand; ``1,5`` is not.
    """
    texts = [cell.strip() for row in rows for cell in row]
    if not any(map(_SURELY_DECIMAL.fullmatch, texts)) or any(map(_DECIMAL_POINT.fullmatch, texts)):
        return Decimals(rows, False)
    return Decimals([[_with_point(cell) for cell in row] for row in rows], True)


def _with_point(cell: str) -> str:
    if _DECIMAL_COMMA.fullmatch(cell.strip()) or _GROUPED.fullmatch(cell.strip()):
        return cell.replace(".", "").replace(",", ".")
    return cell
