"""Numbers with decimal commas, and how to know that they are."""

import re
from typing import NamedTuple

_DECIMAL_COMMA = re.compile(r"[-+]?(?:\d{1,3}(?:\.\d{3})+|\d+),\d+")
_SURELY_DECIMAL = re.compile(r"[-+]?(?:\d+(?:\.\d{3})*,(?:\d{1,2}|\d{4,})|0,\d+)")
_DECIMAL_POINT = re.compile(r"[-+]?(?:\d+\.(?:\d{1,2}|\d{4,})|0\.\d+)")
_GROUPED_BY_COMMAS = re.compile(r"[-+]?\d{1,3}(?:(?:,\d{3}){2,}|(?:,\d{3})+\.\d+)")
_GROUPED = re.compile(r"[-+]?\d{1,3}(?:\.\d{3})+")


class Decimals(NamedTuple):
    """Rows whose numbers have decimal points.

    Attributes:
        rows: the rows.
        had_commas: whether the file has decimal commas.
    """

    rows: list[list[str]]
    had_commas: bool


def with_decimal_points(rows: list[list[str]]) -> Decimals:
    """Write numbers with decimal points, where some can only have decimal commas.

    ``1,234`` alone may be a thousand; ``1,5`` is not. Where a number has a decimal point, or a
    comma after each thousand (``1,234,567``), all stay.
    """
    texts = [cell.strip() for row in rows for cell in row]
    others = (_DECIMAL_POINT, _GROUPED_BY_COMMAS)
    if not any(map(_SURELY_DECIMAL.fullmatch, texts)) or any(
        other.fullmatch(text) for text in texts for other in others
    ):
        return Decimals(rows, False)
    return Decimals([[_with_point(cell) for cell in row] for row in rows], True)


def _with_point(cell: str) -> str:
    if _DECIMAL_COMMA.fullmatch(cell.strip()) or _GROUPED.fullmatch(cell.strip()):
        return cell.replace(".", "").replace(",", ".")
    return cell
