"""SQL dialects of the judging engine: a statement's text, and the file it runs on."""

from collections.abc import Callable
from functools import cache
from pathlib import Path

from target_bench.sql.dialect.copying import Copy, duckdb_copy
from target_bench.sql.engines.databases import EngineName, database
from target_bench.sql.workers.pool import Dialect, Statement
from target_bench.sql.workers.text_work import in_duckdb


class DuckDBDialect(Dialect):
    """SQLite databases as copies in DuckDB, their statements translated.

    A database of DuckDB's own is used as it is.

    Args:
        warn: gets notes of what was converted in a copy.
    """

    def __init__(self, warn: Callable[[str], None]) -> None:
        self._warn = warn
        self._copy = cache(self._copied)

    def statement(self, file: Path, sql: str, repeat: int = 1) -> Statement:
        """Return the statement, translated.

        Raises:
            ValueError: there is no translation that gives the same, or it is longer than any
                statement that is looked at.
            DataError: the database cannot be read.
            StoreError: the copy cannot be written.
        """
        copy = self.copy_of(file)
        if copy is None:
            return Statement(file, sql, repeat)
        how, text = in_duckdb(sql, file, copy.columns, copy.views)
        if how == "unsaid":
            raise ValueError(text)
        return Statement(copy.path if how == "copy" else file, text, repeat)

    def in_sqlite(self, file: Path, sql: str) -> Statement | None:
        """Return the statement in SQLite, if the database is one of SQLite's."""
        return Statement(file, sql) if database(file).engine == "sqlite" else None

    def copy_of(self, file: Path) -> Copy | None:
        """Return the copy, made once; None of a database of DuckDB's own."""
        return None if database(file).engine == "duckdb" else self._copy(file)

    def notes(self, file: Path) -> tuple[str, ...]:
        """Return notes on conversions in the copy of a database; errors as for ``copy_of``."""
        copy = self.copy_of(file)
        return () if copy is None else _notes(file, copy)

    def _copied(self, file: Path) -> Copy:
        copy = duckdb_copy(file)
        for note in _notes(file, copy):
            self._warn(note)
        return copy


def _notes(file: Path, copy: Copy) -> tuple[str, ...]:
    return tuple(f"{file.name} in DuckDB: {note}" for note in copy.notes)


def dialect_of(engine: EngineName, warn: Callable[[str], None]) -> Dialect:
    """Return the dialect in which an engine runs statements."""
    return DuckDBDialect(warn) if engine == "duckdb" else Dialect()
