"""Rows that are longer or shorter than their header: made as long, no cell lost, and noted."""

from collections.abc import Callable, Sequence

from target_bench.core.release import Release
from target_bench.core.schema import Cell

Grid = tuple[Sequence[str], Sequence[Sequence[Cell]]]


_WHAT = (
    "rows are not as long as their header: short ones got empty cells, for long ones the header "
    "got columns without a name"
)


def rectangular(
    release: Release,
    header: Sequence[str],
    rows: Sequence[Sequence[Cell]],
    place: Callable[[int], str],
    advice: str = "",
) -> Grid:
    """Return header and rows, all of one length; every cell keeps its row and its column.

    A short row ends in empty cells: empty text in a table of text alone, else None. Where a row is
    longer than the header, the header ends in empty names. A table without a header, or with rows
    that are not lists, stays as it is: the check of tables refuses it.

    Args:
        release: keeps the note of how many there were, and where the first was.
        header: the names of the columns.
        rows: the rows.
        place: the number of a row, from 0 -> where it is.
        advice: what may be wrong, for the note.
    """
    width = len(header)
    if not width or not all(isinstance(row, list | tuple) for row in rows):
        return header, rows
    ragged = [number for number, row in enumerate(rows) if len(row) != width]
    if not ragged:
        return header, rows
    for number in ragged:
        release.remark(
            _WHAT, f"{place(number)}: {len(rows[number])} cells under {width} columns{advice}"
        )
    widest = max(width, *(len(rows[number]) for number in ragged))
    of_text = all(isinstance(cell, str) for row in rows for cell in row)
    empty: Cell = "" if of_text else None
    return (
        [*header, *[""] * (widest - width)],
        [row if len(row) == widest else [*row, *[empty] * (widest - len(row))] for row in rows],
    )
