"""The columns that a gold SQL statement uses, as sqlglot reads it; nothing is executed."""

from collections.abc import Mapping, Sequence

from target_bench.sql.linking import usage

DIALECTS = ("sqlite", "mysql", "oracle", "bigquery", "snowflake")
"""In which a statement is read, in this order, until one can be."""


def gold_columns(sql: str, tables: Mapping[str, Sequence[str]]) -> frozenset[tuple[str, str]]:
    """Return the pairs of table and column that a statement uses.

    Aliases are resolved, ``*`` stands for all columns that it selects, and columns of subqueries
    count where their base tables are read.

    Args:
        sql: the statement.
        tables: table -> its columns, of the database that it is about.

    Returns:
        The names as the tables have them; empty where the statement cannot be read in any of the
        dialects, or names a table that is not there.
    """
    schema = {table: dict.fromkeys(columns, "") for table, columns in tables.items()}
    for dialect in DIALECTS:
        found = usage(sql, schema, dialect)
        if found.error is None and not found.unknown_tables:
            return found.columns
    return frozenset()
