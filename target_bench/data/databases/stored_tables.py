"""The tables that a database file declares, and their rows, read when they are asked for.

Nothing is kept open: each reading opens the file and closes it, so rows can be pickled, sent to
another process and held by the thousand.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, overload

from target_bench.core.errors import DataError
from target_bench.core.schema import Cell
from target_bench.core.unicode_text import compose
from target_bench.data.formats.cells import convert_cells

if TYPE_CHECKING:
    from target_bench.sql.databases import Declared

BATCH = 1000
"""How many rows are read at a time."""

Row = Sequence[Cell]


@dataclass(frozen=True, slots=True)
class StoredTable:
    """A table as its database declares it."""

    name: str  # of a DuckDB table outside the schema main, schema.name
    source: str  # the name as SQL writes it
    header: tuple[str, ...]
    types: tuple[str, ...]  # empty text where none is declared
    primary_key: tuple[str, ...]
    foreign_keys: tuple[tuple[str, str], ...]  # (column, table.column it refers to)
    schema: str  # the CREATE TABLE statement

    @property
    def context(self) -> dict[str, Any]:
        """Keys, types and statement as a table's context has them; what is empty is left out."""
        entries = {
            "primary_key": list(self.primary_key),
            "foreign_keys": [list(pair) for pair in self.foreign_keys],
            "column_types": list(self.types) if any(self.types) else [],
            "schema": self.schema,
        }
        return {name: value for name, value in entries.items() if value}


def is_duckdb(path: Path) -> bool:
    """Return whether a file is a DuckDB database, by its first bytes."""
    from target_bench.sql.databases import find_engine

    return find_engine(path) == "duckdb"


@contextmanager
def open_database(path: Path) -> Iterator[Any]:
    """Open a database file for reading; no file is left beside it."""
    if not is_duckdb(path):
        from target_bench.sql.databases import open_sqlite

        with open_sqlite(path) as sqlite:
            yield sqlite
        return
    import duckdb

    try:
        with duckdb.connect(path, read_only=True) as database:
            yield database
    except duckdb.Error as error:
        raise DataError(f"{path}: cannot be read as DuckDB: {error}") from error


def read_stored_tables(path: Path, first_rows: bool = False) -> list[StoredTable]:
    """Return the base tables of a database file, in the order of their names."""
    from target_bench.sql.databases import declared_tables

    with open_database(path) as database:
        declared = _read_duckdb_tables if is_duckdb(path) else declared_tables
        tables = [StoredTable(*table) for table in declared(database)]
        for table in tables if first_rows else ():
            database.execute(f"SELECT * FROM {table.source} LIMIT 1").fetchone()  # noqa: S608 (quoted)
        return tables


def read_view_names(path: Path) -> list[str]:
    """Return the names of the views of a database file, which are no base tables."""
    query = (
        "SELECT view_name FROM duckdb_views() WHERE NOT internal AND "
        "database_name = current_database() ORDER BY 1"
        if is_duckdb(path)
        else "SELECT name FROM sqlite_master WHERE type = 'view' ORDER BY name"
    )
    with open_database(path) as database:
        return [str(name) for (name,) in database.execute(query).fetchall()]


def _read_duckdb_tables(database: Any) -> Iterator["Declared"]:
    from target_bench.sql.databases import quote

    declared = database.execute(
        "SELECT schema_name, table_name, sql FROM duckdb_tables() "
        "WHERE NOT internal AND database_name = current_database() "
        "ORDER BY schema_name, table_name"
    ).fetchall()
    for schema, name, statement in declared:
        source = f"{quote(schema)}.{quote(name)}"
        cursor = database.execute(f"SELECT * FROM {source} LIMIT 0")  # noqa: S608 (quoted)
        columns = [(column[0], str(column[1])) for column in cursor.description]
        constraints = database.execute(
            "SELECT constraint_type, constraint_column_names, referenced_table, "
            "referenced_column_names FROM duckdb_constraints() "
            "WHERE schema_name = ? AND table_name = ?",
            [schema, name],
        ).fetchall()
        yield (
            name if schema == "main" else f"{schema}.{name}",
            source,
            tuple(column for column, _ in columns),
            tuple(kind for _, kind in columns),
            tuple(key for kind, keys, *_ in constraints if kind == "PRIMARY KEY" for key in keys),
            tuple(
                (key, f"{table}.{to}")
                for kind, keys, table, targets in constraints
                if kind == "FOREIGN KEY"
                for key, to in zip(keys, targets, strict=True)
            ),
            statement or "",
        )


@dataclass(frozen=True, repr=False, eq=False)
class LazyRows(Sequence[Row]):
    """The rows of one table of a SQLite or DuckDB file, in storage order.

    A slice is a list of those rows alone. Like a list, they are equal to any sequence of equal
    rows. ``version`` tells this state of the file from any other.
    """

    advised: ClassVar[int] = 1000
    """How many rows are worth indexing; what ``rows=auto`` of a serializer means."""

    path: Path
    source: str
    version: str

    @property
    def content(self) -> list[Any]:
        """What stands for the rows where their content is hashed: from the first to the last."""
        return [self.version, self.source, 0, None]

    def __str__(self) -> str:
        """Return all rows, as a list does: a retriever may index ``str(table.rows)``."""
        return repr(list(self))

    @cached_property
    def _length(self) -> int:
        with open_database(self.path) as database:
            (n,) = database.execute(f"SELECT count(*) FROM {self.source}").fetchone()  # noqa: S608 (quoted)
        return int(n)

    def __len__(self) -> int:
        return self._length

    def __bool__(self) -> bool:
        return bool(self[:1])  # cheaper than counting them

    def __iter__(self) -> Iterator[Row]:
        return self._read("")

    @overload
    def __getitem__(self, index: int) -> Row: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Row]: ...
    def __getitem__(self, index: int | slice) -> Row | Sequence[Row]:
        if not isinstance(index, slice):
            return list(self._read_row(index))
        start, stop, step = index.start or 0, index.stop, index.step or 1
        if start < 0 or stop is None or stop < 0 or step != 1:  # needs the number of rows
            start, stop, step = index.indices(len(self))
        if step != 1:
            return list(self)[index]
        return list(self._read(f" LIMIT {max(0, stop - start)} OFFSET {start}"))

    def _read_row(self, index: int) -> Row:
        place = index if index >= 0 else index + len(self)
        if place < 0:
            raise IndexError(f"row {index} of {len(self)}")
        first, ahead = vars(self).get("_ahead", (0, ()))
        if not first <= place < first + len(ahead):  # the next rows are asked for next
            first, ahead = place, self[place : place + BATCH]
            vars(self)["_ahead"] = first, ahead
        if not ahead:
            raise IndexError(f"row {index} of {len(self)}")
        row: Row = ahead[place - first]
        return row

    def _read(self, window: str) -> Iterator[Row]:
        with open_database(self.path) as database:
            cursor = database.execute(f"SELECT * FROM {self.source}{window}")  # noqa: S608 (names are quoted)
            while batch := cursor.fetchmany(BATCH):
                try:
                    yield from [compose(list(convert_cells(row))) for row in batch]
                except TypeError as error:
                    raise DataError(f"{self.path}, table {self.source}: {error}") from error

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence) or isinstance(other, str | bytes):
            return NotImplemented
        return len(self) == len(other) and all(
            isinstance(theirs, Sequence) and list(row) == list(theirs)
            for row, theirs in zip(self, other, strict=True)
        )

    __hash__ = None  # type: ignore[assignment]  # as a list has none
