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

Keys, indexes, defaults and triggers are not copied; rows keep their order, and the rows of a view
become a table. Collations other than BINARY are not copied either (noted).

``entry.json`` beside a copy holds its SHA-256 and is sealed itself. Both are checked before a copy
is used; one that is damaged is made again.
"""

import hashlib
import json
import re
import shutil
import sqlite3
import warnings
from collections.abc import Callable, Mapping, Sequence
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
from target_bench.sql.databases import base_tables, classify_type, columns, open_sqlite, quote

FORMAT = 3
"""The version of the copies; of another version none is used."""

BATCH = 50_000
"""Number of cells in memory at a time."""

_STORAGE = ("integer", "real", "text", "blob")
_EXACT = 2**53  # integers up to here are exact as doubles
_FILE = "copy.duckdb"
_CAST = {"BIGINT": "INTEGER", "DOUBLE": "REAL", "VARCHAR": "TEXT", "BLOB": "BLOB"}
_DECLARED = {"int": "BIGINT", "bool": "BIGINT", "text": "VARCHAR", "real": "DOUBLE"}


@dataclass(frozen=True, slots=True)
class Copy:
    """A SQLite database in DuckDB."""

    path: Path
    columns: Mapping[str, Mapping[str, str]]  # table or view -> column -> type, as they are there
    notes: tuple[str, ...]  # what is not as it was


def duckdb_copy(sqlite_file: Path, warn: Callable[[str], object] = warnings.warn) -> Copy:
    """Return the copy of a SQLite file, made under the cache folder if it is not there yet.

    A copy is named by the hash of the file's bytes (its write-ahead log included), so a changed
    file is copied again. A second process waits for it.

    Args:
        sqlite_file: the database.
        warn: called with a message about a damaged copy, which is made again.

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
                warn(f"the copy {home / _FILE} of {sqlite_file} is damaged ({error}); made again")
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
        entry = unsealed(json.loads((home / "entry.json").read_bytes()))
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
            "sha256": sha256_of(folder / _FILE),
            "columns": types,
            "notes": notes,
        }
        text = json.dumps(sealed(entry), ensure_ascii=False, indent=1)
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
    """Copy everything; return table -> column -> type, and what is not as it was."""
    types: dict[str, dict[str, str]] = {}
    notes: list[str] = []
    declared = columns(source)
    made_views = base_tables(source, "view")
    tables = [*base_tables(source), *made_views]
    names = _make_distinct(tables, "table", notes)
    for table in tables:
        kinds: dict[str, str] = {}
        try:
            if not declared[table]:
                raise sqlite3.OperationalError("its columns are not known")
            stored = _inspect_columns(source, table, declared[table])
            for column, (storage, big) in stored.items():
                kinds[column] = _choose_type(storage, declared[table][column])
                mixed = " and ".join(kind for kind in _STORAGE if kind in storage)
                if len(storage) > 1 and kinds[column] in ("VARCHAR", "BLOB"):
                    notes.append(f"{table}.{column} holds {mixed}: it became {kinds[column]}")
                elif kinds[column] == "DOUBLE" and big:
                    rounded = "integers beyond 2^53 were rounded"
                    notes.append(f"{table}.{column} holds {mixed}: {rounded}")
        except sqlite3.OperationalError as error:  # a module or a table is not here
            what = "view" if table in made_views else "table"
            notes.append(f"{what} {table!r} is left out: {error}")
            continue
        notes += _note_collations(source, table)
        called = _make_distinct(list(kinds), f"table {table!r}: column", notes)
        types[names[table]] = {called[column]: kind for column, kind in kinds.items()}
        _fill(source, table, kinds, target, names[table], types[names[table]])
    return types, notes


def _make_distinct(names: Sequence[str], kind: str, notes: list[str]) -> dict[str, str]:
    """Return names that DuckDB can tell apart: not empty, and unique when case is folded."""
    renamed: dict[str, str] = {}
    taken = {name.lower() for name in names}
    for name in names:
        new = name
        if not name or name.lower() in map(str.lower, renamed.values()):
            numbered = (f"{name or 'unnamed'}_{i}" for i in count(2))
            new = next(free for free in numbered if free.lower() not in taken)
            taken.add(new.lower())
            notes.append(f"{kind} {name!r} is called {new!r}")
        renamed[name] = new
    return renamed


def _inspect_columns(
    source: sqlite3.Connection, table: str, declared: Mapping[str, str]
) -> dict[str, tuple[set[str], bool]]:
    """Return column -> what is stored in it, and whether an integer is not exact as a double."""
    big = f"typeof({{0}}) = 'integer' AND {{0}} NOT BETWEEN {-_EXACT} AND {_EXACT}"
    tests = [*(f"typeof({{0}}) = '{storage}'" for storage in _STORAGE), big]
    selected = [f"max({test.format(quote(column))})" for column in declared for test in tests]
    answers: list[Any] = []
    for start in range(0, len(selected), 1000):  # SQLite returns 2,000 columns at most
        part = ", ".join(selected[start : start + 1000])
        answers += source.execute(f"SELECT {part} FROM {quote(table)}").fetchone()  # noqa: S608 (names are quoted)
    stored = {}
    for column in declared:
        *there, is_big = answers[: len(tests)]
        del answers[: len(tests)]
        stored[column] = {s for s, yes in zip(_STORAGE, there, strict=True) if yes}, bool(is_big)
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


def _note_collations(source: sqlite3.Connection, table: str) -> list[str]:
    (sql,) = source.execute("SELECT sql FROM sqlite_master WHERE name = ?", (table,)).fetchone()
    return [
        f"table {table!r} has a collation {name}: DuckDB compares its text exactly"
        for name in sorted(set(re.findall(r"\bCOLLATE\s+(NOCASE|RTRIM)\b", sql.upper())))
    ]


def _fill(
    source: sqlite3.Connection,
    table: str,
    kinds: Mapping[str, str],
    target: Any,
    name: str,
    types: Mapping[str, str],
) -> None:
    import pyarrow as pa

    arrow = {"BIGINT": pa.int64, "DOUBLE": pa.float64, "VARCHAR": pa.string, "BLOB": pa.binary}
    schema = pa.schema([(f"c{i}", arrow[kind]()) for i, kind in enumerate(kinds.values())])
    made = ", ".join(f"{quote(column)} {kind}" for column, kind in types.items())
    target.execute(f"CREATE TABLE {quote(name)} ({made})")
    chosen = ", ".join(f"CAST({quote(c)} AS {_CAST[kind]})" for c, kind in kinds.items())
    rows = source.execute(f"SELECT {chosen} FROM {quote(table)}")  # noqa: S608 (names are quoted)
    target.execute("BEGIN")
    while batch := rows.fetchmany(max(1, BATCH // len(kinds))):
        cells = zip(zip(*batch, strict=True), schema.types, strict=True)
        arrays = [pa.array(column, kind) for column, kind in cells]
        target.register("batch", pa.Table.from_arrays(arrays, schema=schema))
        target.execute(f"INSERT INTO {quote(name)} SELECT * FROM batch")  # noqa: S608 (quoted)
        target.unregister("batch")
    target.execute("COMMIT")
