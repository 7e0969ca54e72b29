"""A comparison of two tables as text for the terminal."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from target_bench.core.text_tables import Column, TextTable
from target_bench.metrics.table_comparison import aligned_view
from target_bench.metrics.table_comparison.aligned_view import ShownCell, side
from target_bench.metrics.table_comparison.rubric import Rubric
from target_bench.metrics.table_comparison.rubric_score import RubricWeights

MOST_ROWS = 60
"""Rows that are printed."""

MOST_NAMES = 10
"""Columns with another name that are listed below the counts."""


_PERFECT = "Nothing costs anything: the score is 1.0000."


def text_tables(
    comparison: Rubric, weights: RubricWeights | None = None, name: str = "Comparison"
) -> list[TextTable]:
    """Return the aligned table with its differences, the counts, and the arithmetic of the score.

    Args:
        comparison: what is shown.
        weights: of the score; None for the default ones.
        name: of the comparison.
    """
    shown = [_aligned(comparison, name), _counts(comparison)]
    if comparison.penalty(weights).terms:
        return [*shown, _arithmetic(comparison, weights)]
    return [*shown[:-1], replace(shown[-1], note=f"{shown[-1].note} {_PERFECT}")]


def _aligned(comparison: Rubric, name: str) -> TextTable:
    shown = aligned_view.shown_rows(comparison, MOST_ROWS)
    left_out = len(comparison.rows) - len(shown)
    names = [_text(cell) for cell in aligned_view.header(comparison)]
    columns = [Column("row"), *(Column(name, prose=True) for name in names)]
    notes = [f"{left_out:,} more rows are not shown."] if left_out else []
    if comparison.transposed:
        notes.append("The prediction was transposed; it is compared as the reference lies.")
    return TextTable(
        columns,
        [
            [f"{number} {side(row.pair)}".strip(), *(_text(cell) for cell in row.cells)]
            for number, row in shown
        ],
        f"{name}: reference → prediction",
        note=" ".join(notes) or None,
    )


def _text(cell: ShownCell) -> str:
    note = f" [{cell.note}]" if cell.note else ""
    if cell.mark == "absent":
        return ""
    if cell.mark == "missing" or (note and not cell.prediction):
        return f"− {cell.reference}{note}"
    if cell.mark == "extra" or (note and not cell.reference):
        return f"+ {cell.prediction}{note}"
    if note or (cell.mark == "partial" and cell.reference and cell.prediction):
        return f"{cell.reference} → {cell.prediction}{note}"
    return cell.reference or cell.prediction


def _counts(comparison: Rubric) -> TextTable:
    found = comparison.structure
    rows = [
        [part, *(str(getattr(found, f"{kind}_{part}")) for kind in ("matched", "missing", "extra"))]
        for part in ("rows", "columns", "cells")
    ]
    return TextTable(
        [Column(""), *(Column(name, right=True) for name in ("matched", "missing", "extra"))],
        rows,
        "Counts",
        note=" ".join([*_other_columns(comparison), _matched(comparison)]),
    )


def _other_columns(comparison: Rubric) -> Iterator[str]:
    """Yield which columns have another name, and which were merged or split."""
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


def _listed(names: Sequence[str]) -> str:
    left = len(names) - MOST_NAMES
    return "; ".join(names[:MOST_NAMES]) + (f"; and {left} more" if left > 0 else "")


def _matched(comparison: Rubric) -> str:
    kinds = ", ".join(
        f"{aligned_view.NAMES[kind]} {n}" for kind, n in sorted(comparison.partial_counts.items())
    )
    if kinds:
        return f"Matched cells that differ: {kinds}."
    matched = comparison.structure.matched_cells
    return "All matched cells are equal." if matched else "No cell of one matches one of the other."


def _arithmetic(comparison: Rubric, weights: RubricWeights | None) -> TextTable:
    found = comparison.penalty(weights)
    return TextTable(
        [
            Column("term"),
            Column("weight", right=True),
            Column("amount", right=True),
            Column("of", right=True),
            Column("penalty", right=True),
        ],
        list(_terms(comparison, weights)),
        "Score",
        note=f"1 − {found.total:.4f} = {1 - found.total:.4f}"
        + ("" if found.total <= 1 else ", and at least 0")
        + f": the score is {found.score:.4f}.",
    )


def _terms(comparison: Rubric, weights: RubricWeights | None) -> Iterator[list[str]]:
    for term in comparison.penalty(weights).terms:
        yield [
            term.name,
            f"{term.weight:.4g}",
            f"{term.amount:.4g}",
            str(term.of),
            f"{term.value:.4f}",
        ]
