"""Jobs on the nodes of a Ray cluster: their state and their messages."""

import os
import socket
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue
from threading import Thread
from typing import Any
from uuid import uuid4

from target_bench.core.errors import ConfigError, Interruption, TargetBenchError
from target_bench.core.observer import Observer
from target_bench.core.placement import placed
from target_bench.core.user_code import described
from target_bench.core.version import __version__
from target_bench.harness.sweeps.corpus_encoding import CorpusPart
from target_bench.harness.sweeps.executors import Heard
from target_bench.harness.sweeps.relay import Relay
from target_bench.harness.sweeps.sweep_cell import SweepCell

_SECONDS_BETWEEN_NEWS = 0.2  # of a task: what it tells meanwhile is sent together

Job = SweepCell | CorpusPart


@dataclass(frozen=True, slots=True)
class Failure:
    """Reason why a job has no result.

    Attributes:
        said: for the user.
        trace: the traceback where it was raised, if it was.
        lost: whether its worker was lost, so that it may succeed on another.
    """

    said: str
    trace: str | None = None
    lost: bool = False


@dataclass(frozen=True, slots=True)
class Site:
    """Folders of the sweep, which a worker on any node has to find.

    Attributes:
        version: of target-bench.
        folder: the working folder, or None if the workers are in theirs already.
        environment: the variables of target-bench.
        marks: files that were written into the folders of runs.
    """

    version: str
    folder: str | None
    environment: Mapping[str, str]
    marks: tuple[Path, ...]

    @classmethod
    def here(cls, marks: tuple[Path, ...], moves: bool) -> "Site":
        """Return that of this process; ``moves``: whether workers go to its working folder."""
        own = {k: v for k, v in os.environ.items() if k.startswith("TARGET_BENCH_")}
        return cls(__version__, str(Path.cwd()) if moves else None, own, marks)

    def enter(self) -> None:
        """Bring this process there.

        Raises:
            ConfigError: this node has another version, or does not see a folder.
        """
        node = socket.gethostname()
        if __version__ != self.version:
            raise ConfigError(
                f"the node {node} has target-bench {__version__}, and the sweep is of "
                f"{self.version}: install the same on all nodes"
            )
        os.environ.update(self.environment)
        missing = [str(mark.parent) for mark in self.marks if not mark.exists()]
        if self.folder is not None and not Path(self.folder).is_dir():
            missing.append(self.folder)
        if missing:
            raise ConfigError(
                f"the node {node} does not see {' and '.join(missing)}: folders of runs, data and "
                "plug-ins have to lie on a file system that all nodes share, under one path"
            )
        if self.folder is not None:
            os.chdir(self.folder)


@contextmanager
def marked(cells: Sequence[SweepCell]) -> Iterator[tuple[Path, ...]]:
    """Leave a file in each folder of runs: a node that shows it shares that folder."""
    with ExitStack() as stack:
        marks = []
        for out in sorted({cell.out.resolve() for cell in cells}):
            mark = out / f".ray-{uuid4().hex}"
            with suppress(OSError):  # the cells tell what is wrong with it
                out.mkdir(parents=True, exist_ok=True)
                mark.touch()
                stack.callback(mark.unlink, missing_ok=True)
                marks.append(mark)
        yield tuple(marks)


def worked(work: Callable[[Any, Observer], Any], job: Job, site: Site) -> Iterator[list[Any]]:
    """Yield lists of events; the last one ends with the result or a ``Failure``."""
    import ray

    if not ray.get_gpu_ids():
        os.environ["CUDA_VISIBLE_DEVICES"] = ""  # those of the node are others'
    news: SimpleQueue[Any] = SimpleQueue()
    spread = _Spread(site)

    def run() -> None:
        try:
            site.enter()
            with placed(spread.hold):
                found = work(job, Relay(news.put))
        except _LostError as error:
            found = Failure(f"a shard of its vectors: {error}", lost=True)
        except TargetBenchError as error:
            found = Failure(str(error), traceback.format_exc())
        except BaseException as error:
            found = Failure(described(error), traceback.format_exc())
        news.put(found)

    Thread(target=run, daemon=True).start()
    some: list[Any] = []
    try:
        while not some or isinstance(some[-1], Heard):
            some = [news.get()]
            while not news.empty():
                some.append(news.get())
            yield some
            if isinstance(some[-1], Heard):
                time.sleep(_SECONDS_BETWEEN_NEWS)
    finally:
        spread.end()


class _LostError(Interruption):
    """A node went with something that it held."""


class _Spread:
    """Objects as actors on the nodes, for as long as their cell runs.

    Args:
        site: where they find files.
    """

    def __init__(self, site: Site) -> None:
        self._site = site
        self._actors: list[Any] = []

    def hold(self, make: Callable[[], object]) -> "_Remote":
        """Put an object on a node. It takes no core: its cell waits while it works."""
        import ray

        holder: Any = ray.remote(_Holder)
        actor = holder.options(num_cpus=0, scheduling_strategy="SPREAD").remote(self._site, make)
        self._actors.append(actor)
        return _Remote(actor)

    def end(self) -> None:
        """End them all."""
        import ray

        for actor in self._actors:
            ray.kill(actor)


class _Holder:
    """An actor: an object that is made at the first call."""

    def __init__(self, site: Site, make: Callable[[], object]) -> None:
        self._site = site
        self._make = make
        self._object: object = None

    def call(self, method: str, arguments: tuple[Any, ...]) -> Any:
        """Return the result of a method of the object."""
        if self._object is None:
            self._site.enter()
            self._object = self._make()
        return getattr(self._object, method)(*arguments)


@dataclass(frozen=True, slots=True)
class _Remote:
    """An actor as ``placement.Held``."""

    actor: Any

    def call(self, method: str, *arguments: Any) -> "_Answer":
        return _Answer(self.actor.call.remote(method, arguments))


@dataclass(frozen=True, slots=True)
class _Answer:
    """Pending result of an actor, as ``placement.Pending``."""

    reference: Any

    def result(self) -> Any:
        import ray

        try:
            return ray.get(self.reference)
        except ray.exceptions.RayTaskError as error:
            raise error.cause from None
        except ray.exceptions.RayError as error:
            raise _LostError(first_line(error)) from error


def first_line(error: Exception) -> str:
    """Return an error of Ray, or what caused it, in a line."""
    cause = getattr(error, "cause", None) or error
    lines = str(cause).strip().splitlines()
    return f"{type(cause).__name__}: {lines[0]}" if lines else type(cause).__name__
