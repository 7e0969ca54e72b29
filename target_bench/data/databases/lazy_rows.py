"""The rows of a database table, read when they are asked for and never all at once.

Nothing is kept open: each reading opens the file and closes it, so rows can be pickled, sent to
another process and held by the thousand.
"""

import re
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any, ClassVar, overload

from target_bench.core.errors import DataError
from target_bench.core.schema import Cell
from target_bench.data.formats.cells import cells
from target_bench.sql.engines import sqlite_files
from target_bench.sql.engines.sqlite_files import quoted
from target_bench.sql.gold_tables import gold_tables


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
    with _opened_duckdb(path) if is_duckdb(path) else sqlite_files.opened(path) as database:
        yield database


def stored_tables(path: Path) -> list[StoredTable]:
    """Return the base tables of a database file, in the order of their names.

    Raises:
        DataError: it cannot be read.
    """
    with opened(path) as database:
        return list(_duckdb_tables(database) if is_duckdb(path) else _sqlite_tables(database))


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


def tables_read(sql: str, path: Path) -> list[str]:
    """Return the names of the base tables that a query reads, as ``stored_tables`` has them.

    Views are resolved to the tables under them.

    Raises:
        ValueError: it does not compile (in DuckDB: cannot be parsed) there.
        DataError: the file cannot be read.
    """
    if not is_duckdb(path):
        return list(gold_tables(sql, path))
    with opened(path) as database:
        tables = database.execute(
            "SELECT schema_name, table_name FROM duckdb_tables() "
            "WHERE NOT internal AND database_name = current_database() ORDER BY ALL"
        ).fetchall()
        views = database.execute(
            "SELECT schema_name, view_name, sql FROM duckdb_views() "
            "WHERE NOT internal AND database_name = current_database()"
        ).fetchall()
        named = _named_in_duckdb(database, sql)
        inside = {(schema, name): query for schema, name, query in views}
        while used := [view for view in inside if _is_named(view, named)]:
            for view in used:
                body = re.split(r"\sAS\s", inside.pop(view), maxsplit=1)[1]
                named |= _named_in_duckdb(database, body)
    read = [table for table in tables if _is_named(table, named)]
    return [name if schema == "main" else f"{schema}.{name}" for schema, name in read]


def _named_in_duckdb(database: Any, sql: str) -> set[str]:
    """Return the tables and views that a query names, in lower case, with schema if given."""
    import duckdb

    try:
        found = database.get_table_names(sql, qualified=True)
    except duckdb.Error as error:
        raise ValueError(str(error)) from error
    return {name.partition(" AS ")[0].replace('"', "").lower() for name in found}


def _is_named(table: tuple[str, str], named: set[str]) -> bool:
    schema, name = (part.replace('"', "").lower() for part in table)
    qualified = f"{schema}.{name}"
    return (
        qualified in named
        or (schema == "main" and name in named)
        or any(other.endswith(f".{qualified}") for other in named)
    )


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


@contextmanager
def _opened_duckdb(path: Path) -> Iterator[Any]:
    import duckdb

    try:
        with duckdb.connect(path, read_only=True) as database:
            yield database
    except duckdb.Error as error:
        raise DataError(f"{path}: cannot be read as DuckDB: {error}") from error


def _duckdb_tables(database: Any) -> Iterator[StoredTable]:
    found = database.execute(
        "SELECT schema_name, table_name, sql FROM duckdb_tables() "
        "WHERE NOT internal AND database_name = current_database() "
        "ORDER BY schema_name, table_name"
    ).fetchall()
    for schema, name, statement in found:
        source = f"{quoted(schema)}.{quoted(name)}"
        cursor = database.execute(f"SELECT * FROM {source} LIMIT 0")  # noqa: S608 (quoted)
        columns = [(column[0], str(column[1])) for column in cursor.description]
        primary, foreign = _duckdb_keys(database, schema, name)
        yield StoredTable(
            name if schema == "main" else f"{schema}.{name}",
            source,
            tuple(column for column, _ in columns),
            tuple(kind for _, kind in columns),
            primary,
            foreign,
            statement or "",
        )


def _duckdb_keys(
    database: Any, schema: str, name: str
) -> tuple[tuple[str, ...], tuple[tuple[str, str], ...]]:
    found = database.execute(
        "SELECT constraint_type, constraint_column_names, referenced_table, "
        "referenced_column_names FROM duckdb_constraints() "
        "WHERE schema_name = ? AND table_name = ?",
        [schema, name],
    ).fetchall()
    primary = (column for kind, columns, *_ in found if kind == "PRIMARY KEY" for column in columns)
    foreign = (
        (column, f"{table}.{to}")
        for kind, columns, table, targets in found
        if kind == "FOREIGN KEY"
        for column, to in zip(columns, targets, strict=True)
    )
    return tuple(primary), tuple(foreign)


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
            return list(cells(row))
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
