"""One SQL query as sqlglot's tree."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from target_bench.sql.dialect.names import Names, Schema

ROWIDS = ("rowid", "oid", "_rowid_")
"""SQLite's names of the row number, besides those in the schema."""


def parsed(sql: str, dialect: str = "sqlite", expected: Any = None) -> Any:
    """Return the tree of one query.

    Args:
        sql: one statement.
        dialect: sqlglot's name of its dialect.
        expected: the sqlglot class of statement that it should be; default: a query.

    Raises:
        ValueError: it cannot be parsed, is several statements or none, or no query.
    """
    import sqlglot
    from sqlglot import exp

    try:
        with quietly():
            statements = [part for part in sqlglot.parse(sql, read=dialect) if part is not None]
    except Exception as error:  # any text may come here, and sqlglot has errors of many types
        raise ValueError(f"it cannot be parsed: {error}") from error
    if len(statements) != 1:
        raise ValueError(f"it is {len(statements)} statements, not one: {sql[:200]}")
    if not isinstance(statements[0], expected or exp.Query):
        raise ValueError(f"it is not a query: {sql[:200]}")
    if any(not select.expressions for select in statements[0].find_all(exp.Select)):
        raise ValueError(f"a SELECT of it selects nothing: {sql[:200]}")
    return statements[0]


@contextmanager
def quietly() -> Iterator[None]:
    """Keep sqlglot's remarks, which a model's SQL causes by the hundred, off the terminal."""
    logger = logging.getLogger("sqlglot")
    logger.addFilter(_refuse)
    try:
        yield
    finally:
        logger.removeFilter(_refuse)


def _refuse(_record: logging.LogRecord) -> bool:
    return False


def strings_from_names(tree: Any, sql: str, schema: Schema) -> None:
    """Make strings of double-quoted names that nothing has, as SQLite takes them; in place.

    Args:
        tree: the parsed query.
        sql: what it was parsed from: other quotes never hold a string.
        schema: the tables and columns there are.
    """
    from sqlglot import exp, tokenize

    quoted = {
        token.text
        for token in tokenize(sql, read="sqlite")
        if token.token_type.name == "IDENTIFIER" and sql[token.start] == '"'
    }
    names = Names(tree, schema)
    for column in list(tree.find_all(exp.Column)):
        is_name = not column.table and isinstance(column.this, exp.Identifier)
        if is_name and column.this.quoted and column.name in quoted and not names.origin(column):
            column.replace(exp.Literal.string(column.name))
