"""Numbers of workbooks as a person sees them: percentages, padded digits, durations, words.

calamine gives values without their formats: 7.5% as .075, the ZIP code 00501 as 501, a shift of
30:30 hours as a day and six and a half hours, and 0 where "-" or "none" stands. Other formats
(decimals, thousands, currencies) keep the number: it is the same one.
"""

import html
import posixpath
import re
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from decimal import ROUND_HALF_UP, Context, Decimal, InvalidOperation
from functools import reduce

Shown = Mapping[str, Mapping[tuple[int, int], str]]
"""Name of a sheet -> (row, column), from 0 -> the text that stands there."""

_EXCEL_DIGITS = Context(prec=15, rounding=ROUND_HALF_UP)
_EXACT = 10**15
_BUILT_IN = {9: "0%", 10: "0.00%", 46: "[h]:mm:ss"}
"""The formats without a code in the file that are written here."""
_PROBES = ("0", "0.5", "1", "-1")

_QUOTED_OR_END = re.compile(r'"[^"]*"|\\.|;', re.DOTALL)
_TOKEN = re.compile(r'"([^"]*)"|\\(.)|(\[[^]]*\])|_.|\*.|(.)', re.DOTALL)
_CONDITION = re.compile(r"\[(<=|>=|<>|<|>|=)\s*(-?[\d.]+)\]")
_COMPARE = {
    "<": Decimal.__lt__,
    "<=": Decimal.__le__,
    ">": Decimal.__gt__,
    ">=": Decimal.__ge__,
    "=": Decimal.__eq__,
    "<>": Decimal.__ne__,
}
_ELAPSED = re.compile(r"\[(h+|m+|s+)\](:mm)?(:ss)?", re.IGNORECASE)
_PERCENT = re.compile(r"([^#0?.%]*)([#0?,]*[#0?])(?:\.([#0?]+))?([^#0?%]*%[^#0?%]*)")
_MASK = re.compile(r"[0() /+-]*")
_PLACEHOLDER = re.compile(r"[0#?@]|[A-Za-z]")


def format_number(value: str, code: str) -> str | None:
    """Format a number by a code of Excel for percentages, padded digits, durations or words."""
    try:
        number = _EXCEL_DIGITS.create_decimal(value)
    except InvalidOperation:
        return None
    if not number.is_finite() or abs(number) >= _EXACT:
        return None
    section, number = _choose_section(code, number)
    if (elapsed := _ELAPSED.fullmatch(section)) and number >= 0:
        return _format_duration(number, elapsed)
    tokens = _TOKEN.findall(section)
    plain = "".join(literal or escaped or code for literal, escaped, _, code in tokens).strip()
    codes = "".join(code for *_, code in tokens)
    if plain and not _PLACEHOLDER.search(codes):
        return plain
    if "%" in codes and (percent := _PERCENT.fullmatch(plain)):
        return _format_percentage(number, percent)
    zeros = codes.count("0")
    is_mask = zeros > 1 and zeros == plain.count("0") and _MASK.fullmatch(codes)
    if is_mask and number >= 0 and number == number.to_integral():
        return _fill_mask(str(int(number)).zfill(zeros), plain, zeros)
    return None


def _choose_section(code: str, number: Decimal) -> tuple[str, Decimal]:
    """Return the section for a number, and the number as it is written there."""
    cut = _QUOTED_OR_END.sub(lambda match: "\0" if match[0] == ";" else match[0], code)
    sections = cut.split("\0")
    conditions = [_CONDITION.search(section) for section in sections]
    if any(conditions):
        for section, condition in zip(sections, conditions, strict=True):
            if condition is None or _COMPARE[condition[1]](number, Decimal(condition[2])):
                return _CONDITION.sub("", section), number
        return "", number
    if number < 0 and len(sections) > 1:
        return sections[1], -number  # the section writes the sign, if any
    if number == 0 and len(sections) > 2:
        return sections[2], number
    return sections[0], number


def _format_duration(days: Decimal, code: re.Match[str]) -> str:
    seconds = int((days * 86_400).to_integral_value(ROUND_HALF_UP))
    unit = code[1][0].lower()
    whole, rest = divmod(seconds, {"h": 3600, "m": 60, "s": 1}[unit])
    shown = str(whole).zfill(len(code[1]))
    if unit == "h" and code[2]:
        shown += f":{rest // 60:02}"
    if unit != "s" and code[3]:
        shown += f":{rest % 60:02}"
    return shown


def format_clock(duration: timedelta) -> str:
    """Format a duration in hours, minutes and seconds: of days, no person counts the hours."""
    seconds = round(duration.total_seconds())
    sign, seconds = "-" * (seconds < 0), abs(seconds)
    return f"{sign}{seconds // 3600}:{seconds // 60 % 60:02}:{seconds % 60:02}"


def _format_percentage(number: Decimal, code: re.Match[str]) -> str:
    before, whole, decimals, after = code[1], code[2], code[3] or "", code[4]
    rounded = (number * 100).quantize(Decimal(1).scaleb(-len(decimals)), ROUND_HALF_UP)
    shown = f"{rounded:{',' if ',' in whole else ''}f}"
    for code_of_digit in reversed(decimals):  # digits of "#" are shown where they are not zero
        if code_of_digit == "0" or not shown.endswith("0"):
            break
        shown = shown[:-1]
    sign, digits = ("-", shown[1:]) if shown.startswith("-") else ("", shown)
    return f"{sign}{before}{digits}{after}"


def _fill_mask(digits: str, mask: str, zeros: int) -> str:
    """Return digits in the places of zeros; those that are too many stand at the first."""
    extra, rest = digits[: len(digits) - zeros], iter(digits[len(digits) - zeros :])
    shown = "".join(next(rest) if character == "0" else character for character in mask)
    first = mask.index("0")
    return shown[:first] + extra + shown[first:]


def parse_column(letters: str) -> int:
    """Return the number of a column such as ``AB``, from 1."""
    return reduce(lambda number, letter: 26 * number + ord(letter) - ord("@"), letters, 0)


def _is_shown(code: str) -> bool:
    """Return whether a code formats any number here, which spares the others a look."""
    return bool(_CONDITION.search(code)) or any(format_number(n, code) for n in _PROBES)


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
    names = set(parts.namelist())
    if not {"xl/styles.xml", "xl/workbook.xml", "xl/_rels/workbook.xml.rels"} <= names:
        return {}
    codes = _read_xlsx_codes(_read_part(parts, "xl/styles.xml"))
    if not codes:
        return {}
    targets = {
        _get(tag, "Id"): posixpath.normpath(posixpath.join("/xl", _get(tag, "Target")))
        for tag in _RELATION.findall(_read_part(parts, "xl/_rels/workbook.xml.rels"))
    }
    sheets = {}
    for tag in _SHEET.findall(_read_part(parts, "xl/workbook.xml")):
        file = targets.get(_get(tag, "r:id"), "").lstrip("/")
        if file in names:
            cells = _format_xlsx(_read_part(parts, file), codes)
            sheets[_get(tag, "name")] = dict(cells)
    return sheets


def _read_part(parts: zipfile.ZipFile, name: str) -> str:
    return parts.read(name).decode("utf-8", "replace")


def _get(tag: str, name: str) -> str:
    found = re.search(rf"""\s{name}=(?:"([^"]*)"|'([^']*)')""", f" {tag}")
    return html.unescape(found[1] or found[2] or "") if found else ""


def _read_xlsx_codes(styles: str) -> dict[str, str]:
    codes = {str(number): code for number, code in _BUILT_IN.items()}
    for tag in _FORMAT.findall(styles):
        codes[_get(tag, "numFmtId")] = _get(tag, "formatCode")
    block = _STYLES.search(styles)
    listed = [_get(tag, "numFmtId") for tag in _STYLE.findall(block[0])] if block else []
    shown = {number: code for number, code in codes.items() if _is_shown(code)}
    return {str(i): shown[number] for i, number in enumerate(listed) if number in shown}


def _format_xlsx(sheet: str, codes: Mapping[str, str]) -> Iterator[tuple[tuple[int, int], str]]:
    for attributes, value in _CELL.findall(sheet):
        code = codes.get(_get(attributes, "s"))
        reference = _REFERENCE.fullmatch(_get(attributes, "r"))
        if code is None or reference is None or _get(attributes, "t") not in ("", "n"):
            continue
        text = format_number(value, code)
        if text is not None:
            yield (int(reference[2]) - 1, parse_column(reference[1]) - 1), text


# .ods: XML that holds the text of each cell

_THOUSANDS = re.compile(r"\d{1,3}([ \u00a0\u202f.,'’]\d{3})*")
_ISO_DURATION = re.compile(r"PT(\d+)H(\d+)M(\d+)(?:[.,]\d+)?S")


def show_ods_number(kind: str, value: str, lines: Sequence[str]) -> str | None:
    """Return the text of a cell of OpenDocument, where its number is shown otherwise."""
    text = " ".join(lines).strip()
    if kind == "time":
        iso = _ISO_DURATION.fullmatch(value)
        return text or (f"{int(iso[1])}:{iso[2]}:{iso[3]}" if iso else None)
    if not text or kind not in ("float", "percentage", "currency"):
        return None
    if kind == "percentage" or not any(character.isdigit() for character in text):
        return text
    shown = re.search(r"\d(.*\d)?", text)
    digits = re.sub(r"\D", "", text)
    if shown is None or digits.lstrip("0") != value.removesuffix(".0").lstrip("0"):
        return None
    is_padded = digits == shown[0] and len(digits) > 1 and digits.startswith("0")
    is_mask = _MASK.fullmatch(re.sub(r"\d", "0", shown[0])) and not _THOUSANDS.fullmatch(shown[0])
    return text if is_padded or is_mask else None
