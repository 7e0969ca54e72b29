"""Reading release files: plain, gzip or zip, with errors that name file, record and field."""

import gzip
import hashlib
import json
import lzma
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

from target_bench.errors import DataError

T = TypeVar("T")

_SUFFIXES = ("", ".gz", ".zip")


class Release:
    """A folder of release files, remembering the hash of every file that was read.

    Args:
        folder: where the files lie.
        source: where they can be had, for the message when one is missing.
        subfolders: places inside the folder to look in, as the authors' repositories have them.
    """

    def __init__(self, folder: Path, source: str, subfolders: Sequence[str] = ()) -> None:
        self.folder = folder
        self.source = source
        self.hashes: dict[str, str] = {}
        self._places = [folder, *(folder / name for name in subfolders)]

    def find(self, name: str) -> Path | None:
        """The file of this name, or this name with ``.gz`` or ``.zip``, or None."""
        candidates = (place / f"{name}{suffix}" for place in self._places for suffix in _SUFFIXES)
        return next((path for path in candidates if path.is_file()), None)

    def find_folder(self, name: str) -> Path | None:
        """The folder of this name, or None."""
        return next((p / name for p in self._places if (p / name).is_dir()), None)

    def require(self, *names: str) -> Path:
        """The first of these files that exists.

        Raises:
            DataError: none of them does.
        """
        for name in names:
            path = self.find(name)
            if path:
                return path
        wanted = " or ".join(names)
        raise DataError(
            f"no {wanted} (nor .gz, .zip) in {self.folder}. "
            f"Download it from {self.source} and put it there."
        )

    def content(self, path: Path) -> bytes:
        """The file's content, decompressed; a zip must hold one file."""
        raw = self._raw(path)
        if path.suffix == ".zip":
            members = list(self.members(path))
            if len(members) != 1:
                raise DataError(f"{path}: expected one file inside, found {len(members)}")
            return members[0][1]
        if path.suffix != ".gz":
            return raw
        try:
            return gzip.decompress(raw)
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise DataError(
                f"{path}: the gzip file is truncated or damaged ({error}). Download it again."
            ) from error

    def members(self, path: Path) -> Iterator[tuple[str, bytes]]:
        """(name, content) of every file in a zip, in archive order."""
        self._raw(path)
        try:
            with zipfile.ZipFile(path) as archive:
                for item in archive.infolist():
                    if not item.is_dir():
                        yield item.filename, archive.read(item)
        except (zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, OSError) as error:
            raise DataError(
                f"{path}: the zip file is truncated or damaged ({error}). Download it again."
            ) from error
        except RuntimeError as error:  # encrypted, or an unknown compression
            raise DataError(
                f"{path}: the zip file cannot be read ({error}). Pack it again without a password."
            ) from error

    def text(self, path: Path) -> str:
        """The file's content as UTF-8 text."""
        return decode(self.content(path), path)

    def json(self, path: Path) -> Any:
        """The file's content as one JSON document."""
        try:
            return json.loads(self.text(path), object_pairs_hook=_object)
        except json.JSONDecodeError as error:
            raise DataError(
                f"{path}: not valid JSON at line {error.lineno}, column {error.colno}: {error.msg}"
            ) from error
        except (ValueError, RecursionError) as error:
            raise DataError(f"{path}: not usable JSON: {error}") from error

    def json_lines(self, path: Path) -> Iterator[tuple[str, Any]]:
        """(place, value) of every line that is not blank; the place names file and line."""
        for number, line in enumerate(self.text(path).split("\n"), start=1):
            if line.strip():
                place = f"{path}, line {number}"
                try:
                    record = json.loads(line, object_pairs_hook=_object)
                except json.JSONDecodeError as error:
                    raise DataError(
                        f"{place}: not valid JSON at column {error.colno}: {error.msg}"
                    ) from error
                except (ValueError, RecursionError) as error:
                    raise DataError(f"{place}: not usable JSON: {error}") from error
                yield place, record

    def _raw(self, path: Path) -> bytes:
        try:
            raw = path.read_bytes()
        except OSError as error:
            raise DataError(f"{path}: cannot be read: {error.strerror}") from error
        self.hashes[path.relative_to(self.folder).as_posix()] = hashlib.sha256(raw).hexdigest()
        return raw


class _RepeatedKeyError(ValueError):
    """A JSON object that has a key twice, of which Python would keep the last in silence."""


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        repeated = next(name for name in names if names.count(name) > 1)
        raise _RepeatedKeyError(f"the key {repeated!r} occurs twice in one object")
    return found


def decode(raw: bytes, place: object) -> str:
    """UTF-8 text (a byte-order mark is dropped).

    Raises:
        DataError: the bytes are not UTF-8; the message names the line and the byte.
    """
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise DataError(
            f"{place}: not valid UTF-8 at line {line} (byte 0x{raw[error.start]:02x} at offset "
            f"{error.start}). Convert the file to UTF-8."
        ) from error


def field(record: Any, name: str, kind: type[T], place: str) -> T:
    """``record[name]``, which must be of ``kind``.

    Raises:
        DataError: the record is not an object, the field is missing or of another type.
    """
    if not isinstance(record, dict):
        raise DataError(f"{place}: expected a JSON object, found {type(record).__name__}")
    if name not in record:
        raise DataError(f"{place}: no field {name!r}; it has {', '.join(record) or 'no field'}")
    value = record[name]
    if not isinstance(value, kind):
        raise DataError(
            f"{place}: field {name!r} should be {kind.__name__}, but is {type(value).__name__}: "
            f"{str(value)[:80]!r}"
        )
    return value
