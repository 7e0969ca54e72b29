"""Which tables and columns a query uses.

Names are compared
without regard to case, aliases are resolved, ``*`` stands for all columns that it selects (but
``COUNT(*)`` for none), and columns of subqueries count where their base tables are read. A NATURAL
JOIN uses no column by name; USING uses one of each side.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlglot import exp

from target_bench.sql.names import ROWIDS, Names, Schema, parsed, strings_from_names

DIALECTS = ("sqlite", "mysql", "oracle", "bigquery", "snowflake")
"""In which gold columns are read, in this order, until a statement can be."""

_LONGEST = 20_000  # characters of a query that is looked at
_MOST_TABLES = 200  # of its FROM clauses; the time grows as their square


@dataclass(frozen=True, slots=True)
class Usage:
    """The tables and columns that a query uses of a schema.

    Attributes:
        tables: base tables, as the schema spells them.
        columns: pairs of table and column, as the schema spells them.
        unknown_tables: names in FROM clauses that the schema does not have, as written.
        unknown_columns: names of columns that nothing has, as written.
        error: why nothing is known of it: it cannot be parsed, is not a query, has more than 20,000
            characters, or more than 200 tables in its FROM clauses (SQLite joins 64 at most).
    """

    tables: frozenset[str] = frozenset()
    columns: frozenset[tuple[str, str]] = frozenset()
    unknown_tables: tuple[str, ...] = ()
    unknown_columns: tuple[str, ...] = ()
    error: str | None = None


def gold_columns(sql: str, tables: Mapping[str, Sequence[str]]) -> frozenset[tuple[str, str]]:
    """Return the pairs of table and column that a statement uses, in whichever dialect it is.

    Args:
        sql: the statement.
        tables: table -> its columns, of the database that it is about.

    Returns:
        The names as the tables have them; empty where the statement cannot be read in any of the
        ``DIALECTS``, or names a table that is not there.
    """
    schema = {table: dict.fromkeys(columns, "") for table, columns in tables.items()}
    for dialect in DIALECTS:
        used = usage(sql, schema, dialect)
        if used.error is None and not used.unknown_tables:
            return used.columns
    return frozenset()


def usage(sql: str, schema: Schema, dialect: str = "sqlite") -> Usage:
    """Return the tables and columns that a query uses; ``error`` if the text is not a query."""
    if len(sql) > _LONGEST:
        return Usage(error=f"it is longer than {_LONGEST:,} characters")
    try:
        tree = parsed(sql, dialect)
        if sum(1 for _ in tree.find_all(exp.Table)) > _MOST_TABLES:
            return Usage(error=f"it names more than {_MOST_TABLES:,} tables")
        if dialect == "sqlite":
            strings_from_names(tree, sql, schema)
        names = Names(tree, schema)
        return _used(tree, names)
    except Exception as error:  # any text may come here, and sqlglot has errors of many types
        return Usage(error=str(error) or type(error).__name__)


def _used(tree: Any, names: Names) -> Usage:
    tables: set[str] = set()
    columns: set[tuple[str, str]] = set()
    no_tables: dict[str, None] = {}
    no_columns: dict[str, None] = {}
    for table in names.tables():
        name = names.table(table)
        if name is None:
            no_tables[table.name] = None
        else:
            tables.add(name)
    for column in tree.find_all(exp.Column):
        if isinstance(column.this, exp.Star):
            continue
        origin = names.origin(column)
        if origin is not None and origin.table:
            columns.add((origin.table, origin.column))
        elif origin is None and not names.hides(column) and column.name.lower() not in ROWIDS:
            no_columns[column.name] = None
    for star in tree.find_all(exp.Star):
        item = star.parent if isinstance(star.parent, exp.Column) else star
        if isinstance(item.parent, exp.Select):
            columns |= {(o.table, o.column) for o in names.starred(item).values() if o.table}
    columns |= names.joined_using(tree)
    return Usage(frozenset(tables), frozenset(columns), tuple(no_tables), tuple(no_columns))
