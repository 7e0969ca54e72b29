"""Titles of tables: the name of a database table, where it has no other."""

from dataclasses import replace

from target_bench.core.schema import Table

WEB = "0"
"""The database id of tables that lie in no database."""


def has_title(table: Table) -> bool:
    """Return whether its context has a title that is not blank."""
    return bool(str(table.context.get("title") or "").strip())


def titled(table: Table) -> Table:
    """Return the table; one without a title that lies in a database has its name as title.

    There the id of a table is the name that SQL calls it by. The id of any other table may be a
    number, a hash or a path in somebody's archive: it is a key, which no retriever reads, so that
    rankings do not depend on it. A loader that knows a table's name puts it into the context.
    """
    if table.id.database_id == WEB or has_title(table):
        return table
    return replace(table, context={**table.context, "title": table.id.table_id})
