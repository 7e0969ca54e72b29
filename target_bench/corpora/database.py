"""The tables of one SQLite or DuckDB file, with queries from a JSON-lines file beside it."""

import hashlib
from collections.abc import Iterable, Mapping
from pathlib import Path

from target_bench.corpora import own
from target_bench.corpora.folder import queries_of, splits_of
from target_bench.corpora.lazy_rows import LazyRows
from target_bench.corpora.stored import is_duckdb, stored_tables
from target_bench.errors import DataError
from target_bench.interfaces import CorpusLoader
from target_bench.release import Release
from target_bench.schema import Query, Table, TableId

SUFFIXES = (".sqlite", ".sqlite3", ".db", ".duckdb")


class DatabaseFile(CorpusLoader):
    """The base tables of a database, cells with their own types, rows in storage order.

    A table's id is the database's file name without suffix and the table's name; its title is the
    table's name, and its context holds primary and foreign keys, the types of the columns and the
    CREATE TABLE statement. Rows stay in the file until they are asked for.

    Args:
        path: the database file; it is opened read-only.
        queries: the queries; default: ``<name>.queries.jsonl`` or ``queries.jsonl`` beside it.
            Answers in SQL make them questions of the task text-to-SQL.

    Raises:
        DataError: there is no such file.
    """

    cached = False

    def __init__(self, path: Path, queries: Path | None = None) -> None:
        if not path.is_file():
            raise DataError(f"{path}: there is no such file")
        self.path = path
        self.embedded = path.parent
        self._queries = queries
        release = Release(path.parent, str(path))
        found = self._find_queries(release)
        splits = splits_of(release, found) if found else ()
        self.info = own.info(path, splits, with_database=True)

    def tables(self, release: Release, split: str) -> Iterable[Table]:  # noqa: ARG002
        """Every base table, in the order of their names."""
        release.note(self.path)
        wal = release.find(f"{self.path.name}{'.' if is_duckdb(self.path) else '-'}wal")
        if wal is not None:  # what was written but is not in the file itself yet
            release.note(wal)
        version = hashlib.sha256("".join(release.hashes.values()).encode()).hexdigest()
        for table in stored_tables(self.path):
            yield Table(
                TableId(self.path.stem, table.name),
                table.header,
                LazyRows(self.path, table.source, version),
                {"title": table.name} | table.context,
            )

    def queries(self, release: Release, split: str) -> Iterable[Query]:
        """The queries of the file beside it; their gold tables are names of its tables."""
        path = self._find_queries(release)
        if path is None:
            release.require(f"{self.path.stem}.queries.jsonl", "queries.jsonl")
            return []
        return queries_of(release, path, split, self.path.stem)

    def databases(self, release: Release, split: str) -> Mapping[str, Path]:  # noqa: ARG002
        """The file itself."""
        return {self.path.stem: self.path}

    def _find_queries(self, release: Release) -> Path | None:
        if self._queries is None:
            return release.find(f"{self.path.stem}.queries.jsonl") or release.find("queries.jsonl")
        if not self._queries.is_file():
            raise DataError(f"{self._queries}: there is no such file")
        return self._queries
