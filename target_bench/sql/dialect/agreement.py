"""Agreement of two engines on the result of one statement."""

import math

from target_bench.core.schema import Cell, Executed
from target_bench.metrics.sql_rules import distinct

_CLOSE = 1e-9
"""Largest difference of two engines' floats, relative to the larger one."""


def agree(one: Executed, other: Executed, repeated: bool = False) -> bool:
    """Return whether two engines gave the same rows, in any order, floats up to rounding.

    Args:
        one: what one engine gave.
        other: what the other gave.
        repeated: whether it matters how often a row is there.
    """
    if one.outcome != "executed" or other.outcome != "executed":
        return False
    found = [result.rows if repeated else distinct(result.rows) for result in (one, other)]
    rows = [sorted(each, key=_order) for each in found]
    if len(rows[0]) != len(rows[1]):
        return False
    return all(map(_same_row, *rows))


def _order(row: tuple[Cell, ...]) -> list[tuple[str, object]]:
    """Return a key by which rows that are the same up to rounding stand at the same place."""
    return [
        ("number", float(f"{cell:.6g}")) if isinstance(cell, int | float) else _typed(cell)
        for cell in row
    ]


def _typed(cell: Cell) -> tuple[str, object]:
    return (type(cell).__name__, cell if cell is not None else 0)


def _same_row(one: tuple[Cell, ...], other: tuple[Cell, ...]) -> bool:
    return len(one) == len(other) and all(map(_same_cell, one, other))


def _same_cell(one: Cell, other: Cell) -> bool:
    if isinstance(one, int | float) and isinstance(other, int | float):
        return math.isclose(one, other, rel_tol=_CLOSE) or (one != one and other != other)
    return one == other
