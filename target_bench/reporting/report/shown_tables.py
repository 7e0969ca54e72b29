"""The tables of a report: each embedded once, the best ranked first, cut where they are large."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from target_bench.core.schema import Cell, Corpus, Table, TableId
from target_bench.data.table_text import cell_text
from target_bench.reporting.report.blocks import Block, block, cut

TABLES_PER_BLOCK = 16
COLUMNS = 60
"""Columns of a table that are embedded."""

_TITLES = ("title", "section_title")


@dataclass(frozen=True, slots=True)
class TableSize:
    """Limits of the size of a shown table.

    Attributes:
        rows: the first rows.
        cell: characters of a cell.
    """

    rows: int = 50
    cell: int = 300


class Numbered:
    """Tables with the number each has in a report: gold tables first, then by their best rank.

    Args:
        best: table -> its best rank in any ranking that is shown; 0 for gold.
    """

    def __init__(self, best: Mapping[TableId, int]) -> None:
        self.ids: Sequence[TableId] = sorted(best, key=best.__getitem__)
        self._numbers = {table_id: n for n, table_id in enumerate(self.ids)}

    def __getitem__(self, table_id: TableId) -> int:
        return self._numbers[table_id]

    def __len__(self) -> int:
        return len(self.ids)

    def blocks(self, corpus: Corpus, size: TableSize, full: Callable[[], bool]) -> Iterator[Block]:
        """Yield the tables; once the file is full, of the rest only what they are called."""
        for first in range(0, len(self.ids), TABLES_PER_BLOCK):
            ids = self.ids[first : first + TABLES_PER_BLOCK]
            tables = [embedded(corpus[table_id], None if full() else size) for table_id in ids]
            yield block(f"tables-{first // TABLES_PER_BLOCK}", tables)


def embedded(table: Table, size: TableSize | None) -> dict[str, Any]:
    """Return a table as the script of the page reads it; without a size only its name.

    A NULL is null, any other cell text, and a long cell ``[its beginning, characters left out]``.
    """
    titles = [str(table.context.get(name) or "") for name in _TITLES]
    found: dict[str, Any] = {
        "id": [table.id.database_id, table.id.table_id],
        "title": cut(" – ".join(filter(None, titles)), 300),
    }
    if size is None:
        return found
    rows = table.rows[: size.rows]
    return found | {
        "header": [cut(str(name), size.cell) for name in table.header[:COLUMNS]],
        "rows": [[_cell(cell, size.cell) for cell in row[:COLUMNS]] for row in rows],
        "n_rows": len(table.rows),
        "n_columns": len(table.header),
    }


def _cell(cell: Cell, longest: int) -> str | list[Any] | None:
    return None if cell is None else cut(cell_text(cell), longest)
