"""Tables in Markdown and plain text, and as comma-separated values."""

import csv
import io
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from target_bench.tables.answer_tables import (
    AnswerTable,
    Fault,
    ReadAnswer,
    TableFormat,
    make_answer,
    make_unreadable,
    strip_fences,
)
from target_bench.tables.cell_texts import strip_marks

_NEWLINE = re.compile(r"\r\n?|\n|<NEWLINE>|<newline>")
_PAPER_END = re.compile("<NEWLINE>|<newline>")
_QUOTE = re.compile(r"\A\s{0,3}(?:>\s?){1,9}")
_QUOTED_BAR = re.compile(rf"{_QUOTE.pattern}(?=\|)")
_RULE = re.compile(r"(?=.*[-=])[\s|:+=\-]+", re.DOTALL)
_BORDER = re.compile(r"[=+]")
_BAR = re.compile(r"(?<!\\)\|")
_GRID_RULE = re.compile(r"\s*(?=[-=:]*\+)\+?[-=:]+(?:\+[-=:]+)*\+?\s*")
_LONG_DASHES = re.compile(r"\s*:?[-=]{3,}:?\s*")
_MARKS_BEFORE = re.compile(r"\A[\s#*_>\-\d.)]*")
_MARKS_AFTER = re.compile(r"\A[\s:*_]*")  # of a title written backwards
_TITLE = re.compile(r"\s{0,3}(?:#{1,6}\s*|\*\*)\S")
_MOST_WORDS = 12  # words of a title


def has_markdown(text: str, table_format: TableFormat) -> bool:
    """Return whether marks of Markdown are read in the cells of a text."""
    return table_format == "text" and _PAPER_END.search(text) is None


def read_pipe_tables(text: str) -> ReadAnswer:
    """Read tables whose cells are divided by bars; ``<NEWLINE>`` ends a line too.

    Consecutive lines with a bar are a table; so is a line of dashes and ``+``, with or without one.
    The line of dashes above or below the header is left out, so are those with ``=`` or ``+``, and
    after such a line of the header all whose cells have three dashes; others are rows of dashes.
    Where the first line has no outer bars, a bar at the end of another one is beside an empty cell.
    The line before a table that ends in a colon, or is a heading or in bold, is its name. A bar
    after a backslash is part of its cell. Marks of Markdown are read (``cell_texts``), but not in
    the format of Wu et al.'s files, which has ``<NEWLINE>`` and no escapes.
    """
    show = strip_marks if has_markdown(text, "text") else _unescape_bars
    tables: list[AnswerTable] = []
    faults: list[Fault] = []
    fences = 0
    block: list[str] = []
    title = ""
    for line in [*_unquote(_NEWLINE.split(text)), ""]:
        if "|" in line or _GRID_RULE.fullmatch(line):
            block.append(line.strip())
            continue
        if rows := tuple(_read_rows(list(_drop_rules(block)), show)):
            tables.append(AnswerTable(_strip_title(title), rows))
            title = ""
        block = []
        if line.lstrip().startswith(("```", "~~~")):
            fences += 1
        elif _is_title(line):
            faults += ["prose"] if title else []
            title = line
        elif line.strip():
            faults.append("prose")
    last = text.rstrip().rpartition("\n")[2].strip()
    if fences:
        faults.append("fenced")
    if fences % 2 or (last.startswith("|") and not last.endswith(("|", "`"))):
        faults.append("truncated")
    return make_answer(tables, faults)


def _unquote(lines: Sequence[str]) -> Iterator[str]:
    """Yield lines without the marks of a block quote, before a bar or where every line has one."""
    filled = [line for line in lines if line.strip()]
    mark = _QUOTE if filled and all(map(_QUOTE.match, filled)) else _QUOTED_BAR
    return (mark.sub("", line) for line in lines)


def _drop_rules(lines: Sequence[str]) -> Iterator[str]:
    """Yield the lines of a table that hold cells."""
    has_frame = bool(lines) and _is_rule(lines[0])
    has_rule = has_frame or _is_rule("".join(lines[1:2]))
    for i, line in enumerate(lines):
        is_beside_header = i == 1 + has_frame or (has_frame and not i)
        is_border = (has_rule or _BORDER.search(line)) and _is_long_rule(line)
        if not (_is_rule(line) and (is_beside_header or is_border)):
            yield line


def _is_rule(line: str) -> bool:
    return _RULE.fullmatch(line) is not None


def _is_long_rule(line: str) -> bool:
    return all(map(_LONG_DASHES.fullmatch, re.split(r"[|+]", line.strip("|+"))))


def _unescape_bars(cell: str) -> str:
    return cell.replace("\\|", "|")


def _read_rows(lines: Sequence[str], show: Callable[[str], str]) -> Iterator[tuple[str, ...]]:
    rows = [[show(cell.strip()) for cell in _BAR.split(line)] for line in lines]
    for cells in rows:
        header = rows[0]
        width = len(header) - sum(_find_outer_bars(header))
        first, last = _find_outer_bars(cells)
        if first and header[0] and len(cells) - last <= width:
            first = False
        if last and header[-1] and len(cells) - first <= width:
            last = False
        yield tuple(cells[first : len(cells) - last])


def _find_outer_bars(cells: Sequence[str]) -> tuple[bool, bool]:
    """Return whether the line of some cells begins, and ends, with a bar."""
    first = len(cells) > 1 and not cells[0]
    return first, len(cells) - first > 1 and not cells[-1]


def _is_title(line: str) -> bool:
    is_short = len(line.split()) <= _MOST_WORDS
    return is_short and (line.rstrip().endswith(":") or _TITLE.match(line) is not None)


def _strip_title(title: str) -> str:
    # backwards, as a pattern that ends in \Z takes the square of the length
    return _MARKS_AFTER.sub("", _MARKS_BEFORE.sub("", title)[::-1])[::-1]


def read_csv_tables(text: str) -> ReadAnswer:
    """Read tables of at least two columns; empty lines divide them.

    A line of one cell that ends in a colon, before a table, is its name. Cells are divided by
    commas, semicolons or tabs: by what gives most lines the same number of cells.
    """
    inside, faults = strip_fences(text.replace("<NEWLINE>", "\n"))
    if inside.count('"') % 2:
        faults.append("truncated")
    marks = [",", *(mark for mark in (";", "\t") if mark in inside)]
    try:
        records = max((_split_records(inside, mark) for mark in marks), key=_measure_evenness)
    except csv.Error:
        return make_unreadable("syntax")
    tables: list[AnswerTable] = []
    rows: list[tuple[str, ...]] = []
    name = ""
    for record in [*records, []]:
        if len(record) > 1:
            rows.append(tuple(cell.strip() for cell in record))
            continue
        if rows:
            tables.append(AnswerTable(name, tuple(rows)))
            name, rows = "", []
        title = "".join(record).strip()
        if title.endswith(":"):
            name = title[:-1].strip(" #*")
        elif title:
            faults.append("prose")
    # beside a table, a line with a comma is prose
    longest = max((len(table.rows) for table in tables), default=0)
    whole = [table for table in tables if len(table.rows) > 1 or longest == 1]
    return make_answer(whole, faults if len(whole) == len(tables) else [*faults, "prose"])


def _split_records(text: str, delimiter: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(text), delimiter=delimiter, skipinitialspace=True))


def _measure_evenness(records: Sequence[Sequence[str]]) -> float:
    """Return the share of lines that have the most common number of cells, of those above 1."""
    widths = Counter(len(record) for record in records if record)
    return max((n for width, n in widths.items() if width > 1), default=0) / max(widths.total(), 1)
