"""How much two workers gain over one, on cells that have nothing to do with each other.

Two sweeps over mini, each run from an empty folder by one worker and by two, in turns:

* compute: a retriever that multiplies matrices for some seconds, with one thread;
* waiting: a generator that answers after a while, as a remote model does.

Startup of the workers is part of the time; reading and checking the file is not. Medians of the
turns count. The script needs two cores that no other process uses for the first figure.

    python -m benchmarks.sweeping [--cells 8] [--seconds 4] [--repeat 3] [--workers 2]
"""

import argparse
import os
import tempfile
import time
from pathlib import Path
from statistics import median

from rich.console import Console
from rich.table import Table

from target_bench.harness.sweeps import Local, Sweep

PLUGINS = """
import time
import numpy
from target_bench.core.contract import Generator


class Work:
    def __init__(self, n: int = 0, seconds: float = 1.0) -> None:
        self.n, self.seconds = n, seconds

    def embed_corpus(self, corpus):
        self.ids = corpus.ids
        matrix = numpy.random.default_rng(0).random((300, 300))
        begun = time.thread_time()
        while time.thread_time() - begun < self.seconds:
            matrix = matrix @ matrix / 1e4

    def retrieve(self, query, top_k):
        return self.ids[:top_k]


class Remote(Generator):
    def __init__(self, n: int = 0, seconds: float = 0.05) -> None:
        self.n, self.seconds = n, seconds

    def generate(self, request):
        time.sleep(self.seconds)
        return "true"
"""

COMPUTE = """
corpora: {{name: mini, limit: 40}}
retrievers: {{name: "plugins.py:Work", n: {numbers}, seconds: {seconds}}}
"""
WAITING = """
corpora: {{name: mini, limit: 40}}
tasks: fact_verification
retrievers: no-context
generators: {{name: "plugins.py:Remote", n: {numbers}, seconds: {each}}}
"""


def main() -> None:
    given = _arguments()
    os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"
    table = Table(title=f"{given.cells} cells of {given.seconds:g} s, {given.repeat} turns")
    for name in ("what", "1 worker, s", f"{given.workers} workers, s", "ratio"):
        table.add_column(name, justify="left" if name == "what" else "right")
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        Path("plugins.py").write_text(PLUGINS, encoding="utf-8")
        for name, text in (("compute", COMPUTE), ("waiting", WAITING)):
            alone, in_two = _measured(name, text, given)
            row = (
                f"{median(alone):.1f}",
                f"{median(in_two):.1f}",
                f"{median(alone) / median(in_two):.2f}",
            )
            table.add_row(name, *row)
    Console().print(table)


def _measured(name: str, text: str, given: argparse.Namespace) -> tuple[list[float], list[float]]:
    numbers = list(range(given.cells))
    filled = text.format(numbers=numbers, seconds=given.seconds, each=given.seconds / 40)
    Path(f"{name}.yaml").write_text(filled, encoding="utf-8")
    seconds: dict[int, list[float]] = {1: [], given.workers: []}
    for turn in range(given.repeat):
        for workers in sorted(seconds, reverse=bool(turn % 2)):
            loaded = Sweep.load(f"{name}.yaml", out=f"{name}-{turn}-{workers}")
            begun = time.perf_counter()
            outcomes = loaded.run(Local(workers))
            seconds[workers].append(time.perf_counter() - begun)
            assert not any(outcome.error for outcome in outcomes)
    return seconds[1], seconds[given.workers]


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--cells", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=4.0)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--workers", type=int, default=2)
    return parser.parse_args()


if __name__ == "__main__":
    main()
