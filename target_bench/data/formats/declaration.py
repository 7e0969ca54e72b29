"""Shared parts of the layouts of a user's data: the declaration, and the fields of a query."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from target_bench.core.errors import DataError
from target_bench.core.grid import CellGrid
from target_bench.core.release import field
from target_bench.core.schema import Cell, CorpusInfo, Query, TableId
from target_bench.data.formats.cells import cells, plain
from target_bench.data.formats.served_tasks import served_tasks

DEFAULT_SPLIT = "test"
_PREFERENCE = ("test", "validation", "train")
_FIELDS = ("query_id", "query", "table_id", "database_id", "answer", "split")


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


GoldOf = Callable[[str, str, str], Sequence[TableId]]
"""(SQL, database id, place) -> the tables that the SQL reads."""


def query(record: Any, place: str, database_id: str = "0", gold_of: GoldOf | None = None) -> Query:
    """Return a query from ``query_id``, ``query``, ``table_id`` and, where given, the other fields.

    ``table_id`` is a gold table or a list of them (null or empty for none), ``database_id``
    (default: the argument) where they are, ``answer`` a text or a list of accepted texts; what else
    there is becomes metadata. With ``gold_of``, ``table_id`` may be left out where the answer is
    SQL.

    Raises:
        DataError: a field is missing or of another type; the message names place and field.
    """
    query_id = identifier(field(record, "query_id", object, place), "query_id", place)
    database_id = database(record, place, database_id)
    answer = _answer(converted(record.get("answer"), "answer", place), place)
    if gold_of is not None and record.get("table_id") is None and answer:
        sql = answer if isinstance(answer, str) else answer[0]
        gold = tuple(gold_of(sql, database_id, place))
    else:
        named = converted(field(record, "table_id", object, place), "table_id", place)
        names = named if isinstance(named, list) else [] if named is None else [named]
        gold = tuple(TableId(database_id, identifier(n, "table_id", place)) for n in names)
    return Query(
        id=query_id,
        text=field(record, "query", str, place),
        gold=gold,
        answer=answer,
        database_id=database_id,
        metadata={
            name: converted(value, name, place)
            for name, value in record.items()
            if name not in _FIELDS and value is not None
        },
    )


def split_of(record: Any, place: str, default: str = DEFAULT_SPLIT) -> str:
    """Return the field ``split``, or the default where it is missing or null."""
    if isinstance(record, dict) and record.get("split") is None:
        return default
    return field(record, "split", str, place)


def database(record: Mapping[str, Any], place: str, default: str = "0") -> str:
    """Return the field ``database_id``, or the default where it is missing or null."""
    value = record.get("database_id")
    return default if value is None else identifier(value, "database_id", place)


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


def identifier(value: Any, name: str, place: str) -> str:
    """Return an id as text.

    Raises:
        DataError: it is neither text nor a whole number.
    """
    value = converted(value, name, place)
    if isinstance(value, str):
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    raise DataError(
        f"{place}: field {name!r} should be text or a whole number, but is "
        f"{type(value).__name__}: {value!r:.80}"
    )


def converted(value: Any, name: str, place: str) -> Any:
    """Return a value as JSON can hold it.

    Raises:
        DataError: it is of a type that has no such form.
    """
    try:
        return plain(value)
    except TypeError as error:
        raise DataError(f"{place}: field {name!r}: {error}") from error


def _answer(value: Any, place: str) -> str | tuple[str, ...]:
    if value is None:
        return ""
    if isinstance(value, list):
        answers = tuple(_one_answer(item, place) for item in value)
        return answers[0] if len(answers) == 1 else answers
    return _one_answer(value, place)


def _one_answer(value: Any, place: str) -> str:
    if isinstance(value, str | int | float):
        return str(value)
    raise DataError(
        f"{place}: field 'answer' should be a text or a list of texts, but holds {value!r:.80}"
    )
