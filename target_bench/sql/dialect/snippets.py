"""Pieces of DuckDB's SQL that do what SQLite does where DuckDB has no function for it."""

from functools import cache
from typing import Any

_NUMBER = r"^\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?"
_WHOLE = r"^\s*[+-]?\d+"
_TIME = r"^\d{4}-\d{2}-\d{2}([ T]\d{2}:\d{2}(:\d{2}(\.\d+)?)?)?$"
_BEYOND = "CASE WHEN NOT :x IS NULL THEN CAST('Infinity' AS DOUBLE) END"

_SNIPPETS = {
    # The number that a text begins with, 0 if it begins with none.
    "number": f"CAST(CASE WHEN REGEXP_EXTRACT(:x, '{_NUMBER}') = '' THEN '0' "
    f"ELSE REGEXP_EXTRACT(:x, '{_NUMBER}') END AS DOUBLE)",
    "whole": f"CAST(CASE WHEN REGEXP_EXTRACT(:x, '{_WHOLE}') = '' THEN '0' "
    f"ELSE REGEXP_EXTRACT(:x, '{_WHOLE}') END AS BIGINT)",
    # A text that a number is compared with: what is no number as a whole is beyond all numbers.
    "compared": f"COALESCE(TRY_CAST(:x AS DOUBLE), {_BEYOND})",
    "beyond": _BEYOND,
    "timestamp": f"TRY_CAST(REGEXP_EXTRACT(:x, '{_TIME}') AS TIMESTAMP)",
    "now": "MAKE_TIMESTAMP(EPOCH_US(GET_CURRENT_TIMESTAMP()))",
    "from_julian": "MAKE_TIMESTAMP(CAST((:x - 2440587.5e0) * 86400000000 AS BIGINT))",
    "truncated": "CASE WHEN :x >= 9223372036854775807e0 THEN 9223372036854775807 "
    "WHEN :x < -9223372036854775808e0 THEN -9223372036854775808 "
    "ELSE CAST(TRUNC(:x) AS BIGINT) END",
    "divided": ":x / NULLIF(:y, 0)",
    "int_divided": ":x // NULLIF(:y, 0)",
    "remainder": ":x % NULLIF(:y, 0)",
    "total": "COALESCE(SUM(:x), 0e0)",
    "truth": ":x <> 0",
    "first": "FIRST(:x)",
    "arg_min": "ARG_MIN_NULL(:x, :y)",
    "arg_max": "ARG_MAX_NULL(:x, :y)",
    "strftime": "STRFTIME(:x, :y)",
    "julian": "(EPOCH(:x) / 86400e0 + 2440587.5e0)",
    "hex": "COALESCE(HEX(:x), '')",
    "unicode": "CASE WHEN :x <> '' THEN UNICODE(:x) END",
    "bytes": "OCTET_LENGTH(:x)",
    "text": "CAST(:x AS TEXT)",
    "epoch": "CAST(FLOOR(EPOCH(:x)) AS BIGINT)",
    "plus": "(:x + CAST(:y AS INTERVAL))",
    "start": "DATE_TRUNC(:y, :x)",
}


def snippet(name: str, x: Any = None, y: Any = None) -> Any:
    """A piece of SQL as a sqlglot expression.

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
