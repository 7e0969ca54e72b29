"""Database files made in the cache folder: built from SQL text, or unpacked.

Each is named by a hash of what it was made from, made beside its place and renamed when whole, so
that nobody ever opens half of one.
"""

import atexit
import hashlib
import shutil
import sqlite3
import tempfile
from collections.abc import Callable
from contextlib import closing, suppress
from functools import cache as once
from pathlib import Path
from uuid import uuid4

from target_bench.corpora.cache import DATABASES, root
from target_bench.errors import DataError, StoreError

_NO_ROOM = ("SQLITE_FULL", "SQLITE_CANTOPEN", "SQLITE_READONLY", "SQLITE_IOERR_WRITE")


def built(name: str, script: str) -> Path:
    """The SQLite file that a script of SQL makes.

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
    """The file of this name and version; ``write`` makes it if it is not there yet.

    Where the cache cannot be written, it is made in a temporary folder that goes with the process.

    Raises:
        StoreError: there is no room for it anywhere.
    """
    inside = Path(hashlib.sha256(f"{name}\0{version}".encode()).hexdigest()[:16]) / f"{name}.sqlite"
    place = root() / DATABASES / inside
    if place.is_file():
        return place
    try:
        return _written(place, write)
    except OSError:
        place = _temporary() / inside
    try:
        return place if place.is_file() else _written(place, write)
    except OSError as error:
        raise StoreError(
            f"database {name} fits neither into the cache {root()} nor into the temporary folder: "
            f"{error.strerror or error}. Make room, or name other folders with "
            "$TARGET_BENCH_CACHE and $TMPDIR."
        ) from error


def _written(place: Path, write: Callable[[Path], None]) -> Path:
    place.parent.mkdir(parents=True, exist_ok=True)
    new = place.with_name(f".new-{uuid4().hex}")
    try:
        write(new)
        new.replace(place)
    finally:
        with suppress(OSError):
            new.unlink(missing_ok=True)
    return place


@once
def _temporary() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="target-bench-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder
