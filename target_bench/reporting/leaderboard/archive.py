"""Submissions as zip files: written the same way every time, and read as what they are: hostile.

A reader accepts one shape of archive and no other: a plain zip of a few files with known names,
stored or deflated, one after another from the first byte to the last. What is in them is read
as a stream, in bounded memory, and verified in bounded time (``Budget``).
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
from time import monotonic
from typing import Any, Self

from target_bench.core.errors import ConfigError, DataError
from target_bench.core.files import atomic_write

FORMAT = 2
"""The version that is written. Version 1 has no runs without retrieval and no judgements."""

READABLE = (1, FORMAT)
SUFFIX = ".tbs.zip"

MEBI = 1024 * 1024
LARGEST_ARCHIVE = 64 * MEBI
LARGEST_TOTAL = 512 * MEBI
LARGEST_LINE = MEBI
LARGEST_DOCUMENT = MEBI
LARGEST_DOCUMENTS = 4 * MEBI
MOST_LINES = 1_000_000
MOST_FILES = 302
MOST_RUNS = 100
LARGEST_RATIO = 300
LARGEST_DIRECTORY = 128 * 1024
DEEPEST = 16
LARGEST_INTEGER = 2**53

_END = 22  # bytes of the record at the end of a zip
_LOCAL = 30  # bytes of the record before each file
_INDEX, _CARD = "submission.json", "card.json"
_IN_RUN = ("run.json", "retrieval.jsonl", "generations.jsonl", "judgements.jsonl")
NAMES = frozenset({_INDEX, _CARD, *(f"runs/{i}/{n}" for i in range(MOST_RUNS) for n in _IN_RUN)})
"""Every name that a file in a submission can have."""


class RefusedError(DataError):
    """A submission that is not read any further.

    Args:
        check: the name of the check that refused it.
        message: what is wrong.
    """

    def __init__(self, check: str, message: str) -> None:
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

    Raises:
        RefusedError: it is not the plain zip that a submission is.
        DataError: there is no such file, or it cannot be read.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.hashes: dict[str, str] = {}
        self._in_documents = 0
        try:
            size = path.stat().st_size
            if not path.is_file():
                raise DataError(f"{path}: is not a file")
            self._file = path.open("rb")
        except OSError as error:
            raise DataError(f"{path}: cannot be read: {error.strerror}") from error
        try:
            _check_end(self._file, size)
            with _damage():
                self._zip = zipfile.ZipFile(self._file)
            _check_entries(self._zip.infolist(), self._zip.start_dir)
        except BaseException:
            self._file.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._zip.close()
        self._file.close()

    @property
    def names(self) -> frozenset[str]:
        """The files in it."""
        return frozenset(self._zip.namelist())

    def index(self) -> Any:
        """``submission.json``."""
        return self.document(_INDEX)

    def card(self) -> Any:
        """``card.json``."""
        return self.document(_CARD)

    def document(self, name: str) -> Any:
        """Return a file that is one JSON document.

        Raises:
            RefusedError: it is not there, too large, or not strict JSON.
        """
        if name not in self.names:
            raise RefusedError("archive", f"{name} is missing")
        with _damage(), self._zip.open(name) as file:
            raw = file.read(LARGEST_DOCUMENT + 1)
            if len(raw) > LARGEST_DOCUMENT:
                raise RefusedError("sizes", f"{name} has more than {LARGEST_DOCUMENT:,} bytes")
        self._in_documents += len(raw)
        if self._in_documents > LARGEST_DOCUMENTS:
            raise RefusedError(
                "sizes", f"its documents have more than {LARGEST_DOCUMENTS:,} bytes together"
            )
        self.hashes[name] = hashlib.sha256(raw).hexdigest()
        return strict_json(raw, name)

    def lines(self, name: str) -> Iterator[tuple[str, Any]]:
        """(place, value) of each line of a file of JSON lines; the place names file and line.

        The file's hash is in ``hashes`` once the last line was read.

        Raises:
            RefusedError: a line is too long or not strict JSON, or there are too many.
        """
        digest = hashlib.sha256()
        with _damage(), self._zip.open(name) as file:
            number = 0
            while raw := file.readline(LARGEST_LINE + 1):
                number += 1
                place = f"{name}, line {number}"
                if len(raw) > LARGEST_LINE:
                    raise RefusedError("sizes", f"{place}: longer than {LARGEST_LINE:,} bytes")
                if number > MOST_LINES:
                    raise RefusedError("sizes", f"{name}: more than {MOST_LINES:,} lines")
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
        text = raw.decode("utf-8")
        value = json.loads(
            text,
            object_pairs_hook=_object,
            parse_constant=_no_number,
            parse_float=_float,
            parse_int=_int,
        )
    except UnicodeDecodeError as error:
        raise RefusedError("encoding", f"{place}: not valid UTF-8 at byte {error.start}") from None
    except RecursionError:
        raise RefusedError("json", f"{place}: nested too deep") from None
    except ValueError as error:
        raise RefusedError("json", f"{place}: not strict JSON: {str(error)[:200]}") from None
    _check_depth(value, place)
    return value


def _check_depth(value: Any, place: str) -> None:
    level = [value]
    for _ in range(DEEPEST):
        level = [
            item
            for found in level
            if isinstance(found, dict | list)
            for item in (found.values() if isinstance(found, dict) else found)
        ]
        if not level:
            return
    raise RefusedError("json", f"{place}: nested deeper than {DEEPEST} levels")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key is there twice in one object")
    return found


def _no_number(text: str) -> Any:
    raise ValueError(f"{text} is not a number")


def _float(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"the number {text[:30]} is too large")
    return value


def _int(text: str) -> int:
    value = int(text) if len(text) <= 17 else LARGEST_INTEGER + 1
    if abs(value) > LARGEST_INTEGER:
        raise ValueError(f"the number {text[:30]} is too large")
    return value


def _check_end(file: io.BufferedReader, size: int) -> None:
    """See that the zip ends where the file ends, and that its directory is small.

    Reading a directory of millions of files takes memory, so this is done before it is read.
    """
    if size > LARGEST_ARCHIVE:
        raise RefusedError("sizes", f"{size:,} bytes, but at most {LARGEST_ARCHIVE:,} are read")
    if size < _END:
        raise RefusedError("archive", "it is not a zip file, or was cut off")
    file.seek(max(0, size - _END - 20))
    tail = file.read()
    end, before = tail[-_END:], tail[:-_END]
    if end[:4] != b"PK\5\6" or end[20:] != b"\0\0":
        raise RefusedError("archive", "it does not end as a zip file does: cut off, or with more")
    disk, first, here, n, directory, start = struct.unpack("<4HLL", end[4:20])
    if before[:4] == b"PK\6\7" or 0xFFFF in (here, n) or 0xFFFFFFFF in (directory, start):
        raise RefusedError("archive", "it is a zip64 file, which no submission needs")
    if disk or first or here != n:
        raise RefusedError("archive", "it is a part of a zip file of several parts")
    if n > MOST_FILES or directory > LARGEST_DIRECTORY:
        raise RefusedError("sizes", f"{n:,} files, but at most {MOST_FILES} are read")
    if start + directory != size - _END:
        raise RefusedError("archive", "its directory is not where it should be")


def _check_entries(entries: list[zipfile.ZipInfo], directory: int) -> None:
    names: set[str] = set()
    at = total = 0
    for info in sorted(entries, key=lambda info: info.header_offset):
        _check_name(info)
        if info.filename in names:
            raise RefusedError("archive", f"{info.filename} is there twice")
        names.add(info.filename)
        _check_kind(info)
        if info.header_offset < at:
            raise RefusedError("archive", f"{info.filename} lies over another file")
        at = info.header_offset + _LOCAL + len(info.filename) + info.compress_size
        total += info.file_size
        if info.file_size > LARGEST_RATIO * info.compress_size + MEBI // 4:
            raise RefusedError(
                "sizes",
                f"{info.filename} unpacks to {info.file_size:,} bytes from {info.compress_size:,}",
            )
    if total > LARGEST_TOTAL:
        raise RefusedError("sizes", f"it unpacks to {total:,} bytes; at most {LARGEST_TOTAL:,}")
    if at > directory:
        raise RefusedError("archive", "a file lies over the directory")


def _check_name(info: zipfile.ZipInfo) -> None:
    if info.orig_filename in NAMES and info.filename == info.orig_filename:
        return
    shown = ascii(info.orig_filename[:80])
    parts = info.orig_filename.replace("\\", "/").split("/")
    outside = ".." in parts or parts[0] == "" or ":" in parts[0]
    why = "it leads out of the archive" if outside else "a submission has no such file"
    raise RefusedError("archive", f"file {shown}: {why}")


def _check_kind(info: zipfile.ZipInfo) -> None:
    kind = stat.S_IFMT(info.external_attr >> 16)
    if kind not in (0, stat.S_IFREG) or info.is_dir():
        raise RefusedError("archive", f"{info.filename} is a link, folder or device")
    if info.flag_bits & (0x1 | 0x20 | 0x40 | 0x2000):
        raise RefusedError("archive", f"{info.filename} is encrypted or patched")
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise RefusedError(
            "archive", f"{info.filename} is packed by method {info.compress_type}, which is unknown"
        )


@contextmanager
def _damage() -> Iterator[None]:
    try:
        yield
    except RefusedError:
        raise
    except (zipfile.BadZipFile, zlib.error, struct.error, EOFError, NotImplementedError) as error:
        raise RefusedError("archive", f"it is damaged: {error}") from error
    except (RuntimeError, OSError, ValueError, UnicodeDecodeError) as error:
        raise RefusedError("archive", f"it cannot be read: {error}") from error


MINUTES = 60.0
"""Unless ``verify`` is given another number."""


class Budget:
    """A time that runs from the moment it is made.

    Args:
        minutes: how long.

    Raises:
        ConfigError: it is not a positive number.
    """

    def __init__(self, minutes: float = MINUTES) -> None:
        if not 0 < minutes < math.inf:
            raise ConfigError(f"minutes={minutes!r} (--minutes): expected a number above 0")
        self.minutes = minutes
        self._end = monotonic() + 60 * minutes

    @property
    def seconds(self) -> float:
        """The remaining size."""
        return self._end - monotonic()

    def spent(self, where: str) -> RefusedError:
        """Return the refusal of a submission that takes longer.

        Args:
            where: what was being checked when the time was over.
        """
        return RefusedError(
            "budget",
            f"{where}: not everything is checked after {self.minutes:g} minutes, the time that "
            "verify gives a submission. On a slow machine give it more with --minutes",
        )

    def check(self, where: str) -> None:
        """See that time is left.

        Raises:
            RefusedError: it is over.
        """
        if self.seconds <= 0:
            raise self.spent(where)
