"""Files of records: Parquet, JSON lines, and JSON as a list or as an object of lists."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from target_bench.core.errors import DataError
from target_bench.core.files import parse_json
from target_bench.core.release import Release
from target_bench.data.formats.cells import read_parquet_records

_LARGEST_JSON = 500_000_000  # bytes; such a file is parsed whole


def read_records(release: Release, path: Path) -> Iterator[tuple[str, Any]]:
    """Yield (place, record) of every record of a file; the place names file and number.

    Raises:
        DataError: it is broken, or JSON of another form.
    """
    name = path.name.lower().removesuffix(".gz").removesuffix(".zip")
    if name.endswith(".parquet"):
        yield from read_parquet_records(release, path)
    elif name.endswith(".json") and not _is_lines(release, path):
        yield from _read_document(release, path)
    else:
        yield from release.json_lines(path)


def _is_lines(release: Release, path: Path) -> bool:
    """Return whether the first line is a record; an object of lists in one line is none."""
    if path.stat().st_size > _LARGEST_JSON:
        raise DataError(
            f"{path}: {path.stat().st_size / 1e9:.2f} GB of JSON are too much to parse as a whole. "
            "Put the databases beside it, <split>_database/<db>/<db>.sqlite: rows are read there."
        )
    first = release.text(path).lstrip().split("\n", 1)[0]
    try:
        record = parse_json(first) if first.startswith("{") else None
    except ValueError:
        return False
    return isinstance(record, dict) and not all(isinstance(v, list) for v in record.values())


def _read_document(release: Release, path: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    content = release.json(path)
    if isinstance(content, dict) and all(isinstance(v, list) for v in content.values()):
        lengths = {name: len(values) for name, values in content.items()}
        if len(set(lengths.values())) > 1:
            raise DataError(f"{path}: its lists are not equally long: {lengths}")
        rows = zip(*content.values(), strict=True)
        content = [dict(zip(content, values, strict=True)) for values in rows]
    if not isinstance(content, list) or not all(isinstance(record, dict) for record in content):
        raise DataError(
            f"{path}: expected a list of records, a record a line, or an object of lists, one list "
            "per field"
        )
    yield from ((f"{path}, record {number}", r) for number, r in enumerate(content, start=1))
