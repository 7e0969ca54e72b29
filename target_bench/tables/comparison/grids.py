"""Tables of any kind as the rectangles that are compared."""

from collections.abc import Sequence
from typing import Any, TypeGuard

from target_bench.core.errors import ConfigError, DataError
from target_bench.core.schema import Cell, Table
from target_bench.tables.answer_tables import MOST_CELLS, AnswerTable
from target_bench.tables.comparison.rubric import Grid

AnyTable = Table | AnswerTable | Grid | Sequence[Sequence[Cell]]
"""A table, or its rows with the header first; pandas data frames are taken, too."""

MOST_ROWS = 2_000
"""Rows of a table above which it is not compared: time grows with their square and more."""

MOST_COLUMNS = 200
"""Columns of a table above which it is not compared."""


def grid_of(table: AnyTable, role: str, any_size: bool = False) -> Grid:
    """Return a table as a rectangle: rows are filled with empty cells to one length.

    Headers of several rows, where a table has its grid, become paths with dots.

    Args:
        table: the table.
        role: what it is called in an error.
        any_size: whether it may have any number of rows.

    Raises:
        ConfigError: it is not a table.
        DataError: it has more rows, columns or cells than are compared.
    """
    if isinstance(table, Grid):
        found = table
    elif isinstance(table, AnswerTable):
        found = _rectangle(table.rows)
    elif isinstance(table, Table):
        header = _header(table)
        found = _rectangle([header, *table.rows])
    elif _is_frame(table):
        found = _rectangle(_rows_of_frame(table))
    else:
        found = _rectangle(_checked_rows(table, role))
    if not any_size:
        _check(found, role)
    return found


_ACCEPTED = (
    "A Table, an AnswerTable, a pandas DataFrame, or a list of rows with the header first are "
    "compared"
)

_ROWS_OF_FRAMES = {
    "polars": "[frame.columns, *frame.rows()]",
    "pyarrow": "[frame.column_names, *zip(*frame.to_pydict().values())]",
}


def _checked_rows(table: object, role: str) -> Sequence[Sequence[Cell]]:
    """Return the rows that a user gave, if they are a list of lists.

    Raises:
        ConfigError: it is a data frame, a text, a mapping, or anything else.
    """
    if not _is_list(table):
        rows = _ROWS_OF_FRAMES.get(type(table).__module__.partition(".")[0])
        advice = f"; its rows are {rows}" if rows else ""
        raise ConfigError(f"the {role} is a {type(table).__name__}. {_ACCEPTED}{advice}")
    for number, row in enumerate(table):
        if not _is_list(row):
            raise ConfigError(f"the {role}: row {number} is {row!r:.40}, not a list. {_ACCEPTED}")
    return table


def _is_frame(table: object) -> bool:
    """Return whether something is a pandas data frame; pandas is not imported for it."""
    kind = type(table)
    return kind.__module__.partition(".")[0] == "pandas" and kind.__name__ == "DataFrame"


def _rows_of_frame(frame: Any) -> list[list[Cell]]:
    """Return the header and the rows of a data frame; an index with a name is a column, too."""
    if any(name is not None for name in frame.index.names):
        frame = frame.reset_index()
    header = [_joined(name) for name in frame.columns]
    values = frame.astype(object).where(frame.notna(), None)
    return [header, *(list(row) for row in values.itertuples(index=False, name=None))]


def _joined(name: object) -> str:
    """Return a name of a column; that of several levels as a path with dots."""
    return ".".join(map(str, name)) if isinstance(name, tuple) else str(name)


def _is_list(value: object) -> TypeGuard[Sequence[Any]]:
    return isinstance(value, Sequence) and not isinstance(value, str | bytes | bytearray)


def transposed(grid: Grid, names: int = 0) -> Grid:
    """Return a table with its rows as columns.

    Args:
        grid: the table.
        names: the place of the column that has the names of these columns.
    """
    columns = list(zip(*(grid.header, *grid.rows), strict=True))
    turned = (*columns[names : names + 1], *columns[:names], *columns[names + 1 :])
    return Grid(turned[0], turned[1:], grid.ragged) if turned else grid


def _rectangle(rows: Sequence[Sequence[Cell]]) -> Grid:
    texts = [[_text(cell) for cell in row] for row in rows]
    if not texts:
        return Grid((), ())
    header = len(texts[0])
    width = max(map(len, texts))
    filled = [(*row, *[""] * (width - len(row))) for row in texts]
    return Grid(filled[0], tuple(filled[1:]), sum(1 for row in texts[1:] if len(row) != header))


def _text(cell: Cell) -> str:
    if cell is None:
        return ""
    return cell.decode(errors="replace") if isinstance(cell, bytes) else str(cell)


def _header(table: Table) -> Sequence[str]:
    """Return the names of columns; those of several header rows as paths."""
    has_levels = table.grid is not None and table.grid.header_rows > 1
    return table.grid.header_paths() if table.grid and has_levels else table.header


def _check(grid: Grid, role: str) -> None:
    rows, columns = len(grid.rows), len(grid.header)
    if rows > MOST_ROWS or columns > MOST_COLUMNS or rows * columns > MOST_CELLS:
        raise DataError(
            f"the {role} has {rows:,} rows and {columns:,} columns; tables are compared up to "
            f"{MOST_ROWS:,} rows, {MOST_COLUMNS:,} columns and {MOST_CELLS:,} cells. Tables of any "
            "number of rows are compared by a key: --key COLUMN, in Python key=[COLUMN]"
        )
