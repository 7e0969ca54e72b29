"""A generator's answer -> the table schemas in it, however they are written."""

import json
import re
from collections.abc import Iterator
from typing import Any

_BULLET = re.compile(r"^\s*(?:[-*•#>]+|\(?\d+[.):])\s*")
_MARKS = re.compile(r"[*_`|]+")
_OPENING = re.compile(r"[\[{]")


def schemas(answer: str, n: int) -> list[str]:
    """Return the first ``n`` different schemas of an answer, a line each: title and columns.

    JSON is looked for first, anywhere in the answer: a list of schemas, an object that holds one,
    or one schema after another; a schema is text, a list, or an object whose values count.
    Without JSON each line that names a table and columns, as in ``Title: a, b``, is a schema.
    """
    found = [_text(item) for document in _documents(answer) for item in _items(document)]
    words = [" ".join(text.split()) for text in found or map(_line, answer.splitlines())]
    return list(dict.fromkeys(text for text in words if re.search(r"[^\W\d_]", text)))[:n]


def _documents(answer: str) -> Iterator[Any]:
    """Yield the JSON lists and objects in a text, one after the other."""
    decoder = json.JSONDecoder(strict=False)
    start = 0
    while match := _OPENING.search(answer, start):
        try:
            document, start = decoder.raw_decode(answer, match.start())
        except (ValueError, RecursionError):
            start = match.end()
        else:
            yield document


def _items(document: Any) -> list[Any]:
    """Return the schemas of a document."""
    if isinstance(document, list):
        flat = all(isinstance(item, str) for item in document)
        return [document] if flat and not _look_whole(document) else document
    values = list(document.values())
    if len(values) > 1 and all(isinstance(value, list) for value in values):
        return [[name, value] for name, value in document.items()]
    if values and all(_is_schema(value) and isinstance(value, dict) for value in values):
        return values
    lists = [value for value in values if _holds_schemas(value)]
    return lists[0] if len(lists) == 1 else [document]


def _look_whole(texts: list[str]) -> bool:
    """Return whether each text is a schema, and not the name of a column."""
    return any(re.search(r"[:(|,]", text) for text in texts)


def _holds_schemas(value: Any) -> bool:
    return (
        isinstance(value, list)
        and bool(value)
        and all(
            _is_schema(item) or (isinstance(item, str) and _look_whole([item])) for item in value
        )
    )


def _is_schema(item: Any) -> bool:
    """Return an object with a list in it, or a list."""
    return isinstance(item, list) or (
        isinstance(item, dict) and any(isinstance(value, list) for value in item.values())
    )


def _text(value: Any) -> str:
    """Return all that a value says, in order; names of keys are left out."""
    if isinstance(value, dict):
        return " ".join(map(_text, value.values()))
    if isinstance(value, list):
        return " ".join(map(_text, value))
    return "" if value is None or isinstance(value, bool) else str(value)


def _line(line: str) -> str:
    """Return a line without bullet, number and marks, if it names columns; else nothing."""
    bare = _MARKS.sub(" ", _BULLET.sub("", line))
    title, colon, columns = bare.partition(":")
    if not (columns.strip() if colon else re.search(r"[(,|\t]", _BULLET.sub("", line))):
        return ""
    return re.sub(r"[(),:;\t]", " ", f"{title} {columns}")
