"""Values of databases, data frames and Parquet files as cells and as JSON."""

import json
from collections.abc import Mapping, Sequence
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

from target_bench.schema import Cell

_PLAIN = {str, int, float, bytes, bool, type(None)}


def cells(row: Sequence[Any]) -> Sequence[Cell]:
    """A row of cells.

    Text, numbers, bytes and None stay as they are. Dates and times become ISO text, decimals and
    UUIDs text, lists and mappings JSON.

    Raises:
        TypeError: a value is of another type.
    """
    if _PLAIN.issuperset(map(type, row)):
        return row
    return [value if type(value) in _PLAIN else _cell(value) for value in row]


def _cell(value: Any) -> Cell:
    value = plain(value)
    return json.dumps(value, ensure_ascii=False) if isinstance(value, list | dict) else value


def plain(value: Any) -> Any:
    """A value as JSON can hold it, by the rules of ``cells``; lists and mappings stay such.

    Raises:
        TypeError: it is of a type that has no such form.
    """
    if type(value) in _PLAIN:
        return value
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    if isinstance(value, Decimal | UUID | timedelta):
        return str(value)
    if isinstance(value, Mapping):
        return {str(key): plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(inner) for inner in value]
    if isinstance(value, bytearray | memoryview):
        return bytes(value)
    if hasattr(value, "item"):  # a scalar of numpy
        return plain(value.item())
    raise TypeError(f"{type(value).__name__} ({value!r:.40}) is neither text, number nor date")
