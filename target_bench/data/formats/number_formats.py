"""Numbers of workbooks as a person sees them: percentages, padded digits, durations, words.

calamine gives values without their formats: 7.5% as .075, the ZIP code 00501 as 501, a shift of
30:30 hours as a day and six and a half hours, and 0 where "-" or "none" stands. Other formats
(decimals, thousands, currencies) keep the number: it is the same one.
"""

import html
import posixpath
import re
import struct
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


# .xls: records of a type, a length and data, in a file with a table of its sectors

_END_OF_CHAIN = 0xFFFFFFFA  # and above


def read_xls_numbers(content: bytes) -> Shown:
    """Read the numbers of an Excel 97 workbook that are shown otherwise than they are stored."""
    try:
        return _format_xls_stream(_read_stream(content))
    except (struct.error, IndexError):  # calamine has read it: older, or written in another way
        return {}


def _read_stream(content: bytes) -> bytes:
    size = 1 << struct.unpack_from("<H", content, 30)[0]

    def read(sector: int) -> bytes:
        return content[(sector + 1) * size : (sector + 2) * size]

    def integers(block: bytes) -> tuple[int, ...]:
        return struct.unpack(f"<{len(block) // 4}I", block[: len(block) // 4 * 4])

    def chain(sector: int) -> bytes:
        blocks: list[bytes] = []
        while sector < _END_OF_CHAIN and len(blocks) <= len(table):  # a damaged chain may turn
            blocks.append(read(sector))
            sector = table[sector]
        return b"".join(blocks)

    first_directory, more = (struct.unpack_from("<I", content, at)[0] for at in (48, 68))
    listed = list(integers(content[76:512]))
    while more < _END_OF_CHAIN and len(listed) * size <= len(content):
        *block, more = integers(read(more))
        listed += block
    table: list[int] = []
    for sector in listed:
        table += integers(read(sector)) if sector < _END_OF_CHAIN else ()
    directory = chain(first_directory)
    for at in range(0, len(directory), 128):
        name = directory[at : at + 64].decode("utf-16-le", "replace").rstrip("\0")
        start, length = struct.unpack_from("<II", directory, at + 116)
        if name in ("Workbook", "Book"):
            return chain(start)[:length]
    return b""


def _format_xls_stream(stream: bytes) -> Shown:
    codes = dict(_BUILT_IN)
    styles: list[int] = []  # of each style its format
    names: dict[int, str] = {}  # where a sheet begins -> its name
    for _, kind, data in _read_xls_records(stream, 0):
        if kind == 0x041E:
            codes[struct.unpack_from("<H", data)[0]] = _decode_xls_text(data[2:], "<H")
        elif kind == 0x00E0:
            styles.append(struct.unpack_from("<H", data, 2)[0])
        elif kind == 0x0085:
            names[struct.unpack_from("<I", data)[0]] = _decode_xls_text(data[6:], "<B")
    shown = {number: code for number, code in codes.items() if _is_shown(code)}
    by_style = {i: shown[number] for i, number in enumerate(styles) if number in shown}
    if not by_style:
        return {}
    return {name: dict(_format_xls_cells(stream, at, by_style)) for at, name in names.items()}


def _read_xls_records(stream: bytes, at: int) -> Iterator[tuple[int, int, bytes]]:
    """Yield the records of a part of the stream, up to its end."""
    while at + 4 <= len(stream):
        kind, length = struct.unpack_from("<HH", stream, at)
        yield at, kind, stream[at + 4 : at + 4 + length]
        at += 4 + length
        if kind == 0x000A:
            return


def _decode_xls_text(data: bytes, length: str) -> str:
    n, width = struct.unpack_from(length, data)[0], struct.calcsize(length)
    if data[width] & 1:
        return data[width + 1 : width + 1 + 2 * n].decode("utf-16-le", "replace")
    return data[width + 1 : width + 1 + n].decode("latin-1")


def _format_xls_cells(
    stream: bytes, at: int, codes: Mapping[int, str]
) -> Iterator[tuple[tuple[int, int], str]]:
    for _, kind, data in _read_xls_records(stream, at):
        for row, column, style, value in _read_xls_values(kind, data):
            text = format_number(repr(value), codes[style]) if style in codes else None
            if text is not None:
                yield (row, column), text


def _read_xls_values(kind: int, data: bytes) -> Iterator[tuple[int, int, int, float]]:
    """Yield row, column, style and value of the numbers of a record."""
    if kind == 0x0203 or (kind == 0x0006 and data[12:14] != b"\xff\xff"):  # a formula's number
        yield struct.unpack_from("<HHHd", data)
    elif kind == 0x027E:
        row, column, style, packed = struct.unpack_from("<HHHI", data)
        yield row, column, style, _unpack_number(packed)
    elif kind == 0x00BD:
        row, first = struct.unpack_from("<HH", data)
        for i in range((len(data) - 6) // 6):
            style, packed = struct.unpack_from("<HI", data, 4 + 6 * i)
            yield row, first + i, style, _unpack_number(packed)


def _unpack_number(packed: int) -> float:
    """Return a number of 30 bits: whole, or the upper half of a float; perhaps of hundredths."""
    if packed & 2:
        value = float((packed >> 2) - (1 << 30 if packed >> 31 else 0))
    else:
        value = struct.unpack("<d", struct.pack("<II", 0, packed & ~3))[0]
    return value / 100 if packed & 1 else value


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
