"""SQLite and DuckDB files, one or a folder of them, with queries from a JSON-lines file beside."""

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from target_bench.core.errors import DataError
from target_bench.core.files import dead_link
from target_bench.core.release import Release
from target_bench.core.schema import Query, Table, TableId
from target_bench.core.unicode_text import compose
from target_bench.data.databases.stored_tables import (
    LazyRows,
    StoredTable,
    is_duckdb,
    open_database,
    read_stored_tables,
    read_view_names,
)
from target_bench.data.formats.file_tables import DATABASES, FileSettings, FileTable
from target_bench.data.formats.queries import FILES, OwnCorpus
from target_bench.sql.gold_tables import gold_tables

_VIEWS = (
    "views of databases are not read (CREATE TABLE name AS SELECT * FROM view makes one a table)"
)


class Databases(OwnCorpus):
    """The base tables of a database, or of all in a folder; rows stay in the files.

    A query names the database it is about in ``database_id``; where there is one, it need not.
    Where it names no gold tables, they are those that its answer, SQL, reads. Before the queries of
    the folder go those beside one file, ``<name>.queries.jsonl`` or ``.csv``.
    """

    cached = False
    has_databases = True

    def __init__(self, path: Path, settings: Mapping[str, Any] | None = None) -> None:
        self.path = path
        self._files = {compose(path.stem): path} if path.is_file() else _list_databases(path)
        super().__init__(path, settings)

    @classmethod
    def is_in(cls, folder: Path) -> bool:
        """Return whether there are databases in a folder."""
        return bool(_list_databases(folder))

    def tables(self, release: Release, split: str) -> Iterable[Table]:  # noqa: ARG002 (the contract's argument)
        """Yield every base table, database after database, in the order of their names."""
        for path in self._files.values():
            for table, rows in _read_base_tables(release, path):
                table_id = TableId(compose(path.stem), table.name)
                context = {"title": table.name} | table.context
                yield Table(table_id, table.header, rows, context)

    def queries(self, release: Release, split: str) -> Iterable[Query]:
        """Return the queries of the file of queries, if there is one."""
        only = next(iter(self._files)) if len(self._files) == 1 else "0"
        file = self._find_queries(release)
        return self._read_queries(release, file, split, only, self._find_gold) if file else ()

    def databases(self, release: Release, split: str) -> Mapping[str, Path]:  # noqa: ARG002 (the contract's argument)
        """Return the files, by their names."""
        return self._files

    def _find_queries(self, release: Release) -> Path | None:
        names = [f"{self.path.stem}.{file}" for file in FILES] if self.path.is_file() else []
        return next(filter(None, map(release.find, (*names, *FILES))), None)

    def _find_gold(self, sql: str, database_id: str, place: str) -> list[TableId]:
        """Return the ids of the tables that a statement reads."""
        advice = "Name the gold tables of the query in the field 'table_id'."
        file = self._files.get(database_id)
        if file is None:
            raise DataError(
                f"{place}: field 'database_id': unknown database {database_id!r}. Known: "
                f"{', '.join(self._files)}."
            )
        try:
            names = find_tables_read(sql, file)
        except ValueError as error:
            raise DataError(f"{place}: the answer cannot be compiled: {error}. {advice}") from error
        if not names:
            raise DataError(f"{place}: the answer reads no table: {sql[:200]!r}. {advice}")
        return [TableId(database_id, name) for name in names]


def _list_databases(folder: Path) -> dict[str, Path]:
    files: dict[str, Path] = {}
    for path in sorted(folder.iterdir()):
        if path.suffix.lower() not in DATABASES or path.name.startswith("."):
            continue
        if path.is_file():
            name = compose(path.stem)
            if name in files:
                raise DataError(f"{path}: {files[name].name} has the same name; rename one")
            files[name] = path
        elif fault := dead_link(path):
            raise DataError(fault)
    return files


def read_database(release: Release, path: Path, _: FileSettings) -> list[FileTable]:
    """Read the base tables of a database as tables of a folder."""
    return [
        FileTable(table.header, rows, table.name, context=table.context)
        for table, rows in _read_base_tables(release, path)
    ]


def _read_base_tables(release: Release, path: Path) -> Iterator[tuple[StoredTable, LazyRows]]:
    """Yield the base tables of a database; views are named in a note."""
    release.note(path)
    place = release.relative(path)
    hashes = [release.hashes[place]]
    wal = release.find(f"{place}{'.' if is_duckdb(path) else '-'}wal")
    if wal is not None:  # what was written but is not in the file itself yet
        release.note(wal)
        hashes.append(release.hashes[release.relative(wal)])
    version = hashlib.sha256("".join(hashes).encode()).hexdigest()
    for name in read_view_names(path):
        release.remark(_VIEWS, str(path), name)
    for table in read_stored_tables(path):
        yield table, LazyRows(path, table.source, version)


def find_tables_read(sql: str, path: Path) -> list[str]:
    """Return the names of the base tables that a query reads; views are resolved."""
    if not is_duckdb(path):
        return list(gold_tables(sql, path))
    import duckdb

    with open_database(path) as database:
        try:
            names = database.get_table_names(sql, qualified=True)
        except duckdb.Error as error:
            raise ValueError(str(error)) from error
    tables = {table.name.lower(): table.name for table in read_stored_tables(path)}
    used = set()
    for name in names:
        plain = name.partition(" AS ")[0].replace('"', "").lower()
        if plain not in tables:  # with the name of the database, as dbt writes it, or of its schema
            plain = plain.removeprefix(f"{path.stem.lower()}.").removeprefix("main.")
        if plain not in tables:
            raise ValueError(f"{plain} is no base table of {path.name}")
        used.add(plain)
    return [name for plain, name in tables.items() if plain in used]
