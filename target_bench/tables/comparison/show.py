"""What a comparison of two tables says, as an object, on the terminal and as a page."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from html import escape
from typing import Any

from target_bench.core.text_tables import Column, TextTable, text
from target_bench.tables.comparison.align import Grid, Merged
from target_bench.tables.comparison.differences import KINDS, CellDifference
from target_bench.tables.comparison.rubric import (
    CellPair,
    ColumnPair,
    IndexPair,
    RubricWeights,
    Term,
    list_terms,
)

_MOST_PRINTED = 60  # rows in a terminal
_MOST_SHOWN = 500  # rows on a page
_MOST_NAMES = 10  # columns with another name that are listed
_SIZELESS = ("format", "typo", "semantic", "different")  # kinds whose size nobody reads
_SIDES = ("matched", "missing", "extra")


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
        return max(0.0, 1 - sum(term.value for term in self.terms(weights)))

    def terms(self, weights: RubricWeights | None = None) -> list[Term]:
        """Return the penalty, term by term; ``weights`` as in ``score``."""
        counts = self.structure
        rows, columns = (sum(counts[f"{side}_{kind}"] for side in _SIDES) for kind in _LINES)
        return list_terms(counts, self.partial_shares, weights or RubricWeights(), (rows, columns))

    def paper_score(self, weights: RubricWeights | None = None) -> float:
        """Return the score by the equation of the paper; ``weights`` as in ``score``.

        Its shares are of the rows, columns and cells of the reference, not of both tables, and
        names of columns, and columns that were merged or split, are in no term of their own.
        """
        weights = replace(weights or RubricWeights(), renamed=0.0, merged=0.0)
        # what is extra beside an empty reference is all of it
        shape = max(len(self.reference.rows), 1), max(len(self.reference.header), 1)
        terms = list_terms(self.structure, self.partial_shares, weights, shape)
        return max(0.0, 1 - sum(term.value for term in terms))

    @cached_property
    def structure(self) -> Mapping[str, int]:
        """Count ``missing_rows``, ``extra_columns``, ``matched_cells`` and the like.

        Cells are counted in matched rows and columns.
        """
        counts = Counter({f"{side}_{kind}": 0 for side in _SIDES for kind in (*_LINES, "cells")})
        counts |= Counter(f"{pair.side}_rows" for pair in self.rows)
        for column in self.columns:
            side = "matched" if column.pair in self.merged_pairs else column.pair.side
            counts[f"{side}_columns"] += 1
            counts["renamed_columns"] += column.is_renamed
        for cell in self.cells:
            side = cell.outcome if cell.outcome in ("missing", "extra") else "matched"
            counts[f"{side}_cells"] += 1
        counts["merged_columns"] = sum(len(merged.parts) - 1 for merged in self.merged)
        return counts

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
        shares: dict[str, float] = defaultdict(float)
        for cell in self.cells:
            if cell.difference is not None:
                shares[cell.difference.kind] += cell.difference.share
        return shares

    def to_json(self) -> dict[str, Any]:
        """Return score, counts, and every difference, as JSON."""
        terms = self.terms()
        return {
            "score": self.score(),
            "penalty": sum(term.value for term in terms),
            "paper_score": self.paper_score(),
            "terms": [term._asdict() | {"value": term.value} for term in terms],
            "structure": dict(self.structure),
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


_LINES = ("rows", "columns")
_ShownCell = tuple[str, str]
"""Both texts and the difference; and what became of the cell, which is its class on a page."""


def text_tables(comparison: TableComparison, name: str = "Comparison") -> list[TextTable]:
    """Return the aligned table with its differences, counts, and the arithmetic of the score."""
    aligned, _ = _align_table(comparison, name, _MOST_PRINTED)
    return [aligned, _count_table(comparison), _score_table(comparison)]


def _align_table(
    comparison: TableComparison, name: str, most: int
) -> tuple[TextTable, list[list[str]]]:
    """Return both tables as one, and the marks of its header and rows."""
    header = [_show_header(comparison, column) for column in comparison.columns]
    rows = list(enumerate(_show_rows(comparison)))
    # where there are more rows than are shown, those without a difference are left out first
    rows.sort(key=lambda row: all(mark == "exact" for _, mark in row[1]))
    shown = sorted(rows[:most])
    notes = [f"{len(rows) - most:,} more rows are not shown."] if len(rows) > most else []
    if comparison.transposed:
        notes.append("The prediction was transposed; it is compared as the reference lies.")
    endings = {"matched": "", "missing": " missing row", "extra": " extra row"}
    table = TextTable(
        [Column("row"), *(Column(label) for label, _ in header)],
        [
            [f"{i + 1}{endings[comparison.rows[i].side]}", *(label for label, _ in cells)]
            for i, cells in shown
        ],
        f"{name}: reference → prediction",
        note=" ".join(notes) or None,
    )
    lines = [header, *(cells for _, cells in shown)]
    return table, [["", *(mark for _, mark in line)] for line in lines]


def _show_header(comparison: TableComparison, column: ColumnPair) -> _ShownCell:
    side = column.pair.side
    mark, note = "partial" if column.is_renamed else "exact", ""
    if column.pair in comparison.merged_pairs:
        mark, note = "partial", "merged or split"
    elif side != "matched":
        mark, note = side, f"{side} column"
    elif column.header is not None:
        note = f"name: {_name_difference(column.header)}"
    return _join("" if side == "extra" else column.name, column.predicted_name, mark, note)


def _show_rows(comparison: TableComparison) -> Iterator[list[_ShownCell]]:
    compared = {(cell.row, cell.column): cell for cell in comparison.cells}
    for row in comparison.rows:
        shown = []
        for column in (column.pair for column in comparison.columns):
            cell = compared.get((row, column))
            sides = {row.side, column.side} - {"matched"}
            mark = cell.outcome if cell else next(iter(sides), "exact")
            if row.side == "matched" and column in comparison.merged_pairs:
                mark = "partial"
            texts = (
                _read_cell(comparison.reference, row.reference, column.reference),
                _read_cell(comparison.prediction, row.prediction, column.prediction),
            )
            note = _name_difference(cell.difference) if cell and cell.difference else ""
            # in an extra row and a missing column, or the reverse, there is no cell
            shown.append(("", "") if len(sides) > 1 else _join(*texts, mark, note))
        yield shown


def _read_cell(grid: Grid, row: int | None, column: int | None) -> str:
    return "" if row is None or column is None else grid.rows[row][column]


def _join(reference: str, prediction: str, mark: str, note: str) -> _ShownCell:
    ending = f" [{note}]" if note else ""
    shown = reference or prediction
    if mark == "missing" or (note and not prediction):
        shown = f"− {reference}{ending}"
    elif mark == "extra" or (note and not reference):
        shown = f"+ {prediction}{ending}"
    elif note or (mark == "partial" and reference and prediction):
        shown = f"{reference} → {prediction}{ending}"
    return shown, mark


def _name_difference(difference: CellDifference) -> str:
    """Return the name of a difference and its size."""
    name, size = KINDS[difference.kind], difference.magnitude
    if size is None or difference.kind in _SIZELESS:
        return name
    return f"{name} {'+' * (size > 0)}{size:,.6g} {difference.unit}".strip()


def _count_table(comparison: TableComparison) -> TextTable:
    """Return the counts of rows, columns and cells, and what differs."""
    sentences = list(_describe(comparison))
    if not comparison.terms():
        sentences.append("No differences: the score is 1.0000.")
    counts = [
        [kind, *(str(comparison.structure[f"{side}_{kind}"]) for side in _SIDES)]
        for kind in (*_LINES, "cells")
    ]
    return TextTable(_name_columns("", *_SIDES), counts, "Counts", note=" ".join(sentences))


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
    elif comparison.structure["matched_cells"]:
        yield "All matched cells are equal."
    else:
        yield "No cell of one matches one of the other."


def _score_table(comparison: TableComparison) -> TextTable:
    terms, arithmetic = comparison.terms(), None
    if terms:
        total = sum(term.value for term in terms)
        at_least = "" if total <= 1 else ", and at least 0"
        arithmetic = (
            f"1 − {total:.4f} = {1 - total:.4f}{at_least}: the score is {comparison.score():.4f}. "
            f"With shares of the reference, as in the paper: {comparison.paper_score():.4f}."
        )
    rows = [
        [t.name, f"{t.weight:.4g}", f"{t.amount:.4g}", str(t.total), f"{t.value:.4f}"]
        for t in terms
    ]
    columns = _name_columns("term", "weight", "amount", "of", "penalty")
    return TextTable(columns, rows, "Score", note=arithmetic)


def _name_columns(first: str, *numbers: str) -> list[Column]:
    return [Column(first), *(Column(name, right=True) for name in numbers)]


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
.tb-comparison .missing { background: light-dark(#fbe7e9, #461c22); }
.tb-comparison .extra { background: light-dark(#e6eefc, #1f3050); }
.tb-comparison .partial { background: light-dark(#fdf1d6, #3d3013); }
"""


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
    aligned, marks = _align_table(comparison, name, _MOST_SHOWN)
    tables = [_html(aligned, marks), *map(_html, text_tables(comparison)[1:])]
    return f'<style>{_STYLE}</style><main class="tb-comparison">{"".join(tables)}</main>'


def _html(table: TextTable, marks: Sequence[Sequence[str]] = ()) -> str:
    """Return a table and its note; marks are the classes of its cells."""
    lines = [[column.name for column in table.columns], *table.rows]
    classes = marks or [[""] * len(table.columns)] * len(lines)
    header, *rows = (
        "".join(
            f'<{tag} class="{mark}">{escape(cell)}</{tag}>'
            for cell, mark in zip(line, line_marks, strict=True)
        )
        for tag, line, line_marks in zip(
            ["th", *["td"] * len(table.rows)], lines, classes, strict=True
        )
    )
    note = f"<p>{escape(table.note)}</p>" if table.note else ""
    body = "".join(f"<tr>{row}</tr>" for row in rows)
    return (
        f"<section><table><caption>{escape(table.title)}</caption>"
        f"<thead><tr>{header}</tr></thead><tbody>{body}</tbody></table></section>{note}"
    )
