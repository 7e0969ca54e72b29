"""What a comparison of two tables says: the alignment, the cells, and the counts of the rubric."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple

from target_bench.tables.comparison.cell_values import DataType
from target_bench.tables.comparison.differences import Difference, PartialKind
from target_bench.tables.comparison.rubric_score import Penalty, RubricWeights, penalty
from target_bench.tables.comparison.structure import Structure

Outcome = Literal["exact", "partial", "missing", "extra"]
"""What became of a cell: ``missing`` and ``extra`` are cells of which one side is empty."""


class Pair(NamedTuple):
    """Places of a row or a column in both tables.

    Attributes:
        reference: its place in the reference; None for an extra one.
        prediction: its place in the prediction; None for a missing one.
    """

    reference: int | None
    prediction: int | None

    @property
    def is_matched(self) -> bool:
        """Whether both tables have it."""
        return self.reference is not None and self.prediction is not None


class ColumnPair(NamedTuple):
    """A column in both tables.

    Attributes:
        pair: its places.
        name: its name in the reference; that in the prediction for an extra one.
        predicted_name: its name in the prediction; empty for a missing one.
        type: the type of its cells in the reference; that in the prediction for an extra one.
        predicted_type: the type of its cells in the prediction.
        header: how the names differ; None where they do not.
    """

    pair: Pair
    name: str
    predicted_name: str
    type: DataType
    predicted_type: DataType
    header: Difference | None = None


class CellPair(NamedTuple):
    """A cell of a row and a column that both tables have.

    Attributes:
        row: the places of its row.
        column: the places of its column.
        reference: what it says in the reference.
        prediction: what it says in the prediction.
        outcome: what became of it.
        difference: of a cell that is partially right, and of one written otherwise; else None.
    """

    row: Pair
    column: Pair
    reference: str
    prediction: str
    outcome: Outcome
    difference: Difference | None = None


class Merged(NamedTuple):
    """Columns of one table whose cells stand together in one column of the other.

    Attributes:
        parts: places of the columns apart.
        whole: place of the column with all.
        in_prediction: whether the prediction has them together; else it has split one.
    """

    parts: tuple[int, ...]
    whole: int
    in_prediction: bool

    def has(self, reference: int, prediction: int) -> bool:
        """Return whether a column of the reference and one of the prediction are both in it."""
        part, whole = (reference, prediction) if self.in_prediction else (prediction, reference)
        return part in self.parts and whole == self.whole


@dataclass(frozen=True, slots=True)
class Grid:
    """A table as it is compared: names of columns, and rows of one length.

    Attributes:
        header: the names; those of several levels as a path with dots.
        rows: the cells.
        ragged: rows that were longer or shorter than the header.
    """

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    ragged: int = 0


@dataclass(frozen=True)
class Rubric:
    """What is said of two tables that were compared.

    Attributes:
        reference: the table as it should be.
        prediction: the table as it is, turned if it was transposed.
        transposed: whether rows and columns of the prediction were exchanged.
        columns: the columns of both: those of the reference in their order, then extra ones.
        rows: the rows of both, in the same order.
        cells: the cells of matched rows and columns of which one is not empty.
        merged: columns that were merged or split.
        repeated_keys: keys that stand in several rows of a table, where rows were paired by keys.
    """

    reference: Grid
    prediction: Grid
    transposed: bool
    columns: tuple[ColumnPair, ...]
    rows: tuple[Pair, ...]
    cells: tuple[CellPair, ...]
    merged: tuple[Merged, ...] = ()
    repeated_keys: int = 0

    @cached_property
    def structure(self) -> Structure:
        """The structure descriptor."""
        rows = Counter(map(_side, self.rows))
        columns = Counter(
            "matched" if column.pair in self.merged_pairs else _side(column.pair)
            for column in self.columns
        )
        cells = Counter(cell.outcome for cell in self.cells)
        return Structure(
            rows["missing"],
            columns["missing"],
            cells["missing"],
            rows["extra"],
            columns["extra"],
            cells["extra"],
            rows["matched"],
            columns["matched"],
            cells["exact"] + cells["partial"],
            sum(1 for c in self.columns if c.header is not None and c.header.share > 0),
            sum(len(one.parts) - 1 for one in self.merged),
        )

    @cached_property
    def merged_pairs(self) -> frozenset[Pair]:
        """The pairs of columns that hold what was merged or split: none of them is missing."""
        found = set()
        for merged in self.merged:
            whole, parts = merged.in_prediction, not merged.in_prediction
            found |= {
                column.pair
                for column in self.columns
                if column.pair[whole] == merged.whole or column.pair[parts] in merged.parts
            }
        return frozenset(found)

    @cached_property
    def partial_shares(self) -> Mapping[PartialKind, float]:
        """Kind of difference -> the sum of the wrong shares of the cells with it."""
        found: dict[PartialKind, float] = {}
        for cell in self.cells:
            if cell.difference is not None:
                kind = cell.difference.kind
                found[kind] = found.get(kind, 0.0) + cell.difference.share
        return found

    @cached_property
    def partial_counts(self) -> Mapping[PartialKind, int]:
        """Kind of difference -> the number of cells with it."""
        return Counter(cell.difference.kind for cell in self.cells if cell.difference is not None)

    def penalty(self, weights: RubricWeights | None = None) -> Penalty:
        """Return the penalty, term by term.

        Args:
            weights: of the terms; None for the default ones.
        """
        return penalty(self.structure, self.partial_shares, weights or RubricWeights())

    def score(self, weights: RubricWeights | None = None) -> float:
        """Return how good the prediction is: 1 less the penalty, and at least 0.

        Args:
            weights: of the terms; None for the default ones.
        """
        return self.penalty(weights).score


def _side(pair: Pair) -> str:
    if pair.is_matched:
        return "matched"
    return "extra" if pair.reference is None else "missing"
