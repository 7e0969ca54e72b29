"""Checksums that are taken when something is written, and checked before it is used.

A file is known by its SHA-256, computed once per process and state of the file. A JSON document
carries the SHA-256 of its content in a field of its own, and a line of a log its CRC-32 at its end:
a line is short, and CRC-32 finds every error of up to 32 neighbouring bits.
"""

import hashlib
import json
import os
import zlib
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from target_bench.core.files import sha256_of

FIELD = "seal"
"""The field of a document that holds the SHA-256 of the others."""

WHOLLY = "sealed"
"""The entry of a manifest which says that every file of its run was sealed from the first line on.

A run that was begun by version 0.1.0 lacks it, though its manifest may have a seal by now.
"""

LINE_FIELD = "crc32"
"""The last field of a line, which holds the CRC-32 of what is before it, in hexadecimal."""

_BEFORE, _AFTER, _DIGITS = b', "' + LINE_FIELD.encode() + b'": "', b'"}', 8
_LENGTH = len(_BEFORE) + _DIGITS + len(_AFTER)


class DamageError(ValueError):
    """Content differs from what was written."""


State = tuple[int, ...]


def state(path: Path) -> State:
    """Return device, inode, size and times of change of a file.

    Another state may be another content.

    Raises:
        OSError: there is no such file.
    """
    found = os.stat(path)  # noqa: PTH116 (half the time of Path.stat)
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns


def digest(path: Path) -> str:
    """Return the SHA-256 of a file, in hexadecimal; of one state of it, computed once per process.

    Raises:
        OSError: it cannot be read.
    """
    return _digest(str(path.absolute()), state(path))


@lru_cache(maxsize=65536)
def _digest(path: str, state: State) -> str:  # noqa: ARG001 (part of the key)
    return sha256_of(Path(path))


def check_file(path: Path, sha256: str) -> None:
    """Check that a file holds what was written.

    Raises:
        DamageError: it does not.
        OSError: it cannot be read.
    """
    if digest(path) != sha256:
        raise DamageError(f"{path.name} is not what was written")


def sealed(record: Mapping[str, Any], field: str = FIELD) -> dict[str, Any]:
    """Return a JSON document with its seal."""
    return {**record, field: seal_of(dict(record))}


def unsealed(record: Any, field: str = FIELD, required: bool = True) -> dict[str, Any]:
    """Return the document without its seal.

    Args:
        record: as it was read.
        field: the field of the seal.
        required: whether a document without a seal is refused.

    Raises:
        DamageError: it is not what was written.
    """
    if not isinstance(record, dict):
        raise DamageError("it is not a JSON object")
    content = {name: value for name, value in record.items() if name != field}
    if (required or field in record) and record.get(field) != seal_of(content):
        raise DamageError("it is not what was written")
    return content


def wholly_sealed(folder: Path) -> bool:
    """Return whether scores and lines of a run without a seal are damaged, by its manifest."""
    try:
        manifest = json.loads((folder / "manifest.json").read_bytes())
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(manifest, dict) and WHOLLY in manifest


def seal_of(value: Any) -> str:
    """Return the SHA-256 of a JSON value, in hexadecimal.

    Spelling and order of keys do not count.
    """
    as_read = json.loads(json.dumps(value))  # keys are text there, and sort as such
    return hashlib.sha256(json.dumps(as_read, sort_keys=True).encode()).hexdigest()


def sealed_line(line: bytes) -> bytes:
    """Return a JSON object in one line, with its seal as the last field.

    Args:
        line: the object, with at least one field and without a line break.
    """
    content = line[: -len(b"}")]
    return b"%s%s%08x%s" % (content, _BEFORE, zlib.crc32(content), _AFTER)


def has_seal(line: bytes) -> bool:
    """Return whether a line ends as ``sealed_line`` writes it."""
    return line.endswith(_AFTER) and line[-_LENGTH : -_DIGITS - len(_AFTER)] == _BEFORE


def unsealed_line(line: bytes, required: bool = False) -> bytes:
    """Return the object without its seal; a line that needs none and has none is given as it is.

    Args:
        line: as it was read, without a line break.
        required: whether a line without a seal is refused.

    Raises:
        DamageError: it is not what was written.
    """
    if not has_seal(line):
        if required:
            raise DamageError("it is not what was written")
        return line
    content = line[:-_LENGTH]
    if line[-_DIGITS - len(_AFTER) : -len(_AFTER)] != b"%08x" % zlib.crc32(content):
        raise DamageError("it is not what was written")
    return content + b"}"
