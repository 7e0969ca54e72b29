"""Values of databases, data frames, workbooks and Parquet files as cells and as JSON."""

import json
from collections.abc import Mapping, Sequence
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

from target_bench.core.schema import Cell

PLAIN_TYPES = {str, int, float, bytes, bool, type(None)}
"""The types of values that are cells as they are."""


def convert_cells(row: Sequence[Any]) -> Sequence[Cell]:
    """Convert a row to cells: dates to ISO text, decimals to text, lists and mappings to JSON."""
    if PLAIN_TYPES.issuperset(map(type, row)):
        return row
    values = [value if type(value) in PLAIN_TYPES else convert_to_json(value) for value in row]
    return [
        json.dumps(value, ensure_ascii=False, default=bytes.hex)
        if isinstance(value, list | dict)
        else value
        for value in values
    ]


def convert_to_json(value: Any) -> Any:
    """Convert a value by the rules of ``convert_cells``; lists and mappings stay such."""
    if type(value) in PLAIN_TYPES:
        return value
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    if isinstance(value, timedelta):
        # with pandas installed, Arrow gives a subclass that prints in another way
        is_fine = bool(getattr(value, "nanoseconds", 0))
        return str(value if is_fine else timedelta(value.days, value.seconds, value.microseconds))
    if isinstance(value, Decimal | UUID):
        return str(value)
    if isinstance(value, Mapping):
        return {str(key): convert_to_json(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [convert_to_json(inner) for inner in value]
    if isinstance(value, bytearray | memoryview):
        return bytes(value)
    bases: tuple[type, ...] = (str, int, float, bytes)  # of numpy's text, or of an enumeration
    for base in bases:
        if isinstance(value, base):
            return base(value)
    if hasattr(value, "tolist"):  # an array or a scalar of numpy
        # numpy makes a number of a time in nanoseconds
        inner = str(value) if type(value).__name__ == "datetime64" else value.tolist()
        if type(inner) is not type(value):
            return convert_to_json(inner)
    raise TypeError(f"{type(value).__name__} ({value!r:.40}) is neither text, number nor date")
