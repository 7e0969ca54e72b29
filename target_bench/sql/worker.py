"""The worker process: opens databases, does one job after the other, and obeys its limits.

A job is done in steps, each of which has a limit of its own: the pool is told before one begins.
Where a step is stopped, the whole job is.
The process ends when its pool does: the pipe its requests come through is then closed.
"""

import io
import os
import pickle
import signal
import sqlite3
import struct
import sys
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from queue import SimpleQueue
from threading import Thread
from typing import IO, Any, NamedTuple, NoReturn, Self

from target_bench.core.errors import DataError
from target_bench.core.schema import Cell, Executed
from target_bench.sql.engines import Engine, SQLLimits, UnusableError, open_engine

ROWS, COLUMNS, CHARACTERS = 20, 20, 200
"""Size of a result preview: rows, columns, and characters of a cell or name."""

Where = tuple[str, str, tuple[int, ...]]
"""A database: ``databases.Database`` as a plain tuple."""

Plain = tuple[Any, ...]
"""``Executed`` as a plain tuple."""

Rows = Sequence[tuple[Cell, ...]]

_OWN_MEMORY = 1 << 30  # bytes of address space for Python and the engines' code
_MOST_OPEN = {"sqlite": 16, "duckdb": 2}  # databases at once
_SUFFIXES = ("", " spider")  # of steps with a text, and with the same as Spider's rule runs it
_LENGTH = struct.Struct("<Q")

# ------------------------------------------------------------------------------------------------
# The process


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
    jobs = Jobs(limits, lambda *step: send(outgoing, ("step", step)))
    send(outgoing, ("done", None))
    while True:
        job, *details = requests.get()
        try:
            send(outgoing, ("done", JOBS[job](jobs, *details)))
        except (UnusableError, DataError) as error:
            send(outgoing, ("unusable", str(error)))
        except _EndedError as error:
            send(outgoing, ("ended", to_plain(error.executed)))
        except MemoryError:  # perhaps for a reply, of which nothing was written then
            send(outgoing, ("exhausted", f"more than {limits.memory:,} bytes of memory"))


def _load() -> None:
    """Load the modules of the jobs, which takes longer than a short limit allows."""
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
    space = _measure_address_space() + _OWN_MEMORY + 2 * (limits.memory + limits.result_bytes)
    for name, limit in (("RLIMIT_CORE", 0), ("RLIMIT_FSIZE", 0), ("RLIMIT_AS", space)):
        with suppress(OSError, ValueError, AttributeError):  # not every system has every limit
            kind = getattr(resource, name)
            hard = resource.getrlimit(kind)[1]
            limit = limit if hard == resource.RLIM_INFINITY else min(limit, hard)
            resource.setrlimit(kind, (limit, limit))


def _measure_address_space() -> int:
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    except OSError:  # not Linux
        return _OWN_MEMORY
    return pages * os.sysconf("SC_PAGE_SIZE")


# ------------------------------------------------------------------------------------------------
# Jobs


class _EndedError(Exception):
    """A statement after whose result its process cannot go on."""

    def __init__(self, executed: Executed) -> None:
        super().__init__(executed.message)
        self.executed = executed


class Attempt(NamedTuple):
    """The result of a prediction, and how it compares with the gold's."""

    executed: Executed  # its rows stay in the worker
    preview: dict[str, Any] | None = None
    rows: int = 0
    values: Mapping[str, float] = {}  # by rule
    differs: str = ""  # how the engines differ over it; empty if they agree

    def to_plain(self) -> Plain:
        """Return it as plain values, rows left out."""
        alone = to_plain(replace(self.executed, columns=(), rows=()))
        return tuple(self._replace(executed=alone))  # type: ignore[arg-type]  # on its way

    @classmethod
    def from_plain(cls, plain: Plain) -> Self:
        """Return an attempt from plain values."""
        executed, *more = plain
        return cls(Executed(*executed), *more)


class Jobs:
    """The jobs of a worker; arguments and results are plain values.

    A parser may take for ever over a text (sqlglot tries the joins of ``FROM a JOIN b JOIN c ...``
    in 2 to the power of their number ways), so reading a text is stopped as running one is.
    """

    def __init__(self, limits: SQLLimits, tell: Callable[[str, str], object]) -> None:
        self._limits = limits
        self._tell = tell  # called with the name and the words of a step before it begins
        self._open: OrderedDict[Where, Engine] = OrderedDict()

    def run(self, where: Where, sql: str, repeat: int) -> Plain:
        """Run a statement and return all that it gives."""
        ran = self._run("run", where, sql, repeat)
        self._tell("hand over", "handing over its result")
        return to_plain(ran)

    def read(self, text: str) -> tuple[str | None, str | None, str | None]:
        """Return the SQL of an answer, the same as Spider's rule runs it, and its database."""
        from target_bench.sql.extraction import extract
        from target_bench.sql.normalisation import LONGEST, rewrite_for_test_suite

        sql, database_id = extract(text)
        if sql is None or len(sql) > LONGEST:
            return sql, None, database_id
        return sql, rewrite_for_test_suite(sql), database_id

    def run_and_compare(
        self,
        where: Where,
        texts: Sequence[str],
        repeat: int,
        golds: Sequence[Rows | None],
        gold_sql: str,
        stops: Sequence[Plain | None],
    ) -> list[Plain]:
        """Run a prediction and compare its result with the gold's; return an ``Attempt`` a text.

        Args:
            where: the database.
            texts: the prediction; and the same as Spider's rule runs it, where that differs.
            repeat: how often the first text is run.
            golds: rows of the gold for each text; None if it failed.
            gold_sql: the gold.
            stops: what each text gave, if it met a limit before.
        """
        attempts = self._iterate_attempts(where, texts, repeat, golds, gold_sql, stops)
        return [attempt.to_plain() for attempt in attempts]

    def _iterate_attempts(
        self,
        where: Where,
        texts: Sequence[str],
        repeat: int,
        golds: Sequence[Rows | None],
        gold_sql: str,
        stops: Sequence[Plain | None],
    ) -> Iterator[Attempt]:
        """Run each text of a prediction, and compare what it gives with the gold of that text."""
        first: Executed | None = None
        for i, (sql, gold, stop) in enumerate(zip(texts, golds, stops, strict=True)):
            if stop is not None:
                ran = Executed(*stop)
            elif first is not None and sql == texts[0]:  # only the gold has another text for Spider
                ran = first
            else:
                ran = self._run(f"run{_SUFFIXES[i]}", where, sql, 1 if i else repeat)
            first = first or ran
            values = self._compare(i, texts, ran, gold, gold_sql)
            yield Attempt(ran, preview(ran), len(ran.rows), values)

    def _run(self, step: str, where: Where, sql: str, repeat: int) -> Executed:
        engine = self._engine(where)
        seconds: tuple[float, ...] = ()
        for _ in range(repeat):
            self._tell(step, "the statement")
            ran = engine.run(sql)
            if not engine.is_sound:
                raise _EndedError(ran)
            seconds += ran.seconds
            if ran.outcome != "executed":
                break
        return replace(ran, seconds=seconds)

    def _engine(self, where: Where) -> Engine:
        """Return an open database; the one used longest ago makes room for another."""
        path, name, _ = where
        if where not in self._open:
            same = [other for other in self._open if other[1] == name]
            if len(same) >= _MOST_OPEN[name]:
                self._open.pop(same[0]).close()
            self._tell("open", f"database {path}: opening it")
            self._open[where] = open_engine(name, Path(path), self._limits)
        self._open.move_to_end(where)
        return self._open[where]

    def _compare(
        self, i: int, texts: Sequence[str], ran: Executed, gold: Rows | None, gold_sql: str
    ) -> dict[str, float]:
        """Return the value of each rule for a text; none where prediction or gold failed."""
        from target_bench.metrics.sql_results import compare_results

        if gold is None or ran.outcome != "executed":
            return {}
        self._tell(f"compare{_SUFFIXES[i]}", "the comparison of its result with the gold's")
        if len(texts) == 1:
            rules: tuple[str, ...] = ("bird", "soft_f1", "spider")
        else:
            rules = ("spider",) if i else ("bird", "soft_f1")
        return compare_results(rules, gold, ran.rows, gold_sql)

    # Statements of SQLite's, translated for a copy of their database in DuckDB

    def run_in_both(
        self,
        where: Where,
        texts: Sequence[str],
        repeat: int,
        golds: Sequence[Rows | None],
        gold_sql: str,
        stops: Sequence[Plain | None],
        copy: Where,
        file: str,
        columns: Any,
        golds_here: Sequence[Rows | None],
    ) -> list[Plain]:
        """Do as ``run_and_compare`` in SQLite, and say how each attempt differs in DuckDB.

        ``copy`` is the database there, of the SQLite file ``file`` and with ``columns``, and
        ``golds_here`` are the rows of the gold there.
        """
        attempts: list[Attempt] = []
        in_sqlite = self._iterate_attempts(where, texts, repeat, golds, gold_sql, stops)
        for i, (sql, attempt, gold) in enumerate(zip(texts, in_sqlite, golds_here, strict=True)):
            here = self._run_copy(i, copy, sql, file, columns, 1 if i else repeat)
            if here is None:  # SQLite itself says what is wrong with it
                attempts.append(attempt)
            else:
                values = self._compare(i, texts, here, gold, gold_sql)
                attempts.append(self._check(i, attempt, here, values))
        return [attempt.to_plain() for attempt in attempts]

    def translate(self, sql: str, file: str, columns: Any) -> tuple[str, str]:
        """Return ``copy`` and the statement in DuckDB's SQL, or ``none`` and why there is none.

        ``own`` and the statement as it is where SQLite does not compile it, and so says itself
        that it is wrong.
        """
        from target_bench.sql.gold_tables import gold_tables
        from target_bench.sql.translation import to_duckdb

        try:
            with suppress(DataError, sqlite3.Error):  # a damaged database
                gold_tables(sql, Path(file))
        except ValueError:
            return "own", sql
        try:
            return "copy", to_duckdb(sql, columns)
        except ValueError as error:
            return "none", str(error)

    def _run_copy(
        self, i: int, copy: Where, sql: str, file: str, columns: Any, repeat: int
    ) -> Executed | None:
        """Run a statement of SQLite's in DuckDB; None where SQLite does not compile it."""
        self._tell(f"translate{_SUFFIXES[i]}", "reading the statement")
        kind, text = self.translate(sql, file, columns)
        if kind == "own":
            return None
        if kind == "none":
            return Executed("error", message=f"it has no translation: {text}")
        return self._run(f"run in DuckDB{_SUFFIXES[i]}", copy, text, repeat)

    def _check(
        self, i: int, attempt: Attempt, here: Executed, values_here: Mapping[str, float]
    ) -> Attempt:
        """Return an attempt in SQLite with how it differs from the result in DuckDB."""
        from target_bench.metrics.sql_results import same_rows

        ran, values = attempt.executed, attempt.values
        self._tell(f"agree{_SUFFIXES[i]}", "comparing what both engines gave")
        same = partial(same_rows, here.rows, ran.rows, i > 0)
        difference = explain_difference(here, ran, same)
        if not difference and any(values.get(r) != values_here.get(r) for r in ("bird", "spider")):
            difference = "has the gold's rows in one engine alone"
        if not difference and here.outcome == "executed":
            ran = replace(ran, seconds=here.seconds)  # of the engine that judges
        return attempt._replace(executed=ran, differs=difference)


JOBS: Mapping[str, Callable[..., Any]] = {
    name: job for name, job in vars(Jobs).items() if not name.startswith("_")
}
"""The jobs that a pool may ask for, by name."""


def explain_difference(here: Executed, in_sqlite: Executed, same: Callable[[], bool]) -> str:
    """Say how the engine that judges and SQLite differ over a statement; empty if they agree.

    They agree over the same rows, of which ``same`` tells, and where both fail.
    """
    if in_sqlite.outcome != "executed":
        if here.outcome != "executed":
            return ""  # which SQLite counts as 0
        return f"fails in SQLite alone: {in_sqlite.outcome}: {in_sqlite.message}"
    if here.outcome != "executed":
        return f"fails in this engine alone: {here.outcome}: {here.message}"
    return "" if same() else "gives another result in this engine than in SQLite"


def preview(result: Executed) -> dict[str, Any] | None:
    """Return the beginning of a result: ``columns``, ``rows`` and ``n_columns``, of all columns.

    Cells are text, NULL is None; text that was cut ends with ``…``. A statement can make names of
    columns of any length, so these are cut too. None for what was not executed.
    """
    if result.outcome != "executed":
        return None
    return {
        "columns": [_show_cell(name) for name in result.columns[:COLUMNS]],
        "rows": [[_show_cell(cell) for cell in row[:COLUMNS]] for row in result.rows[:ROWS]],
        "n_columns": len(result.columns),
    }


def _show_cell(cell: Cell) -> str | None:
    if cell is None:
        return None
    if isinstance(cell, str | bytes):
        cell = cell[: CHARACTERS + 1]  # before it is written another way, which takes memory
    text = f"x'{cell.hex()}'" if isinstance(cell, bytes) else str(cell)
    text = text.encode("utf-8", "replace").decode()  # a lone surrogate is not UTF-8
    return text if len(text) <= CHARACTERS else f"{text[:CHARACTERS]}…"


# ------------------------------------------------------------------------------------------------
# Between the processes


def to_plain(ran: Executed) -> Plain:
    """Return a result as a tuple, from which ``Executed(*it)`` makes it again."""
    return ran.outcome, ran.columns, ran.rows, ran.message, ran.seconds


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
    (length,) = _LENGTH.unpack(_read_exactly(file, _LENGTH.size))
    return _PlainUnpickler(io.BytesIO(_read_exactly(file, length))).load()


def _read_exactly(file: IO[bytes], n: int) -> bytes:
    data = file.read(n)
    if len(data) < n:
        raise EOFError
    return data


class _PlainUnpickler(pickle.Unpickler):
    """An unpickler of plain values only: no class, so no code from outside."""

    def find_class(self, module: str, name: str) -> NoReturn:
        raise pickle.UnpicklingError(f"{module}.{name} is not a plain value")
