"""Tables whose cells span rows or columns, as their source has them, and their rectangular view."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from math import inf
from typing import Any, NamedTuple


class GridCell(NamedTuple):
    """A cell of a grid.

    ```python
    from target_bench import GridCell

    print(GridCell("moons", column_span=2, is_header=True))
    # GridCell(text='moons', row_span=1, column_span=2, is_header=True)
    ```

    Attributes:
        text: what it says.
        row_span: over how many rows it reaches, from 1.
        column_span: over how many columns it reaches, from 1.
        is_header: whether it names a column or a row.
    """

    text: str
    row_span: int = 1
    column_span: int = 1
    is_header: bool = False


@dataclass(frozen=True, slots=True)
class CellGrid:
    """The cells of a table row by row, each once, where it begins, as HTML writes them.

    ```python
    from target_bench import CellGrid, GridCell

    head = (GridCell("moons", column_span=2, is_header=True),)
    grid = CellGrid((head, (GridCell("Mars"), GridCell("2"))))
    print(grid.rectangular())  # (['moons', 'moons'], [['Mars', '2']])
    ```

    Rows may differ in length. A cell takes the first free column of its row; a place that two cells
    claim stays with the earlier one, and spans end with the last row.

    Attributes:
        rows: the rows, the header's included.
    """

    rows: tuple[tuple[GridCell, ...], ...]

    def places(self) -> list[list[GridCell | None]]:
        """Return the cell at every place of the rectangle; None where there is none."""
        if all(cell[1] == cell[2] == 1 for row in self.rows for cell in row):
            return self._without_spans()
        taken: dict[tuple[int, int], GridCell] = {}
        for i, row in enumerate(self.rows):
            column = 0
            for cell in row:
                while (i, column) in taken:
                    column += 1
                last = min(i + cell.row_span, len(self.rows))
                for place in ((r, column + c) for r in range(i, last) for c in range(cell[2])):
                    taken.setdefault(place, cell)
        width = max((column + 1 for _, column in taken), default=0)
        return [[taken.get((i, j)) for j in range(width)] for i in range(len(self.rows))]

    def _without_spans(self) -> list[list[GridCell | None]]:
        width = max(map(len, self.rows), default=0)
        return [[*row, *[None] * (width - len(row))] for row in self.rows]

    def rectangular(self) -> tuple[list[str], list[list[str]]]:
        """Return header and rows of one length.

        A cell that spans is repeated, a missing one is empty.

        The header is made of the leading rows with header cells alone: under each other in a column
        they are joined by a space, repeated ones once. Without such a row its names are empty.
        """
        places, n = self.places(), self.header_rows
        width = len(places[0]) if places else 0
        header = [_join_texts(row[j] for row in places[:n]) for j in range(width)]
        return header, [[cell.text if cell else "" for cell in row] for row in places[n:]]

    def header_paths(self) -> list[str]:
        """Return the names of columns, those of several header rows joined by dots from the top."""
        rows = self.places()[: self.header_rows]
        return [
            ".".join(dict.fromkeys(cell.text for cell in column if cell and cell.text))
            for column in zip(*rows, strict=True)
        ]

    @property
    def header_rows(self) -> int:
        """How many leading rows hold header cells alone, those that reach down included."""
        end = 0
        for i, row in enumerate(self.rows):
            end = max(end, *(i + cell.row_span for cell in row), i)
            if end <= i or not all(cell.is_header for cell in row):
                return i
        return len(self.rows)

    def to_json(self) -> list[list[list[Any]]]:
        """Return the rows as lists of ``[text, row_span, column_span, is_header]``."""
        return [[list(cell) for cell in row] for row in self.rows]

    @classmethod
    def from_json(cls, rows: Any) -> "CellGrid":
        """Read the output of ``to_json``; entries after the text may be left out.

        Raises:
            ValueError: it is of another form; the message names row and cell.
        """
        if not isinstance(rows, Sequence) or isinstance(rows, str) or not rows:
            raise ValueError(f"expected a list of rows of cells, found {rows!r:.60}")
        sound = sound_rows(rows)
        return cls(sound or tuple(tuple(_cells(row, i)) for i, row in enumerate(rows, start=1)))


def _join_texts(cells: Iterable[GridCell | None]) -> str:
    return " ".join(dict.fromkeys(cell.text for cell in cells if cell is not None and cell.text))


def sound_rows(
    rows: Iterable[Iterable[Any]], widest: float = inf
) -> tuple[tuple[GridCell, ...], ...] | None:
    """Return rows of cells, checked at once; None where one is not whole or of another type."""
    try:
        grid = tuple(tuple(map(_cell_of, row)) for row in rows)
        texts, high, wide, headers = zip(*chain.from_iterable(grid), strict=True)
    except (TypeError, ValueError):
        return None
    types = ({*map(type, texts)}, {*map(type, (*high, *wide))}, {*map(type, headers)})
    if types != ({str}, {int}, {bool}) or not 1 <= min(*high, *wide) <= max(*high, *wide) <= widest:
        return None
    return grid


_cell_of = partial(tuple.__new__, GridCell)


def _cells(row: Any, number: int) -> Iterable[GridCell]:
    if not isinstance(row, list | tuple):
        raise ValueError(f"row {number}: expected a list of cells, found {row!r:.60}")
    for place, entry in enumerate(row, start=1):
        try:
            cell = GridCell(*entry)
        except TypeError as error:
            raise ValueError(f"row {number}, cell {place}: {error}") from error
        spans = (cell.row_span, cell.column_span)
        whole = all(isinstance(n, int) and not isinstance(n, bool) and n >= 1 for n in spans)
        if isinstance(entry, str) or not (
            isinstance(cell.text, str) and isinstance(cell.is_header, bool) and whole
        ):
            raise ValueError(
                f"row {number}, cell {place}: expected text, row span and column span from 1, and "
                f"whether it is a header, found {entry!r:.60}"
            )
        yield cell
