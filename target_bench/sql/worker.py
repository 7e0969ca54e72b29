"""The worker process: opens databases, does one job after the other, and obeys its limits.

It ends when its pool does: the pipe its requests come through is then closed by the system.
"""

import io
import os
import pickle
import signal
import sqlite3
import struct
import sys
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from queue import SimpleQueue
from threading import Thread
from typing import IO, Any, NoReturn

from target_bench.core.errors import DataError
from target_bench.core.schema import Cell, Executed
from target_bench.sql.engines import Engine, SQLLimits, UnusableError, opened_engine

ROWS, COLUMNS, CHARACTERS = 20, 20, 200
"""Size of a result preview: rows, columns, and characters of a cell or name."""

_OWN_MEMORY = 1 << 30  # bytes of address space for Python and the engines' code
_MOST_OPEN = {"sqlite": 16, "duckdb": 2}  # databases at once
_LENGTH = struct.Struct("<Q")


def main() -> None:
    """Serve the pool at the other end of standard input and output."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the pool
    incoming, outgoing = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    limits = SQLLimits(*receive(incoming))
    _load()
    confine(limits)
    requests: SimpleQueue[tuple[Any, ...]] = SimpleQueue()
    Thread(target=_listen, args=(incoming, requests), daemon=True).start()
    _silence()
    jobs = Jobs(limits)
    exhausted = ("exhausted", f"more than {limits.memory:,} bytes of memory")
    send(outgoing, ("done", None))
    while True:
        job, *details = requests.get()
        try:
            reply = ("done", JOBS[job](jobs, *details))
        except UnusableError as error:
            reply = ("unusable", f"database {details[0][0]}: {error}")
        except DataError as error:
            reply = ("unusable", str(error))
        except MemoryError:
            reply = exhausted
        try:
            send(outgoing, reply)
        except MemoryError:  # before anything was written
            send(outgoing, exhausted)


def _load() -> None:
    """Load what the jobs need, which takes longer than a short limit allows."""
    from target_bench.metrics import sql_results  # noqa: F401
    from target_bench.sql.extraction import extract
    from target_bench.sql.translation import to_duckdb

    extract("SELECT 1 FROM t")
    to_duckdb("SELECT a FROM t", {"t": {"a": "BIGINT"}})


def _listen(incoming: IO[bytes], requests: "SimpleQueue[tuple[Any, ...]]") -> None:
    try:
        while True:
            requests.put(receive(incoming))
    finally:
        os._exit(0)  # the pool is gone: a statement that still runs is of no use


def _silence() -> None:
    """Keep an engine's output off the pool's pipe and the user's terminal."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)


def confine(limits: SQLLimits) -> None:
    """Limit files and address space through the operating system, where it can."""
    try:
        import resource
    except ImportError:  # Windows
        return
    space = _address_space() + _OWN_MEMORY + 2 * (limits.memory + limits.result_bytes)
    limits_by_name = {"RLIMIT_CORE": 0, "RLIMIT_FSIZE": 0, "RLIMIT_AS": space}
    for name, limit in limits_by_name.items():
        with suppress(OSError, ValueError, AttributeError):  # not every system has every limit
            kind = getattr(resource, name)
            hard = resource.getrlimit(kind)[1]
            limit = limit if hard == resource.RLIM_INFINITY else min(limit, hard)
            resource.setrlimit(kind, (limit, limit))


def _address_space() -> int:
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    except OSError:  # not Linux
        return _OWN_MEMORY
    return pages * os.sysconf("SC_PAGE_SIZE")


Where = tuple[str, str, tuple[int, ...]]
"""A database: ``databases.Database`` as a plain tuple."""


class Jobs:
    """What a worker is asked to do; arguments and results are plain values.

    A parser may take for ever over a text (sqlglot tries the joins of ``FROM a JOIN b JOIN c ...``
    in 2 to the power of their number ways), so reading a text is stopped as running one is.

    Args:
        limits: of every statement.
    """

    def __init__(self, limits: SQLLimits) -> None:
        self._limits = limits
        self._open: OrderedDict[Where, Engine] = OrderedDict()
        self._last = Executed("executed")
        self._kept: Executed | None = None

    def open(self, where: Where) -> None:
        """Open a database if it is not open yet; the one used longest ago makes room."""
        path, engine, _ = where
        if where not in self._open:
            same = [other for other in self._open if other[1] == engine]
            if len(same) >= _MOST_OPEN[engine]:
                self._open.pop(same[0]).close()
            self._open[where] = opened_engine(engine, Path(path), self._limits)
        self._open.move_to_end(where)

    def run(self, where: Where, sql: str) -> tuple[Any, ...]:
        """Run a statement on an open database and keep its result.

        Returns:
            Its outcome, message and seconds; the preview and the number of rows of its result;
            and whether this process can go on.
        """
        engine = self._open[where]
        self._last = ran = engine.run(sql)
        seen = preview(ran)
        return ran.outcome, ran.message, ran.seconds[0], seen, len(ran.rows), engine.sound

    def rows(self) -> tuple[tuple[str, ...], tuple[tuple[Cell, ...], ...]]:
        """Return names of columns and rows of the last result."""
        last, self._last = self._last, Executed("executed")
        return last.columns, last.rows

    def compare(self, rules: Sequence[str], gold: Any, gold_sql: str) -> dict[str, float]:
        """Compare the last result with the rows of the gold, under some rules."""
        from target_bench.metrics.sql_results import compared

        return compared(rules, gold, self._last.rows, gold_sql)

    def keep(self) -> None:
        """Keep the last result, for ``agrees``."""
        self._kept, self._last = self._last, Executed("executed")

    def agrees(self, repeated: bool) -> bool:
        """Return whether the result that was kept has the same rows as the last one.

        They do not if it was lost with the process that had it.

        Args:
            repeated: whether it matters how often a row is there.
        """
        from target_bench.metrics.sql_results import same_rows

        kept, self._kept = self._kept, None
        return kept is not None and same_rows(self._last.rows, kept.rows, repeated)

    def read(self, text: str) -> tuple[str | None, str | None, str | None]:
        """Return the SQL of an answer, the same as Spider's rule runs it, and its database."""
        from target_bench.sql.extraction import extract
        from target_bench.sql.normalisation import LONGEST, for_test_suite

        sql, database_id = extract(text)
        if sql is None or len(sql) > LONGEST:
            return sql, None, database_id
        return sql, for_test_suite(sql), database_id

    def translate(self, sql: str, file: str, columns: Any) -> tuple[str, str]:
        """Return ``copy`` and the statement in DuckDB's SQL, or ``none`` and why there is none.

        ``own`` and the statement as it is where SQLite does not compile it, and so says itself
        what is wrong with it.
        """
        from target_bench.sql.gold_tables import gold_tables
        from target_bench.sql.translation import to_duckdb

        try:
            gold_tables(sql, Path(file))
        except ValueError:
            return "own", sql
        try:
            return "copy", to_duckdb(sql, columns)
        except ValueError as error:
            return "none", str(error)

    def compile(self, sql: str, file: str) -> str | None:
        """Return SQLite's error for a statement; None if it compiles, or on a DuckDB database."""
        from target_bench.sql.gold_tables import gold_tables

        try:
            gold_tables(sql, Path(file))
        except ValueError as error:
            return str(error)
        except (DataError, sqlite3.Error):  # a database of DuckDB's own, or a damaged one
            return None
        return None


JOBS: Mapping[str, Callable[..., Any]] = {
    name: job for name, job in vars(Jobs).items() if not name.startswith("_")
}
"""By the names that a pool asks for them."""


def preview(result: Executed) -> dict[str, Any] | None:
    """Return the beginning of a result: ``columns``, ``rows`` and ``n_columns``, of all columns.

    Cells are text, NULL is None; text that was cut ends with ``…``. A statement can make names of
    columns of any length, so these are cut too. None for what was not executed.
    """
    if result.outcome != "executed":
        return None
    return {
        "columns": [_text(name) for name in result.columns[:COLUMNS]],
        "rows": [[_text(cell) for cell in row[:COLUMNS]] for row in result.rows[:ROWS]],
        "n_columns": len(result.columns),
    }


def _text(cell: Cell) -> str | None:
    if cell is None:
        return None
    if isinstance(cell, str | bytes):
        cell = cell[: CHARACTERS + 1]  # before it is written another way, which takes memory
    text = f"x'{cell.hex()}'" if isinstance(cell, bytes) else str(cell)
    text = text.encode("utf-8", "replace").decode()  # a lone surrogate is not UTF-8
    return text if len(text) <= CHARACTERS else f"{text[:CHARACTERS]}…"


def send(file: IO[bytes], value: Any) -> None:
    """Write a value made of numbers, text, bytes, None, tuples, lists and dicts.

    Raises:
        OSError: the other end is closed.
    """
    data = pickle.dumps(value, protocol=5)
    file.write(_LENGTH.pack(len(data)))
    file.write(data)
    file.flush()


def receive(file: IO[bytes]) -> Any:
    """Read the next value.

    Raises:
        EOFError: the other end is closed.
        pickle.UnpicklingError: it is more than plain values.
    """
    (length,) = _LENGTH.unpack(_exactly(file, _LENGTH.size))
    return _Plain(io.BytesIO(_exactly(file, length))).load()


def _exactly(file: IO[bytes], n: int) -> bytes:
    data = file.read(n)
    if len(data) < n:
        raise EOFError
    return data


class _Plain(pickle.Unpickler):
    """An unpickler of plain values only: no class, so no code from outside."""

    def find_class(self, module: str, name: str) -> NoReturn:
        raise pickle.UnpicklingError(f"{module}.{name} is not a plain value")
