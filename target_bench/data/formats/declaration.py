"""Shared parts of the layouts of a user's data: the declaration, and the fields of a query."""

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from target_bench.core import registry
from target_bench.core.errors import DataError
from target_bench.core.grid import CellGrid
from target_bench.core.schema import Cell, CorpusInfo
from target_bench.data.formats.cells import cells

DEFAULT_SPLIT = "test"


def served_tasks(with_databases: bool) -> tuple[str, ...]:
    """List the known tasks that data of one's own can serve, by their short names.

    Args:
        with_databases: whether the tables lie in databases, which SQL can be run on.
    """
    classes = [registry.resolve("task", name) for name in registry.names("task")]
    return tuple(cls.name for cls in classes if with_databases or not cls.needs_databases)


_PREFERENCE = ("test", "validation", "train")


def info(
    path: Path, splits: Iterable[str], others: Iterable[str] = (), with_database: bool = False
) -> CorpusInfo:
    """Return the declaration of a corpus that is a path.

    Args:
        path: the folder or file.
        splits: the splits that have queries.
        others: splits that have tables alone.
        with_database: whether the tables lie in a database, which SQL can be run on.
    """
    path = path.resolve()
    words = path.name if path.is_dir() else path.stem
    name = re.sub(r"[\W_]+", "-", words.lower()).strip("-") or "data"
    return CorpusInfo(
        name=name,
        title=path.name,
        tasks=served_tasks(with_database),
        splits=(*sorted(splits, key=_order), *sorted(others, key=_order)) or (DEFAULT_SPLIT,),
        licence="your own",
        citation="your own",
        source=str(path),
        any_task=True,
    )


def _order(split: str) -> tuple[int, str]:
    return _PREFERENCE.index(split) if split in _PREFERENCE else len(_PREFERENCE), split


def grid(value: Any, place: str) -> list[Sequence[Cell]]:
    """Return the field ``table``: rows of cells, the header first.

    Raises:
        DataError: it is of another form, or a cell is.
    """
    if not isinstance(value, list) or not value or not all(isinstance(row, list) for row in value):
        raise DataError(
            f"{place}: field 'table' should be a list of rows, the header first, but is "
            f"{type(value).__name__}: {value!r:.80}"
        )
    try:
        return [cells(row) for row in value]
    except TypeError as error:
        raise DataError(f"{place}: field 'table': {error}") from error


def cell_grid(record: Mapping[str, Any], place: str) -> CellGrid | None:
    """Return the field ``grid``: rows of ``[text, row_span, column_span, is_header]``, or None.

    Raises:
        DataError: it is of another form.
    """
    value = record.get("grid")
    try:
        return None if value is None else CellGrid.from_json(value)
    except ValueError as error:
        raise DataError(f"{place}: field 'grid': {error}") from error


def place_of_row(place: str, number: int) -> str:
    """Return the place of a row of the field ``table``, by its number from 0 after the header."""
    return f"{place}, field 'table', row {number + 1}"


def header(names: Sequence[Any]) -> list[str]:
    """Return the cells of a header row as column names: numbers as text, null as no name."""
    return ["" if name is None else _name(name) for name in names]


def _name(value: Any) -> str:
    return value.decode("utf-8", "backslashreplace") if isinstance(value, bytes) else str(value)
