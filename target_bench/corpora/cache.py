"""The cache of loaded corpora: what was read once is not parsed again.

Each entry is a folder named by a hash of the source files it was read from and of the code that
read them. It is made beside its place and renamed when whole, so a killed process leaves no half
of one, and it is used only while the source files are byte for byte the same.
"""

import hashlib
import json
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeVar

from target_bench.corpora.arrow import ArrowCorpus, write_tables
from target_bench.corpora.store import MemoryCorpus, NoteTally, checked, from_files
from target_bench.errors import DataError, StoreError
from target_bench.interfaces import Corpus, CorpusLoader
from target_bench.provenance import code_hash
from target_bench.release import Release, Seen
from target_bench.schema import Query, Table, TableId

T = TypeVar("T")

ENVIRONMENT = "TARGET_BENCH_CACHE"
"""The variable that names the cache folder."""

FORMAT = 1
"""The version of the layout; entries of another version are not used."""

_TEMPORARY = ".new-"


def root() -> Path:
    """``$TARGET_BENCH_CACHE``, else ``target-bench`` in the user's cache folder."""
    named = os.environ.get(ENVIRONMENT)
    if named:
        return Path(named)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "target-bench"


@dataclass(frozen=True)
class Cached:
    """What the cache gave, or what was just read.

    Attributes:
        value: the corpus or the queries.
        files: SHA-256 of the source files, by their path in the data folder.
        notes: what a user should know about it.
    """

    value: Any
    files: dict[str, str]
    notes: tuple[str, ...]


def tables(loader: CorpusLoader, folder: Path, split: str) -> Cached:
    """The corpus of a split, memory-mapped from the cache; read into it first if need be.

    Loaders that declare ``cached = False`` are read anew, into memory.

    Raises:
        DataError: a source file is missing or broken, or holds no sound tables.
    """
    return _cached(_Tables(loader, folder, split))


def queries(loader: CorpusLoader, folder: Path, split: str) -> Cached:
    """The queries of a split.

    Raises:
        DataError: a source file is missing or broken.
    """
    return _cached(_Queries(loader, folder, split))


@dataclass(frozen=True)
class _Part:
    """Tables or queries of one split: how they are read, written and read back."""

    loader: CorpusLoader
    folder: Path
    split: str

    kind = ""
    file = ""

    @property
    def name(self) -> str:
        return f"{self.loader.info.name}-{self.split}-{self.kind}"

    def release(self) -> Release:
        """The data folder, with nothing looked at yet."""
        return Release(self.folder, self.loader.info.source, self.loader.subfolders)

    @property
    def code(self) -> str:
        """What reads the sources, with its settings; other code, another entry."""
        settings = {k: v for k, v in vars(self.loader).items() if k not in ("info", "embedded")}
        codes = [
            code_hash(type(self.loader)),
            code_hash(ArrowCorpus),
            version("pyarrow"),
            repr(sorted(settings.items())),
        ]
        return hashlib.sha256(" ".join(codes).encode()).hexdigest()

    def read(self, release: Release, path: Path) -> list[str]:
        """Read the sources into a new file; what a user should know about them."""
        raise NotImplementedError

    def hold(self, release: Release) -> Any:
        """Read the sources into memory."""
        raise NotImplementedError

    def open(self, path: Path) -> Any:
        """What ``read`` wrote.

        Raises:
            OSError, ValueError, KeyError, TypeError: the file is damaged.
        """
        raise NotImplementedError


class _Tables(_Part):
    kind = "tables"
    file = "tables.arrow"

    def read(self, release: Release, path: Path) -> list[str]:
        tally = NoteTally()
        write_tables(path, _seen(self.loader.tables(release, self.split), tally))
        return tally.notes()

    def hold(self, release: Release) -> Corpus:
        return MemoryCorpus(self.loader.tables(release, self.split))

    def open(self, path: Path) -> Corpus:
        return ArrowCorpus(path)


class _Queries(_Part):
    kind = "queries"
    file = "queries.jsonl"

    def read(self, release: Release, path: Path) -> list[str]:
        with path.open("w", encoding="utf-8", errors="surrogatepass", newline="\n") as file:
            for query in self.loader.queries(release, self.split):
                file.write(_query_line(query))
        return []

    def hold(self, release: Release) -> list[Query]:
        return list(self.loader.queries(release, self.split))

    def open(self, path: Path) -> list[Query]:
        with path.open(encoding="utf-8", errors="surrogatepass", newline="\n") as file:
            return [_query(json.loads(line)) for line in file]


def _seen(given: Iterable[Table], tally: NoteTally) -> Iterator[Table]:
    for table in checked(given):
        tally.see(table)
        yield table


def _query_line(query: Query) -> str:
    parts = [query.id, query.text, query.gold, query.answer, query.database_id, query.metadata]
    return json.dumps(parts, ensure_ascii=False) + "\n"


def _query(parts: list[Any]) -> Query:
    query_id, text, gold, answer, database_id, metadata = parts
    return Query(
        query_id,
        text,
        tuple(TableId(*pair) for pair in gold),
        tuple(answer) if isinstance(answer, list) else answer,
        database_id,
        metadata,
    )


def _cached(part: _Part) -> Cached:
    if not part.loader.cached:
        release = part.release()
        value = _named(lambda: part.hold(release), part, release)
        return Cached(value, dict(release.hashes), ())
    notes: tuple[str, ...] = ()
    for entry in _entries(f"{part.name}-*"):
        if entry.format == FORMAT and entry.code == part.code and entry.seen.still_true(part.folder):
            path = entry.folder / part.file
            try:
                if path.stat().st_size != entry.bytes:
                    raise ValueError(f"it has {path.stat().st_size} bytes, not {entry.bytes}")
                return Cached(part.open(path), dict(entry.seen.files), tuple(entry.notes))
            except (OSError, ValueError, KeyError, TypeError) as error:
                notes = (f"the cached {path} is damaged ({error}); it was read anew",)
                shutil.rmtree(entry.folder, ignore_errors=True)
    fresh = _read(part)
    return Cached(fresh.value, fresh.files, (*notes, *fresh.notes))


def _read(part: _Part) -> Cached:
    """Read the sources into a new entry, or into a temporary one that goes when it is closed."""
    try:
        place = _new_folder(root() / "corpora")
        return _read_into(part, place, keep=True)
    except OSError as error:
        note = (
            f"the cache {root()} cannot be written ({error.strerror or error}), so "
            f"{part.name} was read without it; name another folder with ${ENVIRONMENT}"
        )
    try:
        place = _new_folder(Path(tempfile.gettempdir()))
        fresh = _read_into(part, place, keep=False)
    except OSError as error:
        raise StoreError(
            f"{part.name} fits neither into the cache {root()} nor into the temporary folder "
            f"{tempfile.gettempdir()}: {error.strerror or error}. Make room, or name other "
            f"folders with ${ENVIRONMENT} and $TMPDIR."
        ) from error
    return Cached(fresh.value, fresh.files, (*fresh.notes, note))


def _new_folder(parent: Path) -> Path:
    parent.mkdir(parents=True, exist_ok=True)
    return Path(tempfile.mkdtemp(prefix=_TEMPORARY, dir=parent))


def _read_into(part: _Part, place: Path, keep: bool) -> Cached:
    release = part.release()
    path = place / part.file
    try:
        notes = _named(lambda: part.read(release, path), part, release)
        seen = release.seen
        if keep and seen.files:  # a loader that reads nothing from the folder may read anything
            path = _finish(part, place, seen, notes)
        value = part.open(path)  # an open file outlives its folder
    finally:
        shutil.rmtree(place, ignore_errors=True)
    return Cached(value, dict(seen.files), tuple(notes))


def _named(read: Callable[[], T], part: _Part, release: Release) -> T:
    """What ``read`` gives; an error that names no file yet gets the corpus and its files."""
    try:
        return read()
    except DataError as error:
        if str(part.folder) in str(error):
            raise
        where = f"corpus {part.loader.info.name}, split {part.split}"
        raise DataError(f"{where}{from_files(list(release.hashes))}: {error}") from error


def _finish(part: _Part, place: Path, seen: Seen, notes: list[str]) -> Path:
    """Complete an entry and move it to its own name; where its file now lies."""
    content = json.dumps([FORMAT, part.code, sorted(seen.files.items())])
    key = hashlib.sha256(content.encode()).hexdigest()[:12]
    record = {
        "format": FORMAT,
        "code": part.code,
        "created": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
        "folder": str(part.folder),
        "bytes": (place / part.file).stat().st_size,
        "seen": seen.to_json(),
        "notes": notes,
    }
    (place / "entry.json").write_text(json.dumps(record, indent=1), encoding="utf-8")
    home = place.parent / f"{part.name}-{key}"
    if home.exists():  # of another folder with the same files, or made by another process just now
        shutil.rmtree(home, ignore_errors=True)
    with suppress(OSError):
        place.rename(home)
    return (home if home.exists() else place) / part.file


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
        seen: the state of the data folder.
        notes: what a user should know about the data.
    """

    folder: Path
    format: int | None
    code: str
    created: str
    source: str
    bytes: int
    seen: Seen
    notes: tuple[str, ...]

    @property
    def state(self) -> str:
        """Whether it can be used: ``whole``, of ``another version`` or ``unfinished``."""
        if self.format is None:
            return "unfinished"
        return "whole" if self.format == FORMAT else "another version"

    def to_json(self) -> dict[str, Any]:
        """What ``target-bench cache list --json`` prints."""
        shown = {k: v for k, v in asdict(self).items() if k not in ("seen", "code", "notes")}
        return shown | {"folder": str(self.folder), "state": self.state, "files": self.seen.files}


def entries() -> list[Entry]:
    """All entries, those of other versions and unfinished ones (``format`` is None) included."""
    return list(_entries("*"))


def _entries(pattern: str) -> Iterator[Entry]:
    try:
        folders = sorted((root() / "corpora").glob(pattern))
    except OSError:
        return
    for folder in folders:
        yield _entry(folder)


def _entry(folder: Path) -> Entry:
    try:
        record = json.loads((folder / "entry.json").read_bytes())
        return Entry(
            folder=folder,
            format=record["format"],
            code=record["code"],
            created=record["created"],
            source=record["folder"],
            bytes=record["bytes"],
            seen=Seen.from_json(record["seen"]),
            notes=tuple(record["notes"]),
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return Entry(folder, None, "", "", "", _folder_bytes(folder), Seen(), ())


def _folder_bytes(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def clear() -> list[Entry]:
    """Remove all entries, and say which there were.

    Raises:
        StoreError: one cannot be removed.
    """
    gone = entries()
    try:
        for entry in gone:
            shutil.rmtree(entry.folder)
    except OSError as error:
        raise StoreError(f"{error.filename} cannot be removed: {error.strerror}") from error
    return gone
