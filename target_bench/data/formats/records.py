"""Files of records (Parquet, JSON lines, CSV, JSON as a list or an object of lists), and fields.

A record is read with its place, which every message about it names.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from target_bench.core.errors import DataError
from target_bench.core.files import parse_json
from target_bench.core.grid import CellGrid
from target_bench.core.release import Release
from target_bench.core.schema import Cell
from target_bench.core.unicode_text import compose
from target_bench.data.formats.cells import PLAIN_TYPES, convert_cells, convert_to_json
from target_bench.data.formats.csv_files import read_csv
from target_bench.data.formats.file_tables import FileSettings, FileTable

_LARGEST_JSON = 500_000_000  # bytes; such a file is parsed whole
_RECORDS_AT_A_TIME = 128
_PANDAS_INDEX = re.compile(r"__index_level_\d+__")


def read_records(release: Release, path: Path) -> Iterator[tuple[str, Any]]:
    """Yield (place, record) of every record of a file; the place names file and number."""
    name = path.name.lower().removesuffix(".gz").removesuffix(".zip")
    if name.endswith(".parquet"):
        yield from _read_parquet_records(release, path)
    elif name.endswith((".csv", ".tsv")):
        for place, record in read_csv_records(release, path):
            yield place, {name: _parse_cell(cell) for name, cell in record.items()}
    elif name.endswith(".json") and not _is_lines(release, path):
        yield from _read_document(release, path)
    else:
        yield from release.json_lines(path)


def read_csv_records(release: Release, path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield (place, record) of every row of a CSV file."""
    (table,) = read_csv(release, path)
    for number, row in enumerate(table.rows, start=1):
        yield f"{path}, row {number}", dict(zip(table.header, row, strict=True))


def read_json_lines(release: Release, path: Path, _: FileSettings) -> list[FileTable]:
    """Read the table whose rows are the objects of a file, one a line."""
    lines = list(release.json_lines(path))
    for place, record in lines:
        if not isinstance(record, dict):
            raise DataError(f"{place}: expected one object per row, found {type(record).__name__}")
    header = list(dict.fromkeys(name for _, record in lines for name in record))
    if not header:
        raise DataError(f"{path}: no row names any column")
    rows = [convert_row([record.get(name) for name in header], place) for place, record in lines]
    return [FileTable(header, rows)]


def read_parquet(release: Release, path: Path, _: FileSettings) -> list[FileTable]:
    """Read the table of a Parquet file."""
    with _open_parquet(release, path) as file:
        return [FileTable(*read_arrow_grid(file.read(), str(path)))]


def _parse_cell(cell: Any) -> Any:
    """Return a list or an object that is written as JSON, other cells as they are."""
    try:
        return parse_json(cell) if cell.startswith(("[", "{")) else cell
    except ValueError:
        return cell


def _read_parquet_records(release: Release, path: Path) -> Iterator[tuple[str, Any]]:
    number = 0
    with _open_parquet(release, path) as file:
        names = file.schema_arrow.names
        for name in names:
            if names.count(name) > 1:
                raise DataError(f"{path}: there are {names.count(name)} columns named {name!r}")
        for batch in file.iter_batches(batch_size=_RECORDS_AT_A_TIME):
            place = f"{path}, records {number + 1} to {number + batch.num_rows}"
            for record in read_arrow_values(batch, place):
                number += 1
                yield f"{path}, record {number}", record


@contextmanager
def _open_parquet(release: Release, path: Path) -> Iterator[Any]:
    import pyarrow
    from pyarrow import parquet

    release.note(path)
    try:
        with parquet.ParquetFile(path) as file:
            yield file
    except (pyarrow.ArrowException, OSError) as error:
        raise DataError(
            f"{path}: cannot be read as Parquet: {error}. Write or download it again."
        ) from error


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


# Arrow, of Parquet files and of data frames


def read_arrow_grid(table: Any, place: str) -> tuple[list[str], list[Sequence[Cell]]]:
    """Return header and rows of an Arrow table, without the nameless index of a pandas frame."""
    table = drop_index(table)
    for field in table.schema:
        if "pandas.period" in f"{field.type} {field.metadata}":
            raise DataError(
                f"{place}, column {field.name!r}: holds periods of pandas, of which Arrow keeps a "
                "bare number. Cast it to text."
            )
    header: list[str] = table.column_names
    columns = [
        read_arrow_values(column, f"{place}, column {name!r}")
        for name, column in zip(header, table.columns, strict=True)
    ]
    rows = enumerate(zip(*columns, strict=True), start=1)
    return header, [list(convert_row(row, f"{place}, row {number}")) for number, row in rows]


def drop_index(table: Any) -> Any:
    """Drop the columns of an Arrow table in which pandas keeps a nameless index."""
    names = enumerate(table.column_names)
    return table.select([i for i, name in names if not _PANDAS_INDEX.fullmatch(name)])


def read_arrow_values(values: Any, place: str) -> list[Any]:
    """Return the values of an Arrow column or batch as Python has them."""
    try:
        listed: list[Any] = values.to_pylist()
    except (ValueError, OverflowError, TypeError, NotImplementedError) as error:
        # such as a date after the year 9999
        raise DataError(f"{place}: a value cannot be read: {error}. Cast it to text.") from error
    return listed


# Fields


def find_field(record: Any, name: str, place: str) -> Any:
    """Return a field of a record; dots lead into objects.

    Raises:
        DataError: there is none; the message names those that there are.
    """
    if isinstance(record, Mapping) and name in record:
        return record[name]
    value = record
    for part in name.split("."):
        if not isinstance(value, Mapping):
            raise DataError(f"{place}: expected a JSON object, found {type(value).__name__}")
        if part not in value:
            raise DataError(f"{place}: no field {name!r}; it has {', '.join(value) or 'no field'}")
        value = value[part]
    return value


def explain_type(place: str, name: str, what: str, value: Any) -> DataError:
    """Return the error of a field that is of another type than it should be."""
    kind = type(value).__name__
    return DataError(f"{place}: field {name!r}: expected {what}, found {kind}: {value!r:.80}")


def convert_value(value: Any, name: str, place: str) -> Any:
    """Convert the value of a field to what JSON can hold."""
    try:
        return value if _is_plain(value) else convert_to_json(value)
    except TypeError as error:
        raise DataError(f"{place}: field {name!r}: {error}") from error


def _is_plain(value: Any) -> bool:
    return type(value) in PLAIN_TYPES or (type(value) is list and all(map(_is_plain, value)))


def convert_row(row: Sequence[Any], place: str) -> Sequence[Cell]:
    """Convert a row to cells; what cannot be one is an error that names the place."""
    try:
        return convert_cells(row)
    except TypeError as error:
        raise DataError(f"{place}: {error}") from error


def read_rows(value: Any, name: str, place: str, header: bool = False) -> list[Sequence[Cell]]:
    """Read a field of rows of cells, perhaps with the header first."""
    if not isinstance(value, list) or (header and not value):
        what = f"a list of rows{', the header first' if header else ''}"
        raise explain_type(place, name, what, value)
    rows = []
    for number, row in enumerate(value):
        if not isinstance(row, list):
            raise DataError(f"{place}: {name} row {number} is not a list of cells: {row!r:.80}")
        rows.append(convert_row(row, f"{place}: {name} row {number}"))
    return rows


def read_cell_grid(record: Mapping[str, Any], place: str) -> CellGrid | None:
    """Read the field ``grid``: rows of ``[text, row_span, column_span, is_header]``, or None."""
    value = record.get("grid")
    try:
        return None if value is None else CellGrid.from_json(value)
    except ValueError as error:
        raise DataError(f"{place}: field 'grid': {error}") from error


def name_columns(cells: Sequence[Any]) -> list[str]:
    """Return the cells of a header row as column names: numbers as text, null as no name."""
    return [
        cell.decode("utf-8", "backslashreplace")
        if isinstance(cell, bytes)
        else ""
        if cell is None
        else str(cell)
        for cell in cells
    ]


def read_database_id(record: Mapping[str, Any], place: str, default: str = "0") -> str:
    """Read the field ``database_id``, or the default where it is missing or null."""
    value = record.get("database_id")
    return default if value is None else read_identifier(value, "database_id", place)


def read_identifier(value: Any, name: str, place: str) -> str:
    """Read an id: text, or a whole number."""
    value = convert_value(value, name, place)
    if isinstance(value, str):
        return str(compose(value))
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    raise explain_type(place, name, "text or a whole number", value)


def read_answer(value: Any, name: str, place: str) -> str | tuple[str, ...]:
    """Read an answer: a text, or several accepted ones."""
    value = convert_value(value, name, place)
    values = value if isinstance(value, list) else [] if value is None else [value]
    for each in values:
        if not isinstance(each, str | int | float):
            raise DataError(
                f"{place}: field {name!r}: expected a text or a list of texts, found {each!r:.80}"
            )
    if isinstance(value, list) and len(values) != 1:
        return tuple(map(str, values))
    return str(values[0]) if values else ""
