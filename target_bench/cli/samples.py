"""Rows of a table that fit one screen."""

from collections.abc import Collection, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING

from target_bench.core.text_tables import Column, TextTable, count_noun, list_first, terminal_width

if TYPE_CHECKING:
    from target_bench.core.schema import Table


def lay_out_sample(
    table: "Table",
    numbers: Sequence[int],
    title: str,
    shown_first: Collection[int] = (),
    full: bool = False,
) -> TextTable:
    """Lay out some rows of a table so that they fit one screen."""
    from rich.cells import cell_len

    from target_bench.data.highlights import cell_text

    most = None if full else LONGEST_CELL
    header = [cut_text(name, most) for name in table.header]
    rows = [[cut_text(cell_text(cell), most) for cell in table.rows[i]] for i in numbers]
    widths = [max(map(cell_len, cells)) + 2 for cells in zip(header, *rows, strict=True)]
    columns, room = list(range(len(header))), terminal_width() or PAGE_WIDTH
    if not full:
        by_need = sorted(columns, key=lambda column: column not in shown_first)
        fitting = sum(width <= room for width in accumulate(widths[i] for i in by_need))
        columns = sorted(by_need[: max(1, fitting)])
    left = [name for i, name in enumerate(header) if i not in columns]
    more = [count_noun(len(table.rows) - len(rows), "more row")] * (len(table.rows) > len(rows))
    if left:
        more.append(f"{count_noun(len(left), 'more column')}: {list_first(left, _MOST_NAMES)}")
    cells = [[row[i] for i in columns] for row in rows]
    return TextTable(
        [Column(header[i]) for i in columns], cells, title, note="; ".join(more) or None
    )


def cut_text(text: str, most: int | None) -> str:
    """Return a text in one line, with an ellipsis where it has more characters than ``most``."""
    text = " ".join(text.split())
    return text if most is None or len(text) <= most else f"{text[: most - 1]}…"


PAGE_WIDTH = 100
"""Columns of a text that is not printed on a terminal."""
LONGEST_CELL = 60
_MOST_NAMES = 8
