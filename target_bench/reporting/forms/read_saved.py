"""Files that forms saved: JSON from outside, checked before anything uses it."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from target_bench.core.errors import DataError
from target_bench.core.files import parse_json
from target_bench.reporting.forms.form_page import SavedFile

LARGEST = 50_000_000
"""Bytes of a file above which it is not read."""


def saved_object(path: Path, saved: SavedFile) -> dict[str, Any]:
    """Read a file that a form saved.

    Args:
        path: the file.
        saved: what the file is to be.

    Returns:
        The object. Its name is a text; all else is not checked.

    Raises:
        DataError: it cannot be read, is not JSON, or of another format or version.
    """
    record = _object(path, saved.what)
    for name, expected in (("format", saved.format), ("version", saved.version)):
        value = record.get(name)
        if value != expected or isinstance(value, bool):
            raise DataError(
                f"{path}: {name}: expected {expected!r}, found {value!r:.60}; it is not what a "
                "form of this version saves"
            )
    person = record.setdefault(saved.who, "")
    if not isinstance(person, str):
        raise DataError(f"{path}: {saved.who}: expected a text, found {person!r:.60}")
    return record


def check_persons(paths: Sequence[Path], persons: Sequence[str], who: str) -> None:
    """See that every file is of another person.

    Raises:
        DataError: two files have the same name in them.
    """
    seen: dict[str, Path] = {}
    for path, person in zip(paths, persons, strict=True):
        if person in seen:
            known = f"{who} {person!r:.60}" if person else f"a person without a name ({who})"
            raise DataError(
                f"{path}: {who}: {seen[person]} is of {known} too; keep one of the files, or give "
                "each person a name"
            )
        seen[person] = path


def entries(path: Path, record: Mapping[str, Any], what: str) -> dict[str, Any]:
    """Return the entries that were filled in, by query id.

    Raises:
        DataError: it is not an object.
    """
    given = record.get(what)
    if not isinstance(given, dict):
        raise DataError(f"{path}: {what}: expected an object, found {given!r:.60}")
    return given


def _object(path: Path, what: str) -> dict[str, Any]:
    try:
        if path.stat().st_size > LARGEST:
            raise DataError(f"{path}: has more than {LARGEST:,} bytes; a file of {what} is smaller")
        found = parse_json(path.read_bytes().decode("utf-8-sig"), parse_constant=_no_number)
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror or error}") from error
    except ValueError as error:
        raise DataError(f"{path}: is not JSON ({error}); save the {what} again") from error
    if not isinstance(found, dict):
        raise DataError(f"{path}: expected an object of JSON, found {type(found).__name__}")
    return found


def _no_number(name: str) -> float:
    raise ValueError(f"{name} is not a number of JSON")
