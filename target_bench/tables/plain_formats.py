"""Tables in Markdown and plain text, as comma-separated values, and as JSON."""

import csv
import io
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import zip_longest
from typing import Any

from target_bench.tables.answer_tables import (
    DEEPEST,
    MOST_CELLS,
    AnswerTable,
    Fault,
    ReadAnswer,
    TableFormat,
    UnreadableTableError,
    make_answer,
    make_unreadable,
    strip_fences,
)
from target_bench.tables.cell_texts import strip_marks

# Plain text and Markdown: one line per row, cells divided by bars.

_NEWLINE = re.compile(r"\r\n?|\n|<NEWLINE>|<newline>")
_PAPER_END = re.compile("<NEWLINE>|<newline>")
_QUOTE = re.compile(r"\A\s{0,3}(?:>\s?){1,9}")
_QUOTED_BAR = re.compile(r"\A\s{0,3}(?:>\s?){1,9}(?=\|)")
_RULE = re.compile(r"[\s|:+=\-]+")
_BORDER = re.compile(r"[=+]")
_BAR = re.compile(r"(?<!\\)\|")
_GRID_RULE = re.compile(r"\s*(?=[-=:]*\+)\+?[-=:]+(?:\+[-=:]+)*\+?\s*")
_LONG_DASHES = re.compile(r"\s*:?[-=]{3,}:?\s*")
_RULE_BAR = re.compile(r"[|+]")
_MARKS_BEFORE = re.compile(r"\A[\s#*_>\-\d.)]*")
_MARKS_AFTER_BACKWARDS = re.compile(r"\A[\s:*_]*")
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
    shown = strip_marks if has_markdown(text, "text") else _without_escaped_bars
    tables: list[AnswerTable] = []
    faults: list[Fault] = []
    fences = 0
    lines: list[str] = []
    title = ""
    for line in [*_unquoted(_NEWLINE.split(text)), ""]:
        if "|" in line or _GRID_RULE.fullmatch(line):
            lines.append(line.strip())
            continue
        if lines and (kept := list(_without_rules(lines))):
            tables.append(AnswerTable(_bare(title), tuple(_bar_rows(kept, shown))))
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
    return make_answer(tables, faults)


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
    return _RULE.fullmatch(line) is not None and re.search(r"[-=]", line) is not None


def _is_long_rule(line: str) -> bool:
    return all(map(_LONG_DASHES.fullmatch, _RULE_BAR.split(line.strip("|+"))))


def _unquoted(lines: Sequence[str]) -> Iterator[str]:
    """Yield lines without the marks of a block quote, before a bar or where every line has one."""
    filled = [line for line in lines if line.strip()]
    mark = _QUOTE if filled and all(map(_QUOTE.match, filled)) else _QUOTED_BAR
    return (mark.sub("", line) for line in lines)


def _without_escaped_bars(cell: str) -> str:
    return cell.replace("\\|", "|")


def _bar_rows(lines: Sequence[str], shown: Callable[[str], str]) -> Iterator[tuple[str, ...]]:
    split = [[shown(cell.strip()) for cell in _BAR.split(line)] for line in lines]
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


# Comma-separated values, read with the csv module.

_DELIMITERS = (",", ";", "\t")


def read_csv_tables(text: str) -> ReadAnswer:
    """Read tables of at least two columns; empty lines divide them.

    A line of one cell that ends in a colon, before a table, is its name. Cells are divided by
    commas, semicolons or tabs: by what gives most lines the same number of cells.
    """
    inside, faults = strip_fences(text.replace("<NEWLINE>", "\n"))
    if inside.count('"') % 2:
        faults.append("truncated")
    delimiters = [mark for mark in _DELIMITERS if mark == "," or mark in inside]
    try:
        records = max((_records(inside, delimiter) for delimiter in delimiters), key=_evenness)
    except csv.Error:
        return make_unreadable("syntax")
    tables = list(_csv_tables(records, faults))
    return make_answer(tables, faults)


def _records(text: str, delimiter: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(text), delimiter=delimiter, skipinitialspace=True))


def _evenness(records: Sequence[Sequence[str]]) -> float:
    """Return the share of lines that have the most common number of cells, of those above 1."""
    widths = Counter(len(record) for record in records if record)
    return max((n for width, n in widths.items() if width > 1), default=0) / max(widths.total(), 1)


def _csv_tables(records: Sequence[Sequence[str]], faults: list[Fault]) -> Iterator[AnswerTable]:
    blocks = list(_csv_blocks(records))
    longest = max((len(rows) for _, rows in blocks), default=0)
    for name, rows in blocks:
        if not rows or (len(rows) == 1 and longest > 1):
            faults.append("prose")
        else:
            yield AnswerTable(name, tuple(rows))


def _csv_blocks(
    records: Sequence[Sequence[str]],
) -> Iterator[tuple[str, list[tuple[str, ...]]]]:
    """Yield name and rows of each run of lines with several cells; no rows: a line of prose."""
    name = ""
    rows: list[tuple[str, ...]] = []
    for record in [*records, []]:
        if len(record) > 1:
            rows.append(tuple(cell.strip() for cell in record))
            continue
        if rows:
            yield name, rows
            name, rows = "", []
        title = record[0].strip() if record else ""
        if title.endswith(":"):
            name = title[:-1].strip(" #*")
        elif title:
            yield "", []


# JSON.

_HEADERS = ("header", "headers", "columns")
_ROWS = ("rows", "data")
_NAMES = ("name", "title", "caption")
_TEXT_OR_LAST_COMMA = re.compile(r'(?P<text>"(?:[^"\\]|\\.)*+"?)|,(?=\s*[\]}])', re.DOTALL)
_MOST_STARTS = 50  # brackets of a text that are tried as the beginning of a document


def read_json_tables(text: str) -> ReadAnswer:
    """Read the tables of JSON documents.

    A table is a list of objects, a list of lists whose first is the header, an object whose values
    are all columns (lists, or objects with the numbers of rows), or one with ``header`` (or
    ``columns``) and ``rows`` (or ``data``), perhaps with a ``name``. An object whose
    values are tables holds them by name, ``{"tables": [...]}`` in a list. Several documents that
    are records, or rows, are one table (JSON lines). A document that is cut off is closed after its
    last whole value, a comma before a closing bracket is left out, and numbers stay as written.

    Raises:
        UnreadableTableError: records have too many different fields.
    """
    inside, faults = strip_fences(text)
    if _depth(inside) > DEEPEST:
        return make_unreadable("too_deep")
    documents = _documents(inside.strip(), faults)
    if not documents:
        return make_unreadable("syntax" if inside.strip()[:1] in ("{", "[") else "no_table")
    if len(documents) > 1 and (_are_records(documents) or _are_rows(documents)):
        documents = [documents]
    tables = [table for document in documents for table in _json_tables(document, "", faults)]
    cells = [cell for _, rows in tables for row in rows for cell in row]
    faults += ["nested"] if any(isinstance(cell, list | Mapping) for cell in cells) else []
    faults += ["ragged"] if any(cell is _ABSENT for cell in cells) else []
    return make_answer(
        [AnswerTable(n, tuple(tuple(map(_json_cell, row)) for row in rows)) for n, rows in tables],
        faults,
    )


def _depth(text: str) -> int:
    depth = deepest = 0
    for character in text:
        depth = max(depth + (character in "[{") - (character in "]}"), 0)
        deepest = max(deepest, depth)
    return deepest


def _documents(text: str, faults: list[Fault]) -> list[Any]:
    """Return the lists and objects of a text; what stands around them is prose."""
    bare = _TEXT_OR_LAST_COMMA.sub(lambda match: match["text"] or "", text)
    faults += ["last_comma"] if bare != text else []
    text = bare
    decoder = json.JSONDecoder(
        strict=False, object_pairs_hook=partial(_fields, faults), parse_float=str
    )
    documents: list[Any] = []
    place = starts = 0
    while starts < _MOST_STARTS:
        places = [at for at in (text.find("{", place), text.find("[", place)) if at >= 0]
        if not places:
            break
        start, starts = min(places), starts + 1
        if text[place:start].strip(" \n\t,"):
            faults.append("prose")
        try:
            document, place = decoder.raw_decode(text, start)
            documents.append(document)
        except (ValueError, RecursionError):
            place = start + 1
            closed = None if documents else _closed(text[start:], faults)
            if closed is not None:
                faults.append("truncated")
                return [closed]
    if documents and text[place:].strip():
        faults.append("prose")
    return documents


def _fields(faults: list[Fault], pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        faults.append("repeated")
    return fields


def _closed(text: str, faults: list[Fault]) -> Any:
    """Return a document that was cut off, closed after its last whole value; None for another."""
    stack, cut, is_text, escaped = "", 0, False, False
    open_then = ""
    for place, character in enumerate(text):
        if is_text:
            is_text = escaped or character != '"'
            escaped = character == "\\" and not escaped
        elif character == '"':
            is_text = True
        elif character in "[{":
            stack += character
        elif character in "]}":
            if not stack or stack[-1] + character not in ("[]", "{}"):
                return None
            stack = stack[:-1]
            cut, open_then = place + 1, stack
        elif character == "," and stack:
            cut, open_then = place, stack
    if not stack or not cut:
        return None
    ends = "".join("]" if bracket == "[" else "}" for bracket in reversed(open_then))
    try:
        hook = partial(_fields, faults)
        return json.loads(text[:cut] + ends, strict=False, object_pairs_hook=hook, parse_float=str)
    except (ValueError, RecursionError):
        return None


_RawTable = tuple[str, Sequence[Sequence[Any]]]
"""The name of a table, and its rows as they stand in a document.

The name of a field is a tuple with it: its spaces are kept, as those of cells are not.
"""

_ABSENT = object()  # a cell that a record or a column does not have


def _are_records(documents: Sequence[Any]) -> bool:
    """Return whether documents are objects of cells that share a field: the lines of a table."""
    if not all(isinstance(d, Mapping) and d and not _is_table(d) for d in documents):
        return False
    return bool(set.intersection(*(set(document) for document in documents)))


def _is_table(value: Mapping[str, Any]) -> bool:
    return _holds_table(value) or all(map(_is_column, value.values()))


def _are_rows(documents: Sequence[Any]) -> bool:
    return all(
        isinstance(d, list) and d and not any(isinstance(cell, list | Mapping) for cell in d)
        for d in documents
    )


def _json_tables(value: Any, name: str, faults: list[Fault]) -> Iterator[_RawTable]:
    if isinstance(value, Mapping):
        yield from _of_object(value, name, faults)
    elif isinstance(value, list) and value:
        if all(isinstance(row, Mapping) and not _holds_table(row) for row in value):
            yield name, _of_records(value)
        elif not any(isinstance(row, Mapping) for row in value) and any(
            isinstance(row, list) for row in value
        ):
            yield name, [row if isinstance(row, list) else [row] for row in value]
        else:
            for item in value:
                yield from _json_tables(item, name, faults)
    elif not isinstance(value, list) and value is not None:
        faults.append("prose")  # a value beside tables


def _of_object(value: Mapping[str, Any], name: str, faults: list[Fault]) -> Iterator[_RawTable]:
    own = next((value[key] for key in _NAMES if isinstance(value.get(key), str)), name)
    rows = next((value[key] for key in _ROWS if isinstance(value.get(key), list)), None)
    header = next((value[key] for key in _HEADERS if isinstance(value.get(key), list)), None)
    if rows is not None and all(isinstance(row, list) for row in rows):
        yield own, [*([header] if header is not None else []), *rows]
    elif rows is not None:
        yield from _json_tables(rows, own, faults)
    elif header is not None:
        yield own, [header]
    elif _holds_table(value):
        for key, item in value.items():
            if key not in _NAMES or not isinstance(item, str):
                yield from _json_tables(item, own if key == "tables" else key, faults)
    elif value and all(map(_is_column, value.values())):
        yield own, _of_columns(value)
    elif value:
        yield own, [((name,), cell) for name, cell in value.items()]


def _holds_table(value: Mapping[str, Any]) -> bool:
    """Return whether an object holds tables: some value is a list of lists or objects."""
    return any(
        (isinstance(item, list) and any(isinstance(row, list | Mapping) for row in item))
        or (isinstance(item, Mapping) and bool({*_ROWS, *_HEADERS} & set(item)))
        for item in value.values()
    )


def _is_column(value: Any) -> bool:
    """Return whether a value is the cells of a column, in a list or by the numbers of rows."""
    if isinstance(value, Mapping):
        return all(map(str.isdigit, value)) and _is_column(list(value.values()))
    return isinstance(value, list) and not any(isinstance(cell, list | Mapping) for cell in value)


def _of_columns(columns: Mapping[str, Any]) -> Sequence[Sequence[Any]]:
    lists = [list(c.values()) if isinstance(c, Mapping) else c for c in columns.values()]
    if len(lists) * max(map(len, lists)) > MOST_CELLS:
        raise UnreadableTableError("too_long", f"{len(lists)} columns")
    return [[(name,) for name in columns], *zip_longest(*lists, fillvalue=_ABSENT)]


def _of_records(records: Sequence[Mapping[str, Any]]) -> Sequence[Sequence[Any]]:
    header = list(dict.fromkeys(key for record in records for key in record))
    if len(header) * len(records) > MOST_CELLS:
        raise UnreadableTableError("too_long", f"{len(records)} records of {len(header)} fields")
    rows = ([record.get(key, _ABSENT) for key in header] for record in records)
    return [[(name,) for name in header], *rows]


def _json_cell(value: Any) -> str:
    if value is None or value is _ABSENT:
        return ""
    if isinstance(value, tuple):
        return str(value[0])
    return (
        " ".join(value.split()) if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    )
