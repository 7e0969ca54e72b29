"""Questions with SQL on the databases of a release, as Spider and BIRD have them.

A release has schemas (``tables.json``) and databases, ``database/<db>/<db>.sqlite``, plain, packed
one by one or all.
"""

import re
import shutil
import zipfile
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from functools import cache, cached_property, partial
from pathlib import Path, PurePosixPath
from typing import IO, Any, ClassVar, NamedTuple

from target_bench.core.declarations import MAIN, Hub
from target_bench.core.errors import DataError
from target_bench.core.release import CorpusLoader, Release, field
from target_bench.core.schema import Query, Table, TableId
from target_bench.data.databases.built_files import build_file, build_sqlite
from target_bench.data.databases.stored_tables import LazyRows, StoredTable, read_stored_tables
from target_bench.sql.databases import quote

_SQL_TYPES = {"number": "NUMERIC", "time": "TEXT", "others": "", "boolean": "BOOLEAN"}  # Spider's
_RESERVED = "sqlite_"  # how the names of SQLite's own tables begin
_PLAIN = re.compile(r"[^/\\\0:]+")


class SQLRelease(CorpusLoader):
    """Load the tables of databases, and questions whose answers are SQL on them."""

    cached = False
    folders: ClassVar[Mapping[str, tuple[str, ...]]]  # split -> where its databases lie
    archives: ClassVar[tuple[str, ...]]  # zip files that may hold them, without .zip

    @abstractmethod
    def read_schemas(self, release: Release, split: str) -> Mapping[str, "Schema"]:
        """Return the schemas of the databases of a split, by their ids."""

    @abstractmethod
    def read_questions(self, release: Release, split: str) -> Iterator[tuple[str, Query]]:
        """Yield (place, question) with its SQL as answer, without gold tables."""

    def describe_columns(
        self,
        release: Release,  # noqa: ARG002 (for releases with descriptions)
        databases: "DatabaseFolder",  # noqa: ARG002
        name: str,  # noqa: ARG002
    ) -> "Descriptions":
        """Return what the columns of a database hold."""
        return {}

    def tables(self, release: Release, split: str) -> Iterable[Table]:
        """Yield the tables of the split by database; its question file may be missing."""
        databases = self._find_databases(release, split)
        for name, schema in self.read_schemas(release, split).items():
            described = self.describe_columns(release, databases, name)
            yield from _build_tables(schema, databases.find(name), described)

    def queries(self, release: Release, split: str) -> Iterable[Query]:
        """Yield the questions of the split with the tables that their SQL reads."""
        databases = self._find_databases(release, split)
        schemas = self.read_schemas(release, split)
        find_database = cache(databases.find)
        for place, query in self.read_questions(release, split):
            name, sql = query.database_id, str(query.answer)
            yield replace(query, gold=_find_gold(sql, schemas[name], find_database(name), place))

    def databases(self, release: Release, split: str) -> Mapping[str, Path]:
        """Return the database files of the split that are here."""
        databases = self._find_databases(release, split)
        files = {name: databases.find(name) for name in self.read_schemas(release, split)}
        return {name: file.path for name, file in files.items() if file}

    def _find_databases(self, release: Release, split: str) -> "DatabaseFolder":
        return DatabaseFolder(release, self.folders[split], self.archives)


def target_copies(
    corpus: str, split: str, tables: str = MAIN, queries: str = MAIN
) -> tuple[Hub, Hub]:
    """Return where TARGET's copies of the databases and questions of a split lie on the hub."""
    name = f"target-benchmark/{corpus}"
    # database by database: its JSON files hold the same rows once more, 1.93 GB for BIRD
    return (
        Hub(f"{name}-corpus-{split}", f"{split}_database/*/*.sqlite", tables),
        Hub(f"{name}-queries-{split}", f"{corpus}-queries-{split}.json", queries),
    )


class DatabaseFile(NamedTuple):
    """A database file, unpacked if need be, and what tells its content from any other."""

    path: Path
    version: str


class DatabaseFolder:
    """The databases of a release, in folders or in zip archives, found by their ids."""

    def __init__(self, release: Release, folders: Sequence[str], archives: Sequence[str]) -> None:
        self._release = release
        self._folders = folders
        self._archives = archives

    def find(self, name: str) -> DatabaseFile | None:
        """Return the database of this id, unpacked if need be, or None if it is not here."""
        if not _PLAIN.fullmatch(name) or name in (".", ".."):
            raise DataError(f"{self._release.folder}: database id {name!r} is not a plain name")
        for folder in self._folders:
            path = self._release.find(f"{folder}/{name}/{name}.sqlite")
            if path is not None and path.suffix == ".sqlite":
                return DatabaseFile(path, self._hash(path))
            if path is not None:
                return self._unpack(name, self._hash(path), partial(self._release.open, path))
        if f"{name}/{name}.sqlite" not in self._members:
            return None
        archive, member = self._members[f"{name}/{name}.sqlite"]
        version = f"{self._hash(archive)}, {member}"
        return self._unpack(name, version, partial(_open_member, archive, member))

    def descriptions(self, name: str) -> Iterator[tuple[str, str, bytes]]:
        """Yield (place, table, content) of the CSV files in ``<db>/database_description/``."""
        seen = set()
        for folder in self._folders:
            for path in self._release.matching(f"{folder}/{name}/database_description/*.csv"):
                seen.add(path.name)
                yield str(path), path.stem, self._release.content(path)
        for inner, (path, member) in self._members.items():
            parts = PurePosixPath(inner)
            if parts.parent.as_posix() == f"{name}/database_description" and parts.name not in seen:
                with _open_member(path, member) as file:
                    yield f"{path}, {member}", parts.stem, file.read()

    def _unpack(
        self, name: str, version: str, content: Callable[[], AbstractContextManager[IO[bytes]]]
    ) -> DatabaseFile:
        def write(new: Path) -> None:
            with content() as packed, new.open("wb") as file:
                shutil.copyfileobj(packed, file)

        return DatabaseFile(build_file(name, version, write), version)

    def _hash(self, path: Path) -> str:
        self._release.note(path)
        return self._release.hashes[self._release.relative(path)]

    @cached_property
    def _members(self) -> Mapping[str, tuple[Path, str]]:
        """``<db>/<file>`` and ``<db>/<folder>/<file>`` -> (archive, name in it)."""
        members: dict[str, tuple[Path, str]] = {}
        for name in self._archives:
            path = self._release.find(name)
            if path is None or path.suffix != ".zip":
                continue
            with _open_archive(path) as archive:
                names = [n for n in archive.namelist() if not n.startswith("__MACOSX")]
            for member in names:
                parts = PurePosixPath(member).parts
                depth = 2 if member.endswith(".sqlite") else 3
                if len(parts) >= depth and member.endswith((".sqlite", ".csv")):
                    members.setdefault("/".join(parts[-depth:]), (path, member))
        return members


@contextmanager
def _open_archive(path: Path) -> Iterator[zipfile.ZipFile]:
    try:
        with zipfile.ZipFile(path) as archive:
            yield archive
    except (zipfile.BadZipFile, EOFError, RuntimeError, NotImplementedError) as error:
        raise DataError(
            f"{path}: the file is truncated or damaged ({error}). Download it again."
        ) from error


@contextmanager
def _open_member(path: Path, member: str) -> Iterator[IO[bytes]]:
    with _open_archive(path) as archive, archive.open(member) as file:
        yield file


class DeclaredTable(NamedTuple):
    """A table of a schema, and what people call it and its columns (by name in lower case)."""

    stored: StoredTable
    title: str
    columns: Mapping[str, str]


@dataclass(frozen=True)
class Schema:
    """The schema of a database: its id and its tables."""

    id: str
    tables: tuple[DeclaredTable, ...]

    @cached_property
    def empty_database(self) -> Path:
        """A SQLite file of the database without rows."""
        script = ";\n".join(table.stored.schema for table in self.tables) + ";\n"
        return build_sqlite(f"{self.id}-schema", script)


def read_schemas(release: Release, path: Path) -> dict[str, Schema]:
    """Return the schemas of a ``tables.json`` by database id, in the order of the file."""
    by_id: dict[str, Schema] = {}
    for place, record in release.json_list(path, "schema"):
        name = field(record, "db_id", str, place)
        if name in by_id:
            raise DataError(f"{place}: db_id {name!r} occurs twice")
        by_id[name] = Schema(name, tuple(_read_tables(record, f"{path}, database {name}")))
    return by_id


def _read_tables(record: Mapping[str, Any], place: str) -> Iterator[DeclaredTable]:
    names = field(record, "table_names_original", list, place)
    titles = field(record, "table_names", list, place)
    originals = field(record, "column_names_original", list, place)
    readable = field(record, "column_names", list, place)
    types = field(record, "column_types", list, place)
    primary = field(record, "primary_keys", list, place)
    foreign = field(record, "foreign_keys", list, place)
    if len(names) != len(titles) or not len(originals) == len(readable) == len(types):
        raise DataError(
            f"{place}: {len(names)} table_names_original, {len(titles)} table_names; "
            f"{len(originals)} column_names_original, {len(readable)} column_names, "
            f"{len(types)} column_types: they should be as many"
        )
    try:
        columns = [(owner, str(name)) for owner, name in originals]
        column_titles = [str(title) for _, title in readable]
        keys = sorted({i for key in primary for i in (key if isinstance(key, list) else [key])})
        links = [(*columns[i], str(names[columns[j][0]]), columns[j][1]) for i, j in foreign]
        for number, (name, title) in enumerate(zip(map(str, names), titles, strict=True)):
            if name.lower().startswith(_RESERVED):
                continue
            here = [i for i, (owner, _) in enumerate(columns) if owner == number]
            header = tuple(columns[i][1] for i in here)
            kinds = tuple(str(types[i]) for i in here)
            key = tuple(columns[i][1] for i in keys if columns[i][0] == number)
            links_here = [link[1:] for link in links if link[0] == number]
            stored = StoredTable(
                name,
                quote(name),
                header,
                kinds,
                key,
                tuple((column, f"{table}.{to}") for column, table, to in links_here),
                _write_statement(name, header, kinds, key, links_here),
            )
            called = {columns[i][1].lower(): column_titles[i] for i in here}
            yield DeclaredTable(stored, str(title), called)
    except (TypeError, ValueError, IndexError) as error:
        raise DataError(f"{place}: columns and keys make no schema: {error}") from error


def _write_statement(
    name: str,
    header: tuple[str, ...],
    types: tuple[str, ...],
    primary_key: tuple[str, ...],
    foreign_keys: list[tuple[str, str, str]],
) -> str:
    """Return CREATE TABLE with columns and keys."""
    columns: dict[str, tuple[str, str]] = {}
    for column, kind in zip(header, types, strict=True):
        columns.setdefault(column.lower(), (column, kind))  # a name twice would be refused
    lines = [
        f"{quote(column)} {_SQL_TYPES.get(kind, kind.upper())}".rstrip()
        for column, kind in columns.values()
    ]
    if primary_key:
        lines.append(f"PRIMARY KEY ({', '.join(map(quote, primary_key))})")
    lines += [
        f"FOREIGN KEY ({quote(column)}) REFERENCES {quote(table)} ({quote(to)})"
        for column, table, to in foreign_keys
    ]
    inner = ",\n".join(f"  {line}" for line in lines)
    return f"CREATE TABLE {quote(name)} (\n{inner}\n)"


Descriptions = Mapping[str, Mapping[str, str]]
"""Table -> column -> what it holds; both names in lower case."""


def _build_tables(
    schema: Schema, file: DatabaseFile | None, descriptions: Descriptions | None = None
) -> Iterator[Table]:
    """Yield the tables of a database, in the order and spelling of its schema."""
    stored = _list_stored(file)
    for declared, title, called in schema.tables:
        there = stored.get(declared.name.lower())
        header = (there or declared).header
        rows = LazyRows(file.path, there.source, file.version) if file and there else ()
        texts = (descriptions or {}).get(declared.name.lower(), {})
        described = {name: texts[name.lower()] for name in header if name.lower() in texts}
        context = {
            "title": title,
            "columns": [called.get(name.lower(), name) for name in header],
            **declared.context,  # keys are those that either names
            **(there.context if there else {}),
            **({"column_descriptions": described} if described else {}),
        }
        yield Table(TableId(schema.id, declared.name), header, rows, context)


def _list_stored(file: DatabaseFile | None) -> dict[str, StoredTable]:
    """Return the tables of a database file by lower-case name; of one that cannot be read, none."""
    try:
        tables = read_stored_tables(file.path, first_rows=True) if file else []
    except DataError:  # reading the corpus reports it, and its queries are not run
        return {}
    return {table.name.lower(): table for table in tables}


def _find_gold(
    sql: str, schema: Schema, file: DatabaseFile | None, place: str
) -> tuple[TableId, ...]:
    """Return the tables that gold SQL needs, in the order and spelling of the schema."""
    from target_bench.sql.gold_tables import gold_tables

    try:
        # on a database without rows, so that gold is the same whichever databases are here
        names = gold_tables(sql, schema.empty_database)
    except (ValueError, DataError) as error:
        if file is None:
            raise DataError(f"{place}: SQLite cannot compile the gold SQL: {error}") from error
        try:
            names = gold_tables(sql, file.path)
        except ValueError as again:
            raise DataError(f"{place}: SQLite cannot compile the gold SQL: {again}") from again
    spelled = {table.stored.name.lower(): table.stored.name for table in schema.tables}
    gold = tuple(TableId(schema.id, spelled[n.lower()]) for n in names if n.lower() in spelled)
    if not gold:
        raise DataError(f"{place}: the gold SQL reads no table of {schema.id}: {sql!r:.200}")
    return gold
