"""Database files: the tables that they declare, their rows, and files that are made in the cache.

Rows are read when they are asked for and never all at once. Nothing is kept open: each reading
opens the file and closes it, so rows can be pickled, sent to another process and held by the
thousand.

A file that is built from SQL text or unpacked lies in a folder named by what it was made from and
by its SHA-256. The folder is made beside its place and renamed when whole, so half a file is never
opened; a file is checked once per process before it is used.
"""

import atexit
import hashlib
import shutil
import sqlite3
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from functools import cache as once
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, overload

from target_bench.core.errors import DataError, StoreError
from target_bench.core.files import cache_root, digest, sha256_of
from target_bench.core.schema import Cell
from target_bench.core.unicode_text import compose
from target_bench.data.formats.cells import cells

if TYPE_CHECKING:
    from target_bench.sql.databases import Declared

DATABASES = "databases"
"""The folder of database files that were built or unpacked (``unpacked``)."""

FORMAT = 3
"""The version of the layout; of another version none is used."""

BATCH = 1000
"""How many rows are read at a time."""

_NO_ROOM = ("SQLITE_FULL", "SQLITE_CANTOPEN", "SQLITE_READONLY", "SQLITE_IOERR_WRITE")
Row = Sequence[Cell]


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
        entries = {
            "primary_key": list(self.primary_key),
            "foreign_keys": [list(pair) for pair in self.foreign_keys],
            "column_types": list(self.types) if any(self.types) else [],
            "schema": self.schema,
        }
        return {name: value for name, value in entries.items() if value}


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
    if not is_duckdb(path):
        from target_bench.sql.databases import opened as opened_sqlite

        with opened_sqlite(path) as sqlite:
            yield sqlite
        return
    import duckdb

    try:
        with duckdb.connect(path, read_only=True) as database:
            yield database
    except duckdb.Error as error:
        raise DataError(f"{path}: cannot be read as DuckDB: {error}") from error


def stored_tables(path: Path) -> list[StoredTable]:
    """Return the base tables of a database file, in the order of their names.

    Raises:
        DataError: it cannot be read.
    """
    from target_bench.sql.databases import declared_tables

    with opened(path) as database:
        declared = _duckdb_tables if is_duckdb(path) else declared_tables
        return [StoredTable(*table) for table in declared(database)]


def view_names(path: Path) -> list[str]:
    """Return the names of the views of a database file, which are no base tables.

    Raises:
        DataError: it cannot be read.
    """
    query = (
        "SELECT view_name FROM duckdb_views() WHERE NOT internal AND "
        "database_name = current_database() ORDER BY 1"
        if is_duckdb(path)
        else "SELECT name FROM sqlite_master WHERE type = 'view' ORDER BY name"
    )
    with opened(path) as database:
        return [str(name) for (name,) in database.execute(query).fetchall()]


def is_database(path: Path) -> bool:
    """Return whether a file begins as databases of SQLite or DuckDB do."""
    try:
        with path.open("rb") as file:
            start = file.read(16)
    except OSError:
        return False
    return start == b"SQLite format 3\0" or start[8:12] == b"DUCK"


def _duckdb_tables(database: Any) -> Iterator["Declared"]:
    """Yield the base tables of a database of DuckDB, in the order of their names."""
    from target_bench.sql.databases import quoted

    declared = database.execute(
        "SELECT schema_name, table_name, sql FROM duckdb_tables() "
        "WHERE NOT internal AND database_name = current_database() "
        "ORDER BY schema_name, table_name"
    ).fetchall()
    for schema, name, statement in declared:
        source = f"{quoted(schema)}.{quoted(name)}"
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


@dataclass(frozen=True, repr=False, eq=False)
class LazyRows(Sequence[Row]):
    """The rows of one table of a SQLite or DuckDB file, in storage order.

    They are read when they are asked for: a slice is a list of those rows alone. Like a list, they
    are equal to any sequence of equal rows.

    Args:
        path: the database file.
        source: the table as SQL writes it.
        version: what tells this state of the database from any other, such as its SHA-256.

    Raises (when they are read):
        DataError: the file is gone, locked or damaged, or a value has no form as a cell.
    """

    advised: ClassVar[int] = 1000
    """How many rows are worth indexing; what ``rows=auto`` of a serializer means."""

    path: Path
    source: str
    version: str

    @property
    def content(self) -> list[Any]:
        """Representation of the rows where their content is hashed: from the first to the last."""
        return [self.version, self.source, 0, None]

    def __str__(self) -> str:
        """Return all rows, as a list does: a retriever may index ``str(table.rows)``."""
        return repr(list(self))

    @cached_property
    def _length(self) -> int:
        with opened(self.path) as database:
            (n,) = database.execute(f"SELECT count(*) FROM {self.source}").fetchone()  # noqa: S608 (quoted)
        return int(n)

    def __len__(self) -> int:
        return self._length

    def __bool__(self) -> bool:
        """Return whether there is a row; cheaper than counting them."""
        return bool(self[:1])

    def __iter__(self) -> Iterator[Row]:
        return self._read("")

    @overload
    def __getitem__(self, index: int) -> Row: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Row]: ...
    def __getitem__(self, index: int | slice) -> Row | Sequence[Row]:
        if not isinstance(index, slice):
            place = index if index >= 0 else index + len(self)
            if place < 0:
                raise IndexError(f"row {index} of {len(self)}")
            first, ahead = vars(self).get("_ahead", (0, ()))
            if not first <= place < first + len(ahead):  # the next rows are asked for next
                first, ahead = place, self[place : place + BATCH]
                vars(self)["_ahead"] = first, ahead
            if not ahead:
                raise IndexError(f"row {index} of {len(self)}")
            return list(ahead[place - first])
        start, stop, step = index.start or 0, index.stop, index.step or 1
        if start < 0 or stop is None or stop < 0 or step != 1:  # its end is not known otherwise
            start, stop, step = index.indices(len(self))
        if step != 1:
            return list(self)[index]
        return list(self._read(f" LIMIT {max(0, stop - start)} OFFSET {start}"))

    def _read(self, window: str) -> Iterator[Row]:
        with opened(self.path) as database:
            cursor = database.execute(f"SELECT * FROM {self.source}{window}")  # noqa: S608 (names are quoted)
            while batch := cursor.fetchmany(BATCH):
                try:
                    yield from [compose(list(cells(row))) for row in batch]
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


def built(name: str, script: str) -> Path:
    """Return the SQLite file that a script of SQL makes.

    Args:
        name: the file's name without suffix.
        script: statements that create and fill its tables.

    Raises:
        DataError: SQLite refuses the script.
        StoreError: there is no room for the file.
    """

    def write(path: Path) -> None:
        try:
            write_sqlite(path, script)
        except sqlite3.Error as error:
            if getattr(error, "sqlite_errorname", "") in _NO_ROOM:
                raise OSError(str(error)) from error
            raise DataError(f"database {name}: its SQL text is faulty: {error}") from error

    return made(name, hashlib.sha256(script.encode()).hexdigest(), write)


def write_sqlite(path: Path, script: str) -> None:
    """Make a SQLite file with a script of SQL.

    Raises:
        sqlite3.Error: SQLite refuses the script, or cannot write the file.
    """
    with closing(sqlite3.connect(path)) as database:
        database.executescript(f"BEGIN;\n{script}\nCOMMIT;")


def made(name: str, version: str, write: Callable[[Path], None]) -> Path:
    """Return the file of this name and version; ``write`` makes it if it is not there yet.

    A file that is not what was written is made again. Where the cache cannot be written, it is made
    in a temporary folder that goes with the process.

    Args:
        name: the file's name without suffix.
        version: what its content follows from.
        write: makes the file.

    Raises:
        StoreError: there is no room for it anywhere.
    """
    key = hashlib.sha256(f"{FORMAT}\0{name}\0{version}".encode()).hexdigest()[:16]
    try:
        return _make_in(cache_root() / DATABASES, key, f"{name}.sqlite", write)
    except OSError:
        pass
    try:
        return _make_in(_make_temporary_folder(), key, f"{name}.sqlite", write)
    except OSError as error:
        raise StoreError(
            f"database {name} fits neither into the cache {cache_root()} nor into the temporary "
            f"folder: {error.strerror or error}. Make room, or name other folders with "
            "$TARGET_BENCH_CACHE and $TMPDIR."
        ) from error


def _make_in(root: Path, key: str, name: str, write: Callable[[Path], None]) -> Path:
    """Return the file in a folder; one that is missing is made beside its place and moved there."""
    for file in sorted(root.glob(f"{key}-*/*.sqlite")):
        if _is_whole(file):
            return file
    root.mkdir(parents=True, exist_ok=True)
    new = Path(tempfile.mkdtemp(prefix=".new-", dir=root))
    try:
        write(new / name)
        home = root / f"{key}-{sha256_of(new / name)[:16]}"
        if home.exists() and not _is_whole(home / name):
            shutil.rmtree(home)
        with suppress(OSError):  # another process was faster
            new.rename(home)
        if not _is_whole(home / name):
            raise OSError(f"{home} cannot be written")
    finally:
        shutil.rmtree(new, ignore_errors=True)
    return home / name


def _is_whole(file: Path) -> bool:
    """Return whether a file has the SHA-256 that its folder's name says; read once a process."""
    try:
        return digest(file)[:16] == file.parent.name[-16:]
    except OSError:  # another process removed it
        return False


@once
def _make_temporary_folder() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="target-bench-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder
