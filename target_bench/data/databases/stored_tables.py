"""The tables of a database file: what it declares of them, and their rows.

Rows are read when they are asked for and never all at once. Nothing is kept open: each reading
opens the file and closes it, so rows can be pickled, sent to another process and held by the
thousand.
"""

import sqlite3
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any, ClassVar, overload

from target_bench.core.errors import DataError
from target_bench.core.interfaces import Corpus
from target_bench.core.schema import Cell, Query
from target_bench.data.formats.cells import PLAIN, cells
from target_bench.sql.engines.databases import quoted


@dataclass(frozen=True, slots=True)
class StoredTable:
    """A table as its database declares it.

    Attributes:
        name: its name; of a DuckDB table outside the schema ``main``, ``schema.name``.
        source: the name as SQL writes it.
        header: the names of its columns.
        types: their declared types, empty where none is declared.
        primary_key: the columns of the primary key, in its order.
        foreign_keys: (column, ``table.column`` it refers to) pairs; the table alone where no
            column is declared.
        schema: the CREATE TABLE statement.
    """

    name: str
    source: str
    header: tuple[str, ...]
    types: tuple[str, ...]
    primary_key: tuple[str, ...]
    foreign_keys: tuple[tuple[str, str], ...]
    schema: str

    @property
    def context(self) -> dict[str, Any]:
        """Keys, types and statement as a table's context has them; what is empty is left out."""
        found = {
            "primary_key": list(self.primary_key),
            "foreign_keys": [list(pair) for pair in self.foreign_keys],
            "column_types": list(self.types) if any(self.types) else [],
            "schema": self.schema,
        }
        return {name: value for name, value in found.items() if value}


def is_duckdb(path: Path) -> bool:
    """Return whether a file is a DuckDB database, by its first bytes.

    Raises:
        DataError: it cannot be read.
    """
    try:
        with path.open("rb") as file:
            return file.read(12)[8:] == b"DUCK"
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror}") from error


@contextmanager
def opened(path: Path) -> Iterator[Any]:
    """Open a database file, for reading alone.

    Bytes of text that are not UTF-8 come as backslash, x and two digits. No file is left beside the
    database.

    Raises:
        DataError: it cannot be opened, or what is done inside fails; the message names the file.
    """
    if is_duckdb(path):
        from target_bench.data.databases.duckdb_files import opened_duckdb as opened_file
    else:
        from target_bench.sql.engines.databases import opened as opened_file
    with opened_file(path) as database:
        yield database


def stored_tables(path: Path) -> list[StoredTable]:
    """Return the base tables of a database file, in the order of their names.

    Raises:
        DataError: it cannot be read.
    """
    with opened(path) as database:
        if not is_duckdb(path):
            return list(_sqlite_tables(database))
        from target_bench.data.databases.duckdb_files import declared_tables

        return [StoredTable(*declared) for declared in declared_tables(database)]


def sound_tables(path: Path) -> list[StoredTable]:
    """Return the base tables after reading a first row of each; a damaged one raises.

    Raises:
        DataError: it, or one of its tables, cannot be read.
    """
    tables = stored_tables(path)
    with opened(path) as database:
        for table in tables:
            database.execute(f"SELECT * FROM {table.source} LIMIT 1").fetchone()  # noqa: S608 (quoted)
    return tables


def _sqlite_tables(database: sqlite3.Connection) -> Iterator[StoredTable]:
    found = database.execute(
        "SELECT name, sql FROM sqlite_master WHERE type = 'table' "
        "AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY name"
    ).fetchall()
    for name, schema in found:
        columns = database.execute(
            "SELECT name, type, pk FROM pragma_table_info(?)", (name,)
        ).fetchall()
        types = {column: kind for column, kind, _ in columns}
        header = _header(database, f"{quoted(name)} NOT INDEXED")
        foreign = database.execute(
            'SELECT "from", "table", "to" FROM pragma_foreign_key_list(?)', (name,)
        ).fetchall()
        yield StoredTable(
            name,
            f"{quoted(name)} NOT INDEXED",  # the rows as they are stored, not as an index has them
            header,
            tuple(types.get(column, "") for column in header),
            tuple(column for column, _, place in sorted(columns, key=lambda c: c[2]) if place),
            tuple((column, f"{table}.{to}" if to else table) for column, table, to in foreign),
            schema or "",
        )


def _header(database: Any, source: str) -> tuple[str, ...]:
    cursor = database.execute(f"SELECT * FROM {source} LIMIT 0")  # noqa: S608 (quoted)
    return tuple(column[0] for column in cursor.description)


BATCH = 1000
"""How many rows are read at a time."""

Row = Sequence[Cell]


@dataclass(frozen=True, repr=False, eq=False)
class LazyRows(Sequence[Row]):
    """The rows of one table of a SQLite or DuckDB file, in storage order.

    A slice is a view of the same kind. Like a list, they are equal to any sequence of equal rows.

    Args:
        path: the database file.
        source: the table as SQL writes it.
        version: what tells this state of the database from any other, such as its SHA-256.
        start: the first row of the view.
        limit: how many rows the view has at most; None for all.

    Raises (when they are read):
        DataError: the file is gone, locked or damaged, or a value has no form as a cell.
    """

    advised: ClassVar[int] = 1000
    """How many rows are worth indexing; what ``rows=auto`` of a serializer means."""

    path: Path
    source: str
    version: str
    start: int = 0
    limit: int | None = None

    @property
    def content(self) -> list[Any]:
        """Representation of the rows where their content is hashed."""
        return [self.version, self.source, self.start, self.limit]

    def __repr__(self) -> str:
        return f"LazyRows({str(self.path)!r}, {self.source!r})"

    @cached_property
    def _length(self) -> int:
        if self.limit is None and not self.start:
            counted = self.source
        else:
            counted = f"(SELECT 1 FROM {self.source}{self._window(self.start, self.limit)})"  # noqa: S608 (quoted)
        with opened(self.path) as database:
            (n,) = database.execute(f"SELECT count(*) FROM {counted}").fetchone()  # noqa: S608 (names are quoted)
        return int(n)

    def __len__(self) -> int:
        return self._length

    def __bool__(self) -> bool:
        """Return whether there is a row; cheaper than counting them."""
        if "_length" in vars(self):
            return self._length > 0
        return bool(list(self._read(self.start, 1 if self.limit is None else min(1, self.limit))))

    def __iter__(self) -> Iterator[Row]:
        return chain.from_iterable(self._batches(self.start, self.limit))

    @overload
    def __getitem__(self, index: int) -> Row: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Row]: ...
    def __getitem__(self, index: int | slice) -> Row | Sequence[Row]:
        if isinstance(index, slice):
            return self._slice(index)
        place = index if index >= 0 else index + len(self)
        if place < 0 or (self.limit is not None and place >= self.limit):
            raise IndexError(f"row {index} of {len(self)}")
        return self._row(place, index)

    def _row(self, place: int, asked: int) -> Row:
        ahead: tuple[int, list[Row]] = vars(self).get("_ahead", (0, []))
        first, batch = ahead
        if not first <= place < first + len(batch):
            left = BATCH if self.limit is None else min(BATCH, self.limit - place)
            first, batch = place, list(self._read(self.start + place, left))
            vars(self)["_ahead"] = (first, batch)
            if not batch:
                raise IndexError(f"row {asked} of {len(self)}")
        return batch[place - first]

    def _slice(self, index: slice) -> Sequence[Row]:
        start, stop, step = index.start or 0, index.stop, index.step
        if step not in (None, 1):
            return [self[i] for i in range(*index.indices(len(self)))]
        if start < 0 or stop is None or stop < 0:  # its end is not known without counting
            start, stop, _ = index.indices(len(self))
        elif self.limit is not None:
            stop = min(stop, self.limit)
        return replace(self, start=self.start + start, limit=max(0, stop - start))

    def _read(self, start: int, limit: int | None) -> Iterator[Row]:
        return chain.from_iterable(self._batches(start, limit))

    def _batches(self, start: int, limit: int | None) -> Iterator[list[Row]]:
        with opened(self.path) as database:
            cursor = database.execute(f"SELECT * FROM {self.source}{self._window(start, limit)}")  # noqa: S608 (names are quoted)
            while found := cursor.fetchmany(BATCH):
                yield [self._cells(row) for row in found]

    def _window(self, start: int, limit: int | None) -> str:
        if limit is not None:
            return f" LIMIT {limit} OFFSET {start}"
        if not start:
            return ""
        return f" OFFSET {start}" if is_duckdb(self.path) else f" LIMIT -1 OFFSET {start}"

    def _cells(self, row: tuple[Any, ...]) -> Row:
        try:
            return list(row if PLAIN.issuperset(map(type, row)) else cells(row))
        except TypeError as error:
            raise DataError(f"{self.path}, table {self.source}: {error}") from error

    def __eq__(self, other: object) -> bool:
        if isinstance(other, LazyRows) and (self.path, self.content) == (other.path, other.content):
            return True
        if not isinstance(other, Sequence) or isinstance(other, str | bytes):
            return NotImplemented
        return len(self) == len(other) and all(map(_equal, self, other))

    __hash__ = None  # type: ignore[assignment]  # as a list has none

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_ahead"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)


def _equal(one: Row, other: object) -> bool:
    return isinstance(other, Sequence) and list(one) == list(other)


_NAMED = 12
"""How many tables or databases a note names at most."""


def database_notes(
    corpus: Corpus, queries: Sequence[Query], there: Mapping[str, Path]
) -> list[str]:
    """Return notes for the user about databases: missing or damaged ones, empty tables.

    Args:
        corpus: the tables.
        queries: those that may be about a task that runs SQL.
        there: database id -> its file.
    """
    asked = Counter(query.database_id for query in queries)
    n_tables = Counter(table_id.database_id for table_id in corpus.ids)
    missing = [name for name in asked if name not in there]
    notes = []
    if missing:
        notes.append(
            f"{len(missing)} of {len(asked)} databases are not here ({_some(missing)}): their "
            f"{sum(n_tables[name] for name in missing)} tables are known by their schema alone, "
            f"and the {sum(asked[name] for name in missing)} queries on them cannot be run"
        )
    damaged: dict[str, DataError] = {}
    empty = []
    for name, file in there.items():
        try:
            sound_tables(file)
        except DataError as error:
            damaged[name] = error
    for table_id in corpus.ids:
        if table_id.database_id in there and table_id.database_id not in damaged:
            try:
                empty += [] if corpus[table_id].rows else [str(table_id)]
            except DataError as error:
                damaged[table_id.database_id] = error
    notes += [
        f"{error} The {asked[name]} queries on {name} are not run"
        for name, error in damaged.items()
        if asked[name]
    ]
    if empty:
        notes.append(f"tables without rows: {_some(empty)}")
    return notes


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more
