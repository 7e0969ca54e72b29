"""Where a table's header is: below titles, lines of a key and its value, comments; or nowhere."""

import re
from collections import Counter
from collections.abc import Collection, Sequence
from typing import NamedTuple

from target_bench.core.schema import Cell

_VALUES = (
    re.compile(r"[-+]?[\d.,' ]*\d ?[%€$£]?"),
    re.compile(r"\d{1,4}[-./]\d{1,2}[-./]\d{1,4}([T ].*)?"),
)
"""Numbers, and dates."""
_NUMERIC_NAME = re.compile(r"\d{1,3}|1[5-9]\d\d|2[01]\d\d")
"""A number that may be the name of a column: a year, or one of up to three digits."""

_YEAR = re.compile(r"1[5-9]\d\d|2[01]\d\d")
_MOST_LINES = 20
_COMMENT_WITH_KEY = re.compile(r"#+\s*[^,;\t]*\w:(\s|$)")


class Line(NamedTuple):
    """A row of a CSV file or of a sheet."""

    number: int  # the line of the file on which it ends, from 1
    before: int  # that on which the row before it ends, 0 for the first
    cells: Sequence[str]


def find_preamble(lines: Sequence[Line]) -> int:
    """Return the line on which what stands above the header ends, 0 without any."""
    filled, divided = find_divided(lines)
    n = _count_preamble([line.cells for line in filled], divided)
    start = lines.index(filled[n]) if n else 0
    return _find_text_lines(lines[start:]) or (filled[n].before if n else 0)


def find_divided(lines: Sequence[Line]) -> tuple[list[Line], list[int]]:
    """Return the lines with text, and the places of those that have a blank one above them."""
    filled = [line for line in lines if any(cell.strip() for cell in line.cells)]
    return filled, [i for i in range(1, len(filled)) if filled[i].before > filled[i - 1].number]


def find_width(lines: Sequence[Line]) -> int:
    """Return the most frequent number of cells, the larger one of equals."""
    counts = Counter(len(line.cells) for line in lines)
    return max(counts, key=lambda width: (counts[width], width), default=0)


def _find_text_lines(lines: Sequence[Line]) -> int:
    """Return how many lines with text in their first cell alone stand before the header."""
    width = find_width(lines)
    for start, line in enumerate(lines):
        # a table of two columns may well have an empty second cell
        is_text_line = 1 == len(line.cells) < width or (width > 2 and not any(line.cells[1:]))
        if not is_text_line:
            rows = sum(len(below.cells) == width for below in lines[start:])
            return line.before if start and rows > 1 else 0
    return 0


def _count_preamble(rows: Sequence[Sequence[str]], after_blank: Collection[int]) -> int:
    """Count the leading rows with several cells, or comments, that stand above the header.

    ``after_blank`` numbers the rows that have a blank one above them, from 0.
    """
    ends = [_find_end(row) for row in rows]
    comments = next((i for i, row in enumerate(rows) if not "".join(row[:1]).startswith("#")), 0)
    # a single row that begins with # may be the header itself
    if comments and not (
        comments > 1
        or _COMMENT_WITH_KEY.match(",".join(rows[0]))
        or names_values(rows[comments], rows[comments + 1 :])
    ):
        return 0
    below = ends[comments:]
    most = Counter(end for end in below if end).most_common(1)
    if not most or most[0][0] < 2:
        return comments
    # the header is the first row that reaches as far as most rows do
    start = next(i for i, end in enumerate(below) if end >= most[0][0]) + comments
    if start == comments or start - comments > _MOST_LINES or len(rows) < start + 2:
        return comments
    header, body = rows[start], rows[start + 1 :]
    is_divided = start in after_blank and start - comments > 1
    # without a blank row or a name above numbers, shorter rows on top may be data
    is_found = _is_header(header) and (is_divided or names_values(header, body))
    return start if is_found else comments


def names_values(header: Sequence[str], body: Sequence[Sequence[str]]) -> bool:
    """Return whether a column has a name above nothing but numbers or dates."""
    for j, name in enumerate(header):
        column = [row[j].strip() for row in body if j < len(row) and row[j].strip()]
        is_name = name.strip() and not any(kind.fullmatch(name.strip()) for kind in _VALUES)
        if is_name and column and any(all(map(kind.fullmatch, column)) for kind in _VALUES):
            return True
    return False


def _find_end(row: Sequence[str]) -> int:
    """Return the number of cells up to the last one that is not empty."""
    return next((i for i in range(len(row), 0, -1) if row[i - 1].strip()), 0)


def _is_header(row: Sequence[str]) -> bool:
    names = [cell.strip() for cell in row[: _find_end(row)]]
    values = [name for name in names if any(kind.fullmatch(name) for kind in _VALUES)]
    return len(set(names)) == len(names) and all(map(_YEAR.fullmatch, values))


def looks_like_data(header: Sequence[str], rows: Sequence[Sequence[Cell]]) -> bool:
    """Return whether a header may be a row of data.

    It is if a name is a number or date above nothing but such, or occurs again in its column.
    """
    texts = [[str(cell) for cell in row] for row in rows]
    texts = [row for row in texts if row != list(header)]  # a header that is repeated on each page
    for j, name in enumerate(header):
        column = [row[j] for row in texts if row[j] not in ("", "None")]
        kind = next((kind for kind in _VALUES if kind.fullmatch(name)), None)
        if kind is None and name.strip() and name in column:
            return True
        is_value = column and not _NUMERIC_NAME.fullmatch(name)
        if kind and is_value and all(map(kind.fullmatch, column)):
            return True
    return False
