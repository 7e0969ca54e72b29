"""Columns of one table whose cells stand together in one column of the other."""

from collections.abc import Iterator, Sequence

from target_bench.tables.comparison.alignment import Columns, Pairs
from target_bench.tables.comparison.cell_values import CellValue
from target_bench.tables.comparison.plain_text import words
from target_bench.tables.comparison.rubric import Merged

_LEAST = 0.6
"""Share of the rows in which one cell has to contain the others."""


def merged_columns(
    reference: Columns, prediction: Columns, columns: Pairs, rows: Pairs
) -> tuple[Merged, ...]:
    """Return the columns that were merged in the prediction, then those that were split."""
    return (
        *_merged(reference, prediction, columns, rows, in_prediction=True),
        *_merged(
            prediction,
            reference,
            [(j, i) for i, j in columns],
            [(j, i) for i, j in rows],
            in_prediction=False,
        ),
    )


def _merged(
    apart: Columns, together: Columns, columns: Pairs, rows: Pairs, in_prediction: bool
) -> Iterator[Merged]:
    """Yield columns of one table, one of them not paired at least, that one of the other holds."""
    paired = dict(columns)
    alone = [i for i in range(len(apart.names)) if i not in paired]
    if not alone or not rows:
        return
    said = [
        ["" if column[i].type == "empty" else _words(column[i]) for i, _ in rows]
        for column in apart.values
    ]
    for j in range(len(together.names)):
        whole = [_words(together.values[j][place]) for _, place in rows]
        parts = [
            i
            for i in range(len(apart.names))
            if (i not in paired or paired[i] == j) and _held(said[i], whole)
        ]
        if len(parts) > 1 and _more(apart, parts, together.values[j], rows):
            yield Merged(tuple(parts), j, in_prediction)
            return


def _words(cell: CellValue) -> str:
    return f" {words(cell.text)} "


def _held(part: Sequence[str], whole: Sequence[str]) -> bool:
    """Return whether the cells of a column stand in those of another; empty ones do not count."""
    known = [a in b for a, b in zip(part, whole, strict=True) if a]
    return bool(known) and sum(known) >= _LEAST * len(known)


def _more(apart: Columns, parts: Sequence[int], whole: Sequence[CellValue], rows: Pairs) -> bool:
    """Return whether no part alone is the whole in most rows."""
    return all(
        sum(1 for i, j in rows if apart.values[part][i].key == whole[j].key) < len(rows) / 2
        for part in parts
    )
