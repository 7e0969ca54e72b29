"""The two engines that run SQL: one file each, read-only, cut off from all else, under limits.

They are used in worker processes alone (``workers.py``), which end what an engine does not end.
"""

import json
import sqlite3
import sys
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from pathlib import Path
from threading import Timer
from time import monotonic, perf_counter
from typing import Any, NoReturn

from target_bench.core.schema import Cell, Executed, SQLOutcome

MORE_THAN_ONE = (
    "more than one statement, or text after the first (a fence, prose): one statement may be run"
)
"""Reason why several statements are not run."""


@dataclass(frozen=True, slots=True)
class SQLLimits:
    """The limits of one statement.

    Attributes:
        seconds: wall-clock time of each run, fetching included. BIRD's official limit is 30.
        memory: bytes the engine may allocate, sorting and caches included: neither engine writes
            temporary files.
        rows: rows of the result.
        result_bytes: bytes the result may take as Python values.
    """

    seconds: float = 30.0
    memory: int = 1 << 30
    rows: int = 1_000_000
    result_bytes: int = 256 << 20


class UnusableError(Exception):
    """A database that cannot be opened or read, with any statement; says why and what to do."""


class _FailedError(Exception):
    """A statement that may not be run, or a result over a limit."""

    def __init__(self, outcome: SQLOutcome, message: str) -> None:
        super().__init__(message)
        self.outcome: SQLOutcome = outcome


_Result = tuple[list[str], list[tuple[Cell, ...]]]
"""Names of columns, and rows."""


class Engine(ABC):
    """An open database.

    Raises:
        UnusableError: the file is no sound database that the engine reads, or another program is
            writing it.
    """

    def __init__(self, path: Path, limits: SQLLimits) -> None:
        self.is_sound = True  # if not, its process has to end
        self._path = path
        self._limits = limits

    def run(self, sql: str) -> Executed:
        """Run a statement and fetch its result.

        Empty text and comments give no rows, as in ``sqlite3`` (and so match an empty gold in
        BIRD's evaluator). More than one statement is an ``error``, as there.

        Raises:
            UnusableError: the file turns out to be damaged.
        """
        begun = perf_counter()
        outcome: SQLOutcome
        try:
            columns, rows = self._fetch(sql)
            seconds = perf_counter() - begun
            return Executed("executed", tuple(columns), tuple(rows), "", (seconds,))
        except _FailedError as error:
            outcome, message = error.outcome, str(error)
        except MemoryError:
            self.is_sound = False
            outcome, message = "memory", f"more than {self._limits.memory:,} bytes of memory"
        except Exception as error:
            outcome, message = self._explain(error), str(error)
        return Executed(outcome, message=message, seconds=(perf_counter() - begun,))

    @abstractmethod
    def close(self) -> None:
        """Close the database."""

    @abstractmethod
    def _fetch(self, sql: str) -> _Result:
        """Run a statement and fetch its result within the limits."""

    @abstractmethod
    def _explain(self, error: Exception) -> SQLOutcome:
        """Return what an error of the engine means."""

    def _take(self, columns: list[str], rows: Iterable[tuple[Cell, ...]]) -> _Result:
        kept: list[tuple[Cell, ...]] = []
        size = sum(map(sys.getsizeof, columns))
        self._check_size(size)
        for row in rows:
            if len(kept) == self._limits.rows:
                raise _FailedError("memory", f"more than {self._limits.rows:,} rows")
            size += sys.getsizeof(row) + sum(map(sys.getsizeof, row))
            self._check_size(size)
            kept.append(row)
        return columns, kept

    def _check_size(self, size: int) -> None:
        most = self._limits.result_bytes
        if size > most:
            raise _FailedError("memory", f"a result of more than {most:,} bytes")

    def _refuse(self, problem: object, advice: str) -> NoReturn:
        raise UnusableError(f"database {self._path}: {problem}. {advice}")


def open_engine(engine: str, path: Path, limits: SQLLimits) -> Engine:
    """Open a database in ``sqlite`` or ``duckdb``; errors as for ``Engine``."""
    return SQLite(path, limits) if engine == "sqlite" else DuckDB(path, limits)


# ------------------------------------------------------------------------------------------------
# SQLite

_OPCODES = 1000  # of SQLite's virtual machine between two looks at the clock
_LONGEST_STATEMENT = 1_000_000  # bytes, SQLite's own default
_LONGEST_CELL = 1_000_000_000  # bytes, the same

_ALLOWED = {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_RECURSIVE}
_UNSAFE_FUNCTIONS = {"load_extension", "readfile", "writefile", "edit", "fts3_tokenizer"}
_HARMLESS_PRAGMAS = {
    *("collation_list", "compile_options", "data_version", "foreign_key_list", "function_list"),
    *("index_info", "index_list", "index_xinfo", "table_info", "table_list", "table_xinfo"),
}


_DAMAGE = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CANTOPEN}

_BY_CODE: dict[int, SQLOutcome] = {
    sqlite3.SQLITE_AUTH: "forbidden",
    sqlite3.SQLITE_READONLY: "forbidden",
    sqlite3.SQLITE_INTERRUPT: "timeout",
    sqlite3.SQLITE_NOMEM: "memory",
    sqlite3.SQLITE_TOOBIG: "memory",
    sqlite3.SQLITE_FULL: "memory",
}

_BY_MESSAGE: tuple[tuple[str, SQLOutcome], ...] = (
    ("no such table", "unknown_table"),
    ("no such column", "unknown_column"),
    ("not authorized", "forbidden"),
    ("authorization denied", "forbidden"),
    ("prohibited", "forbidden"),
    ("may not be modified", "forbidden"),
    ("unsafe use of", "forbidden"),
    ("syntax error", "syntax_error"),
    ("incomplete input", "syntax_error"),
    ("unrecognized token", "syntax_error"),
    ("null character", "syntax_error"),
    ("surrogates not allowed", "syntax_error"),
    ("string or blob too big", "memory"),
)


class SQLite(Engine):
    r"""An open SQLite file.

    It is opened immutable: no lock is taken, nothing is written beside it. Statements may read;
    all else is refused by the authorizer before it runs. Text that is not UTF-8 is read with the
    bytes at fault as ``\xNN``, as the corpora read it; the official evaluators fail on it.
    """

    def __init__(self, path: Path, limits: SQLLimits) -> None:
        super().__init__(path, limits)
        self._deadline = monotonic() + limits.seconds
        try:
            self._check_no_writer()
            self._database = _connect(path, limits)
        except sqlite3.Error as error:
            self._refuse_damaged(error)
        self._database.set_progress_handler(lambda: monotonic() > self._deadline, _OPCODES)
        self._database.set_authorizer(_authorize)

    def close(self) -> None:
        """Close the file."""
        self._database.close()

    def _fetch(self, sql: str) -> _Result:
        self._deadline = monotonic() + self._limits.seconds
        with closing(self._database.cursor()) as cursor:
            try:
                cursor.execute(sql)
            except (sqlite3.Error, sqlite3.Warning) as error:
                if "one statement at a time" in str(error):
                    raise _FailedError("error", MORE_THAN_ONE) from error
                raise
            return self._take([column[0] for column in cursor.description or ()], cursor)

    def _check_no_writer(self) -> None:
        """Detect locks and logs of other programs, which an immutable database does not see."""
        path = self._path
        with path.open("rb") as file:
            has_log = file.read(20)[18:] == b"\x02\x02"
        if has_log:
            log = path.with_name(f"{path.name}-wal")
            if log.exists() and log.stat().st_size:
                self._refuse(
                    f"its write-ahead log {log.name} holds changes that are not in it yet",
                    f"Close the program that writes it, or run: sqlite3 {path.name} "
                    "'PRAGMA wal_checkpoint(TRUNCATE)'",
                )
            # To ask for locks SQLite would write a file beside such a database, which is only read.
            return
        with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True, timeout=0)) as database:
            database.execute("SELECT 1 FROM sqlite_master").fetchone()

    def _explain(self, error: Exception) -> SQLOutcome:
        code, message = getattr(error, "sqlite_errorcode", None), str(error)
        if code in _DAMAGE:
            self._refuse_damaged(error)
        if code is not None and code & 0xFF in _BY_CODE:
            return _BY_CODE[code & 0xFF]
        return next((outcome for words, outcome in _BY_MESSAGE if words in message), "error")

    def _refuse_damaged(self, error: Exception) -> NoReturn:
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        advice = "Is it whole, and a SQLite database? Fetch or copy it again."
        if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            advice = "Close the program that writes it."
        elif code in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN):
            advice = (
                "A journal beside it shows that a program ended while writing it: open it once "
                "with sqlite3 to repair it."
            )
        self._refuse(error, advice)


def _connect(path: Path, limits: SQLLimits) -> sqlite3.Connection:
    database = sqlite3.connect(
        f"{path.as_uri()}?mode=ro&immutable=1",
        uri=True,
        isolation_level=None,
        cached_statements=0,  # every run is prepared again, so that times compare
    )
    database.text_factory = partial(str, encoding="utf-8", errors="backslashreplace")
    for pragma in ("trusted_schema = OFF", "temp_store = MEMORY", "query_only = ON"):
        database.execute(f"PRAGMA {pragma}").close()
    database.execute(f"PRAGMA hard_heap_limit = {limits.memory}").close()
    database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, min(limits.result_bytes, _LONGEST_CELL))
    database.setlimit(sqlite3.SQLITE_LIMIT_SQL_LENGTH, _LONGEST_STATEMENT)
    database.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
    database.setlimit(sqlite3.SQLITE_LIMIT_WORKER_THREADS, 0)
    if sys.version_info >= (3, 12):
        database.setconfig(sqlite3.SQLITE_DBCONFIG_DEFENSIVE, True)
        database.setconfig(sqlite3.SQLITE_DBCONFIG_DQS_DML, True)
    database.execute("SELECT 1 FROM sqlite_master").fetchone()
    return database


def _authorize(action: int, first: str | None, second: str | None, *_: str | None) -> int:
    allowed = action in _ALLOWED
    if action == sqlite3.SQLITE_FUNCTION:
        allowed = str(second).lower() not in _UNSAFE_FUNCTIONS
    elif action == sqlite3.SQLITE_PRAGMA:
        allowed = str(first).lower() in _HARMLESS_PRAGMAS
    elif action == sqlite3.SQLITE_UPDATE:  # SQLite asks so for virtual tables; a real one fails
        allowed = first == "sqlite_master"
    return sqlite3.SQLITE_OK if allowed else sqlite3.SQLITE_DENY


# ------------------------------------------------------------------------------------------------
# DuckDB

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


class DuckDB(Engine):
    """An open DuckDB file.

    A single SELECT may be run (to DuckDB also WITH, VALUES, FROM, DESCRIBE, SHOW and SUMMARIZE are
    such). Cells become what SQLite has for them: truth values 0 and 1, decimals floats (all digits
    are not kept), dates and times ISO text with a blank between the two, lists and structures JSON,
    anything else the text that Python shows.
    """

    def __init__(self, path: Path, limits: SQLLimits) -> None:
        import duckdb

        super().__init__(path, limits)
        settings = _CONFINED | {"memory_limit": f"{limits.memory}B"}
        try:
            self._database = duckdb.connect(str(path), read_only=True, config=settings)
            self._database.execute("SET GLOBAL TimeZone = 'UTC'")
            self._database.execute("SET GLOBAL lock_configuration = true")
        except duckdb.Error as error:
            advice = "Is it whole, and of a version that this DuckDB reads?"
            if " lock " in str(error):
                advice = "Close the program that writes it."
            self._refuse(error, advice)

    def close(self) -> None:
        """Close the file."""
        self._database.close()

    def _fetch(self, sql: str) -> _Result:
        with closing(self._database.cursor()) as cursor:
            deadline = Timer(self._limits.seconds, cursor.interrupt)
            deadline.daemon = True
            deadline.start()
            try:
                return self._take(*_execute(cursor, sql))
            finally:
                deadline.cancel()

    def _explain(self, error: Exception) -> SQLOutcome:
        import duckdb

        kinds: tuple[tuple[type[Exception], SQLOutcome], ...] = (
            (UnicodeEncodeError, "syntax_error"),
            (duckdb.ParserException, "syntax_error"),
            (duckdb.SyntaxException, "syntax_error"),
            (duckdb.PermissionException, "forbidden"),
            (duckdb.InterruptException, "timeout"),
            (duckdb.OutOfMemoryException, "memory"),
        )
        for kind, outcome in kinds:
            if isinstance(error, kind):
                return outcome
        if isinstance(error, duckdb.FatalException | duckdb.InternalException):
            self.is_sound = False
        return _classify(str(error).partition("\n")[0])


def _execute(connection: Any, sql: str) -> tuple[list[str], Iterable[tuple[Cell, ...]]]:
    import duckdb

    sql.encode()  # which fails on lone surrogates with a better message than DuckDB's
    statements = connection.extract_statements(sql)
    if not statements:
        return [], []
    if len(statements) > 1:
        raise _FailedError("error", MORE_THAN_ONE)
    if statements[0].type != duckdb.StatementType.SELECT:
        kind = statements[0].type.name
        raise _FailedError("forbidden", f"{kind} statements may not be run, only SELECT")
    connection.execute(statements[0])
    columns = [column[0] for column in connection.description]
    types = [str(column[1]) for column in connection.description]
    if any("TIME ZONE" in kind for kind in types):  # which Python cannot show without pytz
        connection.execute(_show_zones(statements[0].query, types))
    return columns, _iterate_rows(connection)


def _show_zones(sql: str, types: list[str]) -> str:
    import duckdb

    names = [f"c{i}" for i in range(len(types))]
    shown = [
        f"CAST({name} AS VARCHAR)" if "TIME ZONE" in kind else name
        for name, kind in zip(names, types, strict=True)
    ]
    ends = (start for start, _ in duckdb.tokenize(sql) if sql.encode()[start : start + 1] == b";")
    inner = sql.encode()[: next(ends, None)].decode()
    return f"SELECT {', '.join(shown)} FROM ({inner}\n) AS result({', '.join(names)})"  # noqa: S608 (runs confined)


def _iterate_rows(connection: Any) -> Iterator[tuple[Cell, ...]]:
    while batch := connection.fetchmany(_BATCH):
        for row in batch:
            yield row if _PLAIN.issuperset(map(type, row)) else tuple(map(_to_cell, row))


def _to_cell(value: Any) -> Cell:
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
        return json.dumps(_to_json(value), ensure_ascii=False)
    return str(value)


def _to_json(value: Any) -> Any:
    """Return a value inside a list or structure, as JSON can hold it."""
    if isinstance(value, dict):
        return {str(key): _to_json(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_to_json(inner) for inner in value]
    if isinstance(value, bool):
        return value
    cell = _to_cell(value)
    return cell.hex() if isinstance(cell, bytes) else cell


def _classify(message: str) -> SQLOutcome:
    if "the configuration has been locked" in message or "read-only mode" in message:
        return "forbidden"
    if message.startswith("Catalog Error: Table with name"):
        return "unknown_table"
    column = ("Referenced column", "Referenced table", "does not have a column named")
    if message.startswith("Binder Error:") and any(words in message for words in column):
        return "unknown_column"
    return "error"
