"""Comparison tuples, as models write them for the published TabXEval pipeline.

``[Type/Type], [entity/entity], [unit/unit], missing or extra, difference``: one tuple per cell.
"""

import ast
import re
from collections.abc import Sequence
from typing import Any

Parsed = list[Any]
"""The parts of a tuple: None, a text, or a list."""

_LIST_DIFFERENCE = re.compile(r"list difference:(.+)")
_MOST = 5


def parse_tuple(text: str) -> Parsed:
    """Read the parts of a tuple: ``a/b`` and ``a:b`` as lists, ``None`` as None, others as text."""
    if "list/list" in text.lower():
        return _of_lists(text)
    parts = text.split(", ")
    if len(parts) > _MOST:
        parts = [*parts[: _MOST - 1], ", ".join(parts[_MOST - 1 :])]
    return [_part(part) for part in parts]


def _part(part: str) -> Any:
    bare = part.replace("[", "").replace("]", "")
    for mark in (":", "/"):
        if mark in part:
            return bare.split(mark)
    return (
        None if bare.strip().lower() == "none" else part.strip().replace("[", "").replace("]", "")
    )


def _of_lists(text: str) -> Parsed:
    if text.startswith("[") and text.endswith("]"):
        text = text[1:-1]
    match = _LIST_DIFFERENCE.search(text)
    found = [
        _simple(item)
        for item in (text[: match.start()].rstrip(",") if match else text).split(",")
        if item.strip()
    ]
    lists = _lists(match[1]) if match else None
    return [*found, ["list difference", *lists]] if lists else found


def _simple(item: str) -> Any:
    item = item.strip()
    if "/" in item:
        return item.split("/")[:2]
    return None if item == "None" else item


def _lists(text: str) -> Sequence[Any] | None:
    """Read three lists that are divided by colons; None where they are not three."""
    parts = text.split("]:[")
    if len(parts) != 3:
        return None
    try:
        return [
            ast.literal_eval(part) for part in (f"{parts[0]}]", f"[{parts[1]}]", f"[{parts[2]}")
        ]
    except (SyntaxError, ValueError):
        return None
