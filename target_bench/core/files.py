"""Files: hashes, writing as a whole, forcing to disk, locks, and where caches are kept."""

import errno
import hashlib
import os
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

CACHE_VARIABLE = "TARGET_BENCH_CACHE"
"""The environment variable that names the cache folder."""


def cache_root() -> Path:
    """Return ``$TARGET_BENCH_CACHE``, else ``target-bench`` in the user's cache folder."""
    named = os.environ.get(CACHE_VARIABLE)
    if named:
        return Path(named).expanduser()
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "target-bench"


def atomic_write(path: Path, content: bytes | Iterable[bytes], durable: bool = True) -> None:
    """Replace a file as a whole: a reader sees the old or the new content, never a part of one.

    The content goes to a temporary file beside the path, named ``NAME.RANDOM.tmp``, which is then
    put in its place. A process that is killed leaves the old content and perhaps the temporary
    file; an error leaves the old content alone. A file that holds the content already is left as it
    is, so that nothing is written where nothing changes, as in a folder that cannot be written.

    Args:
        path: the file; its folder is made if it is missing.
        content: all of it; an iterable is written piece by piece, and always.
        durable: force the content to disk before it is put in place, so that a power cut too
            leaves the old or the new content. False for what can be computed again and is checked
            when it is read.

    Raises:
        OSError: it cannot be written.
    """
    if isinstance(content, bytes) and path.exists() and path.read_bytes() == content:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f"{path.name}.{os.urandom(4).hex()}.tmp")
    try:
        with temporary.open("wb") as file:
            file.writelines([content] if isinstance(content, bytes) else content)
            file.flush()
            if durable:
                os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a file's content, in hexadecimal.

    Raises:
        OSError: it cannot be read.
    """
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def sync(folder: Path) -> None:
    """Make sure that a folder and all that is in it are on disk.

    Raises:
        OSError: writing them to disk failed.
    """
    for path in [*folder.rglob("*"), folder]:
        sync_one(path)


def sync_one(path: Path) -> None:
    """Make sure that a file's content is on disk, or the names that a folder holds.

    Raises:
        OSError: writing it to disk failed.
    """
    if path.is_file() or os.name == "posix":  # a folder cannot be opened elsewhere
        descriptor = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


@contextmanager
def exclusive_lock(
    path: Path,
    waits: Callable[[IO[bytes]], object] = lambda _: None,
    unlocked: Callable[[Exception], object] = lambda _: None,
    patience: float = 0.0,
) -> Iterator[IO[bytes]]:
    """Hold a lock, waiting for another process that holds it.

    The system gives the lock back when its process ends, however it ends. A lock file that another
    process removed meanwhile is made again.

    Args:
        path: the file that is locked; it is made, with its folder.
        waits: is called with the file before another process is waited for.
        unlocked: is called with the error where the file system has no locks; the context is
            entered without one.
        patience: how many seconds another process may hold the lock before ``waits`` is called.

    Returns:
        The open file.

    Raises:
        OSError: the file cannot be opened.
    """
    while True:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a+b", buffering=0) as file:
            _acquire(file, waits, unlocked, patience)
            if _is_at(file, path):
                yield file
                return


def _acquire(
    file: IO[bytes],
    waits: Callable[[IO[bytes]], object],
    unlocked: Callable[[Exception], object],
    patience: float,
) -> None:
    import portalocker

    end = time.monotonic() + patience
    try:
        while True:
            try:
                portalocker.lock(file, portalocker.LOCK_EX | portalocker.LOCK_NB)
                return
            except portalocker.AlreadyLocked:
                if time.monotonic() >= end:
                    break
            time.sleep(0.01)
        waits(file)
        portalocker.lock(file, portalocker.LOCK_EX)
    except portalocker.LockException as error:
        unlocked(error)


def _is_at(file: IO[bytes], path: Path) -> bool:
    """Return whether a path still names an open file."""
    try:
        return os.path.samestat(os.fstat(file.fileno()), path.stat())
    except FileNotFoundError:
        return False


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
