"""Cells on a Ray cluster; this file and the two beside it are all that knows Ray.

A cell is a Ray task that yields the events of its observer, and last its outcome. A task whose
worker or node is lost is begun again here, not by Ray, so that it is counted and reported.
"""

import importlib.util
import math
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from target_bench.core.errors import ConfigError, MissingExtraError
from target_bench.core.observer import Observer
from target_bench.harness.sweeps.corpus_encoding import CorpusPart, encode_part, parts_of
from target_bench.harness.sweeps.executors import Heard
from target_bench.harness.sweeps.ray_connection import connected
from target_bench.harness.sweeps.ray_worker import Failure, Job, Site, first_line, marked, worked
from target_bench.harness.sweeps.sweep_cell import CellOutcome, SweepCell, failed, run_cell

_SECONDS_BETWEEN_LOOKS = 5.0  # at the nodes, while nothing happens


class Ray:
    """Runs cells as tasks of a Ray cluster, wherever it has room for them.

    A cell gets the GPUs it needs where a node has as many; where none has, it runs without and a
    warning says so. A cell whose worker or node is lost is begun again, on any node.

    Every node has to see the working folder, the data and the folders of runs and indexes under the
    paths they have here: a shared file system. ``runtime_env`` can bring the working folder to the
    nodes instead, not the others.

    Args:
        address: of the cluster, as in ``10.0.0.1:6379`` or ``auto``; None starts one on this
            machine that ends with the sweep. This process has to run on a node of the cluster.
        cpus: how many cores a cell takes.
        retries: how often a cell is begun again after its worker was lost.
        shards: encode each corpus in this many tasks before the cells that need its vectors; 0: a
            cell encodes its own.
        patience: seconds that a cell waits while no node could ever run it, as when the last one
            was lost and another is expected to join.
        runtime_env: as for ``ray.init``; only where this process is not connected yet.

    Raises:
        ConfigError: an invalid number.
        MissingExtraError: Ray is not installed.
    """

    def __init__(
        self,
        address: str | None = None,
        *,
        cpus: float = 1.0,
        retries: int = 1,
        shards: int = 0,
        patience: float = 300.0,
        runtime_env: Mapping[str, Any] | None = None,
    ) -> None:
        if importlib.util.find_spec("ray") is None:
            raise MissingExtraError("ray", "ray", "the executor ray")
        for name, value in (("retries", retries), ("shards", shards), ("patience", patience)):
            if value < 0:
                raise ConfigError(f"{name}={value}: expected 0 or more")
        if cpus <= 0:
            raise ConfigError(f"cpus={cpus}: a cell takes more than no core")
        self.address = address
        self.cpus = cpus
        self.retries = retries
        self.shards = shards
        self.patience = patience
        self.runtime_env = dict(runtime_env or {})

    def run(self, cells: Sequence[SweepCell], observer: Observer) -> Iterator[CellOutcome]:
        """Yield the outcomes as they come; see ``Executor``.

        Raises:
            ConfigError: there is no such cluster, or it cannot be used.
        """
        given = {cell.number: cell for cell in cells}
        with connected(self.address, self.runtime_env), marked(cells) as marks:
            site = Site.here(marks, moves="working_dir" not in self.runtime_env)
            if self.shards:
                self._encode(parts_of(cells, self.shards, observer), site, observer)
            tasks = _Tasks(self, [self._alone(cell) for cell in cells], run_cell, site, observer)
            for job, found in tasks.finished():
                cell = given[job.number]
                if isinstance(found, CellOutcome):
                    yield replace(found, cell=cell)
                else:
                    yield failed(cell, found.said, trace=found.trace)

    def _alone(self, cell: SweepCell) -> SweepCell:
        """Return the cell with as many processes as it has cores."""
        return replace(cell, cores=max(1, int(self.cpus)))

    def _encode(self, parts: Sequence[CorpusPart], site: Site, observer: Observer) -> None:
        """Encode parts; what fails here fails again, and is reported, in the cell that needs it."""
        for job, found in _Tasks(self, parts, encode_part, site, observer).finished():
            if isinstance(found, Failure):
                observer.warning(f"{job}: {found.said}")


class _Tasks:
    """Jobs as tasks: begun, listened to, begun again, and cancelled."""

    def __init__(
        self,
        executor: Ray,
        jobs: Sequence[Job],
        work: Callable[[Any, Observer], Any],
        site: Site,
        observer: Observer,
    ) -> None:
        self._executor = executor
        self._waiting: list[Job] = list(jobs)
        self._running: dict[Any, Job] = {}
        self._gpus: dict[Any, float] = {}
        self._built: set[str] = set()
        self._losses: Counter[int] = Counter()
        self._observer = observer
        self._work = work
        self._site = site
        self._idle_since: float | None = None
        self._warned = False

    def finished(self) -> Iterator[tuple[Job, Any]]:
        """Jobs with what they gave, or a ``Failure``, as they end."""
        import ray

        try:
            while self._waiting or self._running:
                self._begin()
                ready, _ = ray.wait(list(self._running), timeout=_SECONDS_BETWEEN_LOOKS)
                for task in ready:
                    yield from self._heard(task)
                if not ready:
                    yield from self._stranded()
        finally:
            for task in list(self._running):
                self._cancelled(task)

    def _begin(self) -> None:
        """Hand to Ray what may run now: one job of each group until its index is there."""
        busy = {job.group for job in self._running.values() if job.group} - self._built
        for job in list(self._waiting):
            if job.group not in busy:
                self._waiting.remove(job)
                self._running[self._task(job)] = job
                if job.group and job.group not in self._built:
                    busy.add(job.group)

    def _task(self, job: Job) -> Any:
        import ray

        gpus = self._affordable(job)
        remote: Any = ray.remote(worked)
        task = remote.options(
            name=str(job),
            num_cpus=self._executor.cpus,
            num_gpus=gpus,
            num_returns="streaming",
            max_retries=0,
        ).remote(self._work, job, self._site)
        self._gpus[task] = gpus
        return task

    def _affordable(self, job: Job) -> float:
        """Return the GPUs that the job needs (Ray divides the first); None if no node has them."""
        wanted = job.gpus if job.gpus <= 1 else math.ceil(job.gpus)
        if not wanted or wanted <= _most("GPU"):
            return wanted
        if not self._warned:
            self._warned = True
            self._observer.warning(
                f"no node of the cluster has {job.gpus:g} GPUs, so that {job} runs without, as do "
                "others that need as many"
            )
        return 0.0

    def _heard(self, task: Any) -> Iterator[tuple[Job, Any]]:
        """Report a message of a task, or its end."""
        import ray

        job = self._running[task]
        self._idle_since = None
        try:
            news: list[Any] = ray.get(next(task))
        except StopIteration:  # it ended, and its last word went with its node
            news = [Failure("its last word was lost", lost=True)]
        except ray.exceptions.RayError as error:
            news = [_failure(error)]
        for found in news:
            if isinstance(found, Heard):
                found.tell(self._observer)
                if found.has_ranked:
                    self._built.add(job.group)
            else:
                del self._running[task], self._gpus[task]
                yield from self._ended(job, found)

    def _ended(self, job: Job, found: Any) -> Iterator[tuple[Job, Any]]:
        if isinstance(found, Failure) and found.lost:
            self._losses[job.number] += 1
            n, retries = self._losses[job.number], self._executor.retries
            if n <= retries:
                self._observer.warning(
                    f"{job}: its worker was lost ({found.said}); it is begun again, {n} of "
                    f"{retries} times"
                )
                self._waiting.insert(0, job)
                return
            times = "once" if n == 1 else "twice" if n == 2 else f"{n} times"
            found = Failure(
                f"the worker of this cell was lost {times} ({found.said}). What it recorded is "
                "kept; run the sweep again, on nodes with more memory if that is what they lacked."
            )
        self._built.add(job.group)
        yield job, found

    def _stranded(self) -> Iterator[tuple[Job, Any]]:
        """Jobs that no node could run any more, once they have waited long enough for one."""
        for task in [task for task in self._running if self._gpus[task] > _most("GPU")]:
            self._waiting.insert(0, self._cancelled(task))
        cpus = self._executor.cpus
        if _most("CPU") >= cpus:
            self._idle_since = None
            return
        self._idle_since = self._idle_since or time.monotonic()
        left = self._executor.patience - (time.monotonic() - self._idle_since)
        reason = f"no node of the cluster has {cpus:g} cores for a cell"
        if left > 0:
            self._observer.waiting(f"{reason}; waiting for one to join", left)
            return
        for task in list(self._running):
            yield self._cancelled(task), Failure(f"{reason}: start a node, or let cells take fewer")

    def _cancelled(self, task: Any) -> Job:
        import ray

        with suppress(ray.exceptions.RayError):
            ray.cancel(task, force=True)
        del self._gpus[task]
        return self._running.pop(task)


def _failure(error: Exception) -> Failure:
    """Return the meaning of a Ray error for its job."""
    import ray

    own = (ray.exceptions.RayTaskError, ray.exceptions.RuntimeEnvSetupError)
    return Failure(first_line(error), str(error), lost=not isinstance(error, own))


def _most(resource: str) -> float:
    """Return the largest amount of a resource on any living node."""
    import ray

    nodes: Any = ray.nodes  # untyped
    return max((float(n["Resources"].get(resource, 0)) for n in nodes() if n["Alive"]), default=0.0)
