"""The differences of two tables, sorted into the error types of Struc-Bench.

``structure``: tables, rows or columns that are missing or too many. ``structure_naming``: names of
tables, columns or rows that differ. ``element_format``: a cell with the right value, written
otherwise. ``element``: a cell with another value, or without one.
"""

from collections import Counter
from typing import Literal, get_args

from target_bench.tables.comparison import TableComparison

ErrorType = Literal["element", "element_format", "structure", "structure_naming"]

ERROR_TYPES: tuple[ErrorType, ...] = get_args(ErrorType)


def error_types(comparison: TableComparison) -> Counter[ErrorType]:
    """Count the differences of each type; the first column has the names of the rows."""
    found: Counter[ErrorType] = Counter()
    counts = comparison.structure
    found["structure"] = (
        counts.missing_rows
        + counts.missing_columns
        + counts.extra_rows
        + counts.extra_columns
        + counts.merged_columns
    )
    found["structure_naming"] = sum(
        1 for column in comparison.columns if column.header is not None and column.pair.reference
    )
    for cell in comparison.cells:
        if cell.outcome != "exact" or cell.difference is not None:
            value: ErrorType = "element_format" if cell.outcome == "exact" else "element"
            found[value if cell.column.reference else "structure_naming"] += 1
    return found
