"""BIRD's descriptions of columns, from CSV files or from one JSON file."""

import csv
import io
from collections.abc import Iterator, Mapping
from typing import Any

from target_bench.core.errors import DataError
from target_bench.core.release import Release, field
from target_bench.data.databases.release_folder import DatabaseFolder

_FILE = "database_description.json"


def descriptions(
    release: Release, databases: DatabaseFolder, name: str
) -> dict[str, dict[str, str]]:
    """Return table -> column -> text for one database, names in lower case.

    Empty where there are no descriptions.

    Raises:
        DataError: a file is broken.
    """
    by_table = {
        table.strip().lower(): _texts(_csv_records(content, place), place)
        for place, table, content in databases.descriptions(name)
    }
    return by_table or _from_json(release, name)


def _csv_records(content: bytes, place: str) -> Iterator[Mapping[str, Any]]:
    """Yield the records of a CSV file in UTF-8, or else in Windows-1252."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = content.decode("cp1252", "replace")
    reader = csv.reader(io.StringIO(text, newline=""))
    try:
        header = [name.strip() for name in next(reader, [])]
        for row in reader:
            yield dict(zip(header, row, strict=False))  # a stray comma makes a row longer
    except csv.Error as error:
        raise DataError(f"{place}, line {reader.line_num}: {error}") from error


def _from_json(release: Release, name: str) -> dict[str, dict[str, str]]:
    path = release.find(_FILE)
    if path is None:
        return {}
    databases = release.json(path)
    if not isinstance(databases, dict):
        raise DataError(f"{path}: expected an object keyed by database id")
    tables = databases.get(name) or {}
    if not isinstance(tables, dict):
        raise DataError(f"{path}, database {name}: expected an object keyed by table")
    return {
        table.strip().lower(): _texts(
            field(tables, table, list, f"{path}, database {name}"), f"{path}, table {table}"
        )
        for table in tables
    }


def _texts(records: Any, place: str) -> dict[str, str]:
    """Return column -> its readable name, its description and that of its values, as one text."""
    texts: dict[str, str] = {}
    for record in records:
        if not isinstance(record, dict):
            raise DataError(f"{place}: expected one object per column, found {record!r:.80}")
        original = record.get("original_column_name") or record.get("column_name") or ""
        parts = (record.get(n) for n in ("column_name", "column_description", "value_description"))
        lines = [" ".join(str(part).split()) for part in parts if part]
        kept = [part for part in dict.fromkeys(lines) if part.lower() != original.strip().lower()]
        if original.strip() and kept:
            texts[original.strip().lower()] = "; ".join(kept)
    return texts
