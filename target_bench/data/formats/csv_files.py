"""CSV files as people have them: encoding, delimiter and lines before the header are found."""

import codecs
import csv
import io
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import accumulate, zip_longest
from pathlib import Path
from typing import Any, NamedTuple

from target_bench.core.errors import ConfigError, DataError
from target_bench.core.grid import CellGrid
from target_bench.core.release import Release
from target_bench.core.schema import Cell
from target_bench.data.checks import Grid, fill_rows
from target_bench.data.formats.preamble import count_preamble, names_values

DELIMITERS = (",", ";", "\t", "|")
"""What may separate cells where no setting says so."""

_NO_TEXT = {
    b"PK\x03\x04": "a workbook (.xlsx, .ods) or another zip archive",
    b"\xd0\xcf\x11\xe0": "a workbook of Excel 97 (.xls), or one with a password",
    b"PAR1": "a Parquet file (.parquet)",
    b"\x1f\x8b": "a gzipped file (.gz after its suffix)",
}
"""How files begin that are named .csv at times."""

NO_QUOTE = "none"
_SURE = 0.9
_ENOUGH_FOR_DELIMITER = 65536
_ENOUGH_ROWS = 1000
_FIRST_ROWS = 5

_MIXED = "UTF-8 with bytes of cp1252"
_NO_BYTE_OF_UTF8 = re.compile("[\udc80-\udcff]")
_DECLARED_DELIMITER = re.compile(r"sep=(.)\r?\n", re.IGNORECASE)
_SEPARATING_COMMA = re.compile(r",(?! |(?<=\d,)\d)")
"""A comma that stands neither between digits nor before a space."""

_NOT_UTF8 = "CSV files are not UTF-8 and were read in another encoding"
_DELIMITER = "CSV files have another delimiter than their suffix says"
_BLANKS = "CSV files have blanks before cells and their quotes, which were left out"
_SINGLE_QUOTES = 'CSV files have single quotes around cells that hold the separator (quote="\'")'
_ESCAPED = "CSV files have quotes behind a backslash inside of quotes (escape=\\)"
_UNQUOTED = (
    "CSV files have quotes that enclose no cell, and were read as they stand (quote=none; "
    "quote='\"' says that they enclose cells)"
)
_PREAMBLE = (
    "CSV files have lines before their header, which were left out of the table (preamble=0 says "
    "that there are none)"
)
_BLANK_LINE = (
    "CSV files have a blank line among their first rows, and were read from the first one "
    "(preamble=N leaves out the N lines above the header)"
)


@dataclass(frozen=True)
class FileSettings:
    """How files of tables are written; what is None is found in each file.

    Attributes:
        encoding: of CSV files, a codec of Python such as ``cp1252``.
        delimiter: what separates the cells of CSV files: one character.
        quote: what encloses cells of CSV files: one character, or ``none``.
        escape: what stands before a quote inside of quotes, if that is not doubled: a character.
        preamble: how many lines of a CSV file, or rows of a sheet, stand before the header.
        header_rows: how many rows the header has; with 0, the columns have no names.
    """

    encoding: str | None = None
    delimiter: str | None = None
    quote: str | None = None
    escape: str | None = None
    preamble: int | None = None
    header_rows: int | None = None

    @classmethod
    def of(cls, settings: Mapping[str, Any], place: str) -> "FileSettings":
        """Return the settings, checked.

        Raises:
            ConfigError: one is unknown or has a value that it cannot have; the message names it.
        """
        for name, value in settings.items():
            if name not in _MEANINGS:
                raise ConfigError(
                    f"{place}: there is no setting {name!r}; there are {', '.join(_MEANINGS)}"
                )
            meaning, is_valid = _MEANINGS[name]
            if value is not None and not is_valid(value):
                raise ConfigError(f"{place}: {name} should be {meaning}, not {value!r}")
        return cls(**settings)


def _is_codec(value: Any) -> bool:
    try:
        return isinstance(value, str) and "".encode(value) is not None
    except (LookupError, ValueError):
        return False


def _is_character(value: Any) -> bool:
    return isinstance(value, str) and len(value) == 1 and value not in "\r\n"


def _is_number(value: Any) -> bool:
    return type(value) is int and value >= 0


_MEANINGS: dict[str, tuple[str, Callable[[Any], bool]]] = {
    "encoding": ("an encoding such as cp1252", _is_codec),
    "delimiter": (
        "one character",
        lambda value: _is_character(value) and value != '"',
    ),
    "quote": ("one character, or none", lambda value: value == NO_QUOTE or _is_character(value)),
    "escape": ("one character", _is_character),
    "preamble": ("a number of lines", _is_number),
    "header_rows": ("a number of rows", _is_number),
}


@dataclass(frozen=True)
class FileTable:
    """A table as its file has it."""

    header: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    sheet: str = ""  # of a workbook
    grid: CellGrid | None = None  # the cells with their spans, if one is merged
    preamble: str = ""  # the text before the header
    context: Mapping[str, Any] = field(default_factory=dict)  # of a table in a database


class Line(NamedTuple):
    """A row of a CSV file."""

    number: int  # the line of the file on which it ends, from 1
    before: int  # that on which the row before it ends, 0 for the first
    cells: list[str]


def read_csv(
    release: Release, path: Path, default: str = ",", chosen: FileSettings | None = None
) -> tuple[Grid, str]:
    """Return header and rows of a CSV file, and the text before the header.

    Args:
        release: reads the file, and keeps notes of what was found in it.
        path: the file.
        default: the delimiter that its suffix stands for.
        chosen: settings that replace what would be found.

    The encoding is UTF-8, else UTF-16 (by its mark), else cp1252; where most characters that are
    not ASCII are UTF-8, single other bytes are read as cp1252.

    The delimiter is the one that a first line ``sep=;`` declares, else the one under which the
    largest share of rows has the most frequent number of cells, if that is at least two; among
    equals, the default, unless that is the comma and all commas stand between digits or before a
    space. One that first divides a row below the first, without a blank line above, and mostly
    stands before a space, belongs to the texts of a single column. (DuckDB's ``sniff_csv`` agrees
    in all but such columns, but its rules change with its versions, and with them would change the
    fingerprint of a corpus.)

    Double quotes enclose cells, and are doubled inside of them, unless the file is read better with
    a blank before quotes, with single quotes, with quotes behind a backslash or without any; TSV
    files have none where all lines are of one length without them.

    The preamble is made of the leading rows with text in their first cell alone, if a header and a
    row with more cells follow, and of those that ``preamble.count_preamble`` finds.

    Raises:
        DataError: the file is broken or does not fit the settings; the message names the line.
    """
    chosen = chosen or FileSettings()
    text = _decode_file(release, path, chosen.encoding)
    declared = _DECLARED_DELIMITER.match(text)
    if declared:
        text = "\n" + text[declared.end() :]
    delimiter = chosen.delimiter or (
        declared[1] if declared else _find_delimiter(path, text, default, chosen.preamble or 0)
    )
    if delimiter != default and chosen.delimiter is None:
        release.remark(_DELIMITER, f"{path}: {delimiter!r}")
    lines = _read_quoted_lines(release, path, text, delimiter, chosen)
    before = chosen.preamble
    if before is None:
        before = _find_preamble(lines[:_ENOUGH_ROWS])
        if before:
            release.remark(_PREAMBLE, f"{path}: {before}")
        elif number := _find_blank_line(lines[:_ENOUGH_ROWS]):
            release.remark(_BLANK_LINE, f"{path}, line {number}")
    header_rows = 1 if chosen.header_rows is None else chosen.header_rows
    words = [
        word
        for line in lines
        if line.number <= before
        for word in ([delimiter.join(line.cells)] if line.cells[0][:1] == "#" else line.cells)
        if word.strip()
    ]
    below = [line for line in lines if line.number > before]
    if lines and not below:
        raise DataError(f"{path}: nothing follows the {before} lines of preamble")
    return _build_grid(release, str(path), below, header_rows), "\n".join(words)


def csv_grid(release: Release, place: str, text: str, **dialect: Any) -> Grid:
    """Return header and rows of the text of a CSV file, all of one length.

    Args:
        release: keeps the note of rows that were not as long as the header.
        place: the file, for messages.
        text: what is in it.
        dialect: how it is written, by the names of ``csv.reader``.

    Raises:
        DataError: it is empty, holds a NUL byte, or is not written in this dialect.
    """
    _check_no_nul(text, place)
    return _build_grid(release, place, _read_lines(place, text, **dialect))


def _build_grid(release: Release, place: str, lines: Sequence[Line], header_rows: int = 1) -> Grid:
    """Return header and rows of the lines of a table; ``_join_header`` joins its rows."""
    if not lines:
        raise DataError(f"{place}: the file is empty; the first line of a table is its header")
    if len(lines) < header_rows:
        raise DataError(f"{place}: {len(lines)} rows, but header_rows is {header_rows}")
    rows = [line.cells for line in lines]
    return fill_rows(
        release,
        _join_header(rows[:header_rows]) if header_rows else [""] * len(rows[0]),
        rows[header_rows:],
        lambda number: f"{place}, line {lines[number + header_rows].number}",
        advice=". Does a cell without quotes hold the separator, or do lines above the header "
        "(preamble=N)?",
    )


def _join_header(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return the names of columns whose header has several rows, each joined by spaces.

    In all rows but the last, an empty cell repeats the cell on its left, as merged cells look in a
    CSV file.
    """
    filled = [list(accumulate(row, _repeat_left)) for row in rows[:-1]]
    columns = zip_longest(*filled, rows[-1], fillvalue="")
    return [" ".join(dict.fromkeys(filter(None, parts))) for parts in columns]


def _repeat_left(left: str, cell: str) -> str:
    return cell or left


def _decode_file(release: Release, path: Path, encoding: str | None) -> str:
    raw = release.content(path)
    kind = next((what for mark, what in _NO_TEXT.items() if raw.startswith(mark)), None)
    if kind is not None:
        raise DataError(f"{path}: not text, but {kind}. Rename it to end as such files do.")
    chosen = encoding or _guess_encoding(raw)
    try:
        text = _decode_mixed(raw) if chosen == _MIXED else raw.decode(chosen)
    except UnicodeError as error:
        advice = "Convert the file to UTF-8; a folder of files has the setting encoding, too."
        reason = getattr(error, "reason", error)
        raise DataError(f"{path}: not valid {chosen} ({reason}). {advice}") from error
    _check_no_nul(text, str(path))
    if encoding is None and chosen != "utf-8":
        release.remark(_NOT_UTF8, f"{path}: {chosen}")
    return text.removeprefix("\ufeff")


def is_text(raw: bytes) -> bool:
    """Return whether bytes are text in UTF-8."""
    try:
        return "\0" not in raw.decode("utf-8") and not raw.startswith(tuple(_NO_TEXT))
    except UnicodeDecodeError:
        return False


def _guess_encoding(raw: bytes) -> str:
    """Return UTF-8 if it fits, else UTF-16 by its mark, else cp1252.

    No detector is asked: to charset-normalizer a short German text is cp1250, and a file with one
    byte that cp1252 lacks is Chinese.
    """
    if is_text(raw):
        return "utf-8"
    if raw.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    text = raw.decode("utf-8", "surrogateescape")
    n_utf8 = sum(not char.isascii() for char in text)
    return _MIXED if n_utf8 > 2 * len(_NO_BYTE_OF_UTF8.findall(text)) else "cp1252"


def _decode_mixed(raw: bytes) -> str:
    """Return UTF-8 text with single bytes of cp1252 in it; raises ``UnicodeDecodeError``."""
    return _NO_BYTE_OF_UTF8.sub(
        lambda match: match[0].encode("utf-8", "surrogateescape").decode("cp1252"),
        raw.decode("utf-8", "surrogateescape"),
    )


def _check_no_nul(text: str, place: str) -> None:
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise DataError(
            f"{place}, line {line}: a NUL byte, which no text file holds. Convert the file to "
            "UTF-8."
        )


def _find_delimiter(path: Path, text: str, default: str, preamble: int) -> str:
    best, most = default, 0.0
    in_cells = default == "," and not _SEPARATING_COMMA.search(text, 0, _ENOUGH_FOR_DELIMITER)
    for delimiter in (default, *DELIMITERS):
        if most == 1 and not in_cells:
            break
        lines = _read_lines(path, text, _ENOUGH_ROWS, delimiter=delimiter)
        rows = [row for row in lines if row.number > preamble]
        widths = [len(row.cells) for row in rows]
        width = _find_most_frequent(widths)
        share = widths.count(width) / len(widths) if width > 1 else 0.0
        better = share > most or (in_cells and best == default and share == most > 0)
        if better and (delimiter == default or not _is_in_texts(rows)):
            best, most = delimiter, share
    if best == default == "," and "\t" not in text:  # of texts in one column, no comma divides
        rows = [row for row in _read_lines(path, text, _ENOUGH_ROWS) if row.number > preamble]
        cells = [row.cells for row in rows if len(row.cells) > 1]
        if cells and _is_in_texts(rows) and not names_values(cells[0], cells[1:]):
            return "\t"
    return best


def _is_in_texts(rows: Sequence[Line]) -> bool:
    """Return whether it divides texts under a header of one cell, rather than a table's rows."""
    first = next(i for i, row in enumerate(rows) if len(row.cells) > 1)
    after_blank = first > 0 and rows[first].before > rows[first - 1].number
    divided = [row.cells for row in rows if len(row.cells) > 1]
    as_in_texts = sum(cells[0][-1:] != " " and cells[1][:1] == " " for cells in divided)
    return first > 0 and not after_blank and 2 * as_in_texts > len(divided)


def _find_most_frequent(widths: Sequence[int]) -> int:
    counts = Counter(widths)
    return max(counts, key=lambda width: (counts[width], width), default=0)


def _read_quoted_lines(
    release: Release, path: Path, text: str, delimiter: str, chosen: FileSettings
) -> list[Line]:
    """Return the rows of a CSV file, under the quotes that the settings name or that fit best.

    Raises:
        DataError: no quotes fit; the message names the line.
    """
    plain: dict[str, Any] = {"delimiter": delimiter, "strict": True}
    bare: dict[str, Any] = {**plain, "quoting": csv.QUOTE_NONE}
    if chosen.quote is not None or chosen.escape is not None:
        quote = {} if chosen.quote is None else {"quotechar": chosen.quote}
        known = bare if chosen.quote == NO_QUOTE else {**plain, **quote}
        return _read_lines(path, text, **known, escapechar=chosen.escape)
    if delimiter == "\t" and '"' in text:
        with_quotes, without = (
            _rate(path, text, plain),
            _rate(path, text, bare),
        )
        if without >= with_quotes and _count_rows(path, text, plain) < _count_rows(
            path, text, bare
        ):
            release.remark(_UNQUOTED, str(path))
            return _read_lines(path, text, **bare)
    between = re.escape(delimiter)
    blank_before = re.compile(rf'{between} +"[^"\n]*" *({between}|$)', re.MULTILINE)
    enclosed = re.finditer(rf"(?:^|{between})'([^'\n]*)'(?:{between}|$)", text, re.MULTILINE)
    if blank_before.search(text):
        stripped = {**plain, "skipinitialspace": True}
        if _rate(path, text, stripped) >= _rate(path, text, plain):
            release.remark(_BLANKS, str(path))
            plain = stripped
    elif any(delimiter in cell[1] for cell in enclosed):
        single = {**plain, "quotechar": "'"}
        if _rate(path, text, single) > _rate(path, text, plain):
            release.remark(_SINGLE_QUOTES, str(path))
            plain = single
    try:
        return _read_lines(path, text, **plain)
    except DataError:
        escaped = {**plain, "escapechar": "\\"}
        for dialect, remark in ((escaped, _ESCAPED), (bare, _UNQUOTED)):
            if (dialect is bare or '\\"' in text) and _rate(path, text, dialect) > _SURE:
                with suppress(DataError):
                    lines = _read_lines(path, text, **dialect)
                    release.remark(remark, str(path))
                    return lines
        raise


def _rate(path: Path, text: str, dialect: Mapping[str, Any]) -> float:
    """Return which share of the first rows has the most frequent number of cells, from two on."""
    lines = _read_lines(path, text, _ENOUGH_ROWS, **{**dialect, "strict": False})
    widths = [len(line.cells) for line in lines]
    width = _find_most_frequent(widths)
    return widths.count(width) / len(widths) if width > 1 else 0.0


def _count_rows(path: Path, text: str, dialect: Mapping[str, Any]) -> int:
    return len(_read_lines(path, text, **{**dialect, "strict": False}))


def _find_preamble(lines: Sequence[Line]) -> int:
    """Return the line on which the preamble ends, 0 without any."""
    filled, divided = _find_divided(lines)
    n = count_preamble([line.cells for line in filled], divided)
    start = lines.index(filled[n]) if n else 0
    return _find_text_lines(lines[start:]) or (filled[n].before if n else 0)


def _find_blank_line(lines: Sequence[Line]) -> int:
    """Return the first blank line of a table's first rows, 0 without any or if most are divided."""
    filled, divided = _find_divided(lines)
    width = _find_most_frequent([len(line.cells) for line in lines]) if lines else 0
    if width < 2 or not divided or divided[0] > _FIRST_ROWS or 2 * len(divided) >= len(filled):
        return 0
    return filled[divided[0] - 1].number + 1


def _find_divided(lines: Sequence[Line]) -> tuple[list[Line], list[int]]:
    """Return the lines with text, and the places of those that have a blank one above them."""
    filled = [line for line in lines if any(cell.strip() for cell in line.cells)]
    return filled, [i for i in range(1, len(filled)) if filled[i].before > filled[i - 1].number]


def _find_text_lines(lines: Sequence[Line]) -> int:
    """Return how many lines of text stand before the header.

    Such a line has one cell in a table of several columns; or, in a table of at least three, as
    many as the others, all empty but perhaps the first.
    """
    width = _find_most_frequent([len(line.cells) for line in lines])
    for start, line in enumerate(lines):
        if not (1 == len(line.cells) < width or (width > 2 and not any(line.cells[1:]))):
            rows = sum(len(below.cells) == width for below in lines[start:])
            return line.before if start and rows > 1 else 0
    return 0


def _read_lines(place: object, text: str, most: int | None = None, **dialect: Any) -> list[Line]:
    """Return the rows that are not blank, or the first of them.

    Raises:
        DataError: one is not written in this dialect.
    """
    limit = csv.field_size_limit(2**31 - 1)  # of the module, 128 KiB a cell
    reader = csv.reader(io.StringIO(text, newline=""), **dialect)
    lines: list[Line] = []
    before = 0
    try:
        for cells in reader:
            if cells:
                lines.append(Line(reader.line_num, before, cells))
            before = reader.line_num
            if len(lines) == most:
                break
    except csv.Error as error:
        raise DataError(
            f"{place}, line {reader.line_num}: {error}. Quote cells that hold quotes, and double "
            "the quotes in them; or say how it is written with the settings quote and escape, as "
            "in ./tables:quote=none."
        ) from error
    finally:
        csv.field_size_limit(limit)
    return lines
