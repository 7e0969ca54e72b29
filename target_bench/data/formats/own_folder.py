"""A user's own folder: one file per table, and ``queries.jsonl``."""

import csv
import io
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from target_bench.core.errors import DataError
from target_bench.core.release import CorpusLoader, Release, field
from target_bench.core.schema import CorpusInfo, Query, Table, TableId
from target_bench.data.formats import declaration
from target_bench.data.formats.cells import PLAIN, arrow_grid, cells, plain
from target_bench.data.formats.declaration import DEFAULT_SPLIT
from target_bench.data.formats.parquet import parquet_table
from target_bench.data.ragged import Grid, rectangular

_FIELDS = ("query_id", "query", "table_id", "database_id", "answer", "split")


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
    if _is_plain(value):
        return value
    try:
        return plain(value)
    except TypeError as error:
        raise DataError(f"{place}: field {name!r}: {error}") from error


def _is_plain(value: Any) -> bool:
    return type(value) in PLAIN or (type(value) is list and all(map(_is_plain, value)))


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


_QUERIES = "queries.jsonl"
_ABOUT = "tables.jsonl"
TABLE_SUFFIXES = (".csv", ".tsv", ".parquet", ".jsonl")
_GZIPPED = (".csv.gz", ".tsv.gz", ".jsonl.gz")


class TableFolder(CorpusLoader):
    """``tables/`` (or the folder itself) with a CSV, TSV, Parquet or JSON-lines file a table.

    A table's id is its path under ``tables/`` without suffix, its title the file's name. Optional
    ``tables.jsonl`` adds one line per table: ``table_id``, ``title``, ``section_title``, any other
    context; the tables it names come first, in its order.

    Args:
        folder: the folder.
        info: the corpus it is known to be; default: one named after the folder.
    """

    def __init__(self, folder: Path, info: CorpusInfo | None = None) -> None:
        self.embedded = folder
        self.info = info or declaration.info(folder, _splits(Release(folder, str(folder))))

    @classmethod
    def is_in(cls, folder: Path) -> bool:
        """Return whether a folder has this layout."""
        return bool(_table_files(Release(folder, "")))

    def tables(self, release: Release, split: str) -> Iterable[Table]:  # noqa: ARG002 (the contract's argument)
        """Yield the tables, the same ones for every split."""
        files = _table_files(release)
        about = dict(_about(release))
        for table_id, (place, _) in about.items():
            if table_id not in files:
                raise DataError(f"{place}: table_id {table_id!r} has no file in tables/")
        for table_id in [*about, *sorted(files.keys() - about.keys())]:
            header, rows = read_table_file(release, files[table_id])
            place, record = about.get(table_id, ("", {}))
            context = {"title": Path(table_id).name} | {
                name: value for name, value in record.items() if name not in ("table_id", "grid")
            }
            grid = declaration.cell_grid(record, place) if "grid" in record else None
            yield Table(TableId("0", table_id), header, rows, context, grid)

    def queries(self, release: Release, split: str) -> Iterable[Query]:
        """Return the queries of ``queries.jsonl`` that belong to the split."""
        return queries_of(release, release.require(_QUERIES), split)


def queries_of(
    release: Release,
    path: Path,
    split: str,
    database_id: str = "0",
    gold_of: GoldOf | None = None,
) -> Iterator[Query]:
    """Yield the queries of a JSON-lines file that belong to a split (default: test)."""
    for place, record in release.json_lines(path):
        if split_of(record, place) == split:
            yield query(record, place, database_id, gold_of)


def splits_of(release: Release, path: Path) -> list[str]:
    """Return the splits that the queries of a JSON-lines file name."""
    return list(dict.fromkeys(split_of(r, place) for place, r in release.json_lines(path)))


def _splits(release: Release) -> list[str]:
    path = release.find(_QUERIES)
    return splits_of(release, path) if path else []


def _about(release: Release) -> Iterator[tuple[str, tuple[str, Mapping[str, Any]]]]:
    """Yield (table id, (place, record)) of ``tables.jsonl``."""
    path = release.find(_ABOUT)
    seen = set()
    for place, record in release.json_lines(path) if path else ():
        table_id = identifier(field(record, "table_id", object, place), "table_id", place)
        if table_id in seen:
            raise DataError(f"{place}: table_id {table_id!r} occurs twice")
        seen.add(table_id)
        yield table_id, (place, record)


def _table_files(release: Release) -> dict[str, Path]:
    """Return table id -> its file.

    Raises:
        DataError: two files have the same name but for the suffix, a file in ``tables/`` is in no
            format that is read, or a link there leads to a folder or to nothing.
    """
    inside = release.matching("tables/**/*")
    _check_links(release.folder / "tables")
    base = release.folder / "tables" if inside else release.folder
    found: dict[str, Path] = {}
    for path in inside or release.matching("*"):
        name = path.relative_to(base).as_posix()
        suffix = _suffix(name)
        if suffix is None or _is_hidden(name) or (not inside and _is_no_table(name)):
            if inside and not _is_hidden(name) and not name.lower().endswith(".md"):
                raise DataError(
                    f"{path}: tables/ holds {', '.join(TABLE_SUFFIXES)} (and .gz of all but "
                    "Parquet). "
                    "Convert this file to one of them, or move it elsewhere."
                )
            continue
        table_id = name.removesuffix(name[-len(suffix) :])
        if table_id in found:
            raise DataError(f"{path}: {found[table_id].name} is the same table; keep one of them")
        found[table_id] = path
    return found


def _check_links(folder: Path) -> None:
    """Refuse links to folders, whose tables would be left out."""
    for path in sorted(folder.rglob("*")):
        if path.is_symlink() and path.is_dir() and not _is_hidden(path.name):
            raise DataError(
                f"{path}: a link to a folder, which is not searched. Put its files there, or "
                "remove the link."
            )


def _suffix(name: str) -> str | None:
    return next((s for s in (*_GZIPPED, *TABLE_SUFFIXES) if name.lower().endswith(s)), None)


def _is_hidden(name: str) -> bool:
    return any(part.startswith(".") for part in name.split("/"))


def _is_no_table(name: str) -> bool:
    base = name.removesuffix(".gz")
    return base in (_QUERIES, _ABOUT) or base.endswith(f".{_QUERIES}")


def read_table_file(release: Release, path: Path) -> Grid:
    """Return header and rows of a file: CSV, TSV, Parquet or JSON lines.

    Raises:
        DataError: it is broken; the message names file and line.
    """
    suffix = (_suffix(path.name) or "").removesuffix(".gz")
    if suffix == ".parquet":
        return arrow_grid(parquet_table(release, path), str(path))
    if suffix == ".jsonl":
        return _from_records(path, release.json_lines(path))
    return _from_csv(release, path, "\t" if suffix == ".tsv" else ",")


def _from_csv(release: Release, path: Path, delimiter: str) -> Grid:
    return csv_grid(release, str(path), release.text(path), delimiter=delimiter, strict=True)


def _from_records(path: Path, records: Iterable[tuple[str, Any]]) -> Grid:
    """Return header and rows from objects; a name that an object lacks is an empty cell."""
    header: dict[str, None] = {}
    found = []
    for place, record in records:
        if not isinstance(record, dict):
            raise DataError(f"{place}: expected one object per row, found {type(record).__name__}")
        header.update(dict.fromkeys(record))
        found.append((place, record))
    if not header:
        raise DataError(f"{path}: no row names any column")
    rows = []
    for place, record in found:
        try:
            rows.append(cells([record.get(name) for name in header]))
        except TypeError as error:
            raise DataError(f"{place}: {error}") from error
    return list(header), rows


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
