"""Tables as ragged rows of cells, their highlighted cells, and the text ToTTo's models read.

Texts are those of ``baseline_preprocessing`` of google-research/language (language/totto; Parikh et
al. 2020), to the byte. Headers of a cell are found by its heuristics: column headers are the header
cells of all rows above whose columns overlap, with row spans left out of account; row headers are
those to the left.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import accumulate
from typing import Any

from target_bench.core.errors import DataError
from target_bench.core.grid import GridCell
from target_bench.core.schema import Cell, Query, Table

HIGHLIGHTED = "highlighted_cells"
"""Field of a query's metadata and a table's context with highlighted cells."""

NO_HIGHLIGHT = "no highlight"
OUT_OF_RANGE = "out of range"

Rows = Sequence[Sequence[GridCell]]
Places = Sequence[Sequence[int]]
"""Row and column of cells, as places in the ragged rows."""

_MARKER = "<highlighted_cell>"


class CellHeaders:
    """Finds the headers of the cells of a table, given as ragged rows."""

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self._above = list(map(_spans_of_headers, rows))

    def list_above(self, row: int, column: int) -> list[str]:
        """List the headers above a cell, from the top, those of a row from the left."""
        edges = _edges(self.rows[row])
        start, end = edges[:-1][column], edges[1:][column]
        above = self._above[: max(row, 0)]
        return [text for spans in above for low, high, text in spans if low < end and start < high]

    def list_left(self, row: int, column: int) -> list[str]:
        """List the header cells to the left of a cell, from the left."""
        return [cell.text for cell in self.rows[row][: max(column, 0)] if cell.is_header]


def _edges(row: Sequence[GridCell]) -> list[int]:
    """Return where each cell of a row begins, in columns, and where the last one ends."""
    return [0, *accumulate(cell.column_span for cell in row)]


def _spans_of_headers(row: Sequence[GridCell]) -> list[tuple[int, int, str]]:
    """Return first column, end and text of each header cell of a row."""
    if not any(cell.is_header for cell in row):
        return []
    edges = _edges(row)
    return [(edges[j], edges[j + 1], c.text) for j, c in enumerate(row) if c.is_header]


def write_full_table(rows: Rows, highlighted: Places = (), strict: bool = True) -> str:
    """Write every cell with its headers, row by row; highlighted ones carry a tag of their own."""
    headers = CellHeaders(rows)
    marked = {tuple(place) for place in highlighted}
    parts = []
    for i, row in enumerate(rows):
        written = (_cell(headers, i, j, (i, j) in marked) for j in range(len(row)))
        parts.append(" ".join(["<row>", *written, "</row>"]))
    text = " ".join(["<table>", *parts, "</table>"])
    if strict and marked and _MARKER not in text:
        raise DataError(
            f"highlighted_cells: none of {sorted(marked)!r:.80} is a cell of the table, which has "
            f"{len(rows)} rows"
        )
    return text


def write_subtable(rows: Rows, highlighted: Places) -> str:
    """Write the highlighted cells alone, in the order given, each with its headers."""
    headers = CellHeaders(rows)
    check_places(rows, highlighted)
    written = [_cell(headers, row, column, False) for row, column in highlighted]
    return " ".join(["<table>", *written, "</table>"])


def check_places(rows: Rows, highlighted: Places) -> None:
    """See that places are those of cells; negative ones count from the end."""
    for row, column in highlighted:
        if not -len(rows) <= row < len(rows):
            raise DataError(f"highlighted_cells: there is no row {row} in {len(rows)} rows")
        cells = len(rows[row])
        if not -cells <= column < cells:
            raise DataError(
                f"highlighted_cells: there is no column {column} among the {cells} in row {row}"
            )


def add_titles(body: str, title: object, section_title: object) -> str:
    """Write the titles of page and section before a table; empty ones are left out."""
    parts = []
    for tag, text in (("page_title", title), ("section_title", section_title)):
        if text:
            parts.append(f"<{tag}> {text} </{tag}>")
    return " ".join([*parts, body])


def select_places(rows: Rows, highlighted: Iterable[object]) -> list[tuple[int, int]]:
    """List those of some values that are the row and column of a cell, counted from 0."""
    places = []
    for place in highlighted:
        if not isinstance(place, list | tuple) or len(place) != 2:
            continue
        row, column = place
        whole = type(row) is type(column) is int
        if whole and 0 <= row < len(rows) and 0 <= column < len(rows[row]):
            places.append((row, column))
    return places


def _cell(headers: CellHeaders, row: int, column: int, marked: bool) -> str:
    tag = "highlighted_cell" if marked else "cell"
    parts = [f"<{tag}> {headers.rows[row][column].text}"]
    parts += [f"<col_header> {text} </col_header>" for text in headers.list_above(row, column)]
    parts += [f"<row_header> {text} </row_header>" for text in headers.list_left(row, column)]
    return " ".join([*parts, f"</{tag}>"])


def cell_text(cell: Cell) -> str:
    """Return a cell as text: NULL is empty, bytes hexadecimal, numbers as Python prints them."""
    if isinstance(cell, bytes):
        return cell.hex()
    return "" if cell is None else str(cell)


def grid_rows(table: Table) -> Sequence[Sequence[GridCell]]:
    """Return the cells of a table as its source has them: ragged, with spans, headers first."""
    if table.grid is None:
        header = [GridCell(name, is_header=True) for name in table.header]
        return [header, *([GridCell(cell_text(cell)) for cell in row] for row in table.rows)]
    return table.grid.rows[: table.grid.header_rows + len(table.rows)]


def mark_highlighted(query: Query, table: Table) -> Table:
    """Return a table that says in its context which cells the query is about."""
    named = query.metadata.get(HIGHLIGHTED)
    places = select_places(grid_rows(table), named if isinstance(named, list | tuple) else ())
    return replace(table, context={**table.context, HIGHLIGHTED: [list(p) for p in places]})


def find_fault(rows: Rows, places: Any) -> str | None:
    """Describe an error in highlighted cells: there is none, or one is not in the table."""
    if not places:
        return NO_HIGHLIGHT
    return None if len(select_places(rows, places)) == len(places) else OUT_OF_RANGE


def write_highlighted(table: Table) -> str:
    """Write the highlighted cells of a table as ``name: text``, with semicolons between.

    The name of a cell are the headers above it, or those to the left if there are none above.
    """
    rows = grid_rows(table)
    headers = CellHeaders(rows)
    written = []
    for i, j in select_places(rows, table.context.get(HIGHLIGHTED) or ()):
        text = rows[i][j].text.strip()
        names = headers.list_above(i, j) or headers.list_left(i, j)
        name = " ".join(dict.fromkeys(name for name in names if name != text)).strip()
        written.append(f"{name}: {text}" if name else text)
    return "; ".join(dict.fromkeys(filter(None, written)))
