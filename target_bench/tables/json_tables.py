"""Tables as JSON."""

import json
from collections.abc import Iterator, Mapping
from functools import partial
from itertools import zip_longest
from typing import Any

from target_bench.tables.answer_tables import (
    MOST_CELLS,
    AnswerTable,
    Fault,
    ReadAnswer,
    failed,
    read_answer,
    unfenced,
)
from target_bench.tables.official_sides import UnreadableTableError

_HEADERS = ("header", "headers", "columns")
_ROWS = ("rows", "data")
_NAMES = ("name", "title", "caption")
_MOST_STARTS = 50
"""Brackets of a text that are tried as the beginning of a document."""
_DEEPEST = 64


def read_json_tables(text: str) -> ReadAnswer:
    """Read the tables of JSON documents.

    A table is a list of objects, a list of lists whose first is the header, an object whose values
    are all columns (lists, or objects with the numbers of rows), or one with ``header`` (or
    ``columns``) and ``rows`` (or ``data``), perhaps with a ``name``. An object whose
    values are tables holds them by name, ``{"tables": [...]}`` in a list. A document that is cut
    off is closed after its last whole value.

    Raises:
        UnreadableTableError: records have too many different fields.
    """
    inside, faults = unfenced(text)
    if _depth(inside) > _DEEPEST:
        return failed("too_deep")
    documents = _documents(inside.strip(), faults)
    tables = [table for one in documents for table in _tables(one, "", faults)]
    if not documents:
        return failed("syntax" if inside.strip()[:1] in ("{", "[") else "no_table")
    return read_answer(tables, faults)


def _depth(text: str) -> int:
    depth = deepest = 0
    for character in text:
        depth = max(depth + (character in "[{") - (character in "]}"), 0)
        deepest = max(deepest, depth)
    return deepest


def _documents(text: str, faults: list[Fault]) -> list[Any]:
    """Return the lists and objects of a text; what stands around them is prose."""
    decoder = json.JSONDecoder(strict=False, object_pairs_hook=partial(_fields, faults))
    found: list[Any] = []
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
            found.append(document)
        except (ValueError, RecursionError):
            place = start + 1
            closed = None if found else _closed(text[start:], faults)
            if closed is not None:
                faults.append("truncated")
                return [closed]
    if found and text[place:].strip():
        faults.append("prose")
    return found


def _fields(faults: list[Fault], pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        faults.append("repeated")
    return found


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
    ends = "".join("]" if one == "[" else "}" for one in reversed(open_then))
    try:
        hook = partial(_fields, faults)
        return json.loads(text[:cut] + ends, strict=False, object_pairs_hook=hook)
    except (ValueError, RecursionError):
        return None


def _tables(value: Any, name: str, faults: list[Fault]) -> Iterator[AnswerTable]:
    if isinstance(value, Mapping):
        yield from _of_object(value, name, faults)
    elif isinstance(value, list) and value:
        if all(isinstance(row, Mapping) and not _holds_table(row) for row in value):
            yield _of_records(value, name, faults)
        elif all(isinstance(row, list) for row in value):
            yield AnswerTable(name, tuple(tuple(_text(c, faults) for c in row) for row in value))
        else:
            for one in value:
                yield from _tables(one, name, faults)


def _of_object(value: Mapping[str, Any], name: str, faults: list[Fault]) -> Iterator[AnswerTable]:
    own = next((value[key] for key in _NAMES if isinstance(value.get(key), str)), name)
    rows = next((value[key] for key in _ROWS if isinstance(value.get(key), list)), None)
    header = next((value[key] for key in _HEADERS if isinstance(value.get(key), list)), None)
    if rows is not None and all(isinstance(row, list) for row in rows):
        whole = [*([header] if header is not None else []), *rows]
        yield AnswerTable(own, tuple(tuple(_text(cell, faults) for cell in row) for row in whole))
    elif rows is not None:
        yield from _tables(rows, own, faults)
    elif header is not None:
        yield AnswerTable(own, (tuple(_text(cell, faults) for cell in header),))
    elif _holds_table(value):
        for key, one in value.items():
            yield from _tables(one, own if key == "tables" else str(key), faults)
    elif value and all(map(_is_column, value.values())):
        yield _of_columns(value, own, faults)
    elif value:
        pairs = ((str(key), _text(cell, faults)) for key, cell in value.items())
        yield AnswerTable(own, tuple(pairs))


def _holds_table(value: Mapping[str, Any]) -> bool:
    """Return whether an object holds tables: some value is a list of lists or objects."""
    return any(
        (isinstance(one, list) and any(isinstance(row, list | Mapping) for row in one))
        or (isinstance(one, Mapping) and bool({*_ROWS, *_HEADERS} & set(one)))
        for one in value.values()
    )


def _is_column(value: Any) -> bool:
    """Return whether a value is the cells of a column, in a list or by the numbers of rows."""
    cells = value.values() if isinstance(value, Mapping) else value
    if isinstance(value, Mapping) and not all(str(key).isdigit() for key in value):
        return False
    return isinstance(value, list | Mapping) and not any(
        isinstance(cell, list | Mapping) for cell in cells
    )


def _of_columns(columns: Mapping[str, Any], name: str, faults: list[Fault]) -> AnswerTable:
    lists = [list(c.values()) if isinstance(c, Mapping) else c for c in columns.values()]
    if len(lists) * max(map(len, lists)) > MOST_CELLS:
        raise UnreadableTableError("too_long", f"{len(lists)} columns")
    if len(set(map(len, lists))) > 1:
        faults.append("ragged")
    rows = (tuple(_text(cell, faults) for cell in row) for row in zip_longest(*lists))
    return AnswerTable(name, (tuple(map(str, columns)), *rows))


def _of_records(records: list[Any], name: str, faults: list[Fault]) -> AnswerTable:
    header = list(dict.fromkeys(str(key) for record in records for key in record))
    if len(header) * len(records) > MOST_CELLS:
        raise UnreadableTableError("too_long", f"{len(records)} records of {len(header)} fields")
    if any(len(record) != len(header) for record in records):
        faults.append("ragged")
    texts = [{str(key): cell for key, cell in record.items()} for record in records]
    rows = (tuple(_text(record.get(key), faults) for key in header) for record in texts)
    return AnswerTable(name, (tuple(header), *rows))


def _text(value: Any, faults: list[Fault]) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return " ".join(value.split())
    if isinstance(value, list | Mapping):
        faults.append("nested")
    return json.dumps(value, ensure_ascii=False)
