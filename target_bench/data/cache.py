"""The cache of loaded corpora: what was read once is not parsed again.

An entry is an Arrow file in ``<cache>/corpora``, named by corpus, split and part, by a hash of the
code that reads it and by its own SHA-256. Its last batch is empty and carries a record of the
source files with their hashes: it is used only while they are byte for byte what it was read from.
A file gets its name when it is whole, so a killed process leaves no half of one.

A row of tables holds ids, digests, and header, rows, grid and context as JSON, which keeps the type
of every cell. The file is memory-mapped, and a table is decoded when it is asked for.
"""

import hashlib
import json
import os
import re
import tempfile
import time
from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict
from functools import cache, cached_property, lru_cache
from itertools import accumulate, chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from target_bench.core.declarations import Columns
from target_bench.core.errors import DataError
from target_bench.core.files import Seen, cache_root, hash_file, parse_json
from target_bench.core.identity import PACKAGE, code_hash
from target_bench.core.registry import installed_version
from target_bench.core.release import CorpusLoader, Release
from target_bench.core.schema import Query, Table, TableId
from target_bench.data.formats.file_tables import FileSettings
from target_bench.data.tables import (
    DIGEST_BYTES,
    Digest,
    HashedCorpus,
    MemoryCorpus,
    decode_body,
    decode_json,
    digest,
    encode_body,
    encode_context,
    encode_json,
)

if TYPE_CHECKING:
    import pyarrow

_READERS = (  # decide what is read from the sources of a corpus
    "data",
    "corpora",
    "core/declarations.py",
    "core/families.py",
    "core/release.py",
    "core/schema.py",
    "core/unicode_text.py",
    "sql/hardness.py",
)
_TEMPORARY = ".new-"
_ABANDONED = 24 * 3600  # seconds
_BATCH_BYTES = 4 << 20
_BATCH_ROWS = 1024
_RECORD = "target_bench"


class Part(NamedTuple):
    """Tables or queries that were read, now or earlier, with notes on them for the user."""

    value: Any
    files: dict[str, str]  # path in the data folder -> SHA-256
    notes: tuple[str, ...]


class Kind(NamedTuple):
    """A part of a split that is cached apart: tables, or queries."""

    name: str
    columns: dict[str, str]  # name -> type of the columns of its files
    encode: Callable[[Any], Sequence[bytes]]  # a table or query -> a value for each column
    open: Callable[[Path], Any]
    collect: Callable[[Iterable[Any]], Any]  # without a cache


Reading = tuple[Release, Iterable[Any], list[str]]
"""Tables or queries as they are read, and notes, complete after the last one."""


def read_cached(
    loader: CorpusLoader, folder: Path, split: str, kind: Kind, start: Callable[[], Reading]
) -> Part:
    """Return what is cached of unchanged sources, read into the cache first if need be.

    Where the cache cannot be written, or the loader wants none, they are read into memory.
    """
    prefix = _entry_prefix(loader, split, kind) if loader.cached else None
    if prefix is not None:
        home = cache_root() / "corpora"
        with suppress(OSError):
            return _find_entry(home, prefix, folder, kind) or _write_entry(
                home, prefix, kind, *start()
            )
    release, items, notes = start()
    value = kind.collect(items)
    return Part(value, dict(release.hashes), (*notes, *release.notes))


def _find_entry(home: Path, prefix: str, folder: Path, kind: Kind) -> Part | None:
    """Return the entry of these sources; remove damaged ones, and those of changed sources."""
    for path in sorted(home.glob(f"{prefix}-*.arrow")):
        # another process may remove it, or it is no entry
        with suppress(OSError, ValueError, KeyError, TypeError):
            if hash_file(path)[:16] != path.stem[-16:]:
                path.unlink()
                continue
            file = _open_arrow(path)
            _, metadata = file.get_batch_with_custom_metadata(file.num_record_batches - 1)
            record = parse_json((metadata or {})[_RECORD.encode()])
            seen = Seen.from_json(record["seen"])
            if seen.still_true(folder):
                return Part(kind.open(path), seen.files, tuple(record["notes"]))
            # the entry of another folder may be what that folder still holds
            if record["folder"] == str(folder.resolve()):
                path.unlink()
    return None


def _write_entry(
    home: Path, prefix: str, kind: Kind, release: Release, items: Iterable[Any], notes: list[str]
) -> Part:
    """Read sources into an entry, a batch at a time."""
    home.mkdir(parents=True, exist_ok=True)
    for path in home.glob(f"{_TEMPORARY}*"):  # of a process that was killed
        with suppress(OSError):
            if time.time() - path.stat().st_mtime > _ABANDONED:
                path.unlink()

    def record() -> dict[str, Any]:
        folder = str(release.folder.resolve())
        notes.extend(release.notes)
        return {"folder": folder, "seen": release.seen.to_json(), "notes": notes}

    descriptor, temporary = tempfile.mkstemp(prefix=_TEMPORARY, suffix=".arrow", dir=home)
    os.close(descriptor)
    path = Path(temporary)
    try:
        write_arrow(path, kind, items, record)
        if release.hashes:  # a loader that reads nothing from the folder may read anything
            path = path.replace(home / f"{prefix}-{hash_file(path)[:16]}.arrow")
        value = kind.open(path)  # an open file outlives its name
    finally:
        Path(temporary).unlink(missing_ok=True)
    return Part(value, dict(release.hashes), tuple(notes))


def _entry_prefix(loader: CorpusLoader, split: str, kind: Kind) -> str | None:
    """Return how names of entries begin; None if the loader's code or settings have no hash."""
    plugin = type(loader)
    settings = {k: v for k, v in vars(loader).items() if k not in ("info", "embedded")}
    whole = [loader.info.name, split, kind.name]
    try:
        codes = [
            _hash_readers(),
            code_hash(plugin),
            installed_version("pyarrow"),
            f"{plugin.__module__}:{plugin.__qualname__}",
            *whole,
            json.dumps(settings, sort_keys=True, default=_setting_as_json),
        ]
    except (OSError, TypeError, ValueError):  # no source file, or a setting that is an object
        return None
    code = hashlib.sha256(json.dumps(codes).encode()).hexdigest()[:12]
    part = re.sub(r"[^A-Za-z0-9_.-]+", "_", "-".join(whole)).lstrip(".")[:80]
    return f"{part}-{code}"


@cache
def _hash_readers() -> str:
    """Return a hash of this package's files that read corpora."""
    # Where only words have changed, an entry is made again for nothing: that costs seconds, and an
    # entry of earlier code would cost wrong tables.
    paths = [PACKAGE / name for name in _READERS]
    files = [file for path in paths for file in ([path] if path.suffix else path.rglob("*.py"))]
    return hashlib.sha256("".join(map(hash_file, sorted(files))).encode()).hexdigest()


def _setting_as_json(value: object) -> Any:
    if isinstance(value, Path):
        return ["path", str(value)]
    if isinstance(value, Columns | FileSettings):
        return asdict(value)
    raise TypeError(f"{type(value).__name__} has no representation that identifies it")


def write_arrow(
    path: Path, kind: Kind, items: Iterable[Any], record: Callable[[], dict[str, Any]]
) -> None:
    """Write tables or queries into an Arrow file, a batch at a time, and the record at its end."""
    import pyarrow

    schema = _schema(kind)

    def join(values: Sequence[bytes], kind: "pyarrow.DataType") -> "pyarrow.Array":
        # not pyarrow.array, which imports pandas where that is installed: 0.4 s
        code = "q" if kind == pyarrow.large_binary() else "i"
        offsets = pyarrow.py_buffer(array(code, accumulate(map(len, values), initial=0)))
        buffers = [None, offsets, pyarrow.py_buffer(b"".join(values))]
        return pyarrow.Array.from_buffers(kind, len(values), buffers)

    def batch(rows: Sequence[Sequence[bytes]]) -> "pyarrow.RecordBatch":
        columns = zip(*rows, strict=True) if rows else [()] * len(schema)
        return pyarrow.record_batch(list(map(join, columns, schema.types)), schema=schema)

    with pyarrow.OSFile(str(path), "wb") as sink, pyarrow.ipc.new_file(sink, schema) as writer:
        rows, size = [], 0
        for row in map(kind.encode, items):
            rows.append(row)
            size += sum(map(len, row))
            if size >= _BATCH_BYTES or len(rows) >= _BATCH_ROWS:
                writer.write_batch(batch(rows))
                rows, size = [], 0
        if rows:
            writer.write_batch(batch(rows))
        writer.write_batch(batch([]), custom_metadata={_RECORD: json.dumps(record())})


def _schema(kind: Kind) -> "pyarrow.Schema":
    import pyarrow

    types = {name: pyarrow.type_for_alias(alias) for name, alias in kind.columns.items()}
    return pyarrow.schema(types)


def _open_arrow(path: Path) -> "pyarrow.ipc.RecordBatchFileReader":
    """Open an Arrow file, memory-mapped; raises OSError or ValueError if it is none."""
    import pyarrow

    return pyarrow.ipc.open_file(pyarrow.memory_map(str(path)))


class ArrowCorpus(HashedCorpus):
    """The tables of a file of the kind ``TABLES``; raises OSError or ValueError if it is none."""

    def __init__(self, path: Path) -> None:
        file = _open_arrow(path)
        if file.schema != _schema(TABLES):
            raise ValueError(f"its columns are {file.schema.names}")
        self._batches = [file.get_batch(i) for i in range(file.num_record_batches)]
        self._starts = list(accumulate((b.num_rows for b in self._batches), initial=0))
        database = lru_cache(_decode_text)  # few for many tables
        self._ids = tuple(
            TableId(database(database_id), _decode_text(table_id))
            for batch in self._batches
            for database_id, table_id in zip(
                batch.column(0).to_pylist(), batch.column(1).to_pylist(), strict=True
            )
        )

    def __iter__(self) -> Iterator[Table]:
        bodies = chain.from_iterable(batch.column(3) for batch in self._batches)
        contexts = chain.from_iterable(batch.column(4) for batch in self._batches)
        return map(_decode_table, self._ids, bodies, contexts)

    def at(self, place: int) -> Table:
        """Return the table at a place of the corpus."""
        number = bisect_right(self._starts, place) - 1
        batch, row = self._batches[number], place - self._starts[number]
        return _decode_table(self._ids[place], batch.column(3)[row], batch.column(4)[row])

    @cached_property
    def digests(self) -> Sequence[Digest]:
        """One a table, in corpus order."""
        both = (value for batch in self._batches for value in batch.column(2).to_pylist())
        n = DIGEST_BYTES
        return [Digest(value[:n], value[n : 2 * n]) for value in both]


def _decode_text(encoded: bytes) -> str:
    return encoded.decode("utf-8", "surrogatepass")


def _encode_table(table: Table) -> Sequence[bytes]:
    body, context = encode_body(table), encode_context(table)
    hashes = digest(body, context)
    ids = (name.encode("utf-8", "surrogatepass") for name in table.id)
    return *ids, hashes.content + hashes.context, body, context


def _decode_table(table_id: TableId, body: Any, context: Any) -> Table:
    header, rows, grid = decode_body(body.as_py())
    return Table(table_id, header, rows, decode_json(context.as_py()), grid)


def _encode_query(query: Query) -> Sequence[bytes]:
    parts = [query.id, query.text, query.gold, query.answer, query.database_id, query.metadata]
    try:
        return (encode_json(parts),)
    except (TypeError, ValueError, RecursionError) as error:
        raise DataError(f"query {query.id!r} cannot be written as JSON: {error}") from error


def _open_queries(path: Path) -> list[Query]:
    queries = []
    for row in _open_arrow(path).read_all().column(0).to_pylist():
        query_id, text, gold, answer, database, metadata = decode_json(row)
        answer = tuple(answer) if isinstance(answer, list) else answer
        gold = tuple(TableId(*table) for table in gold)
        queries.append(Query(query_id, text, gold, answer, database, metadata))
    return queries


_COLUMNS = dict.fromkeys(("database_id", "table_id", "digest"), "binary")
TABLES = Kind(
    "tables",
    _COLUMNS | dict.fromkeys(("body", "context"), "large_binary"),
    _encode_table,
    ArrowCorpus,
    MemoryCorpus,
)
QUERIES = Kind("queries", {"query": "large_binary"}, _encode_query, _open_queries, list)
