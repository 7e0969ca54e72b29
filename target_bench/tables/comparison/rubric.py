"""The rubric: pairs of rows, columns and cells, and the score that their counts give.

The score is one less weighted shares of what is missing, extra and wrong: Pancholi et al. (2025),
section 2.3 and appendix B.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from target_bench.tables.comparison.differences import CellDifference

Outcome = Literal["exact", "partial", "missing", "extra"]
"""What became of a cell: ``missing`` and ``extra`` are cells of which one side is empty."""


class IndexPair(NamedTuple):
    """Indices of a row or a column in both tables; None where a table has none."""

    reference: int | None
    prediction: int | None

    @property
    def side(self) -> Literal["matched", "missing", "extra"]:
        """Whether both tables have it, or which."""
        if self.reference is None:
            return "extra"
        return "missing" if self.prediction is None else "matched"


class ColumnPair(NamedTuple):
    """A column in both tables."""

    pair: IndexPair
    name: str  # in the reference; that in the prediction for an extra one
    predicted_name: str  # empty for a missing one
    header: CellDifference | None = None  # how the names differ

    @property
    def is_renamed(self) -> bool:
        """Whether the prediction has another name for it."""
        return self.header is not None and self.header.share > 0


class CellPair(NamedTuple):
    """A cell of a row and a column that both tables have."""

    row: IndexPair
    column: IndexPair
    reference: str
    prediction: str
    outcome: Outcome
    difference: CellDifference | None = None  # of one that is partially right, or reformatted


@dataclass(frozen=True, slots=True)
class RubricWeights:
    """The weights of the score.

    Attributes:
        missing: of what the prediction lacks.
        extra: of what it has too much.
        partial: of cells that are partially right.
        row: of a row.
        column: of a column.
        cell: of a cell.
        renamed: of a column with another name, times that of a column.
        merged: of a column that was merged or split, times that of a column.
        kinds: kind of partial difference -> its weight; 1 where it has none.
    """

    missing: float = 1.0
    extra: float = 1.0
    partial: float = 1.0
    row: float = 1.0
    column: float = 1.0
    cell: float = 1.0
    renamed: float = 0.1
    merged: float = 0.1
    kinds: Mapping[str, float] = field(default_factory=dict)


class Term(NamedTuple):
    """A term of the penalty."""

    name: str  # what it counts: ``missing rows``, ``numeric cells``
    weight: float  # the product of its weights
    amount: float  # how many, or for partial cells the sum of their wrong shares
    total: int  # how many there are

    @property
    def value(self) -> float:
        """What it adds to the penalty."""
        return self.weight * self.amount / self.total if self.total else 0.0


def list_terms(
    counts: Mapping[str, int],
    shares: Mapping[str, float],
    weights: RubricWeights,
    shape: tuple[int, int],
) -> list[Term]:
    """Return the terms of the penalty that have an amount; the score is 1 less their sum.

    Args:
        counts: ``missing_rows``, ``extra_cells``, ``renamed_columns`` and the like -> how many.
        shares: kind of difference -> the sum of the wrong shares of its cells.
        weights: of the terms.
        shape: rows and columns that the counts are shares of.
    """
    rows, columns = shape
    sizes = (
        ("rows", weights.row, rows),
        ("columns", weights.column, columns),
        ("cells", weights.cell, rows * columns),
    )
    terms = [
        Term(f"{side} {kind}", weight * of_kind, counts.get(f"{side}_{kind}", 0), total)
        for side, weight in (("missing", weights.missing), ("extra", weights.extra))
        for kind, of_kind, total in sizes
    ]
    terms += [
        Term(f"{kind} columns", weight * weights.column, counts.get(f"{kind}_columns", 0), columns)
        for kind, weight in (("renamed", weights.renamed), ("merged", weights.merged))
    ]
    partial = weights.partial * weights.cell
    terms += [
        Term(f"{kind} cells", partial * weights.kinds.get(kind, 1.0), share, rows * columns)
        for kind, share in sorted(shares.items())
    ]
    return [term for term in terms if term.amount]
