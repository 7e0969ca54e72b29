"""What Ray costs: the same sweep on a Ray cluster and on local processes.

Every cell takes the same time, in which it waits or computes. Both executors run two cells at a
time, each takes its turn, and ratios are of neighbours, so that other work on the machine meets
both alike. The median of the ratios counts.

* sweep: all of it, with what it takes to start processes, or Ray;
* cells: from the first cell's begin to the end.

With ``--running`` the cluster runs before the sweep begins, as with ``sweep --address``; without,
every sweep starts Ray on this machine and stops it again.

    python benchmarks/ray_overhead.py [--cells 8] [--seconds 10] [--repeat 3] [--work wait|compute]
        [--running]
"""

import argparse
import os
import statistics
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

from rich.console import Console
from rich.table import Table

from target_bench.core.contract import Retriever
from target_bench.core.observer import Observer
from target_bench.core.ranking import Ranking
from target_bench.core.schema import Corpus
from target_bench.harness.options import Options
from target_bench.harness.sweeps import Executor, Local, Ray
from target_bench.harness.sweeps.cell import SweepCell

WORKERS = 2
ROUNDS_A_SECOND = 2_000  # of work: what a core of 2020 does, about


class Working(Retriever):
    """Takes its time over a corpus, then ranks the first tables."""

    def __init__(self, seconds: float = 10.0, work: str = "wait", name: str = "") -> None:
        self.seconds = seconds
        self.work = work
        self.name = name

    def embed_corpus(self, corpus: Corpus) -> None:
        self.ids = corpus.ids
        if self.work == "wait":
            time.sleep(self.seconds)
            return
        for _ in range(int(self.seconds * ROUNDS_A_SECOND)):
            sum(i * i for i in range(10_000))

    def retrieve(self, query: str, top_k: int) -> Ranking:  # noqa: ARG002 (the contract's argument)
        return list(self.ids[:top_k])


class FirstCell(Observer):
    """Notes when the first cell begins."""

    began = 0.0

    def cell_started(self, number: int, name: str) -> None:  # noqa: ARG002 (the contract's argument)
        self.began = self.began or time.perf_counter()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cells", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--work", choices=("wait", "compute"), default="wait")
    parser.add_argument("--running", action="store_true")
    given = parser.parse_args()
    with cluster() if given.running else nullcontext() as address:
        compare(given, address)


@contextmanager
def cluster() -> Iterator[str]:
    """The address of a cluster of one node."""
    from ray.cluster_utils import Cluster

    node = {"num_cpus": os.cpu_count() or 1, "include_dashboard": False}
    started = Cluster(initialize_head=True, head_node_args=node)
    try:
        yield started.address
    finally:
        started.shutdown()  # type: ignore[no-untyped-call]  # of Ray


def compare(given: argparse.Namespace, address: str | None) -> None:
    cpus = (os.cpu_count() or 1) / WORKERS
    console = Console()
    table = Table("pair", "local sweep s", "ray sweep s", "ratio", "local cells s", "ray cells s")
    table.add_column("ratio")
    ratios: list[tuple[float, float]] = []
    for pair in range(given.repeat):
        local = measured(Local(WORKERS), given)
        on_ray = measured(Ray(address, cpus=cpus), given)
        ratios.append((on_ray[0] / local[0], on_ray[1] / local[1]))
        figures = [local[0], on_ray[0], ratios[-1][0], local[1], on_ray[1], ratios[-1][1]]
        table.add_row(str(pair + 1), *(f"{figure:.3f}" for figure in figures))
        console.print(*(f"{figure:.3f}" for figure in figures))
    sweeps, cells = (statistics.median(column) for column in zip(*ratios, strict=True))
    table.add_row("median", "", "", f"{sweeps:.3f}", "", "", f"{cells:.3f}")
    console.print(table)


def measured(executor: Executor, given: argparse.Namespace) -> tuple[float, float]:
    """Seconds of a sweep, and of its cells."""
    plugin = f"{Path(__file__).resolve()}:Working:seconds={given.seconds},work={given.work}"
    observer = FirstCell()
    with tempfile.TemporaryDirectory() as out:
        options = Options(top_k=(1, 10), out=Path(out))
        cells = [
            SweepCell(n, "retrieval", "mini", f"{plugin},name=n{n}", options=options)
            for n in range(1, given.cells + 1)
        ]
        start = time.perf_counter()
        outcomes = list(executor.run(cells, observer))
        end = time.perf_counter()
    for outcome in outcomes:
        if outcome.error is not None:
            raise SystemExit(f"{outcome.cell}: {outcome.error}")
    return end - start, end - observer.began


if __name__ == "__main__":
    main()
