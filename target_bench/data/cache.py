"""The cache of loaded corpora: what was read once is not parsed again.

Each entry is a folder named by a hash of the source files it was read from and of the code that
read them. It is made beside its place and renamed when whole (``cache_writing``), so a killed
process leaves no half of one, and it is used only while the source files are byte for byte the
same. Its record is sealed and holds the SHA-256 of its data; both are checked before it is used.

Tables lie in an Arrow file that is memory-mapped: a row holds a table's ids, its digests, and
header, rows, grid and context as JSON, which keeps the type of every cell. Tables are decoded one
at a time, when asked for. Queries lie in a file with a line each.
"""

import glob
import hashlib
import json
import re
import shutil
from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import cache, cached_property, lru_cache
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar
from uuid import uuid4

from target_bench.core.errors import DataError
from target_bench.core.files import Seen, cache_root, check_file, parse_json, sha256_of, unsealed
from target_bench.core.identity import PACKAGE, code_hash
from target_bench.core.release import CorpusLoader, Release
from target_bench.core.schema import Query, Table, TableId
from target_bench.data.tables import DIGEST_BYTES, Digest, HashedCorpus, body_of, decoded

if TYPE_CHECKING:
    import pyarrow

FORMAT = 3
"""The version of the layout; entries of another version are not used."""

_READERS = ("data", "corpora", "core/release.py", "core/schema.py", "sql/hardness.py")
"""Folders and files of this package that decide what is read from the sources of a corpus."""

TEMPORARY = ".new-"
"""How the name of a folder begins that is being made or removed."""


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


@dataclass(frozen=True)
class Part(ABC):
    """A unit of the cache: the tables of a split, or its queries."""

    loader: CorpusLoader
    folder: Path
    split: str

    kind: ClassVar[str]
    file: ClassVar[str]
    writer: ClassVar[Callable[..., None]]
    """What writes the file."""

    @abstractmethod
    def release(self) -> Release:
        """Return the data folder, with nothing read yet."""

    @abstractmethod
    def read(self, release: Release, path: Path) -> list[str]:
        """Read the sources into a new file; return notes for the user about them."""

    @abstractmethod
    def open(self, path: Path) -> Any:
        """Return the part that ``read`` wrote.

        Raises:
            OSError, ValueError, KeyError, TypeError: the file is damaged.
        """

    @property
    def name(self) -> str:
        """The beginning of the entry's name; it need not tell one part from all others."""
        named = f"{self.loader.info.name}-{self.split}"
        return f"{re.sub(r'[^A-Za-z0-9_.-]+', '_', named).lstrip('.')[:80]}-{self.kind}"

    @cached_property
    def code(self) -> str | None:
        """Hash of the reading code, its settings and what is read; None where that is unknown."""
        plugin = type(self.loader)
        try:
            codes = [
                _own_code(),
                code_hash(plugin),
                version("pyarrow"),
                f"{plugin.__module__}:{plugin.__qualname__}",
                self.loader.info.name,
                self.split,
                self.kind,
                _settings(self.loader),
            ]
        except (OSError, TypeError, ValueError):  # no source file, or a setting that is an object
            return None
        return hashlib.sha256(json.dumps(codes).encode()).hexdigest()


@cache
def _own_code() -> str:
    """Return a hash of this package's files that read corpora.

    An entry is made again for nothing where only their words have changed: that costs seconds, and
    an entry of earlier code would cost wrong tables.
    """
    places = [PACKAGE / name for name in _READERS]
    files = [
        file for place in places for file in ([place] if place.suffix else place.rglob("*.py"))
    ]
    hashes = [sha256_of(file) for file in sorted(files)]
    return hashlib.sha256("".join(hashes).encode()).hexdigest()


def _settings(loader: CorpusLoader) -> str:
    settings = {k: v for k, v in vars(loader).items() if k not in ("info", "embedded")}
    return json.dumps(settings, sort_keys=True, default=_path)


def _path(value: object) -> list[str]:
    if isinstance(value, Path):
        return ["path", str(value)]
    raise TypeError(f"{type(value).__name__} has no representation that identifies it")


def found(part: Part) -> tuple[Cached | None, list[str]]:
    """Return the entry that holds this part, if any, and a note for every damaged one met."""
    faults: list[str] = []
    for entry in entries_named(f"{glob.escape(part.name)}-*"):
        fault: Exception | str = "its entry.json cannot be read"
        made = _made(entry.folder)
        entry = entry if entry.format else entry_in(entry.folder)  # if it was being replaced
        if entry.format is not None:
            if entry.format != FORMAT or entry.code != part.code or not _is_of(entry, part.folder):
                continue
            try:
                return _opened(part, entry), faults
            except (OSError, ValueError, KeyError, TypeError) as error:
                fault = error
        if made and made == _made(entry.folder):  # else another process has just replaced it
            with suppress(OSError):
                remove(entry.folder)
            faults.append(f"the cached {entry.folder} is damaged ({fault}); it was read again")
    return None, faults


def _made(folder: Path) -> tuple[int, int] | None:
    """Return the identity of a folder, which no later one of its name has; None: it is gone."""
    with suppress(OSError):
        return (found := folder.stat()).st_ino, found.st_mtime_ns
    return None


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


def entries_named(pattern: str) -> Iterator[Entry]:
    """Yield the entries whose names match a glob pattern."""
    try:
        folders = sorted((cache_root() / "corpora").glob(pattern))
    except OSError:
        return
    for folder in folders:
        if folder.is_dir():
            yield entry_in(folder)


def entry_in(folder: Path) -> Entry:
    """Read the record of an entry; ``format`` is None in one that cannot be read."""
    try:
        record = parse_json((folder / "entry.json").read_bytes())
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
        LookupError,
        TypeError,
        AttributeError,
    ):
        return Entry(folder, None, "", "", "", _folder_bytes(folder), "", Seen(), ())


def _folder_bytes(folder: Path) -> int:
    try:
        return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    except OSError:  # another process is removing it
        return 0


def remove(folder: Path) -> None:
    """Remove an entry; no other process sees half of it.

    Raises:
        OSError: it cannot be removed.
    """
    aside = folder.with_name(f"{TEMPORARY}{uuid4().hex}")
    with suppress(FileNotFoundError):  # another process was faster
        folder.rename(aside)
        shutil.rmtree(aside)


class ArrowCorpus(HashedCorpus):
    """The tables of a file that ``write_tables`` wrote.

    Args:
        path: the file.

    Raises:
        OSError: the file cannot be read.
        ValueError: it is not a whole Arrow file of tables.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._batches = _batches(path)
        self._starts: list[int] = []
        n = 0
        for batch in self._batches:
            self._starts.append(n)
            n += batch.num_rows
        self._ids = tuple(_ids(self._batches))

    def __iter__(self) -> Iterator[Table]:
        ids = iter(self._ids)
        for batch in self._batches:
            bodies, contexts = batch.column(3), batch.column(4)
            for i in range(batch.num_rows):
                yield self._table(next(ids), bodies[i], contexts[i])

    def __getitem__(self, table_id: tuple[str, str]) -> Table:
        return self.at(self.positions[table_id])

    def at(self, place: int) -> Table:
        """Return the table at a place in corpus order."""
        number = bisect_right(self._starts, place) - 1
        batch, i = self._batches[number], place - self._starts[number]
        return self._table(self._ids[place], batch.column(3)[i], batch.column(4)[i])

    def _table(self, table_id: TableId, body: Any, context: Any) -> Table:
        try:
            header, rows, grid = body_of(body.as_py())
            return Table(table_id, header, rows, decoded(context.as_py()), grid)
        except (ValueError, TypeError) as error:
            raise DataError(
                f"{self._path}, table {table_id}: damaged ({error}). Remove the cache with: "
                "target-bench data cache clear"
            ) from error

    @property
    def ids(self) -> Sequence[TableId]:
        """The ids of all tables, in corpus order."""
        return self._ids

    @cached_property
    def digests(self) -> Sequence[Digest]:
        """One a table, in corpus order."""
        both = (value for batch in self._batches for value in batch.column(2).to_pylist())
        return [Digest(value[:DIGEST_BYTES], value[DIGEST_BYTES:]) for value in both]


def _batches(path: Path) -> "list[pyarrow.RecordBatch]":
    import pyarrow

    try:
        with pyarrow.memory_map(str(path)) as source:
            reader = pyarrow.ipc.open_file(source)
            if reader.schema != arrow_schema():
                raise ValueError(f"its columns are {reader.schema.names}")
            batches = [reader.get_batch(i) for i in range(reader.num_record_batches)]
        for batch in batches:
            batch.validate(full=True)  # no offset leads out of the file
            if any(column.null_count for column in batch.columns):
                raise ValueError("it holds nulls")
    except pyarrow.ArrowException as error:
        raise ValueError(str(error)) from error
    return batches


def arrow_schema() -> "pyarrow.Schema":
    """Return names and types of the columns of a file of tables."""
    import pyarrow

    return pyarrow.schema(
        {
            "database_id": pyarrow.binary(),
            "table_id": pyarrow.binary(),
            "digest": pyarrow.binary(2 * DIGEST_BYTES),
            "body": pyarrow.large_binary(),
            "context": pyarrow.binary(),
        }
    )


def _ids(batches: "Iterable[pyarrow.RecordBatch]") -> Iterator[TableId]:
    database = lru_cache(_text)
    for batch in batches:
        pairs = zip(batch.column(0).to_pylist(), batch.column(1).to_pylist(), strict=True)
        for database_id, table_id in pairs:
            yield TableId(database(database_id), _text(table_id))


def _text(encoded: bytes) -> str:
    return encoded.decode("utf-8", "surrogatepass")


def read_queries(path: Path) -> list[Query]:
    """Return the queries of a file that ``cache_writing.write_queries`` wrote.

    Raises:
        OSError, ValueError, KeyError, TypeError: the file is damaged.
    """
    with path.open("rb") as file:
        return [_query(decoded(line)) for line in file]


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
