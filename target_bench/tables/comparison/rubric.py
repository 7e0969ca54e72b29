"""What a comparison of two tables says: the alignment, the cells, the counts and their score.

The score is one less weighted shares of what is missing, extra and wrong: Pancholi et al. (2025),
section 2.3 and appendix B.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import isfinite
from typing import Any, Literal, NamedTuple

from target_bench.core.errors import ConfigError
from target_bench.tables.comparison.differences import KINDS, CellDifference

Outcome = Literal["exact", "partial", "missing", "extra"]
"""What became of a cell: ``missing`` and ``extra`` are cells of which one side is empty."""


class IndexPair(NamedTuple):
    """Indices of a row or a column in both tables; None where a table has none."""

    reference: int | None
    prediction: int | None

    @property
    def is_matched(self) -> bool:
        """Whether both tables have it."""
        return None not in self

    @property
    def side(self) -> Literal["matched", "missing", "extra"]:
        """Whether both tables have it, or which."""
        if self.is_matched:
            return "matched"
        return "extra" if self.reference is None else "missing"


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
    difference: CellDifference | None = (
        None  # of a cell that is partially right, or only reformatted
    )


@dataclass(frozen=True, slots=True)
class Structure:
    """The structure descriptor: how many rows, columns and cells are missing, extra or matched.

    Cells are counted in matched rows and columns.
    """

    missing_rows: int = 0
    missing_columns: int = 0
    missing_cells: int = 0
    extra_rows: int = 0
    extra_columns: int = 0
    extra_cells: int = 0
    matched_rows: int = 0
    matched_columns: int = 0
    matched_cells: int = 0
    renamed_columns: int = 0
    merged_columns: int = 0

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of both tables, matched ones once."""
        return (
            self.missing_rows + self.extra_rows + self.matched_rows,
            self.missing_columns + self.extra_columns + self.matched_columns,
        )


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

    Raises:
        ConfigError: a kind is unknown, or a weight is not a number from 0 on.
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

    def __post_init__(self) -> None:
        """Check every weight."""
        for kind in self.kinds.keys() - KINDS.keys():
            raise ConfigError(f"RubricWeights: kinds: {kind!r}: there are {', '.join(KINDS)}")
        terms = [name for name in self.__slots__ if name != "kinds"]
        values: dict[str, Any] = {name: getattr(self, name) for name in terms} | dict(self.kinds)
        for name, value in values.items():
            if not (isinstance(value, int | float) and isfinite(value) and value >= 0):
                raise ConfigError(f"RubricWeights: {name}={value!r}: expected a number from 0 on")


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


class Penalty(NamedTuple):
    """The penalty of a prediction; ``terms`` are those with an amount."""

    terms: tuple[Term, ...]

    @property
    def total(self) -> float:
        """The sum of the terms, which may be over 1."""
        return sum(term.value for term in self.terms)

    @property
    def score(self) -> float:
        """One less the total, and at least 0."""
        return max(0.0, 1.0 - self.total)


def compute_penalty(
    structure: Structure,
    shares: Mapping[str, float],
    weights: RubricWeights,
    shape: tuple[int, int] | None = None,
) -> Penalty:
    """Return the penalty of a structure and its partial cells.

    Args:
        structure: the structure descriptor.
        shares: kind of difference -> the sum of the wrong shares of its cells.
        weights: of the terms.
        shape: rows and columns that shares are of; None for those of both tables.
    """
    # what is extra beside an empty reference is all of it
    rows, columns = structure.shape if shape is None else (max(n, 1) for n in shape)
    sizes = {
        "rows": (weights.row, rows),
        "columns": (weights.column, columns),
        "cells": (weights.cell, rows * columns),
    }
    terms = [
        Term(f"{side} {kind}", of_side * weight, getattr(structure, f"{side}_{kind}"), total)
        for side, of_side in (("missing", weights.missing), ("extra", weights.extra))
        for kind, (weight, total) in sizes.items()
    ]
    terms += [
        Term(f"{kind} columns", weight * weights.column, amount, columns)
        for kind, weight, amount in (
            ("renamed", weights.renamed, structure.renamed_columns),
            ("merged", weights.merged, structure.merged_columns),
        )
    ]
    partial = weights.partial * weights.cell
    terms += [
        Term(f"{kind} cells", partial * weights.kinds.get(kind, 1.0), amount, rows * columns)
        for kind, amount in sorted(shares.items())
    ]
    return Penalty(tuple(term for term in terms if term.amount))
