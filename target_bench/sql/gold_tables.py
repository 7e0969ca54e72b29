"""The base tables that a SQL statement reads, as SQLite itself reports while compiling it."""

import sqlite3
from pathlib import Path
from time import monotonic

from target_bench.sql.databases import base_tables, open_sqlite

_SECONDS = 5.0  # to compile a statement in; SQLite looks at the clock then from version 3.41 on
_OPCODES = 1000
_SHOWN = 2000  # characters of a statement in a message

_COMPILING = (
    sqlite3.SQLITE_SELECT,
    sqlite3.SQLITE_READ,
    sqlite3.SQLITE_FUNCTION,
    sqlite3.SQLITE_RECURSIVE,
)


def gold_tables(sql: str, database: Path | sqlite3.Connection) -> tuple[str, ...]:
    """Return the base tables that a query reads.

    The statement is compiled and never run. Views are resolved to the tables under them, and the
    names of common table expressions are not tables. SQLite's own tables are left out.

    Args:
        sql: one SELECT statement.
        database: a SQLite file, opened read-only, or an open connection: its authorizer is
            replaced, and none is left behind.

    Returns:
        Their names as the schema spells them, in the order of the schema.

    Raises:
        ValueError: the statement does not compile against this schema, or is not a query; with
            SQLite's own words.
        DataError: the file is missing, broken or locked.
    """
    if isinstance(database, Path):
        with open_sqlite(database) as connection:
            return gold_tables(sql, connection)
    names = base_tables(database)
    read = _read(sql, database)
    return tuple(name for name in names if name.lower() in read)


def _read(sql: str, database: sqlite3.Connection) -> set[str]:
    """Return the names of all tables that the statement reads, lower-cased."""
    surely: set[str] = set()
    perhaps: set[str] = set()
    expressions: set[str] = set()

    def authorize(
        action: int, first: str | None, column: str | None, schema: str | None, inner: str | None
    ) -> int:
        if action == sqlite3.SQLITE_READ and first is not None:
            # No column of it is read: all that is known is the name in the FROM clause.
            (surely if column or schema else perhaps).add(first.lower())
        elif action == sqlite3.SQLITE_SELECT and inner is not None:
            expressions.add(inner.lower())
        # A table-valued function is declared in the schema while it is compiled, in memory only.
        declares = action == sqlite3.SQLITE_UPDATE and first == "sqlite_master"
        return sqlite3.SQLITE_OK if action in _COMPILING or declares else sqlite3.SQLITE_DENY

    pages = dict(database.execute("SELECT rootpage, tbl_name FROM sqlite_master").fetchall())
    late = monotonic() + _SECONDS
    database.set_authorizer(authorize)
    database.set_progress_handler(lambda: monotonic() > late, _OPCODES)
    try:
        program = database.execute(f"EXPLAIN {sql}").fetchall()
    except (sqlite3.Error, sqlite3.Warning, UnicodeEncodeError) as error:
        raise ValueError(f"{error}: {sql[:_SHOWN]}") from error
    finally:
        database.set_authorizer(None)
        database.set_progress_handler(None, 0)
    # The authorizer hears nothing of columns that USING or NATURAL compares, so a table of which
    # no other column is read shows in the compiled program alone.
    opens = {
        pages[page].lower()
        for _, opcode, _, page, schema, *_ in program
        if opcode == "OpenRead" and schema == 0 and page in pages
    }
    return surely | (perhaps - expressions) | opens
