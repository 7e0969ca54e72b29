"""Percentages and padded digits of workbooks as a person sees them.

calamine gives values without their formats: 7.5% as .075, the ZIP code 00501 as 501. Any other
format keeps the number.
"""

import html
import posixpath
import re
import zipfile
from collections.abc import Iterator, Mapping
from decimal import ROUND_HALF_UP, Context, Decimal, InvalidOperation
from functools import reduce

Shown = Mapping[str, Mapping[tuple[int, int], str]]
"""Name of a sheet -> (row, column), from 0 -> the text that stands there."""

_EXCEL_DIGITS = Context(prec=15, rounding=ROUND_HALF_UP)
_BUILT_IN = {"9": "0%", "10": "0.00%"}
"""The formats without a code in the file that are written here."""

_PERCENT = re.compile(r"[#,]*0(?:\.(0+))?%(;.*)?", re.DOTALL)
_PADDED = re.compile(r"00+(;.*)?", re.DOTALL)


def format_number(value: str, code: str) -> str | None:
    """Format a number by a code of Excel for percentages or padded digits."""
    percent, padded = _PERCENT.fullmatch(code), _PADDED.fullmatch(code)
    try:
        number = _EXCEL_DIGITS.create_decimal(value)
        if percent:
            digits = Decimal(1).scaleb(-len(percent[1] or ""))
            return f"{(number * 100).quantize(digits, ROUND_HALF_UP):f}%"
        if padded and number >= 0 and number == number.to_integral():
            return str(int(number)).zfill(len(code.partition(";")[0]))
    except (InvalidOperation, OverflowError, ValueError):  # no number, or none with an end
        pass
    return None


def parse_column(letters: str) -> int:
    """Return the number of a column such as ``AB``, from 1."""
    return reduce(lambda number, letter: 26 * number + ord(letter) - ord("@"), letters, 0)


# .xlsx: a zip archive of XML

_FORMAT = re.compile(r"<(?:\w+:)?numFmt\s[^>]*>")
_STYLES = re.compile(r"<(?:\w+:)?cellXfs\b.*?</(?:\w+:)?cellXfs>", re.DOTALL)
_STYLE = re.compile(r"<(?:\w+:)?xf\s[^>]*>")
_SHEET = re.compile(r"<(?:\w+:)?sheet\s[^>]*>")
_RELATION = re.compile(r"<(?:\w+:)?Relationship\s[^>]*>")
_CELL = re.compile(
    r"<(?:\w+:)?c\s([^>]*[^>/])>\s*(?:<(?:\w+:)?f\b[^>]*/>|<(?:\w+:)?f\b[^>]*>[^<]*</(?:\w+:)?f>)?"
    r"\s*<(?:\w+:)?v>([^<]+)</"
)
_REFERENCE = re.compile(r"([A-Z]{1,3})(\d+)")


def read_xlsx_numbers(parts: zipfile.ZipFile) -> Shown:
    """Read the numbers of an Office workbook that are shown otherwise than they are stored."""

    def read(name: str) -> str:
        return parts.read(name).decode("utf-8", "replace")

    names = set(parts.namelist())
    if not {"xl/styles.xml", "xl/workbook.xml", "xl/_rels/workbook.xml.rels"} <= names:
        return {}
    codes = _read_codes(read("xl/styles.xml"))
    if not codes:
        return {}
    targets = {
        _get(tag, "Id"): posixpath.normpath(posixpath.join("/xl", _get(tag, "Target")))
        for tag in _RELATION.findall(read("xl/_rels/workbook.xml.rels"))
    }
    sheets = {}
    for tag in _SHEET.findall(read("xl/workbook.xml")):
        file = targets.get(_get(tag, "r:id"), "").lstrip("/")
        if file in names:
            sheets[_get(tag, "name")] = dict(_format_cells(read(file), codes))
    return sheets


def _get(tag: str, name: str) -> str:
    found = re.search(rf"""\s{name}=(?:"([^"]*)"|'([^']*)')""", f" {tag}")
    return html.unescape(found[1] or found[2] or "") if found else ""


def _read_codes(styles: str) -> dict[str, str]:
    """Return number of a style -> its code, of those that are formatted here."""
    own = {_get(tag, "numFmtId"): _get(tag, "formatCode") for tag in _FORMAT.findall(styles)}
    codes = _BUILT_IN | own
    block = _STYLES.search(styles)
    listed = (
        [codes.get(_get(tag, "numFmtId"), "") for tag in _STYLE.findall(block[0])] if block else []
    )
    return {str(i): code for i, code in enumerate(listed) if format_number("0", code)}


def _format_cells(sheet: str, codes: Mapping[str, str]) -> Iterator[tuple[tuple[int, int], str]]:
    for attributes, value in _CELL.findall(sheet):
        code = codes.get(_get(attributes, "s"))
        reference = _REFERENCE.fullmatch(_get(attributes, "r"))
        if code is None or reference is None or _get(attributes, "t") not in ("", "n"):
            continue
        text = format_number(value, code)
        if text is not None:
            yield (int(reference[2]) - 1, parse_column(reference[1]) - 1), text


# .ods: XML that holds the text of each cell


def show_ods_number(kind: str, value: str, text: str) -> str | None:
    """Return the text of a cell of OpenDocument with a percentage, a duration or padded digits."""
    is_padded = len(text) > 1 and text.isdecimal() and text.startswith("0")
    is_number = text.lstrip("0") == value.removesuffix(".0").lstrip("0")
    is_shown = (kind in ("percentage", "time") and text) or (
        kind == "float" and is_padded and is_number
    )
    return text if text and is_shown else None
