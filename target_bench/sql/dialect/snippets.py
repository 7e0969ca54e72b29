"""Pieces of DuckDB's SQL that do what SQLite does where DuckDB has no function for it."""

from functools import cache
from typing import Any

_NUMBER = r"^\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?"
_BEYOND = "CASE WHEN NOT :x IS NULL THEN CAST('Infinity' AS DOUBLE) END"

_SNIPPETS = {
    # The number that a text begins with, 0 if it begins with none.
    "number": f"CAST(CASE WHEN REGEXP_EXTRACT(:x, '{_NUMBER}') = '' THEN '0' "
    f"ELSE REGEXP_EXTRACT(:x, '{_NUMBER}') END AS DOUBLE)",
    # A text that a number is compared with: what is not a number as a whole is beyond all numbers.
    "compared": f"COALESCE(TRY_CAST(:x AS DOUBLE), {_BEYOND})",
    "beyond": _BEYOND,
    "truncated": "CASE WHEN :x >= 9223372036854775807e0 THEN 9223372036854775807 "
    "WHEN :x < -9223372036854775808e0 THEN -9223372036854775808 "
    "ELSE CAST(TRUNC(:x) AS BIGINT) END",
    "divided": ":x / NULLIF(:y, 0)",
    "int_divided": ":x // NULLIF(:y, 0)",
    "remainder": ":x % NULLIF(:y, 0)",
    "julian_day": "(EPOCH(CAST(:x AS TIMESTAMP)) / 86400e0 + 2440587.5e0)",
    "first": "FIRST(:x)",
    "arg_min": "ARG_MIN_NULL(:x, :y)",
    "arg_max": "ARG_MAX_NULL(:x, :y)",
}


def snippet(name: str, x: Any = None, y: Any = None) -> Any:
    """Return a piece of SQL as a sqlglot expression.

    Args:
        name: which.
        x: the expression that it is about.
        y: a second one, where it has two.
    """
    from sqlglot import exp

    given = {"x": x, "y": y}
    return _parsed(name).transform(
        lambda node: given[node.name].copy() if isinstance(node, exp.Placeholder) else node
    )


@cache
def _parsed(name: str) -> Any:
    import sqlglot

    return sqlglot.parse_one(_SNIPPETS[name], read="duckdb")
