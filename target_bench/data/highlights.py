"""Highlighted cells of a table: which of them there are, and what they say."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from target_bench.core.grid import GridCell
from target_bench.core.schema import Query, Table
from target_bench.data.linearisation import CellHeaders, select_places
from target_bench.data.table_text import grid_rows

HIGHLIGHTED = "highlighted_cells"
"""Field of a query's metadata and a table's context with highlighted cells."""

NO_HIGHLIGHT = "no highlight"
OUT_OF_RANGE = "out of range"


@dataclass(frozen=True, slots=True)
class Highlighted:
    """A highlighted cell with the headers that ToTTo's heuristics find for it."""

    text: str
    column_headers: tuple[str, ...]
    row_headers: tuple[str, ...]

    @property
    def name(self) -> str:
        """Its name: the headers above it, or those to the left if there are none above."""
        own = [text for text in self.column_headers or self.row_headers if text != self.text]
        return " ".join(dict.fromkeys(own)).strip()


def mark_highlighted(query: Query, table: Table) -> Table:
    """Return a table that says in its context which cells the query is about."""
    places = select_places(grid_rows(table), _named(query))
    return replace(table, context={**table.context, HIGHLIGHTED: [list(p) for p in places]})


def find_fault(rows: Sequence[Sequence[GridCell]], places: Any) -> str | None:
    """Describe an error in highlighted cells: there is none, or one is not in the table."""
    if not places:
        return NO_HIGHLIGHT
    return None if len(select_places(rows, places)) == len(places) else OUT_OF_RANGE


def list_highlighted(table: Table) -> list[Highlighted]:
    """List the highlighted cells of a table, in the order given."""
    rows = grid_rows(table)
    headers = CellHeaders(rows)
    return [
        Highlighted(
            rows[i][j].text.strip(),
            tuple(headers.list_above(i, j)),
            tuple(headers.list_left(i, j)),
        )
        for i, j in select_places(rows, table.context.get(HIGHLIGHTED) or ())
    ]


def write_highlighted(table: Table) -> str:
    """Write the highlighted cells of a table as ``name: text``, with semicolons between."""
    parts = (
        f"{cell.name}: {cell.text}" if cell.name else cell.text for cell in list_highlighted(table)
    )
    return "; ".join(dict.fromkeys(part for part in parts if part))


def _named(query: Query) -> list[Any]:
    places = query.metadata.get(HIGHLIGHTED)
    return list(places) if isinstance(places, list | tuple) else []
