"""Worker processes: everything that handles a model's text happens in one, and may be killed there.

A statement is hostile until shown otherwise: it is read, run and compared in a process of its own
kind, on a database opened read-only, under limits of time, memory and size. One that fails costs
one query, not the run. What goes between the processes are plain values, unpickled so that no class
is ever looked up: whoever got hold of a worker could not run code here.

(multiprocessing, and the pools built on it, unpickle whatever a worker sends, hand it the user's
environment with its secrets, and start no process from a script without a ``__main__`` guard.)
"""

import math
import os
import pickle
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from dataclasses import astuple, replace
from functools import partial
from itertools import islice
from pathlib import Path
from queue import Empty, LifoQueue, SimpleQueue
from threading import Event, Lock, Thread
from time import monotonic
from types import TracebackType
from typing import IO, Any, NamedTuple, Self, TypeVar

from target_bench.core.errors import BudgetError, ConfigError, DataError
from target_bench.core.ranking import n_processors
from target_bench.core.schema import Executed, SQLOutcome
from target_bench.sql.databases import EngineName, database
from target_bench.sql.engines import SQLLimits
from target_bench.sql.worker import receive, send

GRACE = 0.2
"""Seconds after the deadline in which the engine may stop by itself; then its process is killed."""

_PATIENCE = 120.0  # seconds for a worker to start, to open a database, to hand over a result
_ENVIRONMENT = ("PATH", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "SYSTEMROOT", "LANG", "LC_ALL")
_PROGRAM = (
    "import sys; sys.path[:] = sys.argv[1:]; from target_bench.sql.worker import main; main()"
)

T = TypeVar("T")
R = TypeVar("R")


class StoppedError(Exception):
    """A limit was met, or the process ended.

    Attributes:
        executed: the same as the outcome of a statement.
    """

    def __init__(self, outcome: SQLOutcome, message: str, seconds: float) -> None:
        super().__init__(message)
        self.executed = Executed(outcome, message=message, seconds=(seconds,))


class Ran(NamedTuple):
    """A statement that was run; its rows are still with the worker, which compares them there.

    Attributes:
        executed: what it gave, without columns and rows.
        preview: the beginning of the result (``worker.preview``), or None if it failed.
        rows: how many rows it gave.
        spiders: what it gave as Spider's rule has it, where that is another text than the gold's
            or its own.
        values: the value of the comparison with the gold under each rule.
        stopped: what stopped a comparison, by rule.
        differs: how the engine that judges differs from SQLite over it, in words; empty if it does
            not, or did not run it.
        in_sqlite: whether all this is what SQLite gave of it, while another engine judges.
    """

    executed: Executed
    preview: dict[str, Any] | None = None
    rows: int = 0
    spiders: Executed | None = None
    values: Mapping[str, float] = {}
    stopped: Mapping[str, Executed] = {}
    differs: str = ""
    in_sqlite: bool = False


class Worker:
    """A process that does one job at a time; one that was killed is started again.

    It gets none of the user's environment variables but those needed to start, and no signal of
    the terminal. It ends with this process however that ends.

    Args:
        limits: of every job.
        end: the ``time.monotonic`` at which all work has to end; None for none.
    """

    def __init__(self, limits: SQLLimits, end: float | None = None) -> None:
        self.limits = limits
        self.process: subprocess.Popen[bytes] | None = None
        self._end = math.inf if end is None else end
        self._replies: SimpleQueue[Any] = SimpleQueue()
        self._closed = Event()

    def ask(self, job: str, *details: Any, what: str, seconds: float | None = None) -> Any:
        """Do a job (a function of ``worker.JOBS``) and return what it gives.

        Args:
            job: its name.
            details: its arguments, plain values.
            what: what is done, for a message.
            seconds: how long it may take; default: as long as a statement.

        Raises:
            StoppedError: it met a limit or its process ended; the next job has a new process.
            DataError: the database cannot be read.
            BudgetError: the time for all work is over.
            ConfigError: the pool is closed, or a process cannot be started.
        """
        if self.process is None or self.process.poll() is not None:
            self._start()
        limit = self.limits.seconds if seconds is None else seconds
        return self._reply((job, *details), what, limit)

    def run(self, path: Path, sql: str, repeat: int = 1, engine: EngineName | None = None) -> Ran:
        """Run a statement ``repeat`` times; its rows stay with the worker.

        Raises:
            DataError: the database is missing, damaged, or being written by another program.
            StoppedError: as for ``ask``; BudgetError and ConfigError too.
        """
        where = database(path, engine)
        self._open(tuple(where), where.path)
        seconds: tuple[float, ...] = ()
        for _ in range(repeat):
            outcome, message, took, *result, sound = self.ask(
                *("run", tuple(where), sql), what="the statement"
            )
            seconds += (took,)
            if not sound:
                self.kill()
            if outcome != "executed":
                break
        return Ran(Executed(outcome, message=message, seconds=seconds), *result)

    def result(
        self, path: Path, sql: str, repeat: int = 1, engine: EngineName | None = None
    ) -> Executed:
        """Run a statement and return all of its result; what stopped it is an outcome.

        Raises:
            DataError: as for ``run``; BudgetError and ConfigError too.
        """
        try:
            executed = self.run(path, sql, repeat, engine).executed
            if executed.outcome != "executed":
                return executed
            columns, rows = self.ask("rows", what="handing over its result", seconds=_PATIENCE)
        except StoppedError as stopped:
            return stopped.executed
        return replace(executed, columns=tuple(columns), rows=tuple(rows))

    def kill(self) -> None:
        """End the process at once; harmless if it has ended."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            with suppress(OSError):
                _stdin(self.process).close()

    def close(self) -> None:
        """End the process for good."""
        self._closed.set()
        self.kill()

    def _open(self, where: tuple[Any, ...], path: str) -> None:
        """Open a database, with more patience than for a statement."""
        try:
            try:
                self.ask("open", where, what="opening it", seconds=_PATIENCE)
            except StoppedError:  # perhaps of what the process ran before
                self.ask("open", where, what="opening it", seconds=_PATIENCE)
        except StoppedError as error:
            raise DataError(f"database {path}: {error}. Is it whole?") from error

    def _reply(self, request: tuple[Any, ...], what: str, limit: float) -> Any:
        begun = monotonic()
        left = self._end - begun
        if left <= 0:
            raise BudgetError("the time for all statements together is over")
        assert self.process is not None
        with suppress(OSError, ValueError):  # that it is dead shows below
            send(_stdin(self.process), request)
        try:
            reply = self._replies.get(timeout=min(limit + GRACE, left))
        except BaseException as error:  # also Ctrl-C: what it would say next is anybody's guess
            self.kill()
            if not isinstance(error, Empty):
                raise
            if left < limit + GRACE:
                raise BudgetError("the time for all statements together is over") from None
            late = f"{what} was stopped after {limit:g} s"
            raise StoppedError("timeout", late, monotonic() - begun) from None
        if reply is None:
            with suppress(subprocess.TimeoutExpired):  # its own end says more than being killed
                self.process.wait(1)
            self.kill()
            status = self.process.returncode
            how = f"signal {-status}" if status < 0 else f"status {status}"
            by_system = status == -9  # as Linux does when memory runs out
            message = f"the process that ran it ended ({how})"
            raise StoppedError("memory" if by_system else "error", message, monotonic() - begun)
        kind, value = reply
        if kind == "unusable":
            raise DataError(value)
        if kind == "exhausted":
            self.kill()
            raise StoppedError("memory", f"{what}: {value}", monotonic() - begun)
        return value

    def _start(self) -> None:
        if self._closed.is_set():
            raise ConfigError("this pool of SQL workers is closed; make another")
        self.kill()  # one that ended by itself still has a pipe
        path = [str(Path(folder).absolute()) for folder in sys.path]
        try:
            self.process = subprocess.Popen(  # noqa: S603 (our own program)
                [sys.executable, "-I", "-B", "-X", "utf8", "-c", _PROGRAM, *path],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                env={name: os.environ[name] for name in _ENVIRONMENT if name in os.environ},
                start_new_session=True,
            )
            self._replies = SimpleQueue()
            Thread(target=_listen, args=(self.process, self._replies), daemon=True).start()
            self._reply(astuple(self.limits), "starting", _PATIENCE)
        except (OSError, StoppedError) as error:
            raise ConfigError(
                f"no process can be started to run SQL in ({sys.executable}): {error}. Its own "
                "words, if any, stand above; close other programs if memory is short"
            ) from error
        if self._closed.is_set():  # meanwhile
            self.kill()


class Pool:
    """Workers for many jobs at once; to be used in a ``with`` block.

    Processes are started when there is work for them and need no ``__main__`` guard in the
    caller's script. They end with the block. Safe for several threads.

    Args:
        workers: how many processes; default: as many as there are cores for this process.
        limits: of every statement.
        budget: seconds after which all work ends; None for no end.

    Raises:
        ConfigError: ``workers`` is less than 1.
    """

    def __init__(
        self,
        workers: int | None = None,
        limits: SQLLimits | None = None,
        budget: float | None = None,
    ) -> None:
        n = n_processors() if workers is None else workers
        if n < 1:
            raise ConfigError(f"SQL workers={n!r}: expected 1 or more")
        self.limits = limits or SQLLimits()
        end = None if budget is None else monotonic() + budget
        self._all = [Worker(self.limits, end) for _ in range(n)]
        self._idle: LifoQueue[Worker] = LifoQueue()  # few work, few are started
        for worker in self._all:
            self._idle.put(worker)
        self._threads = ThreadPoolExecutor(n, thread_name_prefix="sql")
        self._lock = Lock()
        self._closed = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """End all processes, also those that run a statement."""
        with self._lock:
            self._closed = True
        for worker in self._all:
            worker.close()
        self._threads.shutdown(cancel_futures=True)

    def each(self, work: Callable[[Worker, T], R], items: Iterable[T]) -> Iterator[R]:
        """Yield what a function makes of each item with a worker, as soon as it is there.

        Items are drawn as workers become free. An error is raised after the results that are there
        already.

        Raises:
            ConfigError: the pool is closed.
        """
        source = iter(items)
        running: set[Future[R]] = set()
        try:
            while True:
                for item in islice(source, 2 * len(self._all) - len(running)):
                    running.add(self._submit(partial(self._with_worker, work, item)))
                if not running:
                    return
                done, running = wait(running, return_when=FIRST_COMPLETED)
                for future in sorted(done, key=lambda ended: ended.exception() is not None):
                    yield future.result()
        finally:
            for future in running:
                future.cancel()

    def ask(self, job: str, *details: Any, what: str) -> Any:
        """Do one job with any worker; see ``Worker.ask``."""
        with self.worker() as worker:
            return worker.ask(job, *details, what=what)

    @contextmanager
    def worker(self) -> Iterator[Worker]:
        """Lend a worker for a ``with`` block, waiting until one is free."""
        worker = self._idle.get()
        try:
            yield worker
        finally:
            self._idle.put(worker)

    def _with_worker(self, work: Callable[[Worker, T], R], item: T) -> R:
        with self.worker() as worker:
            return work(worker, item)

    def _submit(self, job: Callable[[], R]) -> Future[R]:
        with self._lock:
            if self._closed:
                raise ConfigError("this pool of SQL workers is closed; make another")
            return self._threads.submit(job)


def _listen(process: "subprocess.Popen[bytes]", replies: "SimpleQueue[Any]") -> None:
    assert process.stdout is not None
    with process.stdout as file:
        try:
            while True:
                replies.put(receive(file))
        except (EOFError, OSError, pickle.UnpicklingError):
            replies.put(None)


def _stdin(process: "subprocess.Popen[bytes]") -> IO[bytes]:
    assert process.stdin is not None
    return process.stdin
