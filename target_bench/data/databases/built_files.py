"""Database files that are built from SQL text or unpacked, once, into the cache.

Each lies in a folder named by what it was made from and by its SHA-256. The folder is made beside
its place and renamed when whole, so half a file is never opened; a file is checked once per process
before it is used.
"""

import atexit
import hashlib
import shutil
import sqlite3
import tempfile
from collections.abc import Callable
from contextlib import closing, suppress
from functools import cache
from pathlib import Path

from target_bench.core.errors import DataError, StoreError
from target_bench.core.files import cache_root, digest, hash_file

DATABASES = "databases"
"""The folder of the cache that holds them."""

FORMAT = 3
"""The version of the layout; of another version none is used."""

_NO_ROOM = ("SQLITE_FULL", "SQLITE_CANTOPEN", "SQLITE_READONLY", "SQLITE_IOERR_WRITE")


def build_sqlite(name: str, script: str) -> Path:
    """Return the SQLite file of this name that a script of SQL makes."""

    def write(path: Path) -> None:
        try:
            write_sqlite(path, script)
        except sqlite3.Error as error:
            if getattr(error, "sqlite_errorname", "") in _NO_ROOM:
                raise OSError(str(error)) from error
            raise DataError(f"database {name}: its SQL text is faulty: {error}") from error

    return build_file(name, hashlib.sha256(script.encode()).hexdigest(), write)


def write_sqlite(path: Path, script: str) -> None:
    """Write a SQLite file with a script of SQL."""
    with closing(sqlite3.connect(path)) as database:
        database.executescript(f"BEGIN;\n{script}\nCOMMIT;")


def build_file(name: str, version: str, write: Callable[[Path], None]) -> Path:
    """Return the file of this name and version; ``write`` makes it if it is not there yet."""
    key = hashlib.sha256(f"{FORMAT}\0{name}\0{version}".encode()).hexdigest()[:16]
    try:
        return _build_in(cache_root() / DATABASES, key, f"{name}.sqlite", write)
    except OSError:  # the cache cannot be written
        pass
    try:
        return _build_in(_make_temporary_folder(), key, f"{name}.sqlite", write)
    except OSError as error:
        raise StoreError(
            f"database {name} can be written neither to the cache {cache_root()} nor to the "
            f"temporary folder: {error.strerror or error}. Make room, or name other folders with "
            "$TARGET_BENCH_CACHE and $TMPDIR."
        ) from error


def _build_in(root: Path, key: str, name: str, write: Callable[[Path], None]) -> Path:
    for file in sorted(root.glob(f"{key}-*/*.sqlite")):
        if _is_whole(file):
            return file
    root.mkdir(parents=True, exist_ok=True)
    new = Path(tempfile.mkdtemp(prefix=".new-", dir=root))
    try:
        write(new / name)
        home = root / f"{key}-{hash_file(new / name)[:16]}"
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


@cache
def _make_temporary_folder() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="target-bench-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder
