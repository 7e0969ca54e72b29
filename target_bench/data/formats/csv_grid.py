"""Comma-separated text as the header and the rows of a table."""

import csv
import io
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from target_bench.core.errors import DataError
from target_bench.core.release import Release
from target_bench.data.ragged import Grid, rectangular


def csv_grid(release: Release, place: str, text: str, **dialect: Any) -> Grid:
    """Return header and rows of the text of a CSV file, all of one length.

    Args:
        release: keeps the note of rows that were not as long as the header.
        place: the file, for messages.
        text: what is in it.
        dialect: how it is written, by the names of ``csv.reader``.

    Raises:
        DataError: it is empty, holds a NUL byte, or is not written in this dialect.
    """
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise DataError(
            f"{place}, line {line}: a NUL byte, which no text file holds. Convert the file to "
            "UTF-8."
        )
    reader = csv.reader(io.StringIO(text, newline=""), **dialect)
    lines: list[tuple[int, list[str]]] = []
    try:
        with _fields_of_any_size():
            lines += ((reader.line_num, row) for row in reader if row)  # a blank line is not a row
    except csv.Error as error:
        raise DataError(
            f"{place}, line {reader.line_num}: {error}. Quote cells that hold quotes, and double "
            "the quotes in them."
        ) from error
    if not lines:
        raise DataError(f"{place}: the file is empty; its first line is the header")
    numbers, (header, *rows) = zip(*lines, strict=True)
    if all(len(row) == len(header) for row in rows):
        return header, rows
    return rectangular(
        release,
        header,
        rows,
        lambda number: f"{place}, line {numbers[number + 1]}",
        advice=". Is a cell that holds the separator without quotes?",
    )


@contextmanager
def _fields_of_any_size() -> Iterator[None]:
    """Lift the ``csv`` module's limit of 128 KiB a cell."""
    before = csv.field_size_limit(2**31 - 1)
    try:
        yield
    finally:
        csv.field_size_limit(before)
