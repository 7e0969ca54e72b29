"""The column descriptor by data type: what is missing, extra and partially right of each type."""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from target_bench.tables.comparison.cell_values import DataType, cell_value
from target_bench.tables.comparison.rubric import Pair, Rubric

TYPES: tuple[DataType, ...] = ("number", "string", "bool", "date", "list", "time", "other")
"""The types of Table 3 of Pancholi et al. (2025); a column without a filled cell is ``other``."""


class TypeCounts(NamedTuple):
    """Columns and cells of one data type: that of the reference's column, or of an extra one.

    Attributes:
        columns: columns of both tables, paired ones once.
        missing_columns: columns that the prediction lacks.
        extra_columns: columns that it has too much.
        equal: cells of both that are equal, in any format.
        partial: cells of both that differ.
        missing: cells filled in the reference alone, those of missing rows and columns too.
        extra: cells filled in the prediction alone, those of extra rows and columns too.
    """

    columns: int = 0
    missing_columns: int = 0
    extra_columns: int = 0
    equal: int = 0
    partial: int = 0
    missing: int = 0
    extra: int = 0


TypeTable = Mapping[DataType, TypeCounts]


def type_counts(comparison: Rubric) -> TypeTable:
    """Return data type -> its counts, of the types that a comparison has."""
    outcomes: Counter[tuple[Pair, str]] = Counter(
        (cell.column, cell.outcome) for cell in comparison.cells
    )
    sides = (comparison.reference.rows, comparison.prediction.rows)
    alone = [[pair[side] for pair in comparison.rows if not pair.is_matched] for side in (0, 1)]
    counts: dict[DataType, Counter[str]] = {}
    for column in comparison.columns:
        pair = column.pair
        own = counts.setdefault(column.type if column.type in TYPES else "other", Counter())
        own["columns"] += 1
        own["equal"] += outcomes[pair, "exact"]
        for outcome in ("partial", "missing", "extra"):
            own[outcome] += outcomes[pair, outcome]
        if not pair.is_matched and pair in comparison.merged_pairs:
            continue
        for side, name in enumerate(("missing", "extra")):
            place = pair[side]
            if place is not None:
                rows = alone[side] if pair.is_matched else range(len(sides[side]))
                own[f"{name}_columns"] += not pair.is_matched
                own[name] += sum(
                    _is_filled(sides[side][row][place]) for row in rows if row is not None
                )
    return {kind: TypeCounts(**counts[kind]) for kind in TYPES if kind in counts}


def summed(tables: Iterable[TypeTable]) -> TypeTable:
    """Return data type -> the sums of its counts over several comparisons."""
    listed = [table.items() for table in tables]
    return {
        kind: TypeCounts(*map(sum, zip(*rows, strict=True)))
        for kind in TYPES
        if (rows := [counts for table in listed for of, counts in table if of == kind])
    }


def _is_filled(cell: str) -> bool:
    return cell_value(cell).type != "empty"
