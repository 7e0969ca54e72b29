"""A user's data, record by record: what a corpus of them declares, tables, queries, their files."""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from target_bench.core import registry
from target_bench.core.built_in import SQL_TASK
from target_bench.core.errors import DataError
from target_bench.core.grid import CellGrid
from target_bench.core.release import Release, field
from target_bench.core.schema import SPLIT_ALIASES, Cell, CorpusInfo, Query, TableId
from target_bench.core.unicode_text import compose
from target_bench.data.formats.cells import PLAIN_TYPES, convert_cells, convert_to_json
from target_bench.data.formats.csv_files import read_csv

DEFAULT_SPLIT = "test"
FILES = ("queries.jsonl", "queries.csv")
"""The files that may hold the queries of a folder."""

SQL_FIELDS = ("sql", "query_text", "sql_text", "statement_text", "statement")
"""Fields of a log that hold SQL: by hand, of Snowflake, Oracle, Databricks, and others."""

GoldOf = Callable[[str, str, str], Sequence[TableId]]
"""(SQL, database id, place) -> the tables that the SQL reads."""

Prepare = Callable[[Iterable[tuple[str, Any]]], Iterable[tuple[str, Any]]]
"""What is done to (place, record) of all rows before they are read, as to those of a log."""

_PREFERENCE = ("test", "validation", "train")
_FIELDS = ("query_id", "query", "table_id", "database_id", "answer", "split")
_NO = {"false", "f", "no", "n", "0", "none"}
_QUOTE = "Quote the cells that hold the separator."
_GOLD_TABLE = re.compile(r"(gold[ _-]?)?tables?([ _-]?(ids?|names?))?|gold", re.IGNORECASE)


# What a corpus of a user's own declares


def describe_path(
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
    stem = path.name if path.is_dir() else path.stem
    name = re.sub(r"[\W_]+", "-", stem.lower()).strip("-") or "data"
    in_order = (*sorted(splits, key=_rank_split), *sorted(others, key=_rank_split))
    return describe_own_data(
        name, path.name, str(path), in_order or (DEFAULT_SPLIT,), with_database
    )


def describe_own_data(
    name: str, title: str, source: str, splits: tuple[str, ...], with_database: bool = False
) -> CorpusInfo:
    """Return the declaration of a user's own data; arguments as ``CorpusInfo`` has them."""
    yours, tasks = "your own", list_served_tasks(with_database)
    return CorpusInfo(name, title, tasks, splits, yours, yours, source, any_task=True)


def list_served_tasks(with_databases: bool) -> tuple[str, ...]:
    """List the known tasks that data of one's own can serve; those on SQL need databases."""
    return tuple(n for n in registry.names("task") if with_databases or n != SQL_TASK)


def normalize_split(name: str) -> str:
    """Return ``train``, ``validation`` or ``test`` for any spelling of it; other names stay."""
    name = name.strip()
    split = SPLIT_ALIASES.get(name.lower(), name.lower())
    return split if split in _PREFERENCE else name


def _rank_split(split: str) -> tuple[int, str]:
    if split == "train":  # after any split that is held out
        return len(_PREFERENCE), split
    return _PREFERENCE.index(split) if split in _PREFERENCE else 2, split


# Fields


def read_grid(value: Any, place: str) -> list[Sequence[Cell]]:
    """Read the field ``table``: rows of cells, the header first."""
    if not isinstance(value, list) or not value or not all(isinstance(row, list) for row in value):
        raise DataError(
            f"{place}: field 'table' should be a list of rows, the header first, but is "
            f"{type(value).__name__}: {value!r:.80}"
        )
    try:
        return [convert_cells(row) for row in value]
    except TypeError as error:
        raise DataError(f"{place}: field 'table': {error}") from error


def read_cell_grid(record: Mapping[str, Any], place: str) -> CellGrid | None:
    """Read the field ``grid``: rows of ``[text, row_span, column_span, is_header]``, or None."""
    value = record.get("grid")
    try:
        return None if value is None else CellGrid.from_json(value)
    except ValueError as error:
        raise DataError(f"{place}: field 'grid': {error}") from error


def name_columns(cells: Sequence[Any]) -> list[str]:
    """Return the cells of a header row as column names: numbers as text, null as no name."""
    return ["" if cell is None else _name_column(cell) for cell in cells]


def _name_column(cell: Any) -> str:
    return cell.decode("utf-8", "backslashreplace") if isinstance(cell, bytes) else str(cell)


def read_query(
    record: Any, place: str, database_id: str = "0", gold_of: GoldOf | None = None
) -> Query:
    """Read a query from ``query_id``, ``query``, ``table_id`` and perhaps the other fields.

    Args:
        record: the fields. What is none of ``queries.jsonl`` becomes metadata.
        place: where it is, for messages.
        database_id: the database of the tables where the field is missing.
        gold_of: finds the tables that SQL reads: ``table_id`` may then be missing.

    Raises:
        DataError: a field is missing or of another type; the message names it and the place.
    """
    query_id = read_identifier(field(record, "query_id", object, place), "query_id", place)
    text = field(record, "query", str, place)
    database_id = read_database_id(record, place, database_id)
    answer = read_answer(convert_value(record.get("answer"), "answer", place), place)
    metadata = {
        name: convert_value(value, name, place)
        for name, value in record.items()
        if name not in _FIELDS and value is not None
    }
    if str(metadata.get("synthetic", "")).strip().lower() in _NO:
        metadata["synthetic"] = False
    gold: Sequence[TableId]
    if gold_of is not None and record.get("table_id") is None and answer:
        gold = gold_of(answer if isinstance(answer, str) else answer[0], database_id, place)
    else:
        value = convert_value(field(record, "table_id", object, place), "table_id", place)
        names = value if isinstance(value, list) else [] if value is None else [value]
        gold = [TableId(database_id, read_identifier(name, "table_id", place)) for name in names]
    return Query(query_id, text, tuple(gold), answer, database_id, metadata)


def read_split(record: Any, place: str, default: str = DEFAULT_SPLIT) -> str:
    """Read the split of a record, or the default where the field is missing or null."""
    if isinstance(record, dict) and record.get("split") is None:
        return default
    return normalize_split(field(record, "split", str, place))


def read_database_id(record: Mapping[str, Any], place: str, default: str = "0") -> str:
    """Read the field ``database_id``, or the default where it is missing or null."""
    value = record.get("database_id")
    return default if value is None else read_identifier(value, "database_id", place)


def read_identifier(value: Any, name: str, place: str) -> str:
    """Read an id: text, or a whole number."""
    value = convert_value(value, name, place)
    if isinstance(value, str):
        return str(compose(value))
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    raise DataError(
        f"{place}: field {name!r} should be text or a whole number, but is "
        f"{type(value).__name__}: {value!r:.80}"
    )


def read_answer(value: Any, place: str) -> str | tuple[str, ...]:
    """Read an answer: a text, or several accepted ones."""
    values = value if isinstance(value, list) else [] if value is None else [value]
    for each in values:
        if not isinstance(each, str | int | float):
            raise DataError(
                f"{place}: field 'answer' should be a text or a list of texts, but holds "
                f"{each!r:.80}"
            )
    if isinstance(value, list) and len(values) != 1:
        return tuple(map(str, values))
    return str(values[0]) if values else ""


def convert_value(value: Any, name: str, place: str) -> Any:
    """Convert the value of a field to what JSON can hold."""
    try:
        return value if _is_plain(value) else convert_to_json(value)
    except TypeError as error:
        raise DataError(f"{place}: field {name!r}: {error}") from error


def _is_plain(value: Any) -> bool:
    return type(value) in PLAIN_TYPES or (type(value) is list and all(map(_is_plain, value)))


# Files of queries


def read_queries(
    release: Release,
    path: Path,
    split: str,
    database_id: str = "0",
    gold_of: GoldOf | None = None,
    prepare: Prepare = iter,
) -> Iterator[Query]:
    """Yield the queries of a file of JSON lines or CSV that belong to a split (default: test)."""
    for place, record in prepare(read_records(release, path)):
        if read_split(record, place) == split:
            yield read_query(record, place, database_id, gold_of)


def note_other_splits(release: Release, path: Path, split: str, prepare: Prepare = iter) -> None:
    """Note how many queries of a file belong to other splits than this one."""
    entries = prepare(read_records(release, path))
    n_queries = Counter(read_split(record, place) for place, record in entries)
    counts = ", ".join(f"{n:,} of {name}" for name, n in n_queries.items() if name != split)
    if counts:
        release.notes.append(f"queries of other splits, which are not asked: {counts}")


def list_splits(release: Release, path: Path, prepare: Prepare = iter) -> list[str]:
    """Return the splits that the queries of a file name."""
    entries = prepare(read_records(release, path))
    return list(dict.fromkeys(read_split(record, place) for place, record in entries))


def read_records(release: Release, path: Path) -> Iterator[tuple[str, Any]]:
    """Yield (place, record); in CSV without a column ``query_id``, the row's number is the id."""
    if not path.name.removesuffix(".gz").endswith(".csv"):
        yield from release.json_lines(path)
        return
    rows = read_csv_records(release, path, ("table_id", "answer"), _check_header)
    for number, (place, record) in enumerate(rows, start=1):
        yield place, {"query_id": str(number), "table_id": None, **record}


def read_csv_records(
    release: Release,
    path: Path,
    lists: Sequence[str],
    check: Callable[[Path, Sequence[str]], None] = lambda *_: None,
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield (place, record) of every row of a CSV file; an empty cell is a missing field.

    Args:
        release: reads the file.
        path: the file.
        lists: the fields in which ``["a", "b"]`` is a list, and an empty cell is null.
        check: checks path and names of columns.

    Raises:
        DataError: a cell is in no column, or is not a list; the message names row and field.
    """
    (table,) = read_csv(release, path)
    header = table.header
    check(path, header)
    for number, row in enumerate(table.rows, start=1):
        place = f"{path}, row {number}"
        record: dict[str, Any] = {n: c for n, c in zip(header, row, strict=True) if c != ""}
        if "" in header[1:] and "" in record:
            raise DataError(f"{place}: {record['']!r:.80} is in no column. {_QUOTE}")
        for name in lists:
            if name in header:
                record[name] = _read_list(record.get(name), name, place)
        yield place, record


def find_sql_field(names: Iterable[Any]) -> str | None:
    """Return the field that holds SQL, if there is one."""
    known = {str(name).lower(): str(name) for name in names}
    fields = [*SQL_FIELDS, *(["query"] if "question" in known else [])]
    return next((known[name] for name in fields if name in known), None)


def _check_header(path: Path, header: Sequence[str]) -> None:
    repeated = sorted({name for name in header if name and header.count(name) > 1})
    if repeated:
        raise DataError(f"{path}: the column {repeated[0]!r} occurs twice. Rename or remove one.")
    if find_sql_field(header) is not None:
        return
    if "query" not in header:
        raise DataError(
            f"{path}: no column 'query'; its columns are {', '.join(header)}. Rename the one that "
            f"holds the questions to query. {_QUOTE}"
        )
    meant = [name for name in header if _GOLD_TABLE.fullmatch(name.strip())]
    if meant and "table_id" not in header:
        raise DataError(
            f"{path}: no column 'table_id', but {meant[0]!r}. Rename it to table_id if it holds "
            "the ids of gold tables; else add a column table_id, empty where none is known."
        )


def _read_list(value: str | None, name: str, place: str) -> Any:
    if value is None or not value.startswith("["):
        return value
    try:
        return json.loads(value)
    except ValueError as error:
        raise DataError(
            f"{place}: field {name!r} is not a JSON list: {value!r:.80}. A text that begins with a "
            'bracket is written as a list, in CSV as "[""[text]""]".'
        ) from error
