"""The worker process: opens databases, runs statements one after the other, and obeys its limits.

It ends when its pool does: the pipe its requests come through is then closed by the system.
"""

import os
import signal
import sys
from contextlib import suppress
from pathlib import Path
from queue import SimpleQueue
from threading import Thread
from typing import IO, Any

from target_bench.core.schema import Cell
from target_bench.sql.engines.base import Engine, UnusableError
from target_bench.sql.engines.databases import Limits
from target_bench.sql.workers.process import SENT_AT_ONCE, begun, begun_names, receive, send

_OWN_MEMORY = 1 << 30  # bytes of address space for Python and the engines' code


def main() -> None:
    """Serve the pool at the other end of standard input and output."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the pool
    incoming, outgoing = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    limits = Limits(*receive(incoming))
    confine(limits)
    requests: SimpleQueue[tuple[Any, ...]] = SimpleQueue()
    Thread(target=_listen, args=(incoming, requests), daemon=True).start()
    _silence()
    send(outgoing, ("ready",))
    worker = _Worker(limits)
    while True:
        reply = worker.answer(*requests.get())
        try:
            send(outgoing, reply)
        except MemoryError:  # before anything was written
            send(outgoing, worker.exhausted)


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


def confine(limits: Limits) -> None:
    """Limit files and address space through the operating system, where it can."""
    try:
        import resource
    except ImportError:  # Windows
        return
    space = _address_space() + _OWN_MEMORY + 2 * (limits.memory + limits.result_bytes)
    wanted = {"RLIMIT_CORE": 0, "RLIMIT_FSIZE": 0, "RLIMIT_AS": space}
    for name, limit in wanted.items():
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


class _Worker:
    """The open databases, by the numbers the pool gave them.

    Args:
        limits: of every statement.
    """

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._open: dict[int, Engine] = {}
        self._rows: list[tuple[Cell, ...]] = []

    def answer(self, what: str, *details: Any) -> tuple[Any, ...]:
        """Return the reply to one request; every request has one."""
        try:
            reply: tuple[Any, ...] = getattr(self, f"_{what}")(*details)
        except UnusableError as error:
            return "unusable", str(error)
        except MemoryError:
            return self.exhausted
        return reply

    @property
    def exhausted(self) -> tuple[str, str]:
        """The reply when there is no memory for a better one."""
        return "exhausted", f"more than {self._limits.memory:,} bytes of memory"

    def _opening(self, number: int, engine: str, path: str) -> tuple[str]:
        self._open[number] = _opened(engine, Path(path), self._limits)
        return ("done",)

    def _closing(self, number: int) -> tuple[str]:
        self._open.pop(number).close()
        return ("done",)

    def _running(self, number: int, sql: str, wanted: str) -> tuple[Any, ...]:
        """Run a statement; of the rows ``all``, the ``beginning`` or ``none`` are sent at once.

        Those of a large result, and those of which only the beginning is sent, stay here. Names of
        columns are sent as rows are.
        """
        self._rows = []
        ran = self._open[number].run(sql)
        columns, rows = ([], []) if wanted == "none" else (ran.columns, ran.rows)
        if wanted == "beginning":
            columns = begun_names(columns)
            self._rows, rows = rows, begun(rows)
        elif ran.size > SENT_AT_ONCE:
            self._rows, rows = rows, []
        report = (ran.outcome, columns, ran.message, ran.seconds, ran.size, ran.sound)
        return "ran", report, rows, (len(ran.rows), len(ran.columns))

    def _comparing(self, names: tuple[str, ...], gold_rows: Any, gold_sql: str) -> tuple[Any, ...]:
        """Return the rows that stayed here against those of the gold, under some rules."""
        from target_bench.metrics.sql_rules import compared

        return "compared", compared(names, gold_rows, self._rows, gold_sql)

    def _reading(self, name: str, details: tuple[Any, ...]) -> tuple[str, Any]:
        """Process a text without running it."""
        from target_bench.sql.workers.text_work import WORK

        return "read", WORK[name](*details)

    def _fetching(self) -> tuple[str, list[tuple[Cell, ...]]]:
        rows, self._rows = self._rows, []
        return "rows", rows


def _opened(engine: str, path: Path, limits: Limits) -> Engine:
    if engine == "sqlite":
        from target_bench.sql.engines.sqlite import SQLite

        return SQLite(path, limits)
    from target_bench.sql.engines.duckdb import DuckDB

    return DuckDB(path, limits)
