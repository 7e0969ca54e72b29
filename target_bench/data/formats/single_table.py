"""One table from one file, in any format that is read."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from target_bench.core.errors import ConfigError, DataError
from target_bench.core.release import Release
from target_bench.data.formats.file_tables import (
    READERS,
    FileSettings,
    FileTable,
    find_suffix,
    read_file,
)
from target_bench.tables.answer_tables import FAULT_MEANINGS, AnswerTable, Fault, TableFormat
from target_bench.tables.cell_texts import convert_decimal_commas
from target_bench.tables.reading import read_tables

_TEXTS: dict[str, TableFormat] = {
    ".md": "text",
    ".txt": "text",
    ".html": "html",
    ".htm": "html",
    ".tex": "latex",
    ".json": "json",
}
_CALLED = {"text": "Markdown", "html": "HTML", "latex": "LaTeX", "json": "JSON"}
_HARMLESS: frozenset[Fault] = frozenset({"fenced", "prose", "no_table_tag"})  # in a file
_NUMBERED = re.compile(r"(?P<path>.+):(?P<number>\d+)")
_MOST_LISTED = 20


class SingleTable(NamedTuple):
    """A table of a file, and notes on what was assumed of the file, and what is wrong with it.

    The first row is the header; several header rows are paths with dots.
    """

    name: str
    table: AnswerTable
    notes: Sequence[str] = ()


def read_single_table(path: Path, number: int | None = None) -> SingleTable:
    """Read the table of a file, or the second one of ``FILE:2``; also of Markdown and HTML."""
    numbered = _NUMBERED.fullmatch(str(path))
    if numbered is not None and not path.exists():
        chosen = Path(numbered["path"])
        table = read_single_table(chosen, int(numbered["number"]))
        return table._replace(name=f"{chosen.name}:{numbered['number']}")
    if not path.is_file():
        fault = (
            "is a folder; name a file with a table" if path.is_dir() else "there is no such file"
        )
        raise DataError(f"{path}: {fault}")
    if find_suffix(path.name):
        release = Release(path.parent, str(path.parent))
        tables = list(map(_convert_table, read_file(release, path, FileSettings())))
        notes = list(release.notes)
    elif path.suffix.lower() in _TEXTS:
        tables, notes = _read_text_tables(path, _TEXTS[path.suffix.lower()])
    else:
        raise DataError(f"{path}: its suffix is not one of {', '.join((*READERS, *_TEXTS))}")
    if number is None and len(tables) > 1:
        listed = "\n".join(
            f"  {i}: {f'{table.name}, ' if table.name else ''}{len(table.rows) - 1} rows of "
            f"{', '.join(table.rows[0]):.60}"
            for i, table in enumerate(tables[:_MOST_LISTED], start=1)
        )
        raise DataError(
            f"{path} holds {len(tables)} tables: choose one by its number, as in {path}:1 or "
            f"--table 1\n{listed}"
        )
    if number is not None and not 1 <= number <= len(tables):
        raise ConfigError(
            f"{path} has no table {number}: it holds {len(tables)}. FILE:{number} chooses a table "
            "of one file, --table of both"
        )
    chosen_table = tables[(number or 1) - 1]
    if convert_decimal_commas(chosen_table.rows[1:]) is not None:
        notes.append("numbers have decimal commas")
    return SingleTable(path.name, chosen_table, notes)


def _convert_table(table: FileTable) -> AnswerTable:
    has_levels = table.grid is not None and table.grid.header_rows > 1
    header = table.grid.header_paths() if table.grid and has_levels else table.header
    rows = [["" if cell is None else str(cell) for cell in row] for row in table.rows]
    return AnswerTable(table.sheet, tuple(map(tuple, (header, *rows))))


def _read_text_tables(path: Path, table_format: TableFormat) -> tuple[list[AnswerTable], list[str]]:
    """Return the tables of a text, and what is wrong with it."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: not UTF-8 text ({error}). Convert it to UTF-8.") from error
    read = read_tables(text, table_format)
    if read.error is not None:
        why = FAULT_MEANINGS[read.error]
        raise DataError(f"{path}: no table can be read in it as {_CALLED[table_format]}: {why}")
    return list(read.tables), [FAULT_MEANINGS[f] for f in read.faults if f not in _HARMLESS]
