"""What a comparison of two tables says: the alignment, the cells, the counts and their score.

The score is one less weighted shares of what is missing, extra and wrong: Pancholi et al. (2025),
section 2.3 and appendix B.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
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
    """A column in both tables.

    Attributes:
        pair: its indices.
        name: its name in the reference; that in the prediction for an extra one.
        predicted_name: its name in the prediction; empty for a missing one.
        header: how the names differ; None where they do not.
    """

    pair: IndexPair
    name: str
    predicted_name: str
    header: CellDifference | None = None

    @property
    def is_renamed(self) -> bool:
        """Whether the prediction has another name for it."""
        return self.header is not None and self.header.share > 0


class CellPair(NamedTuple):
    """A cell of a row and a column that both tables have.

    Attributes:
        row: the indices of its row.
        column: the indices of its column.
        reference: what it says in the reference.
        prediction: what it says in the prediction.
        outcome: what became of it.
        difference: of a cell that is partially right, and of one written otherwise; else None.
    """

    row: IndexPair
    column: IndexPair
    reference: str
    prediction: str
    outcome: Outcome
    difference: CellDifference | None = None


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
    def rows(self) -> int:
        """Rows of both tables, matched ones once."""
        return self.missing_rows + self.extra_rows + self.matched_rows

    @property
    def columns(self) -> int:
        """Columns of both tables, matched ones once."""
        return self.missing_columns + self.extra_columns + self.matched_columns


# The score.


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
        for kind in self.kinds:
            if kind not in KINDS:
                raise ConfigError(f"RubricWeights: kinds: {kind!r}: there are {', '.join(KINDS)}")
        values: dict[str, Any] = {term: getattr(self, term) for term in _TERMS} | dict(self.kinds)
        for name, value in values.items():
            if not (isinstance(value, int | float) and isfinite(value) and value >= 0):
                raise ConfigError(f"RubricWeights: {name}={value!r}: expected a number from 0 on")


_TERMS = tuple(field.name for field in fields(RubricWeights) if field.name != "kinds")


def parse_weights(text: str) -> RubricWeights:
    """Read weights as users write them; the others stay 1.

    Args:
        text: ``equal``, or ``name=number`` pairs divided by commas: fields of ``RubricWeights``,
            and kinds of partial differences (the paper's gamma).

    Raises:
        ConfigError: a name is unknown or stands twice, or a weight is not a number from 0 on.
    """
    if text == "equal":
        return RubricWeights()
    weights: dict[str, Any] = {}
    for part in text.split(","):
        name, _, number = (side.strip() for side in part.partition("="))
        is_new = name in (*_TERMS, *KINDS) and name not in weights
        if not is_new or not number.replace(".", "", 1).isdecimal():
            raise ConfigError(
                f"--weights: {part.strip()!r} is not a weight. There is equal, or "
                "pairs such as missing=1,numeric=0.5: a number from 0 on for each, once, of "
                f"{', '.join((*_TERMS, *KINDS))}"
            )
        weights[name] = float(number)
    terms = {name: number for name, number in weights.items() if name in _TERMS}
    return RubricWeights(**terms, kinds={k: weights[k] for k in KINDS if k in weights})


class Term(NamedTuple):
    """A term of the penalty.

    Attributes:
        name: what it counts: ``missing rows``, ``numeric`` cells.
        weight: the product of its weights.
        amount: how many, or for partial cells the sum of their wrong shares.
        total: how many there are.
    """

    name: str
    weight: float
    amount: float
    total: int

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
    if shape is None:
        rows, columns = structure.rows, structure.columns
    else:  # what is extra beside an empty reference is all of it
        rows, columns = max(shape[0], 1), max(shape[1], 1)
    sizes = {
        "rows": (weights.row, rows),
        "columns": (weights.column, columns),
        "cells": (weights.cell, rows * columns),
    }
    terms = [
        Term(f"{side} {part}", of_side * size, getattr(structure, f"{side}_{part}"), total)
        for side, of_side in (("missing", weights.missing), ("extra", weights.extra))
        for part, (size, total) in sizes.items()
    ]
    for part, weight in (("renamed", weights.renamed), ("merged", weights.merged)):
        amount = getattr(structure, f"{part}_columns")
        terms.append(Term(f"{part} columns", weight * weights.column, amount, columns))
    partial = weights.partial * weights.cell
    terms += [
        Term(f"{kind} cells", partial * weights.kinds.get(kind, 1.0), amount, rows * columns)
        for kind, amount in sorted(shares.items())
    ]
    return Penalty(tuple(term for term in terms if term.amount))
