"""DuckDB in a worker process: one file, read-only, cut off from all other files."""

import json
from collections.abc import Iterator
from contextlib import closing
from decimal import Decimal
from functools import partial
from pathlib import Path
from threading import Timer
from typing import Any

from target_bench.core.schema import Cell, SQLOutcome
from target_bench.sql.engines.base import MORE_THAN_ONE, Failure, Ran, Result, UnusableError, timed
from target_bench.sql.engines.databases import Limits

_BATCH = 100  # rows
_PLAIN = {str, int, float, bytes, type(None)}

_CONFINED: dict[str, str | bool | int | float | list[str]] = {
    "enable_external_access": False,
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "allow_community_extensions": False,
    "python_enable_replacements": False,
    "temp_directory": "",
    "max_temp_directory_size": "0B",
    "threads": 1,
}


class DuckDB:
    """An open DuckDB file.

    A single SELECT may be run (to DuckDB also WITH, VALUES, FROM, DESCRIBE, SHOW and SUMMARIZE are
    such); all other kinds are ``forbidden``. The configuration is locked, the time zone is UTC.

    Raises:
        UnusableError: the file is not a sound database of a version that DuckDB reads, or another
            program is writing it.
    """

    def __init__(self, path: Path, limits: Limits) -> None:
        import duckdb

        self._limits = limits
        settings = _CONFINED | {"memory_limit": f"{limits.memory}B"}
        try:
            self._database = duckdb.connect(str(path), read_only=True, config=settings)
            self._database.execute("SET GLOBAL TimeZone = 'UTC'")
            self._database.execute("SET GLOBAL lock_configuration = true")
        except duckdb.Error as error:
            raise _unusable(error) from error

    def run(self, sql: str) -> Ran:
        """Run a statement.

        Empty text and comments give no rows, as in SQLite. Cells become what SQLite has for them:
        truth values 0 and 1, decimals floats (all digits are not kept), dates and times ISO text
        with a blank between the two, lists and structures JSON, anything else the text that Python
        shows.
        """
        with closing(self._database.cursor()) as cursor:
            deadline = Timer(self._limits.seconds, cursor.interrupt)
            deadline.daemon = True
            deadline.start()
            try:
                return timed(partial(_started, cursor, sql), _failure, self._limits)
            finally:
                deadline.cancel()

    def close(self) -> None:
        """Close the file."""
        self._database.close()


class _SeveralError(Exception):
    """More than one statement."""


class _ForbiddenError(Exception):
    """A statement of a kind that may not be run."""


def _started(connection: Any, sql: str) -> Result:
    import duckdb

    sql.encode()  # which fails on lone surrogates with a better message than DuckDB's
    statements = connection.extract_statements(sql)
    if not statements:
        return [], []
    if len(statements) > 1:
        raise _SeveralError(MORE_THAN_ONE)
    if statements[0].type != duckdb.StatementType.SELECT:
        raise _ForbiddenError(f"{statements[0].type.name} statements may not be run, only SELECT")
    connection.execute(statements[0])
    columns = [column[0] for column in connection.description]
    types = [str(column[1]) for column in connection.description]
    if any("TIME ZONE" in kind for kind in types):  # which Python cannot show without pytz
        connection.execute(_zones_as_text(statements[0].query, types))
    return columns, _rows(connection)


def _zones_as_text(sql: str, types: list[str]) -> str:
    import duckdb

    names = [f"c{i}" for i in range(len(types))]
    shown = [
        f"CAST({name} AS VARCHAR)" if "TIME ZONE" in kind else name
        for name, kind in zip(names, types, strict=True)
    ]
    ends = (start for start, _ in duckdb.tokenize(sql) if sql.encode()[start : start + 1] == b";")
    inner = sql.encode()[: next(ends, None)].decode()
    return f"SELECT {', '.join(shown)} FROM ({inner}\n) AS result({', '.join(names)})"  # noqa: S608 (runs confined)


def _rows(connection: Any) -> Iterator[tuple[Cell, ...]]:
    while batch := connection.fetchmany(_BATCH):
        for row in batch:
            yield row if _PLAIN.issuperset(map(type, row)) else tuple(map(_cell, row))


def _cell(value: Any) -> Cell:
    if type(value) in _PLAIN:
        plain: Cell = value
        return plain
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, bytearray | memoryview):
        return bytes(value)
    if isinstance(value, list | tuple | dict):
        return json.dumps(_inner(value), ensure_ascii=False)
    return str(value)


def _inner(value: Any) -> Any:
    """Return a value inside a list or structure, as JSON can hold it."""
    if isinstance(value, dict):
        return {str(key): _inner(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_inner(inner) for inner in value]
    if isinstance(value, bool):
        return value
    cell = _cell(value)
    return cell.hex() if isinstance(cell, bytes) else cell


def _failure(error: Exception) -> Failure:
    import duckdb

    message = str(error)
    broken = isinstance(error, duckdb.FatalException | duckdb.InternalException)
    kinds: tuple[tuple[type[Exception], SQLOutcome], ...] = (
        (_SeveralError, "error"),
        (_ForbiddenError, "forbidden"),
        (UnicodeEncodeError, "syntax_error"),
        (duckdb.ParserException, "syntax_error"),
        (duckdb.SyntaxException, "syntax_error"),
        (duckdb.PermissionException, "forbidden"),
        (duckdb.InterruptException, "timeout"),
        (duckdb.OutOfMemoryException, "memory"),
    )
    for kind, outcome in kinds:
        if isinstance(error, kind):
            return Failure(outcome, message)
    return Failure(_outcome(message), message, sound=not broken)


def _outcome(message: str) -> SQLOutcome:
    first = message.partition("\n")[0]
    if "the configuration has been locked" in first or "read-only mode" in first:
        return "forbidden"
    if first.startswith("Catalog Error: Table with name"):
        return "no_such_table"
    column = ("Referenced column", "Referenced table", "does not have a column named")
    if first.startswith("Binder Error:") and any(words in first for words in column):
        return "no_such_column"
    return "error"


def _unusable(error: Exception) -> UnusableError:
    if " lock " in str(error):
        return UnusableError(f"{error}. Close the program that writes it.")
    return UnusableError(f"{error}. Is it whole, and of a version that this DuckDB reads?")
