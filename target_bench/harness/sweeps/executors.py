"""Run the cells of a sweep in processes of this machine (joblib) or on a Ray cluster."""

import importlib.util
import logging
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from target_bench.core.credentials import mask_warnings
from target_bench.core.errors import ConfigError, MissingExtraError
from target_bench.core.observer import Observer
from target_bench.core.version import __version__
from target_bench.harness.sweeps.cell import CellOutcome, SweepCell, fail_cell, run_cell

Outcomes = Generator[CellOutcome, None, None]


class Executor(Protocol):
    """Runs cells somewhere."""

    def run(self, cells: Sequence[SweepCell], observer: Observer) -> Outcomes:
        """Yield one outcome per cell, made by ``run_cell`` in any process, as the cells end.

        A cell whose worker is lost has an outcome too: that of ``fail_cell``. When the caller stops
        iterating (``close``, an interruption), the workers end.
        """
        ...


@dataclass(frozen=True)
class Local:
    """Runs cells on this machine: in this process, or several at a time in processes of their own.

    Several workers share the cores: each computes with ``cores // workers`` threads. If a worker
    dies, the cells that are left run one by one, so that only the one that ends its process again
    has failed.

    Args:
        workers: how many cells run at a time.

    Raises:
        ConfigError: fewer than one.
    """

    workers: int = 1

    def __post_init__(self) -> None:
        if self.workers < 1:
            raise ConfigError(f"workers={self.workers}: at least 1 is needed")

    def run(self, cells: Sequence[SweepCell], observer: Observer) -> Outcomes:
        """Yield the outcomes as they come; see ``Executor``."""
        if self.workers == 1 or len(cells) < 2:
            yield from (run_cell(cell, observer) for cell in cells)
            return
        from joblib.externals.loky import get_reusable_executor
        from joblib.externals.loky.process_executor import TerminatedWorkerError

        left = {cell.number: cell for cell in cells}
        try:
            try:
                for outcome in self._run_workers(cells, observer):
                    del left[outcome.cell.number]
                    yield outcome
            except TerminatedWorkerError:  # it does not say which cell ended its process
                for cell in left.values():
                    try:
                        yield from self._run_workers([cell], observer)
                    except TerminatedWorkerError as error:
                        yield fail_cell(cell, _describe_lost_worker(error))
        finally:  # a later sweep may be of another folder, or of plug-ins that were edited
            get_reusable_executor().shutdown(wait=True, kill_workers=True)

    def _run_workers(self, cells: Sequence[SweepCell], observer: Observer) -> Outcomes:
        from joblib import Parallel, delayed, parallel_config

        from target_bench.core.processors import count_processors

        threads = max(1, count_processors() // self.workers)

        def start_cells() -> Iterator[Any]:  # joblib takes the next one when a worker is free
            for cell in cells:
                observer.cell_started(cell.number, str(cell))
                yield delayed(_run_in_worker)(cell, threads)

        with parallel_config(backend="loky", inner_max_num_threads=threads):
            outcomes = Parallel(
                n_jobs=self.workers,
                return_as="generator_unordered",
                batch_size=1,
                pre_dispatch=self.workers,
            )(start_cells())
        for outcome, warnings in outcomes:
            _repeat_warnings(warnings, observer.observe_cell(outcome.cell.number))
            yield outcome


@dataclass(frozen=True)
class Ray:
    """Runs cells as tasks of a Ray cluster, wherever it has room for them.

    A cell gets the cores and GPUs that it needs. Ray begins a cell once more whose worker or node
    is lost. Every node has to see the working folder, the data and the folder of runs
    under the paths that they have here: a shared file system.

    Args:
        address: of the cluster, as in ``10.0.0.1:6379`` or ``auto``; None starts one on this
            machine that ends with the sweep. This process has to run on a node of the cluster.
        cpus: how many cores a cell takes.

    Raises:
        ConfigError: an invalid number.
        MissingExtraError: Ray is not installed.
    """

    address: str | None = None
    cpus: float = 1.0

    def __post_init__(self) -> None:
        if importlib.util.find_spec("ray") is None:
            raise MissingExtraError("ray", "ray", "the executor ray")
        if self.cpus <= 0:
            raise ConfigError(f"cpus={self.cpus}: expected a number above 0")

    def run(self, cells: Sequence[SweepCell], observer: Observer) -> Outcomes:
        """Yield the outcomes as they come; see ``Executor``."""
        cells[0].config.out.mkdir(parents=True, exist_ok=True)
        with _connect(self.address):
            import ray

            running: dict[Any, SweepCell] = {}
            try:
                for cell in cells:
                    if _has_node(self.cpus, cell.gpus):
                        running[self._submit(cell)] = cell
                    else:  # Ray would wait for such a node for ever
                        yield fail_cell(
                            cell,
                            f"no node of the cluster has {self.cpus:g} cores and {cell.gpus:g} "
                            "GPUs for this cell: start one, or let it take fewer",
                            exit_code=2,
                        )
                while running:
                    ready: list[Any] = ray.wait(list(running), num_returns=1)[0]
                    stream = ready[0]
                    if (outcome := _collect(next(stream), running[stream], observer)) is not None:
                        del running[stream]
                        yield outcome
            finally:
                for stream in running:
                    with suppress(ray.exceptions.RayError):
                        ray.cancel(stream, force=True)

    def _submit(self, cell: SweepCell) -> Any:
        """Return the stream of a cell, which Ray begins when it has room."""
        import ray

        variables = {n: v for n, v in os.environ.items() if n.startswith("TARGET_BENCH_")}
        remote: Any = ray.remote(_stream_cell)
        resources = {"num_cpus": self.cpus, "num_gpus": cell.gpus}
        task = remote.options(name=str(cell), max_retries=1, **resources)
        return task.remote(cell, __version__, Path.cwd(), variables)


def _collect(reference: Any, cell: SweepCell, observer: Observer) -> CellOutcome | None:
    """Return the outcome of a cell that Ray has ended; None, and tell, if it has begun it."""
    import ray

    outcome: CellOutcome
    try:
        sent = ray.get(reference)
        if sent is None:
            observer.cell_started(cell.number, str(cell))
            return None
        outcome, warnings = sent
    except ray.exceptions.RayTaskError as error:  # raised by ``_run_on_node``
        return fail_cell(cell, str(error.cause), exit_code=2)
    except ray.exceptions.RayError as error:
        return fail_cell(cell, _describe_lost_worker(error))
    _repeat_warnings(warnings, observer.observe_cell(cell.number))
    return outcome


def _describe_lost_worker(error: Exception) -> str:
    """Return the error of a cell whose process ended without an outcome."""
    why = " ".join(str(error).split())[:300]
    return (
        f"the process of this cell died ({type(error).__name__}: {why}). What it recorded is "
        "kept; run the sweep again, with fewer workers if it ran out of memory."
    )


class _WarningList(Observer):
    """Collects the warnings of a cell, which a worker returns with the outcome."""

    def __init__(self) -> None:
        self.messages: list[str] = []

    def waiting(self, reason: str, seconds: float | None = None) -> None:
        """Drop it: workers that share rankings wait for each other all the time."""

    def warning(self, message: str) -> None:
        self.messages.append(message)


def _repeat_warnings(messages: Sequence[str], observer: Observer) -> None:
    for message in messages:
        observer.warning(message)


def _run_in_worker(cell: SweepCell, threads: int) -> tuple[CellOutcome, list[str]]:
    from threadpoolctl import threadpool_limits

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the sweep ends its workers itself
    if not any(thread.name == _WATCH for thread in threading.enumerate()):  # one per process
        threading.Thread(target=_exit_with_parent, name=_WATCH, daemon=True).start()
    sys.stdout = sys.stderr  # standard output is left to the results
    mask_warnings()
    observer = _WarningList()
    with threadpool_limits(threads):
        return run_cell(cell, observer), observer.messages


_WATCH = "exit with the sweep"


def _exit_with_parent() -> None:
    """End this worker when the sweep is gone, even if it was killed."""
    parent = os.getppid()
    while os.getppid() == parent:
        time.sleep(0.5)
    os._exit(1)


def _stream_cell(*arguments: Any) -> Iterator[tuple[CellOutcome, list[str]] | None]:
    """Yield None when a node begins a cell, then what ``_run_on_node`` returns."""
    yield None
    yield _run_on_node(*arguments)


def _run_on_node(
    cell: SweepCell, version: str, folder: Path, variables: Mapping[str, str]
) -> tuple[CellOutcome, list[str]]:
    """Run a cell with version, working folder and environment variables of the sweep."""
    import ray

    node = f"the node {socket.gethostname()}"
    if __version__ != version:
        raise ConfigError(
            f"{node} has target-bench {__version__}, and the sweep is of {version}: install the "
            "same on all nodes"
        )
    for path in (folder, cell.config.out):
        if not path.exists():
            raise ConfigError(
                f"{node} does not see {path}: folders of runs, data and plug-ins have to lie on a "
                "file system that all nodes share, under one path"
            )
    os.environ.update(variables)
    os.chdir(folder)
    if not ray.get_gpu_ids():
        os.environ["CUDA_VISIBLE_DEVICES"] = ""  # those of the node are others'
    mask_warnings()
    observer = _WarningList()
    return run_cell(cell, observer), observer.messages


@contextmanager
def _connect(address: str | None) -> Iterator[None]:
    """Connect to Ray; a connection that this process has already is used, and left as it is."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    import ray

    if ray.is_initialized():
        yield
        return
    try:
        if address not in (None, "auto"):  # Ray waits minutes for an answer, and ends the process
            host, _, port = address.rpartition(":")
            socket.create_connection((host.strip("[]"), int(port)), timeout=5.0).close()
        ray.init(
            address=address or "local",
            include_dashboard=False if address is None else None,
            log_to_driver=False,
            logging_level=logging.CRITICAL,
        )
    except Exception as error:
        cluster = "on this machine" if address is None else address
        raise ConfigError(
            f"the Ray cluster {cluster} cannot be used: {error}. --address is HOST:PORT as "
            "`ray start --head` printed it, or auto, without ray://; this machine has to be one of "
            "its nodes, with the same versions of Python and Ray"
        ) from error
    try:
        yield
    finally:
        ray.shutdown()


def _has_node(cpus: float, gpus: float) -> bool:
    """Return whether a node of the cluster has this many cores and GPUs."""
    import ray

    nodes: Any = ray.nodes  # untyped
    resources = [node["Resources"] for node in nodes() if node["Alive"]]
    return any(node.get("CPU", 0) >= cpus and node.get("GPU", 0) >= gpus for node in resources)
