"""A comparison as one table, in which every difference is marked and named."""

from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

from target_bench.tables.comparison.differences import Difference
from target_bench.tables.comparison.rubric import (
    CellPair,
    ColumnPair,
    Pair,
    Rubric,
)
from target_bench.tables.comparison.type_counts import type_counts

Mark = Literal["exact", "partial", "missing", "extra", "absent"]
"""What became of a cell; ``absent``: it is in an extra row and a missing column, or the reverse."""

NAMES = {
    "format": "written otherwise",
    "unit": "unit",
    "identifier": "identifier",
    "numeric": "number",
    "relation": "bound or estimate",
    "date": "date",
    "time": "time",
    "boolean": "yes or no",
    "list": "list",
    "abbreviation": "abbreviation",
    "typo": "typo",
    "semantic": "reworded",
    "different": "other text",
    "type": "other type",
}
"""Kind of difference -> how it is called where people read it."""


_MERGED = "merged or split"


class ShownCell(NamedTuple):
    """A cell of both tables.

    Attributes:
        reference: what the reference says.
        prediction: what the prediction says.
        mark: what became of it.
        note: the name of the difference and its size; empty where there is none.
    """

    reference: str
    prediction: str
    mark: Mark
    note: str = ""


class ShownRow(NamedTuple):
    """A row of both tables.

    Attributes:
        pair: its places.
        cells: its cells, one cell per column pair.
    """

    pair: Pair
    cells: tuple[ShownCell, ...]


def header(comparison: Rubric) -> list[ShownCell]:
    """Return the names of the columns of both tables."""
    return [_name(column, column.pair in comparison.merged_pairs) for column in comparison.columns]


def _name(column: ColumnPair, merged: bool) -> ShownCell:
    reference, prediction = column.pair
    if prediction is None:
        note = _MERGED if merged else "missing column"
        return ShownCell(column.name, "", "partial" if merged else "missing", note)
    if reference is None:
        note = _MERGED if merged else "extra column"
        return ShownCell("", column.predicted_name, "partial" if merged else "extra", note)
    if merged:
        return ShownCell(column.name, column.predicted_name, "partial", _MERGED)
    note = "" if column.header is None else f"name: {named(column.header)}"
    mark: Mark = "partial" if column.header is not None and column.header.share > 0 else "exact"
    return ShownCell(column.name, column.predicted_name, mark, note)


def rows(comparison: Rubric) -> Iterator[ShownRow]:
    """Yield the rows of both tables: those of the reference in their order, then extra ones."""
    cells = {(cell.row, cell.column): cell for cell in comparison.cells}
    merged = comparison.merged_pairs
    for pair in comparison.rows:
        shown = (_cell(comparison, pair, column.pair, cells) for column in comparison.columns)
        yield ShownRow(
            pair,
            tuple(
                cell._replace(mark="partial") if pair.is_matched and c.pair in merged else cell
                for cell, c in zip(shown, comparison.columns, strict=True)
            ),
        )


def shown_rows(comparison: Rubric, most: int) -> list[tuple[int, ShownRow]]:
    """Return number, from 1, and cells of some rows of both tables, in their order.

    Args:
        comparison: what is shown.
        most: how many rows; where there are more, those without a difference are left out first.
    """
    every = list(enumerate(rows(comparison), start=1))
    telling = sorted(every, key=lambda row: all(map(_is_equal, row[1].cells)))
    return sorted(telling[:most], key=lambda row: row[0])


def _is_equal(cell: ShownCell) -> bool:
    return cell.mark == "exact" and not cell.note


def _cell(
    comparison: Rubric,
    row: Pair,
    column: Pair,
    cells: dict[tuple[Pair, Pair], CellPair],
) -> ShownCell:
    found = cells.get((row, column))
    if found is not None:
        note = "" if found.difference is None else named(found.difference)
        return ShownCell(found.reference, found.prediction, found.outcome, note)
    texts = [
        "" if i is None or j is None else grid.rows[i][j]
        for grid, i, j in zip(
            (comparison.reference, comparison.prediction), row, column, strict=True
        )
    ]
    if row.is_matched and column.is_matched:
        return ShownCell(texts[0], texts[1], "exact")
    missing, extra = None in (row.prediction, column.prediction), None in (row[0], column[0])
    return ShownCell(texts[0], texts[1], "absent" if missing and extra else _lone(missing))


def _lone(missing: bool) -> Mark:
    return "missing" if missing else "extra"


def named(difference: Difference) -> str:
    """Return the name of a difference and its size."""
    name = NAMES[difference.kind]
    if difference.magnitude is None or difference.kind in ("format", "typo", "semantic"):
        return name
    if difference.kind == "different":
        return name
    sign = "+" if difference.magnitude > 0 and difference.kind != "list" else ""
    unit = f" {difference.unit}" if difference.unit else ""
    return f"{name} {sign}{difference.magnitude:,.6g}{unit}"


def counts(comparison: Rubric) -> list[list[str]]:
    """Return rows, columns and cells, a line each: matched, missing, extra."""
    structure = comparison.structure
    kinds = ("matched", "missing", "extra")
    return [
        [part, *(str(getattr(structure, f"{kind}_{part}")) for kind in kinds)]
        for part in ("rows", "columns", "cells")
    ]


TYPE_NAMES = (
    *("columns", "missing columns", "extra columns"),
    *("equal cells", "partial cells", "missing cells", "extra cells"),
)


def types(comparison: Rubric) -> list[list[str]]:
    """Return the counts of each data type, a line each, under ``TYPE_NAMES``."""
    return [[kind, *map(str, counted)] for kind, counted in type_counts(comparison).items()]


MOST_NAMES = 10
"""Columns with another name that are listed."""


def sentences(comparison: Rubric) -> Iterator[str]:
    """Yield which columns have another name, which were merged or split, and which cells differ."""
    renamed = [
        f"{column.name} → {column.predicted_name}"
        for column in comparison.columns
        if column.header is not None and column.header.share > 0
    ]
    if renamed:
        yield f"Columns with another name: {_listed(renamed)}."
    one, other = comparison.reference.header, comparison.prediction.header
    for pair in comparison.merged:
        apart, together = (one, other) if pair.in_prediction else (other, one)
        parts = " + ".join(apart[part] for part in pair.parts)
        names = (parts, together[pair.whole])
        first, second = names if pair.in_prediction else reversed(names)
        yield f"Columns {'merged' if pair.in_prediction else 'split'}: {first} → {second}."
    if comparison.repeated_keys:
        count = comparison.repeated_keys
        yield (
            f"{count:,} {'key stands' if count == 1 else 'keys stand'} in several rows: these are "
            "paired in their order."
        )
    yield _matched(comparison)


def _listed(names: Sequence[str]) -> str:
    left = len(names) - MOST_NAMES
    return "; ".join(names[:MOST_NAMES]) + (f"; and {left} more" if left > 0 else "")


def _matched(comparison: Rubric) -> str:
    kinds = ", ".join(f"{NAMES[kind]} {n}" for kind, n in sorted(comparison.partial_counts.items()))
    if kinds:
        return f"Matched cells that differ: {kinds}."
    matched = comparison.structure.matched_cells
    return "All matched cells are equal." if matched else "No cell of one matches one of the other."


def side(pair: Pair) -> str:
    """Return whether a row is in both tables, as a word; empty if it is."""
    return "" if pair.is_matched else "extra row" if pair.reference is None else "missing row"
