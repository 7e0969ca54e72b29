"""A pool of worker processes that run SQL: many statements, none of which can do harm.

A statement is hostile until shown otherwise: it runs in a process of its own kind, on a database
opened read-only, under limits of time, memory and size. A failing statement costs one query,
not the run. The modules ``sqlite`` and ``duckdb`` of ``engines`` say what these allow.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from threading import Lock
from time import monotonic
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar

from target_bench.core.errors import BudgetError, ConfigError, DataError
from target_bench.core.schema import Executed
from target_bench.sql.engines.databases import Database, EngineName, Limits, cores, database
from target_bench.sql.workers.process import DiedOpeningError, WorkerProcess

if TYPE_CHECKING:
    from target_bench.sql.dialect.copying import Copy

_WAITING = 256 << 20  # bytes of results that may wait for an earlier, slower statement
_MOST_WAITING = 10_000  # such results
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement to be run.

    Attributes:
        database: the file it runs on; an id that a model gave never belongs here unchecked.
        sql: one statement.
        repeat: how often to run it, for measures of efficiency.
        engine: what runs it; default: by the file's first bytes.

    Raises:
        ConfigError: ``repeat`` is less than 1.
    """

    database: Path
    sql: str
    repeat: int = 1
    engine: EngineName | None = None

    def __post_init__(self) -> None:
        if self.repeat < 1:
            raise ConfigError(f"statement repeat={self.repeat!r}: expected 1 or more")


class Dialect:
    """The SQL of each database's own engine: every statement as it is.

    Where another engine judges, a subclass says what it runs instead.
    """

    def statement(self, file: Path, sql: str, repeat: int = 1) -> Statement:
        """Return a statement as the engine runs it.

        Raises:
            ValueError: it has no translation there.
        """
        return Statement(file, sql, repeat)

    def in_sqlite(self, file: Path, sql: str) -> Statement | None:  # noqa: ARG002 (for subclasses)
        """Return the statement in SQLite, if SQLite's database is judged in another engine."""
        return None

    def copy_of(self, file: Path) -> "Copy | None":  # noqa: ARG002 (for subclasses)
        """Return the copy of a database in which its statements are judged; None if there is none.

        Raises:
            DataError: the database cannot be read.
            StoreError: the copy cannot be written.
        """
        return None

    def notes(self, file: Path) -> tuple[str, ...]:  # noqa: ARG002 (for subclasses)
        """Return notes for the user about the copy of a database; errors as for ``copy_of``."""
        return ()


class Pool:
    """Worker processes that keep databases open; to be used in a ``with`` block.

    Processes are started when there is work for them and need no ``__main__`` guard in the
    caller's script. They end with the block, and with the caller's process however it ends. Safe
    for several threads.

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
        limits: Limits | None = None,
        budget: float | None = None,
    ) -> None:
        self.workers = cores() if workers is None else workers
        if self.workers < 1:
            raise ConfigError(f"SQL workers={workers!r}: expected 1 or more")
        self.limits = limits or Limits()
        self._end = None if budget is None else monotonic() + budget
        self._lock = Lock()
        self._closed = False
        self._idle: list[WorkerProcess] = []
        self._all: set[WorkerProcess] = set()
        self._threads = ThreadPoolExecutor(self.workers, thread_name_prefix="sql")

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
            workers, self._all = self._all, set()
        for worker in workers:
            worker.kill()
        self._threads.shutdown(cancel_futures=True)

    def execute(self, statement: Statement) -> Executed:
        """Run one statement.

        Raises:
            DataError: its database is missing, damaged, or being written by another program.
            ConfigError: the pool is closed, or a process cannot be started.
            BudgetError: the budget is spent.
        """
        return self._submit(partial(self._work, statement)).result()[0]

    def run(self, statements: Iterable[Statement], keep_going: bool = False) -> Iterator[Executed]:
        """Run many; the results come in the order of the statements.

        Statements are drawn as workers become free. Results that wait for an earlier, slower
        statement are held; when they take much room no more are drawn.

        Args:
            statements: what to run.
            keep_going: whether a statement whose database cannot be read has the outcome
                ``unusable``, so that the others still run.

        Raises:
            ConfigError: as for ``execute``, at the statement's turn; so too ``BudgetError``.
            DataError: the same, unless ``keep_going``.
        """
        work = self._work_or_tell if keep_going else self._work
        return self._ordered(partial(work, statement) for statement in statements)

    def as_done(self, jobs: Iterable[Callable[[], T]]) -> Iterator[T]:
        """Yield the results of jobs as soon as they are there, in any order.

        Jobs are drawn and done as statements are; each asks for its workers. An error of a job is
        raised after the results that are there already.

        Raises:
            ConfigError: the pool is closed.
        """
        source = iter(jobs)
        running: set[Future[T]] = set()
        try:
            while True:
                for job in islice(source, 2 * self.workers - len(running)):
                    running.add(self._submit(job))
                if not running:
                    return
                done, running = wait(running, return_when=FIRST_COMPLETED)
                for future in sorted(done, key=lambda one: one.exception() is not None):
                    yield future.result()
        finally:
            for future in running:
                future.cancel()

    def run_here(self, statement: Statement) -> Executed:
        """Run one statement in this thread, such as that of a job of ``as_done``.

        A database that cannot be read gives the outcome ``unusable``.

        Raises:
            ConfigError: as for ``execute``.
            BudgetError: as for ``execute``.
        """
        return self._work_or_tell(statement)[0]

    def read(self, work: str, *details: Any, what: str) -> Any:
        """Process a text in a worker (see ``text_work``), under the limits of a statement.

        Args:
            work: its name.
            details: what it is done on, plain values.
            what: what is done, for a message.

        Returns:
            What the work gives; or, if it was stopped, an ``Executed`` that says why.

        Raises:
            ConfigError: the pool is closed, or a process cannot be started.
            BudgetError: the budget is spent.
        """
        with self.worker() as worker:
            return worker.read(work, details, what)

    @contextmanager
    def worker(self, where: Database | None = None) -> Iterator[WorkerProcess]:
        """Lend a process for a ``with`` block, preferably one that has the database open.

        Raises:
            ConfigError: the pool is closed, or a process cannot be started.
            BudgetError: the budget is spent.
        """
        if self._end is not None and monotonic() > self._end:
            raise BudgetError("the time for all statements together is over")
        worker = self._taken(where)
        try:
            yield worker
        except DataError:
            raise
        except BaseException:
            worker.kill()  # what it would say next is anybody's guess
            raise
        finally:
            self._give_back(worker)

    def _ordered(self, jobs: Iterable[Callable[[], tuple[T, int]]]) -> Iterator[T]:
        source = iter(jobs)
        queue: deque[Future[tuple[T, int]]] = deque()
        running: set[Future[tuple[T, int]]] = set()
        held = 0
        try:
            while True:
                done = {future for future in running if future.done()}
                if held < _WAITING and len(queue) < _MOST_WAITING:
                    free = 2 * self.workers - len(running - done)
                    for job in islice(source, free):
                        queue.append(self._submit(job))
                        running.add(queue[-1])
                if not queue:
                    return
                if queue[0] in running - done:
                    done |= wait(running - done, return_when=FIRST_COMPLETED).done
                running -= done
                held += sum(map(_size, done))
                if queue[0] not in running:
                    first = queue.popleft()
                    held -= _size(first)
                    yield first.result()[0]
        finally:
            for future in queue:
                future.cancel()

    def _submit(self, job: Callable[[], T]) -> Future[T]:
        with self._lock:
            if self._closed:
                raise ConfigError("this pool of SQL workers is closed; make another")
            return self._threads.submit(job)

    def _work_or_tell(self, statement: Statement) -> tuple[Executed, int]:
        try:
            return self._work(statement)
        except DataError as error:
            return Executed("unusable", message=str(error)), 0

    def _work(self, statement: Statement) -> tuple[Executed, int]:
        where = database(statement.database, statement.engine)
        return self.again(partial(self._run, where, statement))

    def again(self, run: Callable[[], T]) -> T:
        """Run what may open a database, a second time if a process ended over it.

        That was perhaps due to what the process ran before; a second one ends due to the file.
        """
        try:
            return run()
        except DiedOpeningError:
            return run()

    def _run(self, where: Database, statement: Statement) -> tuple[Executed, int]:
        with self.worker(where) as worker:
            return worker.run(where, statement.sql, statement.repeat)[:2]

    def _taken(self, where: Database | None) -> WorkerProcess:
        """Return an idle worker, preferably one that has the database open, or a new one."""
        with self._lock:
            if where is not None:
                self._idle.sort(key=lambda worker: worker.has_open(where))
            while self._idle:
                worker = self._idle.pop()
                if worker.alive:
                    return worker
                self._forget(worker)
        worker = WorkerProcess(self.limits, self._end)
        with self._lock:
            if not self._closed:
                self._all.add(worker)
                return worker
        worker.kill()
        raise ConfigError("this pool of SQL workers was closed")

    def _give_back(self, worker: WorkerProcess) -> None:
        with self._lock:
            if worker.alive and not self._closed:
                self._idle.append(worker)
            else:
                self._forget(worker)

    def _forget(self, worker: WorkerProcess) -> None:
        worker.kill()
        self._all.discard(worker)


def _size(future: Future[tuple[T, int]]) -> int:
    """Return the bytes of a finished statement's result."""
    return 0 if future.exception() else future.result()[1]
