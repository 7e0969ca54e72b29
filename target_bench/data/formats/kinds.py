"""The kinds of files that hold tables, each with its reader."""

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

from target_bench.core.errors import DataError
from target_bench.core.release import Release
from target_bench.core.schema import Cell
from target_bench.data.formats.csv_files import read_csv
from target_bench.data.formats.database_files import SUFFIXES as DATABASES
from target_bench.data.formats.database_files import read_database
from target_bench.data.formats.file_tables import FileSettings, FileTable, Reader
from target_bench.data.formats.preamble import NUMERIC_NAME, VALUES
from target_bench.data.formats.records import convert_row, open_parquet, read_arrow_grid
from target_bench.data.formats.spreadsheets import SUFFIXES as WORKBOOKS
from target_bench.data.formats.spreadsheets import read_workbook


def _read_json_lines(release: Release, path: Path, _: FileSettings) -> list[FileTable]:
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


def _read_parquet(release: Release, path: Path, _: FileSettings) -> list[FileTable]:
    with open_parquet(release, path) as file:
        return [FileTable(*read_arrow_grid(file.read(), str(path)))]


READERS: Mapping[str, Reader] = {
    ".csv": read_csv,
    ".tsv": partial(read_csv, delimiter="\t"),
    ".parquet": _read_parquet,
    ".jsonl": _read_json_lines,
    ".csv.gz": read_csv,
    ".tsv.gz": partial(read_csv, delimiter="\t"),
    ".jsonl.gz": _read_json_lines,
    **dict.fromkeys(WORKBOOKS, read_workbook),
    **dict.fromkeys(DATABASES, read_database),
}
"""Suffix of a file -> the function that reads its tables."""

PARTS = {**dict.fromkeys(WORKBOOKS, "sheet"), **dict.fromkeys(DATABASES, "table")}
"""Suffix of a file that holds several tables -> what each of them is called."""

_GUESSED_HEADER = (".csv", ".tsv", ".csv.gz", ".tsv.gz", *WORKBOOKS)
_NO_HEADER = (
    "files or sheets begin with a row that looks like data and was taken as the header "
    "(header_rows=0 says that there is none)"
)
_ENOUGH_ROWS = 1000


def find_suffix(name: str) -> str | None:
    """Return the suffix by which a file is read, as it is written; None if none reads it."""
    suffixes = [suffix for suffix in READERS if name.lower().endswith(suffix)]
    return name[-len(max(suffixes, key=len)) :] if suffixes else None


def read_file(release: Release, path: Path, settings: FileSettings) -> Sequence[FileTable]:
    """Return the tables of a file: of a workbook its sheets, of most other files one.

    Raises:
        DataError: it is broken; the message names file and line.
    """
    suffix = (find_suffix(path.name) or "").lower()
    tables = READERS[suffix](release, path, settings)
    if suffix in _GUESSED_HEADER and settings.header_rows is None:
        for table in tables:
            if _looks_like_data(table.header, table.rows[:_ENOUGH_ROWS]):
                sheet = f", sheet {table.sheet!r}" if table.sheet else ""
                release.remark(_NO_HEADER, f"{path}{sheet}")
    return tables


def _looks_like_data(header: Sequence[str], rows: Sequence[Sequence[Cell]]) -> bool:
    """Return whether a header may be a row of data.

    It is if a name is a number or date above nothing but such, or occurs again in its column.
    """
    texts = [[str(cell) for cell in row] for row in rows]
    texts = [row for row in texts if row != list(header)]  # a header that is repeated on each page
    for j, name in enumerate(header):
        column = [row[j] for row in texts if row[j] not in ("", "None")]
        kind = next((kind for kind in VALUES if kind.fullmatch(name)), None)
        if kind is None and name.strip() and name in column:
            return True
        # whole numbers of up to three digits and years are names of columns as well
        is_value = kind is not None and not NUMERIC_NAME.fullmatch(name)
        if kind is not None and is_value and column and all(map(kind.fullmatch, column)):
            return True
    return False
