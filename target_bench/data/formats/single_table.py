"""One table from one file, in any format that is read."""

from pathlib import Path

from target_bench.core.errors import ConfigError, DataError
from target_bench.core.release import Release
from target_bench.data.formats.table_files import TABLE_SUFFIXES, read_table_file
from target_bench.metrics.tables.answer_tables import AnswerTable, TableFormat
from target_bench.metrics.tables.reading import read_tables

_TEXTS: dict[str, TableFormat] = {
    ".md": "text",
    ".txt": "text",
    ".html": "html",
    ".htm": "html",
    ".tex": "latex",
    ".json": "json",
}


def read_single_table(path: Path, number: int | None = None) -> AnswerTable:
    """Read the table of a file; its first row is the header.

    Args:
        path: a CSV, TSV, Parquet or JSON-lines file (CSV, TSV and JSON lines also as ``.gz``), or
            a text with a table: Markdown, HTML, LaTeX or JSON.
        number: which table of a text with several, from 1.

    Raises:
        DataError: the file is missing, broken or in no format that is read, holds no table, or
            holds several and ``number`` is None.
        ConfigError: the file has no table of that number.
    """
    if not path.is_file():
        raise DataError(f"{path}: there is no such file")
    name = path.name.lower()
    if name.removesuffix(".gz").endswith(TABLE_SUFFIXES):
        _check_number(path, number, 1)
        header, rows = read_table_file(Release(path.parent, str(path.parent)), path)
        cells = [["" if cell is None else str(cell) for cell in row] for row in (header, *rows)]
        return AnswerTable("", tuple(map(tuple, cells)))
    if path.suffix.lower() not in _TEXTS:
        known = ", ".join((*TABLE_SUFFIXES, *_TEXTS))
        raise DataError(f"{path}: its suffix is not one of {known}")
    return _from_text(path, number, _TEXTS[path.suffix.lower()])


def _from_text(path: Path, number: int | None, table_format: TableFormat) -> AnswerTable:
    try:
        read = read_tables(path.read_text(encoding="utf-8"), table_format)
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: not UTF-8 text ({error})") from error
    if read.error is not None:
        raise DataError(f"{path}: no table can be read in it as {table_format} ({read.error})")
    if number is None and len(read.tables) > 1:
        raise DataError(
            f"{path} holds {len(read.tables)} tables: choose one by its number, as in --table 1"
        )
    _check_number(path, number, len(read.tables))
    return read.tables[(number or 1) - 1]


def _check_number(path: Path, number: int | None, count: int) -> None:
    if number is not None and not 1 <= number <= count:
        raise ConfigError(f"{path} has no table {number}: it holds {count}")
