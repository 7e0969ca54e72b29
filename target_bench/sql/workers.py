"""Worker processes: all that handles a model's text happens in one, and may be killed there.

A statement is hostile until shown otherwise: it is read, run and compared in another process, on a
database opened read-only, under limits of time, memory and size. One that fails costs one query,
not the run. multiprocessing is not used: it unpickles whatever a worker sends, and hands it the
user's environment with its secrets.
"""

import math
import os
import pickle
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import astuple
from itertools import islice
from pathlib import Path
from queue import Empty, LifoQueue, SimpleQueue
from threading import Event, Thread
from time import monotonic
from typing import IO, Any, TypeVar, cast

from target_bench.core.errors import BudgetError, ConfigError, DataError
from target_bench.core.processors import count_processors
from target_bench.core.schema import Executed, SQLOutcome
from target_bench.sql.databases import database
from target_bench.sql.engines import SQLLimits
from target_bench.sql.worker import Jobs, receive, send

PROCESS_ENDED = "the process that ran it"
"""How a message begins that says so: another process may do better."""

GRACE = 0.2
"""Seconds after the deadline in which the engine may stop by itself; then its process is killed."""

_PATIENCE = 120.0  # seconds for a worker to start, and for some steps
_NAP = 1.0  # seconds
_PATIENT = ("open", "hand over")
_ENVIRONMENT = ("PATH", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "SYSTEMROOT", "LANG", "LC_ALL")
_PROGRAM = (
    "import sys; sys.path[:] = sys.argv[1:]; from target_bench.sql.worker import main; main()"
)

T = TypeVar("T")
R = TypeVar("R")


class StoppedError(Exception):
    """A limit was met in a step of a job, or the process ended."""

    def __init__(self, step: str, executed: Executed) -> None:
        super().__init__(executed.message)
        self.step = step
        self.executed = executed  # the same as the outcome of a statement


class Worker:
    """A process that does one job at a time; one that was killed is started again.

    ``limits`` are those of every step of a job; all work ends at ``end``, a ``time.monotonic``.
    """

    def __init__(self, limits: SQLLimits, end: float = math.inf) -> None:
        self.limits = limits
        self.process: subprocess.Popen[bytes] | None = None
        self._end = end
        self._replies: SimpleQueue[Any] = SimpleQueue()
        self._closed = Event()

    def ask(self, job: Callable[..., Any], *details: Any, what: str, steps: int = 0) -> Any:
        """Do a job and return its result.

        Args:
            job: a method of ``worker.Jobs``, of which the process is told the name.
            details: its arguments, plain values.
            what: names it in a message, before its first step.
            steps: how many steps it may have, each with the limit of a statement.

        Raises:
            StoppedError: it met a limit or its process ended; the next job has a new process.
            DataError: the database cannot be read.
            BudgetError: the time for all work is over.
            ConfigError: the pool is closed, or a process cannot be started.
        """
        request = (job.__name__, *details)
        try:
            return self._converse(request, what, steps)
        except StoppedError as error:
            if error.step != "open":
                raise
        try:  # again: it was perhaps because of what the process ran before
            return self._converse(request, what, steps)
        except StoppedError as error:
            if error.step != "open":
                raise
            raise DataError(f"{error}. Check that the file is complete.") from error

    def run(self, path: Path, sql: str, repeat: int = 1) -> Executed:
        """Run a statement ``repeat`` times and return its result; a limit is an outcome.

        Raises:
            DataError: the database is missing, damaged, or being written by another program.
            BudgetError, ConfigError: as for ``ask``.
        """
        where = tuple(database(path))
        try:
            reply = self.ask(Jobs.run, where, sql, repeat, what="the statement", steps=repeat + 2)
        except StoppedError as stopped:
            return stopped.executed
        return Executed(*reply)

    def find_limit(self, step: str) -> float:
        """Return the seconds for a step that the process begins."""
        return _PATIENCE if step in _PATIENT else self.limits.seconds

    def kill(self) -> None:
        """End the process at once; harmless if it has ended."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            with suppress(OSError):
                cast(IO[bytes], self.process.stdin).close()

    def close(self) -> None:
        """End the process; none is started again."""
        self._closed.set()
        self.kill()

    def _converse(self, request: tuple[Any, ...], what: str, steps: int) -> Any:
        """Send a request and return the reply; each step on the way has a limit of its own."""
        if self.process is None or self.process.poll() is not None:
            self._start()
        self._send(request)
        step, limit = "", self.limits.seconds
        for _ in range(steps + 1):
            begun = monotonic()
            match self._wait_for_reply(limit, begun, step, what):
                case ("done", value):
                    return value
                case ("unusable", str(message)):
                    raise DataError(message)
                case ("step", (str(step), str(what))):
                    limit = self.find_limit(step)
                    continue
                case ("ended", (_, _, _, _, _) as plain):
                    executed = Executed(*plain)
                case ("exhausted", message):
                    executed = _stop("memory", f"{what}: {message}", begun)
                case None:
                    executed = _stop(*self._describe_end(), begun)
                case _:
                    break
            self.kill()
            raise StoppedError(step, executed)
        self.kill()  # what says this is no program of ours any more
        raise StoppedError(step, _stop("error", f"{PROCESS_ENDED} went wrong", begun))

    def _send(self, value: Any) -> None:
        assert self.process is not None
        with suppress(OSError, ValueError):  # that it is dead shows in the reply
            send(cast(IO[bytes], self.process.stdin), value)

    def _wait_for_reply(self, limit: float, begun: float, step: str, what: str) -> Any:
        left = self._end - begun
        if left <= 0:
            self.kill()
            raise BudgetError("the time for all statements together is over")
        try:
            return self._replies.get(timeout=min(limit + GRACE, left))
        except BaseException as error:  # also Ctrl-C: what it would say next is anybody's guess
            self.kill()
            if not isinstance(error, Empty):
                raise
            if left < limit + GRACE:
                raise BudgetError("the time for all statements together is over") from None
            late = f"{what} was stopped after {limit:g} s"
            raise StoppedError(step, _stop("timeout", late, begun)) from None

    def _describe_end(self) -> tuple[SQLOutcome, str]:
        """Return how the process ended by itself."""
        assert self.process is not None
        with suppress(subprocess.TimeoutExpired):  # its own end says more than being killed
            self.process.wait(1)
        status = self.process.poll()
        self.kill()
        if status is None:  # what it wrote cannot be read
            return "error", f"{PROCESS_ENDED} went wrong"
        how = f"signal {-status}" if status < 0 else f"status {status}"
        by_system = status == -9  # as Linux does when memory runs out
        return "memory" if by_system else "error", f"{PROCESS_ENDED} ended ({how})"

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
                start_new_session=True,  # no signal of the terminal reaches it
            )
            self._replies = SimpleQueue()
            Thread(target=_listen, args=(self.process, self._replies), daemon=True).start()
            self._send(astuple(self.limits))
            if self._wait_for_reply(_PATIENCE, monotonic(), "", "starting") is None:
                raise OSError(self._describe_end()[1])
        except (OSError, StoppedError) as error:
            raise ConfigError(
                f"the process that runs SQL cannot be started ({sys.executable}): {error}. Its own "
                "output, if any, is above; close other programs if memory is short"
            ) from error
        if self._closed.is_set():  # meanwhile
            self.kill()


class Pool(AbstractContextManager["Pool"]):
    """Workers for many jobs at once; to be used in a ``with`` block, by several threads perhaps.

    Processes are started when there is work for them, and end with the block.

    Args:
        workers: how many processes; default: as many as there are cores for this process.
        limits: of every statement.
        budget: seconds after which all work ends; None for no end.
    """

    def __init__(
        self,
        workers: int | None = None,
        limits: SQLLimits | None = None,
        budget: float | None = None,
    ) -> None:
        n = count_processors() if workers is None else workers
        self.limits = limits or SQLLimits()
        end = math.inf if budget is None else monotonic() + budget
        self._all = [Worker(self.limits, end) for _ in range(n)]
        self._idle: LifoQueue[Worker] = LifoQueue()  # few work, few are started
        for worker in self._all:
            self._idle.put(worker)
        self._threads = ThreadPoolExecutor(n, thread_name_prefix="sql")

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End all processes, also those that run a statement."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        for worker in self._all:
            worker.close()
        self._threads.shutdown()

    def map_unordered(self, work: Callable[[Worker, T], R], items: Iterable[T]) -> Iterator[R]:
        """Yield the result of a function for each item with a worker, as soon as it is there.

        Items are drawn as workers become free.
        """
        source = iter(items)
        running: set[Future[R]] = set()

        def do(item: T) -> R:
            with self.worker() as worker:
                return work(worker, item)

        try:
            while True:
                for item in islice(source, 2 * len(self._all) - len(running)):
                    running.add(self._threads.submit(do, item))
                if not running:
                    return
                # Not for longer at a time: where the system hands Ctrl-C to another thread, the
                # main one learns of it when it wakes.
                done, running = wait(running, _NAP, FIRST_COMPLETED)
                # An error is raised after the results that are there already.
                for future in sorted(done, key=lambda ended: ended.exception() is not None):
                    yield future.result()
        finally:
            for future in running:
                future.cancel()

    @contextmanager
    def worker(self) -> Iterator[Worker]:
        """Lend a worker for a ``with`` block, waiting until one is free."""
        worker = self._idle.get()
        try:
            yield worker
        finally:
            self._idle.put(worker)


def _stop(outcome: SQLOutcome, message: str, begun: float) -> Executed:
    return Executed(outcome, message=message, seconds=(monotonic() - begun,))


def _listen(process: "subprocess.Popen[bytes]", replies: "SimpleQueue[Any]") -> None:
    assert process.stdout is not None
    with process.stdout as file:
        try:
            while True:
                replies.put(receive(file))
        except (EOFError, OSError, pickle.UnpicklingError):
            replies.put(None)
