"""SQLite in a worker process: one file, read-only, with an allow-list of what may be done."""

import sqlite3
import sys
from contextlib import closing
from functools import partial
from pathlib import Path
from time import monotonic

from target_bench.core.schema import SQLOutcome
from target_bench.sql.engines.base import MORE_THAN_ONE, Failure, Ran, Result, UnusableError, timed
from target_bench.sql.engines.databases import Limits

_OPCODES = 1000  # of SQLite's virtual machine between two looks at the clock
_LONGEST_STATEMENT = 1_000_000  # bytes, SQLite's own default
_LONGEST_CELL = 1_000_000_000  # bytes, the same

_ALLOWED = {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_RECURSIVE}
_UNSAFE_FUNCTIONS = {"load_extension", "readfile", "writefile", "edit", "fts3_tokenizer"}
_HARMLESS_PRAGMAS = {
    "collation_list",
    "compile_options",
    "data_version",
    "foreign_key_list",
    "function_list",
    "index_info",
    "index_list",
    "index_xinfo",
    "table_info",
    "table_list",
    "table_xinfo",
}


class SQLite:
    r"""An open SQLite file.

    It is opened immutable: no lock is taken, nothing is written beside it. Statements may read;
    anything else (writing, ATTACH, transactions, PRAGMA beyond descriptions of the schema,
    loading extensions) is refused by the authorizer before it runs. Text that is not UTF-8 is
    read with the bytes at fault as ``\xNN``, as the corpora read it; the official evaluators fail
    on it.

    Raises:
        UnusableError: the file is not a sound database, or another program is writing it.
    """

    def __init__(self, path: Path, limits: Limits) -> None:
        self._limits = limits
        self._deadline = monotonic() + limits.seconds
        try:
            _check(path)
            self._database = _opened(path, limits)
        except sqlite3.Error as error:
            raise _unusable(error) from error
        self._database.set_progress_handler(self._is_late, _OPCODES)
        self._database.set_authorizer(_authorized)

    def run(self, sql: str) -> Ran:
        """Run a statement.

        Empty text and comments give no rows, as ``sqlite3.Cursor.execute`` has it (and so match
        an empty gold in BIRD's evaluator). More than one statement is an ``error``, as there.

        Raises:
            UnusableError: the file turns out to be damaged.
        """
        self._deadline = monotonic() + self._limits.seconds
        with closing(self._database.cursor()) as cursor:
            return timed(partial(_started, cursor, sql), self._failure, self._limits)

    def close(self) -> None:
        """Close the file."""
        self._database.close()

    def _is_late(self) -> bool:
        return monotonic() > self._deadline

    def _failure(self, error: Exception) -> Failure:
        code = getattr(error, "sqlite_errorcode", None)
        if code in _DAMAGE:
            assert isinstance(error, sqlite3.Error)
            raise _unusable(error) from error
        if "one statement at a time" in str(error):
            return Failure("error", MORE_THAN_ONE)
        return Failure(_outcome(str(error), code), str(error))


def _check(path: Path) -> None:
    """Detect locks and logs of other programs, which an immutable database does not see."""
    with path.open("rb") as file:
        has_log = file.read(20)[18:] == b"\x02\x02"
    if has_log:
        log = path.with_name(f"{path.name}-wal")
        if log.exists() and log.stat().st_size:
            raise UnusableError(
                f"its write-ahead log {log.name} holds changes that are not in it yet. Close the "
                f"program that writes it, or run: sqlite3 {path.name} "
                "'PRAGMA wal_checkpoint(TRUNCATE)'"
            )
        return  # only a writer could say more, and this is none
    with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True, timeout=0)) as database:
        database.execute("SELECT 1 FROM sqlite_master").fetchone()


def _opened(path: Path, limits: Limits) -> sqlite3.Connection:
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


def _authorized(action: int, first: str | None, second: str | None, *_: str | None) -> int:
    allowed = action in _ALLOWED
    if action == sqlite3.SQLITE_FUNCTION:
        allowed = str(second).lower() not in _UNSAFE_FUNCTIONS
    elif action == sqlite3.SQLITE_PRAGMA:
        allowed = str(first).lower() in _HARMLESS_PRAGMAS
    elif action == sqlite3.SQLITE_UPDATE:  # SQLite asks so for virtual tables; a real one fails
        allowed = first == "sqlite_master"
    return sqlite3.SQLITE_OK if allowed else sqlite3.SQLITE_DENY


def _started(cursor: sqlite3.Cursor, sql: str) -> Result:
    cursor.execute(sql)
    return [column[0] for column in cursor.description or ()], cursor


_DAMAGE = {
    sqlite3.SQLITE_CORRUPT,
    sqlite3.SQLITE_NOTADB,
    sqlite3.SQLITE_CANTOPEN,
}

_BY_CODE: dict[int, SQLOutcome] = {
    sqlite3.SQLITE_AUTH: "forbidden",
    sqlite3.SQLITE_READONLY: "forbidden",
    sqlite3.SQLITE_INTERRUPT: "timeout",
    sqlite3.SQLITE_NOMEM: "memory",
    sqlite3.SQLITE_TOOBIG: "memory",
    sqlite3.SQLITE_FULL: "memory",
}

_BY_MESSAGE: tuple[tuple[str, SQLOutcome], ...] = (
    ("no such table", "no_such_table"),
    ("no such column", "no_such_column"),
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


def _outcome(message: str, code: int | None) -> SQLOutcome:
    if code is not None and code & 0xFF in _BY_CODE:
        return _BY_CODE[code & 0xFF]
    return next((outcome for words, outcome in _BY_MESSAGE if words in message), "error")


def _unusable(error: sqlite3.Error) -> UnusableError:
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return UnusableError(f"{error}. Close the program that writes it.")
    if code in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN):
        return UnusableError(
            f"{error}. A journal beside it shows that a program ended while writing it: open it "
            "once with sqlite3 to repair it."
        )
    return UnusableError(f"{error}. Is it whole, and a SQLite database? Fetch or copy it again.")
