"""Tables in plain text and Markdown: one line per row, cells divided by bars."""

import re
from collections.abc import Iterator, Sequence

from target_bench.tables.answer_tables import AnswerTable, Fault, ReadAnswer, read_answer

_NEWLINE = re.compile(r"\r\n?|\n|<NEWLINE>|<newline>")
_SEPARATOR = re.compile(r"[\s|:+=\-]+")
_BORDER = re.compile(r"[=+]")
_BAR = re.compile(r"(?<!\\)\|")
_GRID_RULE = re.compile(r"\s*(?=[-=:]*\+)\+?[-=:]+(?:\+[-=:]+)*\+?\s*")
_LONG_DASHES = re.compile(r"\s*:?[-=]{3,}:?\s*")
_RULE_BAR = re.compile(r"[|+]")
_MARKS_BEFORE = re.compile(r"\A[\s#*_>\-\d.)]*")
_MARKS_AFTER_BACKWARDS = re.compile(r"\A[\s:*_]*")
_TITLE = re.compile(r"\s{0,3}(?:#{1,6}\s*|\*\*)\S")
_MOST_WORDS = 12
"""Words of a title."""


def read_pipe_tables(text: str) -> ReadAnswer:
    """Read tables whose cells are divided by bars; ``<NEWLINE>`` ends a line too.

    Consecutive lines with a bar are a table; so is a line of dashes and ``+``, with or without one.
    The line of dashes above or below the header is left out, so are those with ``=`` or ``+``, and
    after such a line of the header all whose cells have three dashes; others are rows of dashes.
    Where the first line has no outer bars, a bar at the end of another one is beside an empty cell.
    The line before a table that ends in a colon, or is a heading or in bold, is its name. A bar
    after a backslash is part of its cell.
    """
    tables: list[AnswerTable] = []
    faults: list[Fault] = []
    fences = 0
    lines: list[str] = []
    title = ""
    for line in [*_NEWLINE.split(text), ""]:
        if "|" in line or _GRID_RULE.fullmatch(line):
            lines.append(line.strip())
            continue
        if lines and (kept := list(_without_rules(lines))):
            tables.append(AnswerTable(_bare(title), tuple(_rows(kept))))
            title = ""
        lines = []
        if not line.strip():
            continue
        if line.lstrip().startswith(("```", "~~~")):
            fences += 1
        elif _is_title(line):
            faults += ["prose"] if title else []
            title = line
        else:
            faults.append("prose")
    faults += _unclosed(text, fences)
    return read_answer(tables, faults)


def _without_rules(lines: Sequence[str]) -> Iterator[str]:
    """Yield the lines of a table that hold cells."""
    framed = _is_rule(lines[0])
    ruled = framed or _is_rule("".join(lines[1:2]))
    for place, line in enumerate(lines):
        is_of_header = place == 1 + framed or (framed and not place)
        is_border = ruled or _BORDER.search(line)
        if not (_is_rule(line) and (is_of_header or (is_border and _is_long_rule(line)))):
            yield line


def _is_rule(line: str) -> bool:
    return _SEPARATOR.fullmatch(line) is not None and re.search(r"[-=]", line) is not None


def _is_long_rule(line: str) -> bool:
    return all(map(_LONG_DASHES.fullmatch, _RULE_BAR.split(line.strip("|+"))))


def _rows(lines: Sequence[str]) -> Iterator[tuple[str, ...]]:
    split = [[c.strip().replace("\\|", "|") for c in _BAR.split(line)] for line in lines]
    header = split[0]
    width = len(header) - sum(_outer_bars(header))
    for cells in split:
        first, last = _outer_bars(cells)
        if first and header[0] and len(cells) - last <= width:
            first = False
        if last and header[-1] and len(cells) - first <= width:
            last = False
        yield tuple(cells[first : len(cells) - last])


def _outer_bars(cells: Sequence[str]) -> tuple[bool, bool]:
    """Return whether the line of some cells begins, and ends, with a bar."""
    first = len(cells) > 1 and not cells[0]
    return first, len(cells) - first > 1 and not cells[-1]


def _is_title(line: str) -> bool:
    short = len(line.split()) <= _MOST_WORDS
    return short and (line.rstrip().endswith(":") or _TITLE.match(line) is not None)


def _bare(title: str) -> str:
    kept = _MARKS_BEFORE.sub("", title)
    return _MARKS_AFTER_BACKWARDS.sub("", kept[::-1])[::-1]


def _unclosed(text: str, fences: int) -> Iterator[Fault]:
    """Yield the faults of fences, and of a last row that begins with a bar and has no last one."""
    if fences:
        yield "fenced"
    last = text.rstrip().rpartition("\n")[2].strip()
    if fences % 2 or (last.startswith("|") and not last.endswith(("|", "`"))):
        yield "truncated"
