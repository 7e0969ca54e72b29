"""The kinds of files that hold tables: their readers, what those return, and their settings."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

from target_bench.core.errors import ConfigError
from target_bench.core.grid import CellGrid
from target_bench.core.release import Release
from target_bench.core.schema import Cell
from target_bench.data.formats.headers import looks_like_data

WORKBOOKS = (".xlsx", ".xlsm", ".xls", ".ods")
DATABASES = (".sqlite", ".sqlite3", ".db", ".duckdb")

READERS: Mapping[str, str] = {
    ".csv": "csv_files:read_csv",
    ".tsv": "csv_files:read_csv",
    ".parquet": "records:read_parquet",
    ".jsonl": "records:read_json_lines",
    ".csv.gz": "csv_files:read_csv",
    ".tsv.gz": "csv_files:read_csv",
    ".jsonl.gz": "records:read_json_lines",
    **dict.fromkeys(WORKBOOKS, "spreadsheets:read_workbook"),
    **dict.fromkeys(DATABASES, "database_files:read_database"),
}
"""Suffix of a file -> module and function that reads its tables."""

PARTS = {**dict.fromkeys(WORKBOOKS, "sheet"), **dict.fromkeys(DATABASES, "table")}
"""Suffix of a file that holds several tables -> what each of them is called."""

NO_QUOTE = "none"

_GUESSED_HEADER = (".csv", ".tsv", ".csv.gz", ".tsv.gz", *WORKBOOKS)
_NO_HEADER = (
    "files or sheets begin with a row that looks like data and was taken as the header "
    "(header_rows=0 says that there is none)"
)
_ENOUGH_ROWS = 1000


@dataclass(frozen=True)
class FileTable:
    """A table as its file has it."""

    header: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    sheet: str = ""  # of a workbook, or the table of a database
    grid: CellGrid | None = None  # the cells with their spans, if one is merged
    preamble: str = ""  # the text before the header
    context: Mapping[str, Any] = field(default_factory=dict)  # of a table in a database


@dataclass(frozen=True)
class FileSettings:
    """How files of tables are written; what is None is found in each file.

    Attributes:
        encoding: of CSV files, a codec of Python such as ``cp1252``.
        delimiter: what separates the cells of CSV files: one character.
        quote: what encloses cells of CSV files: one character, or ``none``.
        escape: what stands before a quote inside of quotes, if that is not doubled: a character.
        preamble: how many lines of a CSV file, or rows of a sheet, stand before the header.
        header_rows: how many rows the header has; with 0, the columns have no names.
    """

    encoding: str | None = None
    delimiter: str | None = None
    quote: str | None = None
    escape: str | None = None
    preamble: int | None = None
    header_rows: int | None = None


def find_suffix(name: str) -> str | None:
    """Return the suffix by which a file is read, as it is written; None if none reads it."""
    suffixes = [suffix for suffix in READERS if name.lower().endswith(suffix)]
    return name[-len(max(suffixes, key=len)) :] if suffixes else None


def read_file(release: Release, path: Path, settings: FileSettings) -> Sequence[FileTable]:
    """Return the tables of a file: of a workbook its sheets, of most other files one."""
    suffix = (find_suffix(path.name) or "").lower()
    module, _, function = READERS[suffix].partition(":")
    read = getattr(import_module(f"target_bench.data.formats.{module}"), function)
    tables: Sequence[FileTable] = read(release, path, settings)
    if suffix in _GUESSED_HEADER and settings.header_rows is None:
        for table in tables:
            if looks_like_data(table.header, table.rows[:_ENOUGH_ROWS]):
                sheet = f", sheet {table.sheet!r}" if table.sheet else ""
                release.remark(_NO_HEADER, f"{path}{sheet}")
    return tables


def parse_file_settings(settings: Mapping[str, Any], place: str) -> FileSettings:
    """Check settings of files."""
    for name, value in settings.items():
        if name not in _EXPECTED:
            raise ConfigError(f"{place}: unknown setting {name!r}. Known: {', '.join(_EXPECTED)}.")
        expected, is_valid = _EXPECTED[name]
        if value is not None and not is_valid(value):
            raise ConfigError(f"{place}: {name}: expected {expected}, found {value!r}")
    return FileSettings(**settings)


def _is_codec(value: Any) -> bool:
    try:
        return isinstance(value, str) and "".encode(value) is not None
    except (LookupError, ValueError):
        return False


def _is_character(value: Any) -> bool:
    return isinstance(value, str) and len(value) == 1 and value not in "\r\n"


def _is_count(value: Any) -> bool:
    return type(value) is int and value >= 0


_EXPECTED: dict[str, tuple[str, Callable[[Any], bool]]] = {
    "encoding": ("an encoding such as cp1252", _is_codec),
    "delimiter": ("one character", lambda value: _is_character(value) and value != '"'),
    "quote": ("one character, or none", lambda value: value == NO_QUOTE or _is_character(value)),
    "escape": ("one character", _is_character),
    "preamble": ("a number of lines", _is_count),
    "header_rows": ("a number of rows", _is_count),
}
