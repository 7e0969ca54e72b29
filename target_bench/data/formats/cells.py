"""Values of databases, data frames and Parquet files as cells and as JSON."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import UUID

from target_bench.core.errors import DataError
from target_bench.core.release import Release
from target_bench.core.schema import Cell

if TYPE_CHECKING:
    import pyarrow


_PANDAS_INDEX = re.compile(r"__index_level_\d+__")
PLAIN = {str, int, float, bytes, bool, type(None)}
"""The types of values that are cells as they are."""


def cells(row: Sequence[Any]) -> Sequence[Cell]:
    """Return a row of cells.

    Text, numbers, bytes and None stay as they are. Dates and times become ISO text, decimals and
    UUIDs text, lists and mappings JSON (bytes in them as hex).

    Raises:
        TypeError: a value is of another type.
    """
    if PLAIN.issuperset(map(type, row)):
        return row
    values = [value if type(value) in PLAIN else plain(value) for value in row]
    return [
        json.dumps(value, ensure_ascii=False, default=bytes.hex)
        if isinstance(value, list | dict)
        else value
        for value in values
    ]


def plain(value: Any) -> Any:
    """Return a value as JSON can hold it, by the rules of ``cells``; lists and mappings stay such.

    Raises:
        TypeError: it is of a type that has no such form.
    """
    if type(value) in PLAIN:
        return value
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    if isinstance(value, timedelta):  # with pandas installed, Arrow gives another class
        is_fine = bool(getattr(value, "nanoseconds", 0))
        return str(value if is_fine else timedelta(value.days, value.seconds, value.microseconds))
    if isinstance(value, Decimal | UUID):
        return str(value)
    if isinstance(value, Mapping):
        return {str(key): plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(inner) for inner in value]
    if isinstance(value, bytearray | memoryview):
        return bytes(value)
    bases: tuple[type, ...] = (str, int, float, bytes)  # of numpy's text, or of an enumeration
    for base in bases:
        if isinstance(value, base):
            return base(value)
    if hasattr(value, "tolist"):  # an array or a scalar of numpy
        inner = str(value) if type(value).__name__ == "datetime64" else value.tolist()
        if type(inner) is not type(value):
            return plain(inner)
    raise TypeError(f"{type(value).__name__} ({value!r:.40}) is neither text, number nor date")


def read_arrow_grid(table: Any, place: str) -> tuple[list[str], list[Sequence[Cell]]]:
    """Return header and rows of an Arrow table, without the nameless index of a pandas frame.

    Raises:
        DataError: a value has no form as a cell; the message names place and column.
    """
    table = drop_index(table)
    for field in table.schema:
        if "pandas.period" in f"{field.type} {field.metadata}":
            raise DataError(
                f"{place}, column {field.name!r}: holds periods of pandas, of which Arrow keeps a "
                "bare number. Cast it to text."
            )
    header: list[str] = table.column_names
    named = zip(header, table.columns, strict=True)
    columns = [read_arrow_values(column, f"{place}, column {name!r}") for name, column in named]
    rows: list[Sequence[Cell]] = []
    for number, row in enumerate(zip(*columns, strict=True), start=1):
        try:
            rows.append(list(cells(row)))
        except TypeError as error:
            raise DataError(f"{place}, row {number}: {error}") from error
    return header, rows


def drop_index(table: Any) -> Any:
    """Return the Arrow table without the columns in which pandas keeps a nameless index."""
    names = enumerate(table.column_names)
    return table.select([i for i, name in names if not _PANDAS_INDEX.fullmatch(name)])


def read_arrow_values(values: Any, place: str) -> list[Any]:
    """Return the values of an Arrow column or batch as Python has them.

    Raises:
        DataError: Python has no such value (a date after the year 9999, say).
    """
    try:
        listed: list[Any] = values.to_pylist()
    except (ValueError, OverflowError, TypeError, NotImplementedError) as error:
        raise DataError(f"{place}: a value cannot be read: {error}. Cast it to text.") from error
    return listed


_RECORDS_AT_A_TIME = 128


def read_parquet_records(release: Release, path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield (place, record) of every row of a Parquet file, read a batch at a time.

    Raises:
        DataError: it is not a Parquet file, two columns have the same name, or Python has no such
            value.
    """
    number = 0
    with _open_parquet(release, path) as file:
        names = file.schema_arrow.names
        for name in names:
            if names.count(name) > 1:
                raise DataError(f"{path}: there are {names.count(name)} columns named {name!r}")
        for batch in file.iter_batches(batch_size=_RECORDS_AT_A_TIME):
            place = f"{path}, records {number + 1} to {number + batch.num_rows}"
            for record in read_arrow_values(batch, place):
                number += 1
                yield f"{path}, record {number}", record


def read_parquet_table(release: Release, path: Path) -> "pyarrow.Table":
    """Return the whole file as an Arrow table.

    Raises:
        DataError: it is not a Parquet file.
    """
    with _open_parquet(release, path) as file:
        return file.read()


@contextmanager
def _open_parquet(release: Release, path: Path) -> Iterator[Any]:
    import pyarrow
    from pyarrow import parquet

    release.note(path)
    try:
        with parquet.ParquetFile(path) as file:
            yield file
    except (pyarrow.ArrowException, OSError) as error:
        raise DataError(
            f"{path}: cannot be read as Parquet: {error}. Write or download it again."
        ) from error
