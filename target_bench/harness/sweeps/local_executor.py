"""Cells on this machine, each worker a process of its own."""

import os
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from multiprocessing import connection, get_context, parent_process
from multiprocessing.connection import Connection
from typing import Any

from target_bench.core.errors import ConfigError
from target_bench.core.observer import Observer
from target_bench.harness.sweeps.executors import Heard
from target_bench.harness.sweeps.relay import Relay
from target_bench.harness.sweeps.sweep_cell import CellOutcome, SweepCell, failed, run_cell

_THREADS = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "RAYON_NUM_THREADS",
)
_SECONDS_TO_END = 2.0


class Local:
    """Runs cells in processes that are started again (``spawn``), one cell at a time each.

    The cores are divided: a worker computes with ``cores // workers`` threads. So is the memory
    that cells were given. A cell whose process dies is run a second time, in a new one.

    Args:
        workers: how many processes.

    Raises:
        ConfigError: fewer than one.
    """

    def __init__(self, workers: int = 1) -> None:
        if workers < 1:
            raise ConfigError(f"workers={workers}: at least 1 is needed")
        self.workers = workers

    def run(self, cells: Sequence[SweepCell], observer: Observer) -> Iterator[CellOutcome]:
        """Yield the outcomes as they come; see ``Executor``."""
        crew = _Crew(min(self.workers, len(cells)))
        queue = _Queue([crew.shared(cell) for cell in cells])
        try:
            while queue or crew.busy:
                for worker in crew.idle():
                    if not queue:
                        break
                    crew.begin(worker, queue.next([w.cell for w in crew.busy if w.cell]))
                for message in crew.messages():
                    if isinstance(message, Heard):
                        message.tell(observer)
                    elif isinstance(message, CellOutcome):
                        queue.finished(message.cell)
                        yield message
                    else:
                        lost = queue.lost(message)
                        if lost is not None:
                            yield lost
        finally:
            crew.end()


@dataclass(frozen=True, slots=True)
class _Lost:
    """A worker died over a cell."""

    cell: SweepCell
    how: str


class _Queue:
    """The cells that are still to be begun, in their order but for those of one group."""

    def __init__(self, cells: Sequence[SweepCell]) -> None:
        self._cells = list(cells)
        self._finished: set[str] = set()
        self._lost: set[int] = set()

    def __bool__(self) -> bool:
        return bool(self._cells)

    def next(self, running: Sequence[SweepCell]) -> SweepCell:
        """Return the next cell; rather none whose index is being built by another."""
        building = {cell.group for cell in running if cell.group} - self._finished
        free = (i for i, cell in enumerate(self._cells) if cell.group not in building)
        return self._cells.pop(next(free, 0))

    def finished(self, cell: SweepCell) -> None:
        """Note that the index of its group is there."""
        self._finished.add(cell.group)

    def lost(self, lost: _Lost) -> CellOutcome | None:
        """Run the cell once more; the second time it has failed."""
        if lost.cell.number in self._lost:
            return failed(
                lost.cell,
                f"the process of this cell died twice, {lost.how}. What it recorded is kept; run "
                "the sweep again with fewer workers, or with --memory, if the machine ran out of "
                "memory.",
            )
        self._lost.add(lost.cell.number)
        self._cells.insert(0, lost.cell)
        return None


@dataclass(eq=False)
class _Worker:
    process: Any
    pipe: Connection
    cell: SweepCell | None = None
    dead: bool = field(default=False)


class _Crew:
    """Worker processes, one pipe each, so a crash affects only its own cell."""

    def __init__(self, n: int) -> None:
        self._n = n
        self._cores = _cores()
        self._workers: list[_Worker] = []

    @property
    def busy(self) -> list[_Worker]:
        """The workers that have a cell."""
        return [worker for worker in self._workers if worker.cell is not None]

    def shared(self, cell: SweepCell) -> SweepCell:
        """Return the cell with its share of memory and of cores."""
        memory = cell.options.memory
        if memory is not None:
            cell = replace(cell, options=replace(cell.options, memory=max(1, memory // self._n)))
        return replace(cell, cores=max(1, self._cores // self._n))

    def idle(self) -> list[_Worker]:
        """Return the workers without a cell, dead ones replaced."""
        self._workers = [worker for worker in self._workers if not worker.dead]
        while len(self._workers) < self._n:
            self._workers.append(self._started())
        return [worker for worker in self._workers if worker.cell is None]

    def begin(self, worker: _Worker, cell: SweepCell) -> None:
        """Give a worker a cell; one that has died meanwhile is found out by ``messages``."""
        worker.cell = cell
        with suppress(OSError):
            worker.pipe.send(cell)

    def messages(self) -> Iterator[Heard | CellOutcome | _Lost]:
        """Wait for messages and yield them."""
        busy = self.busy
        connection.wait([*(w.pipe for w in busy), *(w.process.sentinel for w in busy)])
        for worker in busy:
            ended = not worker.process.is_alive()
            try:
                while worker.cell is not None and worker.pipe.poll():
                    message = worker.pipe.recv()
                    if isinstance(message, CellOutcome):
                        worker.cell = None
                    yield message
            except (EOFError, OSError):
                ended = True
            if ended:
                yield from self._buried(worker)

    def _buried(self, worker: _Worker) -> Iterator[_Lost]:
        worker.process.join()
        worker.pipe.close()
        worker.dead = True
        cell, worker.cell = worker.cell, None
        if cell is not None:
            yield _Lost(cell, _how(worker.process.exitcode))

    def end(self) -> None:
        """End all workers at once: what they recorded is safe."""
        for worker in self._workers:
            if not worker.dead:
                worker.process.terminate()
        for worker in self._workers:
            if not worker.dead:
                worker.process.join(_SECONDS_TO_END)
                worker.process.kill()
                worker.process.join()
                worker.pipe.close()

    def _started(self) -> _Worker:
        threads = max(1, self._cores // self._n)
        ours, theirs = connection.Pipe()
        context = get_context("spawn")
        process = context.Process(target=_work, args=(theirs, threads), name="target-bench cell")
        with _environment(threads):
            process.start()
        theirs.close()
        return _Worker(process, ours)


def _how(exit_code: int | None) -> str:
    if exit_code is not None and exit_code < 0:
        return f"killed by {signal.Signals(-exit_code).name}"
    return f"exit code {exit_code}"


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@contextmanager
def _environment(threads: int) -> Iterator[None]:
    """Set the environment of a worker: libraries read it when they are loaded."""
    earlier = {name: os.environ.get(name) for name in _THREADS}
    for name, value in earlier.items():
        asked = int(value) if value and value.isdigit() else threads
        os.environ[name] = str(max(1, min(asked, threads)))
    try:
        yield
    finally:
        for name, value in earlier.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _work(pipe: Connection, threads: int) -> None:
    """Run a worker until its pipe is closed."""
    from threadpoolctl import threadpool_limits

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the sweep ends its workers itself
    threading.Thread(target=_end_with_parent, daemon=True).start()
    sys.stdout = sys.stderr  # standard output is left to the results
    lock = threading.Lock()

    def send(message: Heard | CellOutcome) -> None:
        with lock:
            pipe.send(message)

    with suppress(EOFError, BrokenPipeError, ConnectionResetError), threadpool_limits(threads):
        while True:
            send(run_cell(pipe.recv(), Relay(send)))


def _end_with_parent() -> None:
    parent = parent_process()
    assert parent is not None
    connection.wait([parent.sentinel])
    os._exit(1)
