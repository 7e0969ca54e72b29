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
text among numbers                     VARCHAR, numbers as SQLite writes them
blobs among others                     BLOB, the rest as the bytes of its text
nothing but NULL                       what the declared type stands for: BIGINT, DOUBLE, VARCHAR,
                                       BLOB
=====================================  =========================================================

Keys, indexes, defaults, triggers and collations are not copied; rows keep their order, and the rows
of a view become a table. Gold that gives something else because of that is left out by the judge.

``entry.json`` beside a copy holds its SHA-256 and is sealed itself. Both are checked before a copy
is used; one that is damaged is made again.
"""

import hashlib
import json
import shutil
import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from warnings import warn

from target_bench.core.errors import StoreError
from target_bench.core.files import (
    DamageError,
    add_seal,
    cache_root,
    check_file,
    digest,
    exclusive_lock,
    hash_file,
    remove_seal,
)
from target_bench.sql.databases import base_tables, classify_type, columns, open_sqlite, quote

FORMAT = 4
"""The version of the copies; of another version none is used."""

BATCH = 50_000
"""Number of cells in memory at a time."""

_STORAGE = ("integer", "real", "text", "blob")
_FILE = "copy.duckdb"
_CAST = {"BIGINT": "INTEGER", "DOUBLE": "REAL", "VARCHAR": "TEXT", "BLOB": "BLOB"}
_DECLARED = {"int": "BIGINT", "bool": "BIGINT", "text": "VARCHAR", "real": "DOUBLE"}


@dataclass(frozen=True, slots=True)
class Copy:
    """A SQLite database in DuckDB."""

    path: Path
    columns: Mapping[str, Mapping[str, str]]  # table or view -> column -> type, as they are there
    notes: tuple[str, ...]  # which tables and views are left out, and why


def duckdb_copy(sqlite_file: Path) -> Copy:
    """Return the copy of a SQLite file, made under the cache folder if it is not there yet.

    A copy is named by the hash of the file's bytes (its write-ahead log included), so a changed
    file is copied again. A second process waits for it.

    Raises:
        DataError: the SQLite file is missing, broken or locked.
        StoreError: the cache folder cannot be written, or has no room.
    """
    with open_sqlite(sqlite_file):
        home = cache_root() / "databases" / f"{sqlite_file.stem}-{_hash_database(sqlite_file)}"
    try:
        with exclusive_lock(home.with_name(f"{home.name}.lock")):
            try:
                copy = _read_copy(home)
            except DamageError as error:
                message = (
                    f"the copy {home / _FILE} of {sqlite_file} is damaged ({error}); made again"
                )
                warn(message, stacklevel=2)
                copy = None
            return copy or _make_copy(sqlite_file, home)
    except OSError as error:
        raise StoreError(
            f"{sqlite_file} cannot be copied to {home}: {error.strerror or error}. Make room or "
            "fix its permissions, or name another folder with $TARGET_BENCH_CACHE."
        ) from error


def _hash_database(sqlite_file: Path) -> str:
    key = hashlib.sha256(f"{FORMAT}\n".encode())
    for path in (sqlite_file, sqlite_file.with_name(f"{sqlite_file.name}-wal")):
        if path.exists():
            key.update(bytes.fromhex(digest(path)))
    return key.hexdigest()[:16]


def _read_copy(home: Path) -> Copy | None:
    """Return the copy in a folder, if there is one; a ``DamageError`` if it is not as written."""
    if not home.exists():
        return None
    try:
        entry = remove_seal(json.loads((home / "entry.json").read_bytes()))
        check_file(home / _FILE, entry["sha256"])
        return Copy(home / _FILE, entry["columns"], tuple(entry["notes"]))
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise DamageError(str(error)) from error


def _make_copy(sqlite_file: Path, home: Path) -> Copy:
    import duckdb

    folder = home.with_name(f".new-{home.name}")
    shutil.rmtree(folder, ignore_errors=True)  # left by a process that was killed
    folder.mkdir()
    try:
        with open_sqlite(sqlite_file) as source, duckdb.connect(folder / _FILE) as target:
            types, notes = _copy_tables(source, target)
        entry = {
            "format": FORMAT,
            "source": str(sqlite_file),
            "sha256": hash_file(folder / _FILE),
            "columns": types,
            "notes": notes,
        }
        text = json.dumps(add_seal(entry), ensure_ascii=False, indent=1)
        (folder / "entry.json").write_bytes(text.encode("utf-8", "backslashreplace"))
        shutil.rmtree(home, ignore_errors=True)
        folder.rename(home)
    except duckdb.Error as error:
        raise OSError(f"DuckDB: {error}") from error
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return Copy(home / _FILE, types, tuple(notes))


def _copy_tables(
    source: sqlite3.Connection, target: Any
) -> tuple[dict[str, dict[str, str]], list[str]]:
    """Copy everything; return table -> column -> type, and which tables are left out."""
    import duckdb

    types: dict[str, dict[str, str]] = {}
    notes: list[str] = []
    declared = columns(source)
    for kind in ("table", "view"):
        for table in base_tables(source, kind):
            try:
                if not declared[table]:
                    raise sqlite3.OperationalError("its columns are not known")
                stored = _inspect_columns(source, table, declared[table])
                chosen = {c: _choose_type(stored[c], declared[table][c]) for c in declared[table]}
                _fill(source, table, chosen, target)
                types[table] = chosen
            # a module or a table is not here, or DuckDB cannot tell names apart
            except (sqlite3.OperationalError, duckdb.ParserException, duckdb.CatalogException) as e:
                notes.append(f"{kind} {table!r} is left out: {e}")
    return types, notes


def _inspect_columns(
    source: sqlite3.Connection, table: str, declared: Mapping[str, str]
) -> dict[str, set[str]]:
    """Return column -> the kinds of values that are stored in it."""
    tests = [
        (c, kind, f"max(typeof({quote(c)}) = '{kind}')") for c in declared for kind in _STORAGE
    ]
    stored: dict[str, set[str]] = {column: set() for column in declared}
    for start in range(0, len(tests), 1000):  # SQLite returns 2,000 columns at most
        part = tests[start : start + 1000]
        selected = ", ".join(test for _, _, test in part)
        row = source.execute(f"SELECT {selected} FROM {quote(table)}").fetchone()  # noqa: S608 (names are quoted)
        for (column, kind, _), is_there in zip(part, row, strict=True):
            if is_there:
                stored[column].add(kind)
    return stored


def _choose_type(stored: set[str], declared: str) -> str:
    """Return the type in DuckDB; of a column without values by SQLite's rules of affinity."""
    if not stored:
        blob = not declared or "BLOB" in declared.upper()
        return "BLOB" if blob else _DECLARED.get(classify_type(declared), "DOUBLE")
    if stored == {"integer"}:
        return "BIGINT"
    if "blob" in stored:
        return "BLOB"
    return "VARCHAR" if "text" in stored else "DOUBLE"


def _fill(
    source: sqlite3.Connection,
    table: str,
    types: Mapping[str, str],
    target: Any,
) -> None:
    import pyarrow as pa

    arrow = {"BIGINT": pa.int64, "DOUBLE": pa.float64, "VARCHAR": pa.string, "BLOB": pa.binary}
    schema = pa.schema([(f"c{i}", arrow[kind]()) for i, kind in enumerate(types.values())])
    made = ", ".join(f"{quote(column)} {kind}" for column, kind in types.items())
    target.execute(f"CREATE TABLE {quote(table)} ({made})")
    chosen = ", ".join(f"CAST({quote(c)} AS {_CAST[kind]})" for c, kind in types.items())
    rows = source.execute(f"SELECT {chosen} FROM {quote(table)}")  # noqa: S608 (names are quoted)
    target.execute("BEGIN")
    while batch := rows.fetchmany(max(1, BATCH // len(types))):
        cells = zip(zip(*batch, strict=True), schema.types, strict=True)
        arrays = [pa.array(column, kind) for column, kind in cells]
        target.register("batch", pa.Table.from_arrays(arrays, schema=schema))
        target.execute(f"INSERT INTO {quote(table)} SELECT * FROM batch")  # noqa: S608 (quoted)
        target.unregister("batch")
    target.execute("COMMIT")
