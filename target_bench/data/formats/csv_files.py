"""CSV files as people have them: encoding, delimiter, quotes and lines above the header are found.

DuckDB's ``sniff_csv`` agrees in all but columns of texts, but its rules change with its versions,
and with them would change the fingerprint of a corpus.
"""

import codecs
import csv
import io
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import accumulate, zip_longest
from pathlib import Path
from typing import Any

from target_bench.core.errors import DataError
from target_bench.core.release import Release
from target_bench.data.checks import Grid, fill_rows
from target_bench.data.formats.file_tables import NO_QUOTE, FileSettings, FileTable
from target_bench.data.formats.headers import (
    Line,
    find_divided,
    find_preamble,
    find_width,
    names_values,
)

DELIMITERS = (",", ";", "\t", "|")
"""What may separate cells where no setting says so."""

_NO_TEXT = {
    b"PK\x03\x04": "a workbook (.xlsx, .ods) or another zip archive",
    b"\xd0\xcf\x11\xe0": "a workbook of Excel 97 (.xls), or one with a password",
    b"PAR1": "a Parquet file (.parquet)",
    b"\x1f\x8b": "a gzipped file (.gz after its suffix)",
}
"""How files begin that are named .csv at times."""

_SURE = 0.9
_ENOUGH_FOR_DELIMITER = 65536
_ENOUGH_ROWS = 1000
_FIRST_ROWS = 5

_MIXED = "UTF-8 with bytes of cp1252"
_NO_BYTE_OF_UTF8 = re.compile("[\udc80-\udcff]")
_DECLARED_DELIMITER = re.compile(r"sep=(.)\r?\n", re.IGNORECASE)
_SEPARATING_COMMA = re.compile(r",(?! |(?<=\d,)\d)")  # neither between digits nor before a space

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
_RAGGED_ADVICE = (
    ". Does a cell without quotes hold the separator, or do lines above the header (preamble=N)?"
)


def read_csv(release: Release, path: Path, settings: FileSettings | None = None) -> list[FileTable]:
    """Read the table of a CSV file."""
    settings = settings or FileSettings()
    delimiter = "\t" if path.name.lower().removesuffix(".gz").endswith(".tsv") else ","
    text = _decode_file(release, path, settings.encoding)
    if declared := _DECLARED_DELIMITER.match(text):
        text = "\n" + text[declared.end() :]  # an empty line keeps the numbers of the others
    actual = settings.delimiter or (
        declared[1] if declared else _find_delimiter(path, text, delimiter, settings.preamble or 0)
    )
    if actual != delimiter and settings.delimiter is None:
        release.remark(_DELIMITER, f"{path}: {actual!r}")
    lines = _read_quoted_lines(release, path, text, actual, settings)
    before = settings.preamble
    if before is None:
        before = find_preamble(lines[:_ENOUGH_ROWS])
        if before:
            release.remark(_PREAMBLE, f"{path}: {before}")
        elif number := _find_blank_line(lines[:_ENOUGH_ROWS]):
            release.remark(_BLANK_LINE, f"{path}, line {number}")
    above = [line.cells for line in lines if line.number <= before]
    below = [line for line in lines if line.number > before]
    if lines and not below:
        raise DataError(f"{path}: nothing follows the {before} lines of preamble")
    # a comment was one text before it was divided
    texts = [[actual.join(cells)] if cells[0].startswith("#") else cells for cells in above]
    preamble = "\n".join(cell for cells in texts for cell in cells if cell.strip())
    header_rows = 1 if settings.header_rows is None else settings.header_rows
    header, rows = _build_grid(release, str(path), below, header_rows)
    return [FileTable(header, rows, preamble=preamble)]


def csv_grid(release: Release, place: str, text: str, **dialect: Any) -> Grid:
    r"""Return header and rows of the text of a CSV file, all of one length.

    ```python
    from pathlib import Path

    from target_bench import Release
    from target_bench.plugin_tools import csv_grid

    release = Release(Path("."), source="https://example.org/moons")
    print(csv_grid(release, "moons.csv", "planet;moons\nMars;2\n", delimiter=";"))
    # (['planet', 'moons'], [['Mars', '2']])
    ```

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


def is_text(raw: bytes) -> bool:
    """Return whether bytes are text in UTF-8."""
    try:
        return "\0" not in raw.decode("utf-8") and not raw.startswith(tuple(_NO_TEXT))
    except UnicodeDecodeError:
        return False


def _build_grid(release: Release, place: str, lines: Sequence[Line], header_rows: int = 1) -> Grid:
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
        advice=_RAGGED_ADVICE,
    )


def _join_header(rows: Sequence[Sequence[str]]) -> list[str]:
    # above the last row, an empty cell repeats the one on its left, as merged cells look in CSV
    filled = [list(accumulate(row, _repeat_left)) for row in rows[:-1]]
    columns = zip_longest(*filled, rows[-1], fillvalue="")
    return [" ".join(dict.fromkeys(filter(None, parts))) for parts in columns]


def _repeat_left(left: str, cell: str) -> str:
    return cell or left


# The encoding


def _decode_file(release: Release, path: Path, encoding: str | None) -> str:
    raw = release.content(path)
    kind = next((kind for mark, kind in _NO_TEXT.items() if raw.startswith(mark)), None)
    if kind is not None:
        raise DataError(f"{path}: not text, but {kind}. Give it the suffix of its format.")
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


def _guess_encoding(raw: bytes) -> str:
    # Without a detector: to charset-normalizer a short German text is cp1250, and a file with one
    # byte that cp1252 lacks is Chinese.
    if is_text(raw):
        return "utf-8"
    if raw.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    text = raw.decode("utf-8", "surrogateescape")
    n_utf8 = sum(not char.isascii() for char in text)
    return _MIXED if n_utf8 > 2 * len(_NO_BYTE_OF_UTF8.findall(text)) else "cp1252"


def _decode_mixed(raw: bytes) -> str:
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


# The delimiter


def _find_delimiter(path: Path, text: str, default: str, preamble: int) -> str:
    """Return the delimiter under which the largest share of rows is of one length, at least two."""

    def read_rows(delimiter: str) -> list[Line]:
        lines = _read_lines(path, text, _ENOUGH_ROWS, delimiter=delimiter)
        return [line for line in lines if line.number > preamble]

    best, most = default, 0.0
    # Among equals, the default wins, unless all its commas stand in texts and numbers.
    in_cells = default == "," and not _SEPARATING_COMMA.search(text, 0, _ENOUGH_FOR_DELIMITER)
    for delimiter in (default, *DELIMITERS):
        if most == 1 and not in_cells:
            break
        rows = read_rows(delimiter)
        share = _rate(rows)
        is_better = share > most or (in_cells and best == default and share == most > 0)
        if is_better and (delimiter == default or not _is_in_texts(rows)):
            best, most = delimiter, share
    if best == default == "," and "\t" not in text:
        rows = read_rows(",")
        divided = [row.cells for row in rows if len(row.cells) > 1]
        if divided and _is_in_texts(rows) and not names_values(divided[0], divided[1:]):
            return "\t"  # of texts in one column, no comma divides
    return best


def _is_in_texts(rows: Sequence[Line]) -> bool:
    """Return whether a delimiter divides texts under a header of one cell, rather than rows."""
    first = next(i for i, row in enumerate(rows) if len(row.cells) > 1)
    after_blank = first > 0 and rows[first].before > rows[first - 1].number
    divided = [row.cells for row in rows if len(row.cells) > 1]
    as_in_texts = sum(cells[0][-1:] != " " and cells[1][:1] == " " for cells in divided)
    return first > 0 and not after_blank and 2 * as_in_texts > len(divided)


def _rate(lines: Sequence[Line]) -> float:
    """Return which share of the rows has the most frequent number of cells, from two on."""
    width = find_width(lines)
    return sum(len(line.cells) == width for line in lines) / len(lines) if width > 1 else 0.0


# Quotes


def _read_quoted_lines(
    release: Release, path: Path, text: str, delimiter: str, settings: FileSettings
) -> list[Line]:
    """Return the rows of a CSV file, under the quotes that the settings name or that fit best."""

    def read_loosely(dialect: Mapping[str, Any], most: int | None = _ENOUGH_ROWS) -> list[Line]:
        return _read_lines(path, text, most, **{**dialect, "strict": False})

    plain: dict[str, Any] = {"delimiter": delimiter, "strict": True}
    bare: dict[str, Any] = {**plain, "quoting": csv.QUOTE_NONE}
    if settings.quote is not None or settings.escape is not None:
        quote = {} if settings.quote is None else {"quotechar": settings.quote}
        chosen = bare if settings.quote == NO_QUOTE else {**plain, **quote}
        return _read_lines(path, text, **chosen, escapechar=settings.escape)
    if delimiter == "\t" and '"' in text:  # TSV has no quotes by its definition
        is_even = _rate(read_loosely(bare)) >= _rate(read_loosely(plain))
        if is_even and len(read_loosely(plain, None)) < len(read_loosely(bare, None)):
            release.remark(_UNQUOTED, str(path))
            return _read_lines(path, text, **bare)
    between = re.escape(delimiter)
    blank_before = re.compile(rf'{between} +"[^"\n]*" *({between}|$)', re.MULTILINE)
    enclosed = re.finditer(rf"(?:^|{between})'([^'\n]*)'(?:{between}|$)", text, re.MULTILINE)
    if blank_before.search(text):
        stripped = {**plain, "skipinitialspace": True}
        if _rate(read_loosely(stripped)) >= _rate(read_loosely(plain)):
            release.remark(_BLANKS, str(path))
            plain = stripped
    elif any(delimiter in cell[1] for cell in enclosed):
        single = {**plain, "quotechar": "'"}
        if _rate(read_loosely(single)) > _rate(read_loosely(plain)):
            release.remark(_SINGLE_QUOTES, str(path))
            plain = single
    try:
        return _read_lines(path, text, **plain)
    except DataError:
        escaped = {**plain, "escapechar": "\\"}
        for dialect, remark in ((escaped, _ESCAPED), (bare, _UNQUOTED)):
            may_be = dialect is bare or '\\"' in text
            if may_be and _rate(read_loosely(dialect)) > _SURE:
                with suppress(DataError):
                    lines = _read_lines(path, text, **dialect)
                    release.remark(remark, str(path))
                    return lines
        raise


# Lines above the header


def _find_blank_line(lines: Sequence[Line]) -> int:
    """Return the first blank line of a table's first rows, 0 without any or if most are divided."""
    filled, divided = find_divided(lines)
    is_regular = not divided or divided[0] > _FIRST_ROWS or 2 * len(divided) >= len(filled)
    if is_regular or find_width(lines) < 2:
        return 0
    return filled[divided[0] - 1].number + 1


def _read_lines(place: object, text: str, most: int | None = None, **dialect: Any) -> list[Line]:
    """Return the rows that are not blank, or the first of them."""
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
