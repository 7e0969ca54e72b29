"""The files of recorded embeddings: a folder for each encoder and kind of text.

``header.json`` says whose vectors these are, ``vectors.f32`` holds them one after another, and
``keys.bin`` has a record for each: the hash of its text, a CRC-32, and whether the text was cut.
Vectors are written before their records, and both only grow, so readers need no lock. A row counts
when vector and record are whole; what a killed process left of a last one is cut off before the
next is added.
"""

import json
import os
import shutil
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np
import portalocker

from target_bench.core.errors import StoreError
from target_bench.core.files import DamageError, parse_json, sealed, sync, unsealed

FORMAT = 2
"""The version of the layout; a folder of another version is moved aside."""

FOLDER = "embeddings"
"""Folder in the cache."""

HEADER, KEYS, VECTORS = "header.json", "keys.bin", "vectors.f32"
VECTOR = np.dtype("<f4")
RECORD = np.dtype([("key", "V16"), ("crc", "<u4"), ("cut", "u1")])

_ASIDE, _NEW = ".aside-", ".new-"
_LOCK = ".lock"
_SEAL = "sha256"
_SHA256 = "sha256:"
_BUSY = 60.0  # seconds to wait for another process that writes


@dataclass(frozen=True, slots=True)
class Header:
    """Description of the vectors in a folder.

    Attributes:
        encoder: identity of the encoder: class, settings, code, packages, revision.
        kind: of the texts, ``query`` or ``table``.
        dimension: of a vector.
        created: when the folder was made.
        id: tells this folder from an earlier one at the same place.
    """

    encoder: Mapping[str, Any]
    kind: str
    dimension: int
    created: str
    id: str

    def to_json(self) -> dict[str, Any]:
        """Return the header as it is written, with a checksum of itself."""
        record = {
            "format": FORMAT,
            "encoder": dict(self.encoder),
            "kind": self.kind,
            "dimension": self.dimension,
            "dtype": VECTOR.str,
            "created": self.created,
            "id": self.id,
        }
        return sealed(record, _SEAL)


def read_header(folder: Path) -> Header:
    """Return the header of a folder.

    Raises:
        FileNotFoundError: there is no such folder.
        DamageError: it is missing, damaged, or of another version.
        OSError: it cannot be read.
    """
    try:
        record = parse_json((folder / HEADER).read_bytes())
        if record["format"] != FORMAT:
            raise DamageError(f"its layout is version {record['format']}, not {FORMAT}")
        record = unsealed(record, _SEAL)
        if record["dtype"] != VECTOR.str:
            raise DamageError(f"its vectors are {record['dtype']}, not {VECTOR.str}")
        names = ("encoder", "kind", "dimension", "created", "id")
        return Header(*(record[name] for name in names))
    except FileNotFoundError:
        if not folder.is_dir():
            raise
        raise DamageError(f"{HEADER} is missing") from None
    except DamageError as error:
        raise DamageError(f"{HEADER}: {error}") from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise DamageError(f"{HEADER} cannot be read: {error}") from error


def whole_rows(folder: Path, dimension: int) -> int:
    """Return how many rows of a folder are whole."""
    records = _size(folder / KEYS) // RECORD.itemsize
    return min(records, _size(folder / VECTORS) // (dimension * VECTOR.itemsize))


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Be the only writer under a folder, among all threads and processes.

    Raises:
        OSError: the folder cannot be made or written.
        portalocker.LockException: another process holds it for too long.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with portalocker.Lock(folder / _LOCK, timeout=_BUSY, check_interval=0.01):
        yield


def write_at(path: Path, end: int, content: bytes, syncs: bool) -> None:
    """Write from ``end`` on; bytes behind it were not a whole row."""
    file = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o666)
    try:
        if os.fstat(file).st_size != end:
            os.ftruncate(file, end)
        os.lseek(file, end, os.SEEK_SET)
        left = memoryview(content)
        while left:
            left = left[os.write(file, left) :]
        if syncs:
            os.fsync(file)
    except OSError as error:
        error.filename = error.filename or str(path)
        raise
    finally:
        os.close(file)


def create(folder: Path, encoder: Mapping[str, Any], kind: str, dimension: int) -> Header:
    """Make a folder beside its place, and move it there when its header is on disk.

    Raises:
        OSError: it cannot be made.
    """
    created = time.strftime("%Y-%m-%dT%H:%M:%S%z")
    header = Header(encoder, kind, dimension, created, uuid4().hex)
    new = folder.with_name(f"{_NEW}{uuid4().hex}")
    try:
        new.mkdir()
        text = json.dumps(header.to_json(), indent=1)
        (new / HEADER).write_text(text, encoding="utf-8")
        sync(new)
        new.rename(folder)
    finally:
        shutil.rmtree(new, ignore_errors=True)
    return header


def move_aside(folder: Path) -> Path:
    """Give one folder per name under which no embeddings are looked for.

    Raises:
        OSError: it cannot be renamed.
    """
    return folder.rename(folder.with_name(f"{folder.name}{_ASIDE}{time.time_ns()}"))


@dataclass(frozen=True, slots=True)
class Entry:
    """A folder of recorded embeddings.

    Attributes:
        folder: where it lies.
        state: ``whole``, ``moved aside`` or why it cannot be used.
        encoder: class and settings of the encoder, for people.
        kind: of the texts, ``query`` or ``table``.
        rows: how many vectors there are.
        dimension: of a vector.
        bytes: the size of its files.
        created: when it was made.
    """

    folder: Path
    state: str
    encoder: str
    kind: str
    rows: int
    dimension: int
    bytes: int
    created: str

    def to_json(self) -> dict[str, Any]:
        """Return the output of ``target-bench data cache list --json``."""
        return asdict(self) | {"folder": str(self.folder)}


def entries(root: Path) -> list[Entry]:
    """Return all folders of recorded embeddings in a cache folder, unusable ones included."""
    try:
        folders = sorted(path for path in (root / FOLDER).iterdir() if path.is_dir())
    except OSError:
        return []
    return [_entry(folder) for folder in folders]


def _entry(folder: Path) -> Entry:
    size = sum(_size(folder / name) for name in (HEADER, KEYS, VECTORS))
    try:
        header = read_header(folder)
    except (OSError, DamageError) as error:
        aside = _ASIDE in folder.name
        return Entry(folder, "moved aside" if aside else str(error), "", "", 0, 0, size, "")
    return Entry(
        folder=folder,
        state="moved aside" if _ASIDE in folder.name else "whole",
        encoder=_shown(header.encoder),
        kind=header.kind,
        rows=whole_rows(folder, header.dimension),
        dimension=header.dimension,
        bytes=size,
        created=header.created,
    )


def _shown(encoder: Mapping[str, Any]) -> str:
    """Return ``Class(setting=value, ...)``, without settings that are empty."""
    settings = encoder.get("config") or {}
    shown = ", ".join(
        f"{name}={_short(value)}"
        for name, value in settings.items()
        if value not in (None, "", [], {})
    )
    return f"{str(encoder.get('class', '')).rpartition(':')[2]}({shown})"


def _short(value: object) -> str:
    """Return a hash by its first twelve digits, and anything else as it is."""
    text = str(value)
    return text[: len(_SHA256) + 12] if text.startswith(_SHA256) else text


def clear(root: Path) -> list[Entry]:
    """Remove all recorded embeddings, and say which there were.

    Raises:
        StoreError: a folder cannot be removed.
    """
    if not (root / FOLDER).is_dir():
        return []
    try:
        with locked(root / FOLDER):
            gone = entries(root)
            for entry in gone:
                new = entry.folder.with_name(f"{_NEW}{uuid4().hex}")
                shutil.rmtree(entry.folder.rename(new))
    except (OSError, portalocker.LockException) as error:
        path = getattr(error, "filename", None) or root / FOLDER
        raise StoreError(f"{path} cannot be removed: {error}") from error
    return gone
