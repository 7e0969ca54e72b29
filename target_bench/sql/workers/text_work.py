"""Processing of a model's texts in a worker, other than running them.

A parser may take for ever over a text (sqlglot tries the joins of ``FROM a JOIN b JOIN c ...`` in 2
to the power of their number ways), so reading a text is stopped as running one is. Arguments and
results are plain values, which the pipe between the processes takes.
"""

import sqlite3
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

from target_bench.core.errors import DataError
from target_bench.sql.dialect.names import Schema
from target_bench.sql.dialect.translation import to_duckdb
from target_bench.sql.engines.databases import columns, opened
from target_bench.sql.extraction import extract
from target_bench.sql.gold_tables import gold_tables
from target_bench.sql.linking import Counts, linking
from target_bench.sql.normalisation import for_test_suite
from target_bench.sql.statements import LONGEST

Said = tuple[Literal["own", "copy", "unsaid"], str]
"""A statement for the database's own engine, or for its copy in DuckDB; or why it has none."""


def extracted(text: str) -> tuple[str | None, str | None]:
    """Return the SQL and the database that an answer names."""
    found = extract(text)
    return found.sql, found.database_id


def said(
    sql: str,
    file: str,
    columns_: Mapping[str, Mapping[str, str]] | None,
    views: Sequence[str],
) -> list[Said]:
    """Return a prediction as it is run, and as Spider's rule runs it where that is another text.

    Args:
        sql: the prediction.
        file: its database.
        columns_: those of the copy in DuckDB that it is judged in; None without one.
        views: those of the copy.
    """
    texts = dict.fromkeys((sql, for_test_suite(sql)))
    if columns_ is None:
        return [("own", text) for text in texts]
    return [in_duckdb(text, Path(file), columns_, views) for text in texts]


def in_duckdb(sql: str, file: Path, columns_: Schema, views: Sequence[str]) -> Said:
    """Return a statement translated; one that SQLite does not compile stays as it is."""
    if len(sql) > LONGEST:
        return "unsaid", f"it has {len(sql):,} characters, and {LONGEST:,} may be"
    try:
        gold_tables(sql, file)
    except ValueError:
        return "own", sql  # SQLite says itself what is wrong with it
    try:
        return "copy", to_duckdb(sql, columns_, views)
    except ValueError as error:
        return "unsaid", str(error)


def linked(gold_sql: str, sql: str, file: str, state: tuple[int, ...]) -> list[Counts] | None:
    """Compare the tables and columns of a prediction with the gold's.

    None on a database of DuckDB's.
    """
    schema = _schema(file, state)
    if schema is None:
        return None
    link = linking(gold_sql, sql, schema)
    return [link.tables, link.columns]


def uncompiled(sql: str, file: str) -> str | None:
    """Return SQLite's error for a statement; None if it compiles, or on a DuckDB database."""
    try:
        gold_tables(sql, Path(file))
    except ValueError as error:
        return str(error)
    except (DataError, sqlite3.Error):  # a database of DuckDB's own, or a damaged one
        return None
    return None


@lru_cache(maxsize=16)
def _schema(file: str, state: tuple[int, ...]) -> Schema | None:  # noqa: ARG001 (part of the key)
    try:
        with opened(Path(file)) as database:
            return columns(database)
    except DataError:
        return None  # a database of DuckDB's own


def warmed() -> None:
    """Load what the other work needs, which takes longer than a short limit allows."""
    extract("SELECT 1 FROM t")
    linking("SELECT a FROM t", "SELECT a FROM t", {"t": {"a": ""}})
    to_duckdb("SELECT a FROM t", {"t": {"a": "BIGINT"}})


_ALL: tuple[Callable[..., Any], ...] = (extracted, said, linked, uncompiled, warmed)
WORK: Mapping[str, Callable[..., Any]] = {work.__name__: work for work in _ALL}
"""By the names that a pool asks for it."""
