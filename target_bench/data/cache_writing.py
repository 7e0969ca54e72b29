"""Entries of the cache of loaded corpora: how they are made, and removed."""

import hashlib
import json
import shutil
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from target_bench.core.errors import DataError, StoreError
from target_bench.core.files import CACHE_VARIABLE, Seen, cache_root, sealed, sha256_of, sync
from target_bench.core.schema import Query, Table
from target_bench.data.cache import (
    FORMAT,
    TEMPORARY,
    Cached,
    Entry,
    Part,
    arrow_schema,
    entries_named,
    entry_in,
    remove,
)
from target_bench.data.databases.stored_tables import DATABASES
from target_bench.data.tables import digest, encoded, encoded_body, encoded_context

if TYPE_CHECKING:
    pass


def entries() -> list[Entry]:
    """List all entries, those of other versions and unfinished ones included.

    ``format`` is None in those.
    """
    return list(entries_named("*"))


_ABANDONED = 24 * 3600  # seconds
_BATCH_BYTES = 4 << 20
_BATCH_TABLES = 1024


def read_into_cache(part: Part) -> Cached:
    """Read the sources into a new entry, or into a temporary one that goes when it is closed."""
    try:
        return _read_into(part, _new_folder(cache_root() / "corpora"), keep=True)
    except OSError as error:
        note = (
            f"the cache {cache_root()} cannot be written ({error.strerror or error}), so "
            f"{part.name} was read without it; name another folder with ${CACHE_VARIABLE}"
        )
    return read_without_cache(part, note)


def read_without_cache(part: Part, note: str) -> Cached:
    """Read the sources into a temporary entry that goes when it is closed.

    Raises:
        StoreError: there is no room for it.
    """
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
    for left in parent.glob(f"{TEMPORARY}*"):  # by a process that was killed
        with suppress(OSError):
            if time.time() - left.stat().st_mtime > _ABANDONED:
                shutil.rmtree(left, ignore_errors=True)
    return Path(tempfile.mkdtemp(prefix=TEMPORARY, dir=parent))


def _read_into(part: Part, place: Path, keep: bool) -> Cached:
    release = part.release()
    path = place / part.file
    try:
        notes = part.read(release, path)
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
        there = entry_in(home)
        same = there.seen == seen and there.sha256 == sha256
        if same and sha256_of(home / part.file) == sha256:
            return home / part.file  # another process made it just now
        with suppress(OSError):
            remove(home)  # of another folder with the same files
    with suppress(OSError):
        place.rename(home)
    return (place if place.exists() else home) / part.file


def clear() -> list[Entry]:
    """Remove all entries, and say which there were; built and unpacked databases go too.

    Raises:
        StoreError: one cannot be removed.
    """
    gone = entries()
    try:
        for entry in gone:
            remove(entry.folder)
        if (cache_root() / DATABASES).exists():
            remove(cache_root() / DATABASES)
    except OSError as error:
        raise StoreError(f"{error.filename} cannot be removed: {error.strerror}") from error
    return gone


def write_tables(path: Path, tables: Iterable[Table]) -> None:
    """Write tables into an Arrow file, a batch at a time."""
    import pyarrow

    schema = arrow_schema()
    with pyarrow.OSFile(str(path), "wb") as sink, pyarrow.ipc.new_file(sink, schema) as writer:
        for columns in _column_batches(tables):
            arrays = [pyarrow.array(c, t) for c, t in zip(columns, schema.types, strict=True)]
            writer.write_batch(pyarrow.record_batch(arrays, schema=schema))


def _column_batches(tables: Iterable[Table]) -> Iterator[list[list[Any]]]:
    columns: list[list[Any]] = [[] for _ in range(5)]
    size = 0
    for table in tables:
        body, context = encoded_body(table), encoded_context(table)
        hashes = digest(body, context)
        row = (
            _bytes(table.id.database_id),
            _bytes(table.id.table_id),
            hashes.content + hashes.context,
            body,
            context,
        )
        for column, value in zip(columns, row, strict=True):
            column.append(value)
        size += len(body) + len(context)
        if size >= _BATCH_BYTES or len(columns[0]) >= _BATCH_TABLES:
            yield columns
            columns, size = [[] for _ in range(5)], 0
    if columns[0]:
        yield columns


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def write_queries(path: Path, queries: Iterable[Query]) -> None:
    """Write queries into a file, one line per query."""
    with path.open("wb") as file:
        for query in queries:
            file.write(_line(query))


def _line(query: Query) -> bytes:
    parts = [query.id, query.text, query.gold, query.answer, query.database_id, query.metadata]
    try:
        return encoded(parts) + b"\n"
    except (TypeError, ValueError, RecursionError) as error:
        raise DataError(f"query {query.id!r} cannot be written as JSON: {error}") from error
