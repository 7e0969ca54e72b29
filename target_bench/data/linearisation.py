"""Tables and highlighted cells as the text that ToTTo's models read (Parikh et al. 2020).

As ``baseline_preprocessing`` of google-research/language (language/totto) writes them, to the byte.
Headers of a cell are found by its heuristics: column headers are the header cells of all rows above
whose columns overlap, with row spans left out of account; row headers are those to the left.
"""

from collections.abc import Iterable, Sequence
from itertools import accumulate

from target_bench.core.errors import DataError
from target_bench.core.grid import GridCell

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
            raise DataError(f"highlighted_cells: row {row} of {len(rows)} rows")
        cells = len(rows[row])
        if not -cells <= column < cells:
            raise DataError(f"highlighted_cells: column {column} of the {cells} in row {row}")


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
