"""A comparison of two tables as text for the terminal."""

from collections.abc import Iterator
from dataclasses import replace

from target_bench.core.text_tables import Column, TextTable
from target_bench.tables.comparison import aligned_view
from target_bench.tables.comparison.aligned_view import ShownCell, side
from target_bench.tables.comparison.rubric import Rubric
from target_bench.tables.comparison.rubric_score import RubricWeights

MOST_ROWS = 60
"""Rows that are printed."""

_PERFECT = "Nothing costs anything: the score is 1.0000."


def text_tables(
    comparison: Rubric, weights: RubricWeights | None = None, name: str = "Comparison"
) -> list[TextTable]:
    """Return the aligned table with its differences, counts, and the arithmetic of the score.

    Args:
        comparison: what is shown.
        weights: of the score; None for the default ones.
        name: of the comparison.
    """
    shown = [_aligned(comparison, name), _types(comparison), _counts(comparison)]
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
    return TextTable(
        [Column(""), *(Column(name, right=True) for name in ("matched", "missing", "extra"))],
        aligned_view.counts(comparison),
        "Counts",
        note=" ".join(aligned_view.sentences(comparison)),
    )


def _types(comparison: Rubric) -> TextTable:
    return TextTable(
        [Column("type"), *(Column(name, right=True) for name in aligned_view.TYPE_NAMES)],
        aligned_view.types(comparison),
        "By data type",
    )


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
