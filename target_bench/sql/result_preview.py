"""Preview of a result: its first rows and columns."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from target_bench.core.schema import Cell, Executed

ROWS, COLUMNS, CHARACTERS = 20, 20, 200
"""How much of a result is kept: its first rows and columns, and the beginning of a cell or name."""


class Shape(NamedTuple):
    """The size of a whole result."""

    rows: int = 0
    columns: int = 0


def beginning(result: Executed) -> Executed:
    """Return a preview: first rows and columns; a text may be one character longer than shown."""
    columns = tuple(begun_names(result.columns))
    return replace(result, columns=columns, rows=tuple(begun(result.rows)))


def begun_names(columns: Sequence[str]) -> list[str]:
    """Return the beginning of the names of columns: a statement can make them any length."""
    return [name[: CHARACTERS + 1] for name in columns[:COLUMNS]]


def begun(rows: Sequence[tuple[Cell, ...]]) -> list[tuple[Cell, ...]]:
    """Return the beginning of rows, as in a preview."""
    return [tuple(map(_short, row[:COLUMNS])) for row in rows[:ROWS]]


def readable(result: Executed | None, shape: Shape | None) -> dict[str, Any] | None:
    """Return a preview as JSON: ``columns`` and ``rows``, all cells as text, NULL as null.

    Text that was cut ends with ``…``. None for what was not executed.

    Args:
        result: the beginning.
        shape: of the whole result; None is of what was not run.
    """
    if result is None or result.outcome != "executed":
        return None
    return {
        "columns": [_text(name) for name in result.columns[:COLUMNS]],
        "rows": [[_text(cell) for cell in row[:COLUMNS]] for row in result.rows[:ROWS]],
        "n_columns": shape.columns if shape else len(result.columns),
    }


def _short(cell: Cell) -> Cell:
    return cell[: CHARACTERS + 1] if isinstance(cell, str | bytes) else cell


def _text(cell: Cell) -> str | None:
    if cell is None:
        return None
    text = f"x'{cell.hex()}'" if isinstance(cell, bytes) else str(cell)
    text = text.encode("utf-8", "replace").decode()  # a lone surrogate is not UTF-8
    return text if len(text) <= CHARACTERS else f"{text[:CHARACTERS]}…"
