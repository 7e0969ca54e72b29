"""A SQLite database copied into DuckDB, once: the same bytes are never copied again.

How a column gets its type. SQLite declares types and keeps to none of them, so what counts is
what is stored:

=====================================  =========================================================
stored in the column                   type in DuckDB
=====================================  =========================================================
integers                               BIGINT
reals, or integers and reals           DOUBLE
text                                   VARCHAR (dates too: SQLite has none, and compares them so)
blobs                                  BLOB
text among numbers                     VARCHAR, numbers as SQLite writes them (noted)
blobs among others                     BLOB, the rest as the bytes of its text (noted)
nothing but NULL                       what the declared type stands for: BIGINT, DOUBLE, VARCHAR,
                                       BLOB
=====================================  =========================================================

Keys, indexes, defaults and triggers are not copied; rows keep their order. Collations other than
BINARY are not copied either (noted). Views are translated where that is possible.

``entry.json`` beside a copy holds its SHA-256 and is sealed itself. Both are checked before a copy
is used; one that is damaged is made again.
"""

import hashlib
import json
import re
import shutil
import sqlite3
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

from target_bench.core.errors import StoreError
from target_bench.core.files import (
    DamageError,
    cache_root,
    check_file,
    digest,
    exclusive_lock,
    sealed,
    sha256_of,
    unsealed,
)
from target_bench.sql.databases import base_tables, columns, opened, quoted, views
from target_bench.sql.dialect.translation import view_to_duckdb

FORMAT = 2
"""The version of the copies; of another version none is used."""

Warn = Callable[[str], object]

BATCH = 50_000
"""Number of cells in memory at a time."""

_STORAGE = ("integer", "real", "text", "blob")
_EXACT = 2**53  # integers up to here are exact as doubles
_FILE = "copy.duckdb"


@dataclass(frozen=True, slots=True)
class Copy:
    """A SQLite database in DuckDB.

    Attributes:
        path: the DuckDB file.
        columns: table or view -> column -> type in DuckDB, named as they are there.
        views: which of them are views.
        notes: what is not as it was.
    """

    path: Path
    columns: Mapping[str, Mapping[str, str]]
    views: tuple[str, ...]
    notes: tuple[str, ...]


def duckdb_copy(sqlite_file: Path, warn: Warn = warnings.warn) -> Copy:
    """Return the copy of a SQLite file, made under the cache folder if it is not there yet.

    A copy is known by the hash of the file's bytes (its write-ahead log included), so a changed
    file is copied again. It is made beside its place and renamed when whole; a second process
    waits and finds it.

    Args:
        sqlite_file: the database.
        warn: called with a message about a damaged copy, which is made again.

    Raises:
        DataError: the SQLite file is missing, broken or locked.
        StoreError: the cache folder cannot be written, or has no room.
    """
    with opened(sqlite_file):
        home = cache_root() / "databases" / f"{sqlite_file.stem}-{_key(sqlite_file)}"
    try:
        found = _found(home)
        if found is not None:
            return found
    except DamageError:
        pass  # perhaps it is being made again just now
    try:
        with _locked(home):
            try:
                found = _found(home)
            except DamageError as error:
                warn(f"the copy {home / _FILE} of {sqlite_file} is damaged ({error}); made again")
                found = None
            return found or _made(sqlite_file, home)
    except OSError as error:
        raise StoreError(
            f"{sqlite_file} cannot be copied to {home}: {error.strerror or error}. Make room or "
            "fix its permissions, or name another folder with $TARGET_BENCH_CACHE."
        ) from error


def _key(sqlite_file: Path) -> str:
    key = hashlib.sha256(f"{FORMAT}\n".encode())
    for path in (sqlite_file, sqlite_file.with_name(f"{sqlite_file.name}-wal")):
        if path.exists():
            key.update(bytes.fromhex(digest(path)))
    return key.hexdigest()[:16]


@contextmanager
def _locked(home: Path) -> Iterator[None]:
    with exclusive_lock(home.with_name(f"{home.name}.lock")):
        yield


def _found(home: Path) -> Copy | None:
    """Return the copy that lies there, if there is one.

    Raises:
        DamageError: it is not what was written.
    """
    if not home.exists():
        return None
    try:
        entry = unsealed(json.loads((home / "entry.json").read_bytes()))
        check_file(home / _FILE, entry["sha256"])
        return Copy(home / _FILE, entry["columns"], tuple(entry["views"]), tuple(entry["notes"]))
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise DamageError(str(error)) from error


def _made(sqlite_file: Path, home: Path) -> Copy:
    place = home.with_name(f".new-{home.name}")
    shutil.rmtree(place, ignore_errors=True)  # left by a process that was killed
    place.mkdir()
    try:
        made = _copied(sqlite_file, place / _FILE)
        entry = {
            "format": FORMAT,
            "source": str(sqlite_file),
            "sha256": sha256_of(place / _FILE),
            "columns": made.types,
            "views": made.views,
            "notes": made.notes,
        }
        text = json.dumps(sealed(entry), ensure_ascii=False, indent=1)
        (place / "entry.json").write_bytes(text.encode("utf-8", "backslashreplace"))
        shutil.rmtree(home, ignore_errors=True)
        place.rename(home)
    finally:
        shutil.rmtree(place, ignore_errors=True)
    return Copy(home / _FILE, made.types, tuple(made.views), tuple(made.notes))


Types = dict[str, dict[str, str]]


def _copied(sqlite_file: Path, target: Path) -> "_Copying":
    import duckdb

    try:
        with opened(sqlite_file) as source, duckdb.connect(target) as copy:
            copying = _Copying(source, copy)
            copying.run()
            return copying
    except duckdb.Error as error:
        raise OSError(f"DuckDB: {error}") from error


class _Copying:
    """One copy being made.

    Attributes:
        types: what has been copied: table or view -> column -> type.
        views: which of them are views.
        notes: what is not as it was.
    """

    def __init__(self, source: sqlite3.Connection, copy: Any) -> None:
        self.source = source
        self.copy = copy
        self.types: Types = {}
        self.views: list[str] = []
        self.notes: list[str] = []

    def run(self) -> None:
        declared = columns(self.source)
        tables = base_tables(self.source)
        names = self._distinct([*tables, *views(self.source)], "table")
        for table in tables:
            self._table(table, names[table], declared[table])
        for view in views(self.source):
            self._view(view, names[view])

    def _distinct(self, names: Sequence[str], kind: str) -> dict[str, str]:
        """Return names that DuckDB can tell apart: not empty, and unique when case is folded."""
        given: dict[str, str] = {}
        taken = {name.lower() for name in names}
        for name in names:
            clash = name.lower() in {other.lower() for other in given.values()}
            new = name
            if clash or not name:
                new = _free(name or "unnamed", taken)
                taken.add(new.lower())
                self.notes.append(f"{kind} {name!r} is called {new!r}")
            given[name] = new
        return given

    def _table(self, table: str, name: str, declared: Mapping[str, str]) -> None:
        try:
            kinds = self._kinds(table, declared)
        except sqlite3.OperationalError as error:  # a virtual table whose module is not here
            self.notes.append(f"table {table!r} is left out: {error}")
            return
        self._note_collation(table)
        names = self._distinct(list(declared), f"table {table!r}: column")
        types = {names[column]: kind for column, kind in kinds.items()}
        wanted = ", ".join(f"{quoted(column)} {kind}" for column, kind in types.items())
        self.copy.execute(f"CREATE TABLE {quoted(name)} ({wanted})")
        self._fill(table, name, kinds)
        self.types[name] = types

    def _note_collation(self, table: str) -> None:
        (sql,) = self.source.execute(
            "SELECT sql FROM sqlite_master WHERE type = 'table' AND name = ?", (table,)
        ).fetchone()
        for name in sorted(set(re.findall(r"\bCOLLATE\s+(NOCASE|RTRIM)\b", sql.upper()))):
            self.notes.append(
                f"table {table!r} has a collation {name}: DuckDB compares its text exactly"
            )

    def _kinds(self, table: str, declared: Mapping[str, str]) -> dict[str, str]:
        """Return column -> type in DuckDB, by the values stored."""
        asked = [
            f"max(typeof({quoted(column)}) = '{storage}')"
            for column in declared
            for storage in _STORAGE
        ]
        asked += [
            f"max(typeof({q}) = 'integer' AND {q} NOT BETWEEN {-_EXACT} AND {_EXACT})"
            for q in map(quoted, declared)
        ]
        found: list[Any] = []
        for start in range(0, len(asked), 1000):  # SQLite returns 2,000 columns at most
            part = ", ".join(asked[start : start + 1000])
            found += self.source.execute(f"SELECT {part} FROM {quoted(table)}").fetchone()  # noqa: S608 (names are quoted)
        kinds = {}
        n = len(_STORAGE)
        for i, (column, type_) in enumerate(declared.items()):
            stored = {
                s for s, there in zip(_STORAGE, found[n * i : n * i + n], strict=True) if there
            }
            kinds[column] = _kind(stored, type_)
            self._note_mixture(
                table, column, stored, kinds[column], bool(found[n * len(declared) + i])
            )
        return kinds

    def _note_mixture(
        self, table: str, column: str, stored: set[str], kind: str, big: bool
    ) -> None:
        mixed = " and ".join(storage for storage in _STORAGE if storage in stored)
        if len(stored) > 1 and kind in ("VARCHAR", "BLOB"):
            self.notes.append(f"{table}.{column} holds {mixed}: it became {kind}")
        elif kind == "DOUBLE" and big:
            self.notes.append(f"{table}.{column} holds {mixed}: integers beyond 2^53 were rounded")

    def _fill(self, table: str, name: str, kinds: Mapping[str, str]) -> None:
        import pyarrow as pa

        schema = pa.schema([(f"c{i}", _arrow(kind)) for i, kind in enumerate(kinds.values())])
        chosen = ", ".join(f"CAST({quoted(c)} AS {_CAST[kind]})" for c, kind in kinds.items())
        rows = self.source.execute(f"SELECT {chosen} FROM {quoted(table)}")  # noqa: S608 (quoted)
        self.copy.execute("BEGIN")
        while batch := rows.fetchmany(max(1, BATCH // len(kinds))):
            arrays = [
                pa.array(cells, of)
                for cells, of in zip(zip(*batch, strict=True), schema.types, strict=True)
            ]
            self.copy.register("batch", pa.Table.from_arrays(arrays, schema=schema))
            self.copy.execute(f"INSERT INTO {quoted(name)} SELECT * FROM batch")  # noqa: S608 (names are quoted)
            self.copy.unregister("batch")
        self.copy.execute("COMMIT")

    def _view(self, view: str, name: str) -> None:
        import duckdb

        try:
            (sql,) = self.source.execute(
                "SELECT sql FROM sqlite_master WHERE type = 'view' AND name = ?", (view,)
            ).fetchone()
            self.copy.execute(view_to_duckdb(sql, name, self.types, self.views))
            found = self.copy.execute(f"DESCRIBE {quoted(name)}").fetchall()
        except (ValueError, duckdb.Error) as error:
            self.notes.append(f"view {view!r} is left out: {error}")
            return
        self.types[name] = {column: kind for column, kind, *_ in found}
        self.views.append(name)


_CAST = {"BIGINT": "INTEGER", "DOUBLE": "REAL", "VARCHAR": "TEXT", "BLOB": "BLOB"}


def _arrow(kind: str) -> Any:
    import pyarrow as pa

    types = {"BIGINT": pa.int64, "DOUBLE": pa.float64, "VARCHAR": pa.string, "BLOB": pa.binary}
    return types[kind]()


def _kind(stored: set[str], declared: str) -> str:
    if not stored:
        return _declared_kind(declared.upper())
    if stored == {"integer"}:
        return "BIGINT"
    if "blob" in stored:
        return "BLOB"
    return "VARCHAR" if "text" in stored else "DOUBLE"


def _declared_kind(declared: str) -> str:
    """Return the affinity of a declared type, by SQLite's rules."""
    if "INT" in declared:
        return "BIGINT"
    if any(word in declared for word in ("CHAR", "CLOB", "TEXT", "DATE", "TIME")):
        return "VARCHAR"
    if not declared or "BLOB" in declared:
        return "BLOB"
    return "BIGINT" if "BOOL" in declared else "DOUBLE"


def _free(name: str, taken: set[str]) -> str:
    return next(new for new in (f"{name}_{i}" for i in count(2)) if new.lower() not in taken)
