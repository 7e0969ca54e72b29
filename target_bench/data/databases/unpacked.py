"""Database files made in the cache folder: built from SQL text, or unpacked.

Each lies in a folder named by a hash of what it was made from, with ``seal.json``, which holds its
SHA-256. The folder is made beside its place and renamed when whole, so half a file is never opened;
a file is checked once per process before it is used.
"""

import atexit
import hashlib
import json
import shutil
import sqlite3
import tempfile
import warnings
from collections.abc import Callable
from contextlib import closing, suppress
from functools import cache as once
from functools import lru_cache
from pathlib import Path
from uuid import uuid4

from target_bench.core.errors import DataError, StoreError
from target_bench.core.files import (
    State,
    cache_root,
    check_file,
    sealed,
    sha256_of,
    state,
    unsealed,
)
from target_bench.data.cache import DATABASES

FORMAT = 2
"""The version of the layout; of another version none is used."""

Warn = Callable[[str], object]

_SEAL = "seal.json"
_NO_ROOM = ("SQLITE_FULL", "SQLITE_CANTOPEN", "SQLITE_READONLY", "SQLITE_IOERR_WRITE")


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


def made(
    name: str, version: str, write: Callable[[Path], None], warn: Warn = warnings.warn
) -> Path:
    """Return the file of this name and version; ``write`` makes it if it is not there yet.

    A file that is not what was written is made again. Where the cache cannot be written, it is made
    in a temporary folder that goes with the process.

    Args:
        name: the file's name without suffix.
        version: what its content follows from.
        write: makes the file.
        warn: called with a message about a damaged file.

    Raises:
        StoreError: there is no room for it anywhere.
    """
    key = hashlib.sha256(f"{FORMAT}\0{name}\0{version}".encode()).hexdigest()[:16]
    file = f"{name}.sqlite"
    home = cache_root() / DATABASES / key
    fault = _fault_of(home / file)
    if fault is None:
        return home / file
    if home.exists():
        warn(f"the cached database {home / file} is damaged ({fault}); made again")
    try:
        return _written(home, file, write)
    except OSError:
        home = _temporary() / key
    try:
        return home / file if _fault_of(home / file) is None else _written(home, file, write)
    except OSError as error:
        raise StoreError(
            f"database {name} fits neither into the cache {cache_root()} nor into the temporary "
            f"folder: {error.strerror or error}. Make room, or name other folders with "
            "$TARGET_BENCH_CACHE and $TMPDIR."
        ) from error


def _fault_of(path: Path) -> str | None:
    """Return why a file cannot be used; None if it can."""
    try:
        return _fault(path, state(path))
    except OSError as error:
        return error.strerror or str(error)


@lru_cache(maxsize=4096)
def _fault(path: Path, state: State) -> str | None:  # noqa: ARG001 (part of the key)
    try:
        record = unsealed(json.loads(path.with_name(_SEAL).read_bytes()))
        check_file(path, record["sha256"])
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        return str(error)
    return None


def _written(home: Path, file: str, write: Callable[[Path], None]) -> Path:
    """Make a folder with the file and its seal beside its place, and move it there."""
    home.parent.mkdir(parents=True, exist_ok=True)
    new = home.with_name(f".new-{uuid4().hex}")
    old = home.with_name(f".new-{uuid4().hex}")
    try:
        new.mkdir()
        write(new / file)
        text = json.dumps(sealed({"sha256": sha256_of(new / file)}))
        (new / _SEAL).write_text(text, encoding="ascii")
        with suppress(OSError):  # there is none, or another process was faster
            if _fault_of(home / file) is not None:
                home.rename(old)
        try:
            new.rename(home)
        except OSError:
            if _fault_of(home / file) is not None:
                raise
    finally:
        for folder in (new, old):
            shutil.rmtree(folder, ignore_errors=True)
    return home / file


@once
def _temporary() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="target-bench-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder
