"""Files: written as a whole, forced to disk, locked, sealed, and compared with a state seen.

Also where caches are kept.

A checksum is taken when something is written, and checked before it is used. A file is known by its
SHA-256, computed once per process and state of the file. A JSON document carries the SHA-256 of its
content in a field of its own (its seal).
"""

import hashlib
import json
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import IO, Any

CACHE_VARIABLE = "TARGET_BENCH_CACHE"
"""The environment variable that names the cache folder."""

FIELD = "seal"
"""The field of a document that holds the SHA-256 of the others."""


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


def hash_file(path: Path) -> str:
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
    import portalocker

    while True:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a+b", buffering=0) as file:
            try:
                if not _is_locked_within(file, patience):
                    waits(file)
                    portalocker.lock(file, portalocker.LOCK_EX)
            except portalocker.LockException as error:
                unlocked(error)
            try:
                is_there = os.path.samestat(os.fstat(file.fileno()), path.stat())
            except FileNotFoundError:  # who held it has removed it
                continue
            if is_there:
                yield file
                return


def _is_locked_within(file: IO[bytes], seconds: float) -> bool:
    import portalocker

    end = time.monotonic() + seconds
    while True:
        try:
            portalocker.lock(file, portalocker.LOCK_EX | portalocker.LOCK_NB)
            return True
        except portalocker.AlreadyLocked:
            if time.monotonic() >= end:
                return False
        time.sleep(0.01)


class DamageError(ValueError):
    """Content differs from what was written."""


State = tuple[int, ...]


def state(path: Path) -> State:
    """Return device, inode, size and times of change of a file.

    Another state may be another content.

    Raises:
        OSError: there is no such file.
    """
    status = os.stat(path)  # noqa: PTH116 (half the time of Path.stat)
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def digest(path: Path) -> str:
    """Return the SHA-256 of a file, in hexadecimal; of one state of it, computed once per process.

    Raises:
        OSError: it cannot be read.
    """
    return _digest(str(path.absolute()), state(path))


@lru_cache(maxsize=65536)
def _digest(path: str, state: State) -> str:  # noqa: ARG001 (part of the key)
    return hash_file(Path(path))


def check_file(path: Path, sha256: str) -> None:
    """Check that a file holds what was written.

    Raises:
        DamageError: it does not.
        OSError: it cannot be read.
    """
    if digest(path) != sha256:
        raise DamageError(f"{path.name} has changed since it was written")


def parse_json(text: str | bytes, **reading: Any) -> Any:
    """Return a JSON value from outside of this process.

    Args:
        text: the document.
        reading: keywords of ``json.loads``.

    Raises:
        ValueError: it is not JSON, or is nested too deep to be read.
    """
    try:
        return json.loads(text, **reading)
    except RecursionError as error:
        raise ValueError(f"nested too deep: {error}") from error


def add_seal(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return a JSON document with its seal."""
    return {**record, FIELD: hash_json(dict(record))}


def remove_seal(record: Any) -> dict[str, Any]:
    """Return the document without its seal.

    Raises:
        DamageError: it is not what was written.
    """
    if not isinstance(record, dict):
        raise DamageError("it is not a JSON object")
    content = {name: value for name, value in record.items() if name != FIELD}
    try:
        if record.get(FIELD) != hash_json(content):
            raise DamageError("it has changed since it was written")
    except RecursionError as error:
        raise DamageError(f"nested too deep: {error}") from error
    return content


def hash_json(value: Any) -> str:
    """Return the SHA-256 of a JSON value, in hexadecimal.

    Spelling and order of keys do not count.
    """
    as_read = json.loads(json.dumps(value))  # keys are text there, and sort as such
    return hashlib.sha256(json.dumps(as_read, sort_keys=True).encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Seen:
    """State of the files read in a folder, comparable with a later state.

    Attributes:
        files: path in the folder -> SHA-256 of each file that was read.
        sizes: path in the folder -> its bytes.
        absent: paths that were looked for and not there; one that appears may take precedence.
        listings: pattern -> the paths that matched it.
    """

    files: dict[str, str] = field(default_factory=dict)
    sizes: dict[str, int] = field(default_factory=dict)
    absent: set[str] = field(default_factory=set)
    listings: dict[str, list[str]] = field(default_factory=dict)

    def still_true(self, folder: Path) -> bool:
        """Return whether a folder holds the same files with the same content."""
        return (
            not any((folder / name).exists() for name in self.absent)
            and all(listing(folder, p) == names for p, names in self.listings.items())
            and all((folder / name).is_file() for name in self.sizes)
            and all((folder / name).stat().st_size == size for name, size in self.sizes.items())
            and all(hash_file(folder / name) == digest for name, digest in self.files.items())
        )

    def to_json(self) -> dict[str, Any]:
        """Return the state as JSON."""
        return {**asdict(self), "absent": sorted(self.absent)}

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> "Seen":
        """Return the state that ``to_json`` wrote."""
        return cls(**{**record, "absent": set(record["absent"])})


def listing(folder: Path, pattern: str) -> list[str]:
    """Return the paths of files, and of links that lead to nothing, that match a pattern."""
    return sorted(
        path.relative_to(folder).as_posix()
        for path in folder.glob(pattern)
        if path.is_file() or (dead_link(path) and not path.name.startswith("."))
    )


def dead_link(path: Path) -> str | None:
    """Return the fault of a link that leads to nothing; None for any other path."""
    if not path.is_symlink() or path.exists():
        return None
    advice = "Restore the file it points to, or remove the link."
    return f"{path}: a link to {path.readlink()}, which does not exist. {advice}"
