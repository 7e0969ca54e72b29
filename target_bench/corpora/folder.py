"""A user's own folder: a file a table, and ``queries.jsonl``."""

import csv
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from target_bench.corpora import own
from target_bench.corpora.cells import cells
from target_bench.corpora.target_layout import parquet_columns, parquet_records
from target_bench.errors import DataError
from target_bench.interfaces import CorpusLoader
from target_bench.release import Release, field
from target_bench.schema import CorpusInfo, Query, Table, TableId

_QUERIES = "queries.jsonl"
_ABOUT = "tables.jsonl"
_SUFFIXES = (".csv", ".tsv", ".parquet", ".jsonl")
_GZIPPED = (".csv.gz", ".tsv.gz", ".jsonl.gz")


class TableFolder(CorpusLoader):
    """``tables/`` (or the folder itself) with a CSV, TSV, Parquet or JSON-lines file a table.

    A table's id is its path under ``tables/`` without suffix, its title the file's name. Optional
    ``tables.jsonl`` says more, a line a table: ``table_id``, ``title``, ``section_title`` and
    whatever else is to be known; the tables it names come first, in its order.

    Args:
        folder: the folder.
        info: the corpus it is known to be; default: one named after the folder.
    """

    def __init__(self, folder: Path, info: CorpusInfo | None = None) -> None:
        self.embedded = folder
        self.info = info or own.info(folder, _splits(Release(folder, str(folder))))

    @classmethod
    def is_in(cls, folder: Path) -> bool:
        """Whether a folder has this layout."""
        return bool(_table_files(Release(folder, "")))

    def tables(self, release: Release, split: str) -> Iterable[Table]:
        """The tables, the same ones for every split."""
        files = _table_files(release)
        about = dict(_about(release))
        for table_id, (place, _) in about.items():
            if table_id not in files:
                raise DataError(f"{place}: table_id {table_id!r} has no file in tables/")
        for table_id in [*about, *sorted(files.keys() - about.keys())]:
            header, rows = _read(release, files[table_id])
            _, record = about.get(table_id, ("", {}))
            context = {"title": Path(table_id).name} | {
                name: value for name, value in record.items() if name != "table_id"
            }
            yield Table(TableId("0", table_id), header, rows, context)

    def queries(self, release: Release, split: str) -> Iterable[Query]:
        """The queries of ``queries.jsonl`` that belong to the split."""
        return queries_of(release, release.require(_QUERIES), split)


def queries_of(
    release: Release, path: Path, split: str, database_id: str = "0"
) -> Iterator[Query]:
    """The queries of a JSON-lines file that belong to a split; without ``split`` they are test."""
    for place, record in release.json_lines(path):
        if isinstance(record, dict) and record.get("split", own.DEFAULT_SPLIT) != split:
            continue
        yield own.query(record, place, database_id)


def splits_of(release: Release, path: Path) -> list[str]:
    """The splits that the queries of a JSON-lines file name."""
    records = (record for _, record in release.json_lines(path) if isinstance(record, dict))
    found = dict.fromkeys(record.get("split", own.DEFAULT_SPLIT) for record in records)
    return [split for split in found if isinstance(split, str)]


def _splits(release: Release) -> list[str]:
    path = release.find(_QUERIES)
    return splits_of(release, path) if path else []


def _about(release: Release) -> Iterator[tuple[str, tuple[str, Mapping[str, Any]]]]:
    """(table id, (place, record)) of ``tables.jsonl``."""
    path = release.find(_ABOUT)
    seen = set()
    for place, record in release.json_lines(path) if path else ():
        table_id = own.identifier(field(record, "table_id", object, place), "table_id", place)
        if table_id in seen:
            raise DataError(f"{place}: table_id {table_id!r} occurs twice")
        seen.add(table_id)
        yield table_id, (place, record)


def _table_files(release: Release) -> dict[str, Path]:
    """Table id -> its file.

    Raises:
        DataError: two files have the same name but for the suffix.
    """
    inside = release.matching("tables/**/*")
    base = release.folder / "tables" if inside else release.folder
    found: dict[str, Path] = {}
    for path in inside or release.matching("*"):
        suffix = next((s for s in (*_GZIPPED, *_SUFFIXES) if path.name.endswith(s)), None)
        named = path.name.removesuffix(".gz") in (_QUERIES, _ABOUT, f"{path.stem}.queries.jsonl")
        if suffix is None or path.name.startswith(".") or (named and not inside):
            continue
        table_id = path.relative_to(base).as_posix().removesuffix(suffix)
        if table_id in found:
            raise DataError(f"{path}: {found[table_id].name} is the same table; keep one of them")
        found[table_id] = path
    return found


Grid = tuple[Sequence[str], Sequence[Sequence[Any]]]


def _read(release: Release, path: Path) -> Grid:
    """Header and rows of a table file."""
    if path.name.endswith(".parquet"):
        return _from_records(path, parquet_records(release, path), parquet_columns(path))
    if ".jsonl" in path.suffixes:
        return _from_records(path, release.json_lines(path))
    return _from_csv(release, path, "\t" if ".tsv" in path.suffixes else ",")


def _from_csv(release: Release, path: Path, delimiter: str) -> Grid:
    reader = csv.reader(io.StringIO(release.text(path), newline=""), delimiter=delimiter)
    rows: list[list[str]] = []
    try:
        for row in reader:
            if rows and len(row) != len(rows[0]) and row:
                raise DataError(
                    f"{path}, line {reader.line_num}: {len(row)} cells under {len(rows[0])} "
                    "columns. Quote cells that hold the separator."
                )
            if row or not rows:
                rows.append(row)
    except csv.Error as error:
        raise DataError(f"{path}, line {reader.line_num}: {error}") from error
    if not rows or not rows[0]:
        raise DataError(f"{path}: the file is empty; its first line is the header")
    return rows[0], rows[1:]


def _from_records(
    path: Path, records: Iterable[tuple[str, Any]], columns: Sequence[str] = ()
) -> Grid:
    """Header and rows from objects; a name that an object lacks is an empty cell."""
    header: dict[str, None] = dict.fromkeys(columns)
    found = []
    for place, record in records:
        if not isinstance(record, dict):
            raise DataError(f"{place}: expected an object a row, found {type(record).__name__}")
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
