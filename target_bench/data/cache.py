"""The cache of loaded corpora: what was read once is not parsed again.

Each entry is a folder named by a hash of the source files it was read from and of the code that
read them. It is made beside its place and renamed when whole, so a killed process leaves no half
of one, and it is used only while the source files are byte for byte the same. Its record is sealed
and holds the SHA-256 of its data; both are checked before it is used.
"""

import glob
import hashlib
import json
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeVar
from uuid import uuid4

from target_bench.core.errors import DataError, StoreError
from target_bench.core.files import CACHE_VARIABLE, cache_root, sha256_of, sync
from target_bench.core.interfaces import CorpusLoader
from target_bench.core.release import Release, Seen
from target_bench.core.seals import check_file, sealed, unsealed
from target_bench.data.cache_parts import Part, Queries, Tables
from target_bench.data.read_split import from_files

T = TypeVar("T")

FORMAT = 3
"""The version of the layout; entries of another version are not used."""

DATABASES = "databases"
"""The folder of database files that were built or unpacked (``database_cache``)."""

_TEMPORARY = ".new-"
_ABANDONED = 24 * 3600  # seconds


@dataclass(frozen=True)
class Cached:
    """A value from the cache, or one that was just read.

    Attributes:
        value: the corpus or the queries.
        files: SHA-256 of the source files, by their path in the data folder.
        notes: what a user should know about it.
    """

    value: Any
    files: dict[str, str]
    notes: tuple[str, ...]


def tables(loader: CorpusLoader, folder: Path, split: str) -> Cached:
    """Return the corpus of a split, memory-mapped from the cache; read into it first if need be.

    Loaders that declare ``cached = False`` are read again, into memory.

    Raises:
        DataError: a source file is missing or broken, or holds no sound tables.
        PluginError: the loader is a plug-in and raised.
        StoreError: neither the cache nor the temporary folder has room.
    """
    return _cached(Tables(loader, folder, split))


def queries(loader: CorpusLoader, folder: Path, split: str) -> Cached:
    """Return the queries of a split.

    Raises:
        DataError, PluginError, StoreError: as for ``tables``.
    """
    return _cached(Queries(loader, folder, split))


def _cached(part: Part) -> Cached:
    from target_bench.data import hub

    given = _given(part)
    hub.check(part.folder, given.files)
    return given


def _given(part: Part) -> Cached:
    if not part.loader.cached:
        release = part.release()
        value, notes = _named(lambda: part.hold(release), part, release)
        return Cached(value, dict(release.hashes), tuple(notes))
    if part.code is None:
        note = f"{part.name} is read again every time: its loader's code or settings have no hash"
        return _read_without_cache(part, note)
    found, faults = _found(part)
    fresh = found or _read(part)
    return Cached(fresh.value, fresh.files, (*faults, *fresh.notes))


def _found(part: Part) -> tuple[Cached | None, list[str]]:
    """Return the entry that holds this part, and a note for every damaged one that was met."""
    faults: list[str] = []
    for entry in _entries(f"{glob.escape(part.name)}-*"):
        fault: Exception | str = "its entry.json cannot be read"
        if entry.format is not None:
            if entry.format != FORMAT or entry.code != part.code or not _is_of(entry, part.folder):
                continue
            try:
                return _opened(part, entry), faults
            except (OSError, ValueError, KeyError, TypeError) as error:
                fault = error
        if entry.folder.exists():  # else another process has just replaced it
            with suppress(OSError):
                _remove(entry.folder)
            faults.append(f"the cached {entry.folder} is damaged ({fault}); it was read again")
    return None, faults


def _is_of(entry: "Entry", folder: Path) -> bool:
    """Return whether the sources are unchanged since the entry was made."""
    try:
        return entry.seen.still_true(folder)
    except (OSError, ValueError, TypeError):  # unreadable now, or a record that makes no sense
        return False


def _opened(part: Part, entry: "Entry") -> Cached:
    path = entry.folder / part.file
    there = path.stat().st_size
    if there != entry.bytes:
        raise ValueError(f"{part.file} has {there} bytes, not {entry.bytes}")
    check_file(path, entry.sha256)
    return Cached(part.open(path), dict(entry.seen.files), tuple(entry.notes))


def _read(part: Part) -> Cached:
    """Read the sources into a new entry, or into a temporary one that goes when it is closed."""
    try:
        return _read_into(part, _new_folder(cache_root() / "corpora"), keep=True)
    except OSError as error:
        note = (
            f"the cache {cache_root()} cannot be written ({error.strerror or error}), so "
            f"{part.name} was read without it; name another folder with ${CACHE_VARIABLE}"
        )
    return _read_without_cache(part, note)


def _read_without_cache(part: Part, note: str) -> Cached:
    try:
        fresh = _read_into(part, Path(tempfile.mkdtemp(prefix="target-bench-")), keep=False)
    except OSError as error:
        raise StoreError(
            f"{part.name} fits neither into the cache {cache_root()} nor into the temporary "
            f"folder: {error.strerror or error}. Make room, or name other folders with "
            f"${CACHE_VARIABLE} and $TMPDIR."
        ) from error
    return Cached(fresh.value, fresh.files, (*fresh.notes, note))


def _new_folder(parent: Path) -> Path:
    parent.mkdir(parents=True, exist_ok=True)
    for left in parent.glob(f"{_TEMPORARY}*"):  # by a process that was killed
        with suppress(OSError):
            if time.time() - left.stat().st_mtime > _ABANDONED:
                shutil.rmtree(left, ignore_errors=True)
    return Path(tempfile.mkdtemp(prefix=_TEMPORARY, dir=parent))


def _read_into(part: Part, place: Path, keep: bool) -> Cached:
    release = part.release()
    path = place / part.file
    try:
        notes = _named(lambda: part.read(release, path), part, release)
        seen = release.seen
        if not seen.still_true(part.folder):
            raise DataError(
                f"{part.folder}: files there changed while they were read; run the same command "
                "again when nothing writes them any more"
            )
        if keep and seen.files:  # a loader that reads nothing from the folder may read anything
            path = _finish(part, place, seen, notes)
        value = part.open(path)  # an open file outlives its folder
    finally:
        shutil.rmtree(place, ignore_errors=True)
    return Cached(value, dict(seen.files), tuple(notes))


def _named(read: Callable[[], T], part: Part, release: Release) -> T:
    """Return the result of ``read``; an error without a file gets the corpus and its files."""
    try:
        return read()
    except DataError as error:
        text = str(error)
        folder = str(part.folder) if part.folder.name else None  # "." is in any text
        if any(name in text for name in (*release.hashes, folder) if name):
            raise
        where = f"corpus {part.loader.info.name}, split {part.split}"
        raise DataError(f"{where}{from_files(list(release.hashes))}: {error}") from error


def _finish(part: Part, place: Path, seen: Seen, notes: list[str]) -> Path:
    """Complete an entry and move it to its own name; return its path."""
    content = json.dumps([FORMAT, part.code, sorted(seen.files.items())])
    key = hashlib.sha256(content.encode()).hexdigest()[:12]
    size, sha256 = (place / part.file).stat().st_size, sha256_of(place / part.file)
    record = {
        "format": FORMAT,
        "code": part.code,
        "created": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
        "folder": str(part.folder.resolve()),
        "bytes": size,
        "sha256": sha256,
        "seen": seen.to_json(),
        "notes": notes,
    }
    (place / "entry.json").write_text(json.dumps(sealed(record), indent=1), encoding="utf-8")
    sync(place)
    home = place.parent / f"{part.name}-{key}"
    if home.exists():
        there = _entry(home)
        same = there.seen == seen and there.sha256 == sha256
        if same and sha256_of(home / part.file) == sha256:
            return home / part.file  # another process made it just now
        with suppress(OSError):
            _remove(home)  # of another folder with the same files
    with suppress(OSError):
        place.rename(home)
    return (place if place.exists() else home) / part.file


def _remove(folder: Path) -> None:
    """Remove an entry; no other process sees half of it.

    Raises:
        OSError: it cannot be removed.
    """
    aside = folder.with_name(f"{_TEMPORARY}{uuid4().hex}")
    with suppress(FileNotFoundError):  # another process was faster
        folder.rename(aside)
        shutil.rmtree(aside)


@dataclass(frozen=True)
class Entry:
    """One entry of the cache.

    Attributes:
        folder: where it lies.
        format: the version of its layout, or None if it cannot be read.
        code: the hash of the code that read the sources.
        created: when.
        source: the data folder it was read from.
        bytes: the size of its data file.
        sha256: of its data file.
        seen: the state of the data folder.
        notes: what a user should know about the data.
    """

    folder: Path
    format: int | None
    code: str
    created: str
    source: str
    bytes: int
    sha256: str
    seen: Seen
    notes: tuple[str, ...]

    @property
    def state(self) -> str:
        """Whether it can be used: ``whole``, of ``another version`` or ``unfinished``."""
        if self.format is None:
            return "unfinished"
        return "whole" if self.format == FORMAT else "another version"

    def to_json(self) -> dict[str, Any]:
        """Return the entry as ``target-bench data cache list --json`` prints it."""
        shown = {
            k: v for k, v in asdict(self).items() if k not in ("seen", "code", "notes", "sha256")
        }
        return shown | {"folder": str(self.folder), "state": self.state, "files": self.seen.files}


def entries() -> list[Entry]:
    """List all entries, those of other versions and unfinished ones included.

    ``format`` is None in those.
    """
    return list(_entries("*"))


def _entries(pattern: str) -> Iterator[Entry]:
    try:
        folders = sorted((cache_root() / "corpora").glob(pattern))
    except OSError:
        return
    for folder in folders:
        if folder.is_dir():
            yield _entry(folder)


def _entry(folder: Path) -> Entry:
    try:
        record = json.loads((folder / "entry.json").read_bytes())
        if record["format"] != FORMAT:
            size, when = _folder_bytes(folder), str(record.get("created", ""))
            return Entry(folder, int(record["format"]), "", when, "", size, "", Seen(), ())
        record = unsealed(record)
        texts = record["created"], record["folder"], record["sha256"], *record["notes"]
        if not all(isinstance(text, str) for text in texts):
            raise TypeError("a text is none")
        return Entry(
            folder=folder,
            format=FORMAT,
            code=record["code"],
            created=record["created"],
            source=record["folder"],
            bytes=int(record["bytes"]),
            sha256=record["sha256"],
            seen=Seen.from_json(record["seen"]),
            notes=tuple(record["notes"]),
        )
    except (
        OSError,
        ValueError,
        ArithmeticError,
        KeyError,
        TypeError,
        AttributeError,
        RecursionError,
    ):
        return Entry(folder, None, "", "", "", _folder_bytes(folder), "", Seen(), ())


def _folder_bytes(folder: Path) -> int:
    try:
        return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    except OSError:  # another process is removing it
        return 0


def clear() -> list[Entry]:
    """Remove all entries, and say which there were; built and unpacked databases go too.

    Raises:
        StoreError: one cannot be removed.
    """
    gone = entries()
    try:
        for entry in gone:
            _remove(entry.folder)
        if (cache_root() / DATABASES).exists():
            _remove(cache_root() / DATABASES)
    except OSError as error:
        raise StoreError(f"{error.filename} cannot be removed: {error.strerror}") from error
    return gone
