"""Tables in JSON."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import zip_longest
from typing import Any

from target_bench.tables.answer_tables import (
    MOST_CELLS,
    AnswerTable,
    Fault,
    ReadAnswer,
    UnreadableTableError,
    check_depth,
    make_answer,
    make_unreadable,
    strip_fences,
)

_HEADERS = ("header", "headers", "columns")
_ROWS = ("rows", "data")
_NAMES = ("name", "title", "caption")
_TEXT_OR_LAST_COMMA = re.compile(r'(?P<text>"(?:[^"\\]|\\.)*+"?)|,(?=\s*[\]}])', re.DOTALL)
_BRACKET = re.compile(r"[{\[]")
_MOST_STARTS = 50  # brackets of a text that are tried as the beginning of a document
_ABSENT = object()  # a cell that a record or a column does not have

RawTable = tuple[str, Sequence[Sequence[Any]]]
"""Name and rows as they stand in a document.

The name of a field is a tuple with it: its spaces are kept, as those of cells are not.
"""


def read_json_tables(text: str) -> ReadAnswer:
    """Read the tables of JSON documents.

    A table is a list of objects, a list of lists whose first is the header, an object whose values
    are all columns, or one with ``header`` (or ``columns``) and ``rows`` (or ``data``), maybe with
    a ``name``. An object whose values are tables holds them by name, ``{"tables": [...]}`` in a
    list. Several documents without lists or objects in them are the rows of one table (JSON lines).
    A document that is cut off is closed after its last whole value, a comma before a closing
    bracket is left out, and numbers stay as written.
    """
    inside, faults = strip_fences(text)
    check_depth(inside)
    documents = _read_documents(inside.strip(), faults)
    if not documents:
        return make_unreadable("syntax" if inside.strip()[:1] in ("{", "[") else "no_table")
    if len(documents) > 1 and all(document and _is_flat(document) for document in documents):
        documents = [documents]
    tables = [table for document in documents for table in _find_tables(document, "", faults)]
    cells = [cell for _, rows in tables for row in rows for cell in row]
    faults += ["nested"] if any(isinstance(cell, list | Mapping) for cell in cells) else []
    faults += ["ragged"] if any(cell is _ABSENT for cell in cells) else []
    return make_answer(
        [AnswerTable(n, tuple(tuple(map(_write_cell, row)) for row in rows)) for n, rows in tables],
        faults,
    )


def _read_documents(text: str, faults: list[Fault]) -> list[Any]:
    """Return the lists and objects of a text; what stands around them is prose."""
    bare = _TEXT_OR_LAST_COMMA.sub(lambda match: match["text"] or "", text)
    faults += ["last_comma"] if bare != text else []
    decoder = json.JSONDecoder(
        strict=False, object_pairs_hook=partial(_read_object, faults), parse_float=str
    )
    documents: list[Any] = []
    end = 0
    for _ in range(_MOST_STARTS):
        bracket = _BRACKET.search(bare, end)
        if bracket is None:
            break
        start = bracket.start()
        if bare[end:start].strip(" \n\t,"):
            faults.append("prose")
        try:
            document, end = decoder.raw_decode(bare, start)
            documents.append(document)
        except (ValueError, RecursionError):
            end = start + 1
            closed = "" if documents else _close_document(bare[start:])
            try:
                document = decoder.decode(closed)
            except (ValueError, RecursionError):
                continue
            faults.append("truncated")
            return [document]
    if documents and bare[end:].strip():
        faults.append("prose")
    return documents


def _read_object(faults: list[Fault], pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        faults.append("repeated")
    return fields


def _close_document(text: str) -> str:
    """Return a document that was cut off, closed after its last whole value; empty for another."""
    stack = stack_then = ""
    cut, is_text, is_escaped = 0, False, False
    for i, character in enumerate(text):
        if is_text:
            is_text = is_escaped or character != '"'
            is_escaped = character == "\\" and not is_escaped
        elif character == '"':
            is_text = True
        elif character in "[{":
            stack += character
        elif character in "]}":
            if stack[-1:] + character not in ("[]", "{}"):
                return ""
            stack = stack[:-1]
            cut, stack_then = i + 1, stack
        elif character == "," and stack:
            cut, stack_then = i, stack
    if not stack or not cut:
        return ""
    return text[:cut] + stack_then[::-1].translate({ord("["): "]", ord("{"): "}"})


def _is_flat(value: Any) -> bool:
    """Return whether a value is a list, or an object, that has no lists and objects in it."""
    cells = value.values() if isinstance(value, Mapping) else value
    return isinstance(value, list | Mapping) and not any(
        isinstance(cell, list | Mapping) for cell in cells
    )


def _holds_table(value: Mapping[str, Any]) -> bool:
    """Return whether an object holds tables: lists of lists or objects, or objects with rows."""
    return any(
        (isinstance(item, list) and not _is_flat(item))
        or (isinstance(item, Mapping) and bool({*_ROWS, *_HEADERS} & set(item)))
        for item in value.values()
    )


def _find_tables(value: Any, name: str, faults: list[Fault]) -> Iterator[RawTable]:
    if isinstance(value, Mapping):
        yield from _find_in_object(value, name, faults)
    elif not isinstance(value, list):
        faults += ["prose"] if value is not None else []  # a value beside tables
    elif value and all(isinstance(row, Mapping) and not _holds_table(row) for row in value):
        header = list(dict.fromkeys(key for record in value for key in record))
        _check_size(len(header), len(value))
        yield name, _name_columns(header, ([r.get(k, _ABSENT) for k in header] for r in value))
    elif any(isinstance(r, list) for r in value) and not any(isinstance(r, Mapping) for r in value):
        yield name, [row if isinstance(row, list) else [row] for row in value]
    else:
        for item in value:
            yield from _find_tables(item, name, faults)


def _find_in_object(value: Mapping[str, Any], name: str, faults: list[Fault]) -> Iterator[RawTable]:
    title = next((value[key] for key in _NAMES if isinstance(value.get(key), str)), name)
    rows = next((value[key] for key in _ROWS if isinstance(value.get(key), list)), None)
    header = next((value[key] for key in _HEADERS if isinstance(value.get(key), list)), None)
    if rows is not None and not all(isinstance(row, list) for row in rows):
        yield from _find_tables(rows, title, faults)
    elif rows is not None or header is not None:
        yield title, [*([header] if header is not None else []), *(rows or [])]
    elif _holds_table(value):
        for key, item in value.items():
            if key not in _NAMES or not isinstance(item, str):
                yield from _find_tables(item, title if key == "tables" else key, faults)
    elif value and all(isinstance(column, list) for column in value.values()):
        _check_size(len(value), max(map(len, value.values())))
        yield title, _name_columns(value, zip_longest(*value.values(), fillvalue=_ABSENT))
    elif value:
        yield title, [((field,), cell) for field, cell in value.items()]


def _check_size(n_columns: int, n_rows: int) -> None:
    if n_columns * n_rows > MOST_CELLS:
        raise UnreadableTableError("too_long", f"{n_rows} rows of {n_columns} fields")


def _name_columns(names: Iterable[str], rows: Iterable[Sequence[Any]]) -> Sequence[Sequence[Any]]:
    return [[(name,) for name in names], *rows]


def _write_cell(value: Any) -> str:
    if value is None or value is _ABSENT:
        return ""
    if isinstance(value, tuple):
        return str(value[0])
    if isinstance(value, str):
        return " ".join(value.split())
    return json.dumps(value, ensure_ascii=False)
