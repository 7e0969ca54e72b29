"""A comparison of two tables, as users get it."""

from dataclasses import asdict
from functools import cached_property
from typing import Any

from target_bench.core.text_tables import text
from target_bench.tables.comparison.comparison_html import fragment
from target_bench.tables.comparison.comparison_text import text_tables
from target_bench.tables.comparison.rubric import CellPair, ColumnPair, Rubric
from target_bench.tables.comparison.rubric_score import RubricWeights
from target_bench.tables.comparison.type_counts import TypeTable, type_counts


class TableComparison(Rubric):
    """Two tables compared; notebooks show them side by side, and ``print`` what differs."""

    def __str__(self) -> str:
        return text(text_tables(self))

    def _repr_html_(self) -> str:
        return fragment(self)

    @cached_property
    def types(self) -> TypeTable:
        """The column descriptor by data type."""
        return type_counts(self)

    def to_json(self, weights: RubricWeights | None = None) -> dict[str, Any]:
        """Return score, counts, and every difference, as JSON.

        Args:
            weights: of the score; None for the default ones.
        """
        found = self.penalty(weights)
        return {
            "score": found.score,
            "penalty": found.total,
            "terms": [term._asdict() | {"value": term.value} for term in found.terms],
            "structure": asdict(self.structure),
            "types": {kind: counts._asdict() for kind, counts in self.types.items()},
            "repeated_keys": self.repeated_keys,
            "transposed": self.transposed,
            "columns": [_column(column) for column in self.columns],
            "rows": [list(pair) for pair in self.rows],
            "cells": [_cell(c) for c in self.cells if c.outcome != "exact" or c.difference],
        }


def _column(column: ColumnPair) -> dict[str, Any]:
    return column._asdict() | {
        "pair": list(column.pair),
        "header": None if column.header is None else column.header._asdict(),
    }


def _cell(cell: CellPair) -> dict[str, Any]:
    return cell._asdict() | {
        "row": list(cell.row),
        "column": list(cell.column),
        "difference": None if cell.difference is None else cell.difference._asdict(),
    }
