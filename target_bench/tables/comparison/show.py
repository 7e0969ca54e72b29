"""What a comparison of two tables says, as an object, on the terminal and as a page."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from html import escape
from typing import Any, NamedTuple

from target_bench.core.text_tables import Column, TextTable, text
from target_bench.tables.comparison.align import Grid, Merged
from target_bench.tables.comparison.differences import KINDS, CellDifference
from target_bench.tables.comparison.rubric import (
    CellPair,
    ColumnPair,
    IndexPair,
    Penalty,
    RubricWeights,
    Structure,
    compute_penalty,
)

_MOST_PRINTED = 60  # rows in a terminal
_MOST_SHOWN = 500  # rows on a page
_MOST_NAMES = 10  # columns with another name that are listed
_SIZELESS = ("format", "typo", "semantic", "different")  # kinds whose size nobody reads


@dataclass(frozen=True)
class TableComparison:
    """Two tables compared; notebooks and ``print`` show what differs.

    Attributes:
        reference: the table as it should be.
        prediction: the table as it is, turned if it was transposed.
        transposed: whether rows and columns of the prediction were exchanged.
        columns: the columns of both: those of the reference in their order, then extra ones.
        rows: the rows of both, in the same order.
        cells: the cells of matched rows and columns of which one is not empty.
        merged: columns that were merged or split.
    """

    reference: Grid
    prediction: Grid
    transposed: bool
    columns: tuple[ColumnPair, ...]
    rows: tuple[IndexPair, ...]
    cells: tuple[CellPair, ...]
    merged: tuple[Merged, ...] = ()

    def score(self, weights: RubricWeights | None = None) -> float:
        """Return how good the prediction is: 1 less the penalty, and at least 0.

        Args:
            weights: of the terms; None for the default ones.
        """
        return self.penalty(weights).score

    def penalty(self, weights: RubricWeights | None = None) -> Penalty:
        """Return the penalty, term by term; ``weights`` as in ``score``."""
        return compute_penalty(self.structure, self.partial_shares, weights or RubricWeights())

    def paper_score(self, weights: RubricWeights | None = None) -> float:
        """Return the score by the equation of the paper; ``weights`` as in ``score``.

        Its shares are of the rows, columns and cells of the reference, not of both tables, and
        names of columns, and columns that were merged or split, are in no term of their own.
        """
        weights = replace(weights or RubricWeights(), renamed=0.0, merged=0.0)
        shape = len(self.reference.rows), len(self.reference.header)
        return compute_penalty(self.structure, self.partial_shares, weights, shape).score

    @cached_property
    def structure(self) -> Structure:
        """The structure descriptor."""
        counts = Counter(f"{pair.side}_rows" for pair in self.rows)
        for column in self.columns:
            side = "matched" if column.pair in self.merged_pairs else column.pair.side
            counts[f"{side}_columns"] += 1
            counts["renamed_columns"] += column.is_renamed
        for cell in self.cells:
            side = cell.outcome if cell.outcome in ("missing", "extra") else "matched"
            counts[f"{side}_cells"] += 1
        counts["merged_columns"] = sum(len(merged.parts) - 1 for merged in self.merged)
        return Structure(**counts)

    @cached_property
    def merged_pairs(self) -> frozenset[IndexPair]:
        """The pairs of columns that hold what was merged or split: none of them is missing."""
        return frozenset(
            column.pair
            for merged in self.merged
            for column in self.columns
            if column.pair[merged.in_prediction] == merged.whole
            or column.pair[not merged.in_prediction] in merged.parts
        )

    @cached_property
    def partial_shares(self) -> Mapping[str, float]:
        """Kind of difference -> the sum of the wrong shares of the cells with it."""
        shares: dict[str, float] = {}
        for cell in self.cells:
            if cell.difference is not None:
                kind = cell.difference.kind
                shares[kind] = shares.get(kind, 0.0) + cell.difference.share
        return shares

    def to_json(self) -> dict[str, Any]:
        """Return score, counts, and every difference, as JSON."""
        penalty = self.penalty()
        return {
            "score": penalty.score,
            "penalty": penalty.total,
            "paper_score": self.paper_score(),
            "terms": [term._asdict() | {"value": term.value} for term in penalty.terms],
            "structure": asdict(self.structure),
            "transposed": self.transposed,
            "columns": [
                column._asdict() | {"header": column.header and column.header._asdict()}
                for column in self.columns
            ],
            "rows": list(self.rows),
            "cells": [
                cell._asdict() | {"difference": cell.difference and cell.difference._asdict()}
                for cell in self.cells
                if cell.outcome != "exact" or cell.difference
            ],
        }

    def __str__(self) -> str:
        return text(text_tables(self))

    def _repr_html_(self) -> str:
        return fragment(self)


class _ShownCell(NamedTuple):
    text: str  # of both tables
    mark: str  # what became of it, which is its class on a page
    note: str = ""


def text_tables(comparison: TableComparison, name: str = "Comparison") -> list[TextTable]:
    """Return the aligned table with its differences, counts, and the arithmetic of the score."""
    aligned, _ = _align_table(comparison, name, _MOST_PRINTED)
    return [aligned, _count_table(comparison), _score_table(comparison)]


def page(comparison: TableComparison, title: str) -> str:
    """Return a comparison as a whole page, which needs no other file."""
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta http-equiv="Content-Security-Policy" '
        "content=\"default-src 'none'; style-src 'unsafe-inline'\">"
        f"<title>{escape(title)}</title><style>:root {{ color-scheme: light dark; }} "
        "body { margin: 1.5rem; background: light-dark(#fff, #14171c); }"
        f"</style></head><body>{fragment(comparison, title)}</body></html>\n"
    )


def fragment(comparison: TableComparison, name: str = "Comparison") -> str:
    """Return a comparison as HTML for a page or a notebook."""
    aligned, shown = _align_table(comparison, name, _MOST_SHOWN)
    marks = [["", *(cell.mark for cell in cells)] for cells in shown]
    tables = [_html(aligned, marks), *map(_html, text_tables(comparison)[1:])]
    return f'<style>{_STYLE}</style><main class="tb-comparison">{"".join(tables)}</main>'


def _align_table(
    comparison: TableComparison, name: str, most: int
) -> tuple[TextTable, list[list[_ShownCell]]]:
    """Return both tables as one, and the cells of its header and rows."""
    header = list(_show_header(comparison))
    rows = list(enumerate(_show_rows(comparison)))
    # where there are more rows than are shown, those without a difference are left out first
    rows.sort(key=lambda row: all(cell.mark == "exact" and not cell.note for cell in row[1]))
    shown = sorted(rows[:most], key=lambda row: row[0])
    notes = [f"{len(rows) - most:,} more rows are not shown."] if len(rows) > most else []
    if comparison.transposed:
        notes.append("The prediction was transposed; it is compared as the reference lies.")
    sides = [pair.side for pair in comparison.rows]
    endings = {"matched": "", "missing": " missing row", "extra": " extra row"}
    table = TextTable(
        [Column("row"), *(Column(cell.text) for cell in header)],
        [[f"{i + 1}{endings[sides[i]]}", *(cell.text for cell in cells)] for i, cells in shown],
        f"{name}: reference → prediction",
        note=" ".join(notes) or None,
    )
    return table, [header, *(cells for _, cells in shown)]


def _show_header(comparison: TableComparison) -> Iterator[_ShownCell]:
    for column in comparison.columns:
        side = column.pair.side
        mark, note = "partial" if column.is_renamed else "exact", ""
        if column.pair in comparison.merged_pairs:
            mark, note = "partial", "merged or split"
        elif side != "matched":
            mark, note = side, f"{side} column"
        elif column.header is not None:
            note = f"name: {_name_difference(column.header)}"
        yield _join("" if side == "extra" else column.name, column.predicted_name, mark, note)


def _show_rows(comparison: TableComparison) -> Iterator[list[_ShownCell]]:
    compared = {(cell.row, cell.column): cell for cell in comparison.cells}
    for row in comparison.rows:
        shown = []
        for column in (column.pair for column in comparison.columns):
            cell = compared.get((row, column))
            sides = {row.side, column.side} - {"matched"}
            mark = cell.outcome if cell else next(iter(sides), "exact")
            if len(sides) > 1:  # in an extra row and a missing column, or the reverse
                mark = "absent"
            if row.is_matched and column in comparison.merged_pairs:
                mark = "partial"
            texts = (
                _read_cell(comparison.reference, row.reference, column.reference),
                _read_cell(comparison.prediction, row.prediction, column.prediction),
            )
            difference = cell.difference if cell else None
            shown.append(_join(*texts, mark, _name_difference(difference) if difference else ""))
        yield shown


def _read_cell(grid: Grid, row: int | None, column: int | None) -> str:
    return "" if row is None or column is None else grid.rows[row][column]


def _join(reference: str, prediction: str, mark: str, note: str) -> _ShownCell:
    ending = f" [{note}]" if note else ""
    shown = reference or prediction
    if mark == "absent":
        shown = ""
    elif mark == "missing" or (note and not prediction):
        shown = f"− {reference}{ending}"
    elif mark == "extra" or (note and not reference):
        shown = f"+ {prediction}{ending}"
    elif note or (mark == "partial" and reference and prediction):
        shown = f"{reference} → {prediction}{ending}"
    return _ShownCell(shown, mark, note)


def _name_difference(difference: CellDifference) -> str:
    """Return the name of a difference and its size."""
    name, size = KINDS[difference.kind], difference.magnitude
    if size is None or difference.kind in _SIZELESS:
        return name
    return f"{name} {'+' * (size > 0)}{size:,.6g} {difference.unit}".strip()


def _count_table(comparison: TableComparison) -> TextTable:
    """Return the counts of rows, columns and cells, and what differs."""
    sentences = list(_describe(comparison))
    if not comparison.penalty().terms:
        sentences.append("Nothing costs anything: the score is 1.0000.")
    sides = ("matched", "missing", "extra")
    counts = [
        [kind, *(str(getattr(comparison.structure, f"{side}_{kind}")) for side in sides)]
        for kind in ("rows", "columns", "cells")
    ]
    return TextTable(_name_columns("", *sides), counts, "Counts", note=" ".join(sentences))


def _score_table(comparison: TableComparison) -> TextTable:
    penalty = comparison.penalty()
    arithmetic = None
    if penalty.terms:
        at_least = "" if penalty.total <= 1 else ", and at least 0"
        arithmetic = (
            f"1 − {penalty.total:.4f} = {1 - penalty.total:.4f}{at_least}: the score is "
            f"{penalty.score:.4f}. With shares of the reference, as in the paper: "
            f"{comparison.paper_score():.4f}."
        )
    terms = [
        [t.name, f"{t.weight:.4g}", f"{t.amount:.4g}", str(t.total), f"{t.value:.4f}"]
        for t in penalty.terms
    ]
    columns = _name_columns("term", "weight", "amount", "of", "penalty")
    return TextTable(columns, terms, "Score", note=arithmetic)


def _name_columns(first: str, *numbers: str) -> list[Column]:
    return [Column(first), *(Column(name, right=True) for name in numbers)]


def _describe(comparison: TableComparison) -> Iterator[str]:
    """Yield which columns are named otherwise, merged or split, and which cells differ."""
    renamed = [f"{c.name} → {c.predicted_name}" for c in comparison.columns if c.is_renamed]
    if renamed:
        left = len(renamed) - _MOST_NAMES
        more = f"; and {left} more" if left > 0 else ""
        yield f"Columns with another name: {'; '.join(renamed[:_MOST_NAMES])}{more}."
    for merged in comparison.merged:
        headers = [comparison.reference.header, comparison.prediction.header]
        apart, together = headers if merged.in_prediction else headers[::-1]
        names = [" + ".join(apart[i] for i in merged.parts), together[merged.whole]]
        verb, names = ("merged", names) if merged.in_prediction else ("split", names[::-1])
        yield f"Columns {verb}: {' → '.join(names)}."
    kinds = Counter(cell.difference.kind for cell in comparison.cells if cell.difference)
    if kinds:
        counts = ", ".join(f"{KINDS[kind]} {n}" for kind, n in sorted(kinds.items()))
        yield f"Matched cells that differ: {counts}."
    elif comparison.structure.matched_cells:
        yield "All matched cells are equal."
    else:
        yield "No cell of one matches one of the other."


# HTML: the tables of the terminal, with a colour for what is missing, extra or wrong.

_STYLE = """
.tb-comparison { color-scheme: light dark; color: light-dark(#1a1e25, #e7eaf0);
  background: light-dark(#fff, #14171c); font: 0.95rem/1.45 system-ui, sans-serif; }
.tb-comparison section { overflow-x: auto; min-width: 0; }
.tb-comparison table { border-collapse: collapse; width: max-content; }
.tb-comparison caption { text-align: left; font-weight: 650; padding: 0.25rem 0; }
.tb-comparison th, .tb-comparison td { border: 1px solid light-dark(#d7dce3, #353b46);
  padding: 0.2rem 0.5rem; text-align: left; vertical-align: top; max-width: 20rem; }
.tb-comparison th { background: light-dark(#eceff3, #262b34); }
.tb-comparison td.number { text-align: right; font-variant-numeric: tabular-nums; }
.tb-comparison .missing { background: light-dark(#fbe7e9, #461c22); }
.tb-comparison .extra { background: light-dark(#e6eefc, #1f3050); }
.tb-comparison .partial { background: light-dark(#fdf1d6, #3d3013); }
"""


def _html(table: TextTable, marks: Sequence[Sequence[str]] = ()) -> str:
    """Return a table and its note; marks are classes of cells, in place of those of numbers."""
    numbers = ["number" if column.right else "" for column in table.columns]
    classes = marks or [[""] * len(numbers), *[numbers] * len(table.rows)]
    names = [column.name for column in table.columns]
    head = _html_row("th", names, classes[0])
    rows = (_html_row("td", row, c) for row, c in zip(table.rows, classes[1:], strict=True))
    note = f"<p>{escape(table.note)}</p>" if table.note else ""
    return (
        f"<section><table><caption>{escape(table.title)}</caption>"
        f"<thead>{head}</thead><tbody>{''.join(rows)}</tbody></table></section>{note}"
    )


def _html_row(tag: str, cells: Sequence[str], classes: Sequence[str]) -> str:
    texts = (
        f'<{tag} class="{kind}">{escape(cell)}</{tag}>'
        if kind
        else f"<{tag}>{escape(cell)}</{tag}>"
        for cell, kind in zip(cells, classes, strict=True)
    )
    return f"<tr>{''.join(texts)}</tr>"
