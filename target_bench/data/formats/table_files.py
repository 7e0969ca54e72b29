"""The tables of one file: CSV, TSV, Parquet, JSON lines, or a workbook."""

from collections.abc import Sequence
from pathlib import Path

from target_bench.core.errors import DataError
from target_bench.core.release import Release
from target_bench.core.schema import Cell
from target_bench.data.checks import Grid
from target_bench.data.formats import spreadsheets
from target_bench.data.formats.cells import cells, read_arrow_grid, read_parquet_table
from target_bench.data.formats.csv_files import FileSettings, FileTable, read_csv
from target_bench.data.formats.preamble import NUMERIC_NAME, VALUES

TABLE_SUFFIXES = (".csv", ".tsv", ".parquet", ".jsonl")
"""The files that hold one table."""

_GZIPPED = (".csv.gz", ".tsv.gz", ".jsonl.gz")

_NO_HEADER = (
    "files or sheets begin with a row that looks like data and was taken as the header "
    "(header_rows=0 says that there is none)"
)
_ENOUGH_ROWS = 1000


def find_suffix(name: str) -> str | None:
    """Return the suffix by which a file is read, as it is written; None if it has another one."""
    known = (*_GZIPPED, *TABLE_SUFFIXES, *spreadsheets.SUFFIXES)
    suffix = next((s for s in known if name.lower().endswith(s)), None)
    return suffix and name[-len(suffix) :]


def read_file(release: Release, path: Path, settings: FileSettings) -> list[FileTable]:
    """Return the tables of a file: of a workbook its sheets, of any other file one.

    Raises:
        DataError: it is broken; the message names file and line.
    """
    if path.suffix.lower() not in spreadsheets.SUFFIXES:
        grid, preamble = _read(release, path, settings)
        tables = [FileTable(*grid, preamble=preamble)]
    else:
        tables = spreadsheets.read_workbook(release, path, settings.preamble, settings.header_rows)
    has_names = path.suffix.lower() in (".parquet", ".jsonl") or settings.header_rows is not None
    for table in [] if has_names else tables:
        if _looks_like_data(table.header, table.rows[:_ENOUGH_ROWS]):
            release.remark(_NO_HEADER, f"{path}{f', sheet {table.sheet!r}' if table.sheet else ''}")
    return tables


def _looks_like_data(header: Sequence[str], rows: Sequence[Sequence[Cell]]) -> bool:
    """Return whether a header may be a row of data.

    It is if a name is a number or date above nothing but such, or occurs again in its column.
    Whole numbers of up to three digits and years are names of columns as well.
    """
    texts = [[str(cell) for cell in row] for row in rows]
    texts = [row for row in texts if row != list(header)]  # a header that is repeated on each page
    for j, name in enumerate(header):
        column = [row[j] for row in texts if row[j] not in ("", "None")]
        kind = next((kind for kind in VALUES if kind.fullmatch(name)), None)
        if kind is None and name.strip() and name in column:
            return True
        is_value = kind is not None and not NUMERIC_NAME.fullmatch(name)
        if kind is not None and is_value and column and all(map(kind.fullmatch, column)):
            return True
    return False


def _read(release: Release, path: Path, settings: FileSettings) -> tuple[Grid, str]:
    suffix = (find_suffix(path.name) or "").lower().removesuffix(".gz")
    if suffix == ".parquet":
        return read_arrow_grid(read_parquet_table(release, path), str(path)), ""
    if suffix != ".jsonl":
        return read_csv(release, path, "\t" if suffix == ".tsv" else ",", settings)
    lines = list(release.json_lines(path))
    for place, record in lines:
        if not isinstance(record, dict):
            raise DataError(f"{place}: expected one object per row, found {type(record).__name__}")
    header = list(dict.fromkeys(name for _, record in lines for name in record))
    if not header:
        raise DataError(f"{path}: no row names any column")
    rows = []
    for place, record in lines:
        try:
            rows.append(cells([record.get(name) for name in header]))
        except TypeError as error:
            raise DataError(f"{place}: {error}") from error
    return (header, rows), ""
