"""What every reader of a kind of file returns, and the settings that it takes."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from target_bench.core.errors import ConfigError
from target_bench.core.grid import CellGrid
from target_bench.core.release import Release
from target_bench.core.schema import Cell

NO_QUOTE = "none"


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


Reader = Callable[[Release, Path, FileSettings], Sequence[FileTable]]
"""Reads the tables of a file; notes on what was assumed are remarks of the release."""


def parse_file_settings(settings: Mapping[str, Any], place: str) -> FileSettings:
    """Check settings of files.

    Raises:
        ConfigError: one is unknown or has a value that it cannot have; the message names it.
    """
    for name, value in settings.items():
        if name not in _EXPECTED:
            raise ConfigError(
                f"{place}: there is no setting {name!r}; there are {', '.join(_EXPECTED)}"
            )
        expected, is_valid = _EXPECTED[name]
        if value is not None and not is_valid(value):
            raise ConfigError(f"{place}: {name} should be {expected}, not {value!r}")
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
