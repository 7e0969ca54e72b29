"""Files as a whole: what is in them, and that it has reached the disk."""

import errno
import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

CACHE_ENVIRONMENT = "TARGET_BENCH_CACHE"
"""The variable that names the cache folder."""


def cache_root() -> Path:
    """Return ``$TARGET_BENCH_CACHE``, else ``target-bench`` in the user's cache folder."""
    named = os.environ.get(CACHE_ENVIRONMENT)
    if named:
        return Path(named).expanduser()
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "target-bench"


def sha256_of(path: Path) -> str:
    """The SHA-256 of a file's content, in hexadecimal.

    Raises:
        OSError: it cannot be read.
    """
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def sync(folder: Path) -> None:
    """Make sure that a folder and all that is in it are on disk.

    Raises:
        OSError: they cannot be.
    """
    for path in [*folder.rglob("*"), folder]:
        sync_one(path)


def sync_one(path: Path) -> None:
    """Make sure that a file's content is on disk, or the names that a folder holds.

    Raises:
        OSError: it cannot be.
    """
    if path.is_file() or os.name == "posix":  # a folder cannot be opened elsewhere
        descriptor = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


@contextmanager
def free_lock(path: Path) -> Iterator[bool]:
    """Hold a lock, if no other process does; whether it is free.

    A file that is not there, or that lies where nothing can be written, is free.

    Args:
        path: the file that is locked; it is not made.
    """
    import portalocker

    try:
        file = path.open("rb+")
    except FileNotFoundError:
        yield True
        return
    except OSError as error:
        yield error.errno == errno.EROFS
        return
    with file:
        try:
            portalocker.lock(file, portalocker.LOCK_EX | portalocker.LOCK_NB)
        except portalocker.LockException:
            yield False
            return
        yield True
