"""Submissions as zip files: written the same way every time, and read as what they are: hostile.

A reader accepts one shape of archive and no other: a plain zip of a few files with known names,
stored or deflated, one after another from the first byte to the last. What is in them is read as a
stream, in bounded memory. Nothing is unpacked to disk, and nothing is read but JSON.
"""

import hashlib
import io
import json
import math
import stat
import struct
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

from target_bench.core.errors import DataError
from target_bench.core.files import atomic_write
from target_bench.reporting.leaderboard.documents import LARGEST_INTEGER, MOST_RUNS

SUFFIX = ".tbs.zip"

MEBI = 1024 * 1024
LARGEST_ARCHIVE = 64 * MEBI
LARGEST_TOTAL = 512 * MEBI
LARGEST_LINE = MEBI
LARGEST_DOCUMENT = MEBI
LARGEST_DOCUMENTS = 4 * MEBI
MOST_LINES = 1_000_000
MOST_FILES = 202
LARGEST_RATIO = 300
LARGEST_DIRECTORY = 128 * 1024
DEEPEST = 16

_END = 22  # bytes of the record at the end of a zip
_LOCAL = 30  # bytes of the record before each file
_IN_RUN = ("run.json", "retrieval.jsonl", "generations.jsonl")
NAMES = frozenset(
    {"submission.json", "card.json", *(f"runs/{i}/{n}" for i in range(MOST_RUNS) for n in _IN_RUN)}
)
"""Every name that a file in a submission can have."""


class RefusedError(DataError):
    """A submission that is not read any further.

    Args:
        message: what is wrong.
        check: the name of the check that refused it.
    """

    def __init__(self, message: str, check: str = "readable") -> None:
        super().__init__(message)
        self.check = check


def write(path: Path, files: Mapping[str, bytes]) -> None:
    """Write an archive; equal files make equal bytes.

    Raises:
        OSError: it cannot be written.
    """
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name in sorted(files):
            info = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            info.create_system = 3
            info.external_attr = (stat.S_IFREG | 0o644) << 16
            info.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(info, files[name])
    atomic_write(path, buffer.getvalue())


class Archive:
    """An archive open for reading; use it as a context manager.

    Args:
        path: the file.

    Attributes:
        names: the files in it.
        hashes: the SHA-256 of each file that was read to its end.

    Raises:
        RefusedError: it is not the plain zip that a submission is.
        DataError: there is no such file, it cannot be read, or is no zip file at all.
    """

    def __init__(self, path: Path) -> None:
        self.hashes: dict[str, str] = {}
        self._in_documents = 0
        try:
            if path.exists() and not path.is_file():
                raise DataError(f"{path}: is not a file")
            self._file = path.open("rb")
        except OSError as error:
            raise DataError(f"{path}: cannot be read: {error.strerror}") from error
        try:
            size = path.stat().st_size
            if size > LARGEST_ARCHIVE:
                raise RefusedError(f"{size:,} bytes, but at most {LARGEST_ARCHIVE:,} are read")
            if self._file.read(2) != b"PK" and not zipfile.is_zipfile(self._file):
                raise DataError(
                    f"{path}: is no zip file, so it is no submission; `target-bench leaderboard "
                    f"submit RUN -o team{SUFFIX}` packs one"
                )
            _check_end(self._file, size)
            with _damage():
                self._zip = zipfile.ZipFile(self._file)
            _check_entries(self._zip.infolist(), self._zip.start_dir)
            self.names = frozenset(self._zip.namelist())
        except BaseException:
            self._file.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._zip.close()
        self._file.close()

    def document(self, name: str) -> Any:
        """Return a file that is one JSON document.

        Raises:
            RefusedError: it is not there, too large, or not strict JSON.
        """
        if name not in self.names:
            raise RefusedError(f"{name} is missing")
        with _damage(), self._zip.open(name) as file:
            raw = file.read(LARGEST_DOCUMENT + 1)
        if len(raw) > LARGEST_DOCUMENT:
            raise RefusedError(f"{name} has more than {LARGEST_DOCUMENT:,} bytes")
        self._in_documents += len(raw)
        if self._in_documents > LARGEST_DOCUMENTS:
            raise RefusedError(f"its documents have more than {LARGEST_DOCUMENTS:,} bytes together")
        self.hashes[name] = hashlib.sha256(raw).hexdigest()
        return strict_json(raw, name)

    def lines(self, name: str) -> Iterator[tuple[str, Any]]:
        """Yield (place, value) of each line of JSON; the place names file and line.

        Raises:
            RefusedError: a line is too long or not strict JSON, or there are too many.
        """
        digest, number = hashlib.sha256(), 0
        with _damage(), self._zip.open(name) as file:
            while raw := file.readline(LARGEST_LINE + 1):
                number += 1
                place = f"{name}, line {number}"
                if len(raw) > LARGEST_LINE:
                    raise RefusedError(f"{place}: longer than {LARGEST_LINE:,} bytes")
                if number > MOST_LINES:
                    raise RefusedError(f"{name}: more than {MOST_LINES:,} lines")
                digest.update(raw)
                yield place, strict_json(raw, place)
        self.hashes[name] = digest.hexdigest()


def strict_json(raw: bytes, place: str) -> Any:
    """Return a JSON document without what parsers disagree on.

    Raises:
        RefusedError: it is not UTF-8, not JSON, holds NaN, an infinite or a huge number, a key
            twice, or is nested too deep.
    """
    try:
        value = json.loads(raw.decode("utf-8"), object_pairs_hook=_object)
    except UnicodeDecodeError as error:
        raise RefusedError(f"{place}: not valid UTF-8 at byte {error.start}") from None
    except RecursionError:
        raise RefusedError(f"{place}: nested too deep") from None
    except ValueError as error:
        raise RefusedError(f"{place}: not strict JSON: {str(error)[:200]}") from None
    level = [value]
    for _ in range(DEEPEST):
        if not all(math.isfinite(x) for x in level if isinstance(x, float)) or any(
            abs(x) > LARGEST_INTEGER for x in level if isinstance(x, int)
        ):
            raise RefusedError(f"{place}: not strict JSON: NaN, or a number that is too large")
        containers = [inner for inner in level if isinstance(inner, dict | list)]
        level = [x for c in containers for x in (c.values() if isinstance(c, dict) else c)]
        if not level:
            return value
    raise RefusedError(f"{place}: nested deeper than {DEEPEST} levels")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    record = dict(pairs)
    if len(record) < len(pairs):
        raise ValueError("a key is there twice in one object")
    return record


def _check_end(file: io.BufferedReader, size: int) -> None:
    """See that the zip ends where the file ends, and that its directory is small.

    Reading a directory of millions of files takes memory, so this is done before it is read.
    """
    file.seek(max(0, size - _END - 20))
    tail = file.read()
    end, before = tail[-_END:], tail[:-_END]
    if size < _END or end[:4] != b"PK\5\6" or end[20:] != b"\0\0":
        raise RefusedError("it does not end as a zip file does: cut off, or with more")
    disk, first, here, n, directory, start = struct.unpack("<4HLL", end[4:20])
    if max(n, here) > MOST_FILES or directory > LARGEST_DIRECTORY:
        raise RefusedError(f"{n:,} files, but at most {MOST_FILES} are read")
    if disk or first or here != n or before[:4] == b"PK\6\7" or start + directory != size - _END:
        raise RefusedError("it is no plain zip file: zip64, of several parts, or with more in it")


def _check_entries(entries: list[zipfile.ZipInfo], directory: int) -> None:
    """See that the files are known, plain, one right after another, and not too large."""
    names: set[str] = set()
    at = total = 0
    for info in sorted(entries, key=lambda info: info.header_offset):
        name, form = info.orig_filename, stat.S_IFMT(info.external_attr >> 16)
        if name not in NAMES or name != info.filename or name in names:
            raise RefusedError(f"file {name[:80]!a}: a submission has no such file, or has it once")
        if (
            form not in (0, stat.S_IFREG)
            or info.flag_bits & (0x1 | 0x20 | 0x40 | 0x2000)
            or info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
        ):
            raise RefusedError(f"{name} is a link, encrypted, or packed by an unknown method")
        if info.header_offset != at:
            raise RefusedError(f"{name} is not right behind the file before it")
        if info.file_size > LARGEST_RATIO * info.compress_size + MEBI // 4:
            raise RefusedError(
                f"{name} unpacks to {info.file_size:,} bytes from {info.compress_size:,}"
            )
        names.add(name)
        at += _LOCAL + len(name) + info.compress_size
        total += info.file_size
    if total > LARGEST_TOTAL:
        raise RefusedError(f"it unpacks to {total:,} bytes; at most {LARGEST_TOTAL:,}")
    if at != directory:
        raise RefusedError("its directory is not right behind the last file")


@contextmanager
def _damage() -> Iterator[None]:
    try:
        yield
    except RefusedError:
        raise
    except (zipfile.BadZipFile, zlib.error, struct.error, EOFError, NotImplementedError) as error:
        raise RefusedError(f"it is damaged: {error}") from error
    except (RuntimeError, OSError, ValueError, UnicodeDecodeError) as error:
        raise RefusedError(f"it cannot be read: {error}") from error
