"""Numbers of ``.xlsx`` workbooks as a person sees them: percentages, padded digits, durations.

calamine gives values without their formats: 7.5% as .075, the ZIP code 00501 as 501 and a shift of
30:30 hours as a day and six and a half hours. Other formats (decimals, thousands, currencies) keep
the number: it is the same one.
"""

import html
import posixpath
import re
import zipfile
from collections.abc import Iterator, Mapping
from decimal import ROUND_HALF_UP, Decimal, InvalidOperation
from functools import reduce

_EXACT = 10**15  # Excel keeps 15 digits
_BUILT_IN = {9: "0%", 10: "0.00%", 46: "[h]:mm:ss"}
"""The formats without a code in the file that are written here."""

_FORMAT = re.compile(r"<(?:\w+:)?numFmt\s[^>]*>")
_STYLES = re.compile(r"<(?:\w+:)?cellXfs\b.*?</(?:\w+:)?cellXfs>", re.DOTALL)
_STYLE = re.compile(r"<(?:\w+:)?xf\s[^>]*>")
_SHEET = re.compile(r"<(?:\w+:)?sheet\s[^>]*>")
_RELATION = re.compile(r"<(?:\w+:)?Relationship\s[^>]*>")
_CELL = re.compile(
    r"<(?:\w+:)?c\s([^>]*[^>/])>\s*(?:<(?:\w+:)?f\b[^>]*/>|<(?:\w+:)?f\b[^>]*>[^<]*</(?:\w+:)?f>)?"
    r"\s*<(?:\w+:)?v>([^<]+)</"
)
_PLACE = re.compile(r"([A-Z]{1,3})(\d+)")

_SECTION = re.compile(r"""((?:"[^"]*"|\\.|[^;"\\])*)""")
_TOKEN = re.compile(r'"([^"]*)"|\\(.)|(\[[^]]*\])|_.|\*.|(.)', re.DOTALL)
_ELAPSED = re.compile(r"\[(h+|m+|s+)\](:mm)?(:ss)?", re.IGNORECASE)
_PERCENT = re.compile(r"([-(]?)(#,##)?#?0(?:\.(0+))?( ?)%(\)?)")
_MASK = re.compile(r"[0() /+-]*")


def read_shown_numbers(parts: zipfile.ZipFile) -> Mapping[str, Mapping[tuple[int, int], str]]:
    """Return name of a sheet -> (row, column), from 0 -> the text that stands there."""
    names = set(parts.namelist())
    if not {"xl/styles.xml", "xl/workbook.xml", "xl/_rels/workbook.xml.rels"} <= names:
        return {}
    codes = _codes(_text(parts, "xl/styles.xml"))
    if not codes:
        return {}
    targets = {
        _attribute(tag, "Id"): posixpath.normpath(posixpath.join("/xl", _attribute(tag, "Target")))
        for tag in _RELATION.findall(_text(parts, "xl/_rels/workbook.xml.rels"))
    }
    sheets = {}
    for tag in _SHEET.findall(_text(parts, "xl/workbook.xml")):
        file = targets.get(_attribute(tag, "r:id"), "").lstrip("/")
        if file in names:
            cells = _cells(_text(parts, file), codes)
            sheets[_attribute(tag, "name")] = dict(cells)
    return sheets


def _text(parts: zipfile.ZipFile, name: str) -> str:
    return parts.read(name).decode("utf-8", "replace")


def _attribute(tag: str, name: str) -> str:
    found = re.search(rf"""\s{name}=(?:"([^"]*)"|'([^']*)')""", f" {tag}")
    return html.unescape(found[1] or found[2] or "") if found else ""


def _codes(styles: str) -> dict[str, str]:
    """Return style of a cell -> code of its number format, of those that are written here."""
    codes = {str(number): code for number, code in _BUILT_IN.items()}
    for tag in _FORMAT.findall(styles):
        codes[_attribute(tag, "numFmtId")] = _attribute(tag, "formatCode")
    block = _STYLES.search(styles)
    listed = [_attribute(tag, "numFmtId") for tag in _STYLE.findall(block[0])] if block else []
    shown = {number for number, code in codes.items() if format_number("0.5", code) is not None}
    shown |= {number for number, code in codes.items() if format_number("1", code) is not None}
    return {str(i): codes[number] for i, number in enumerate(listed) if number in shown}


def _cells(sheet: str, codes: Mapping[str, str]) -> Iterator[tuple[tuple[int, int], str]]:
    for attributes, value in _CELL.findall(sheet):
        code = codes.get(_attribute(attributes, "s"))
        place = _PLACE.fullmatch(_attribute(attributes, "r"))
        if code is None or place is None or _attribute(attributes, "t") not in ("", "n"):
            continue
        text = format_number(value, code)
        if text is not None:
            column = reduce(lambda n, letter: 26 * n + ord(letter) - ord("@"), place[1], 0)
            yield (int(place[2]) - 1, column - 1), text


def format_number(value: str, code: str) -> str | None:
    """Return a number as a format code of Excel shows it.

    None where the code is of another kind than percentage, padded digits or duration.
    """
    try:
        number = Decimal(value)
    except InvalidOperation:
        return None
    sections = [section for section in _SECTION.findall(code) if section]
    if not sections or not number.is_finite() or abs(number) >= _EXACT:
        return None
    section = sections[0]
    if number < 0 and len(sections) > 1:  # which writes the sign, if any
        section, number = sections[1], -number
    if (elapsed := _ELAPSED.fullmatch(section)) and number >= 0:
        return _duration(number, elapsed)
    tokens = _TOKEN.findall(section)
    plain = "".join(literal or escaped or code for literal, escaped, _, code in tokens).strip()
    codes = "".join(code for *_, code in tokens)
    if percent := _PERCENT.fullmatch(plain):
        places = Decimal(1).scaleb(-len(percent[3] or ""))
        rounded = (number * 100).quantize(places, ROUND_HALF_UP)
        return f"{percent[1]}{rounded:{',' if percent[2] else ''}f}{percent[4]}%{percent[5]}"
    zeros = codes.count("0")
    is_mask = zeros > 1 and zeros == plain.count("0") and _MASK.fullmatch(codes)
    if is_mask and number >= 0 and number == number.to_integral():
        return _masked(str(int(number)).zfill(zeros), plain, zeros)
    return None


def _duration(days: Decimal, code: re.Match[str]) -> str:
    seconds = int((days * 86_400).to_integral_value(ROUND_HALF_UP))
    unit = code[1][0].lower()
    whole, rest = divmod(seconds, {"h": 3600, "m": 60, "s": 1}[unit])
    shown = str(whole).zfill(len(code[1]))
    if unit == "h" and code[2]:
        shown += f":{rest // 60:02}"
    if unit != "s" and code[3]:
        shown += f":{rest % 60:02}"
    return shown


def _masked(digits: str, mask: str, zeros: int) -> str:
    """Return digits in the places of zeros; those that are too many stand at the first."""
    extra, rest = digits[: len(digits) - zeros], iter(digits[len(digits) - zeros :])
    shown = "".join(next(rest) if character == "0" else character for character in mask)
    place = mask.index("0")
    return shown[:place] + extra + shown[place:]
