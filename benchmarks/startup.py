"""What whole processes cost: imports, help and small runs, as multiples of the bare imports.

Bytecode is compiled first, as installers do. Every figure is the least processor time of several
fresh interpreters, taken in turns: other work on the machine changes it little, unlike the time of
the clock, which is the same on a quiet machine.

    python benchmarks/startup.py [--repeat 7] [--check] [--data DIR]

``--check`` ends with exit code 1 if a ratio exceeds its bound. Runs on OTT-QA are left out without
its data (``--data``, ``$TARGET_BENCH_DATA``).
"""

import argparse
import compileall
import os
import resource
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

import target_bench

NUMPY = "import numpy"
BARE = "import numpy, scipy.sparse, pyarrow"
_COLD, _REUSED = "cold", "reused"


@dataclass(frozen=True)
class Process:
    """A command: what it is compared with, and the largest ratio that a release may have."""

    words: tuple[str, ...]
    base: str = ""
    bound: float | None = None
    run_folder: str = ""


def _python(code: str) -> tuple[str, ...]:
    return (sys.executable, "-c", code)


def _command(*words: str) -> tuple[str, ...]:
    return (sys.executable, "-m", "target_bench", *words)


_API = "from target_bench import Corpus, Retriever, TableId"
_OTTQA = _command("run", "ottqa", "--retriever", "bm25")
PROCESSES = {
    NUMPY: Process(_python(NUMPY)),
    BARE: Process(_python(BARE)),
    _API: Process(_python(_API), NUMPY, 1.7),
    # The same code had .84 and 1.19 × on two machines.
    "target-bench --help": Process(_command("--help"), BARE, 1.2),
    "run ottqa, bm25, new run folder": Process(_OTTQA, BARE, 3.5, _COLD),
    "run ottqa, bm25, reused": Process(_OTTQA, BARE, 2.0, _REUSED),
    # 4.9 ×, but 7 on a busy machine: threads of the decomposition of lsa wait for each other awake.
    "run mini, four retrievers": Process(_command("run", "mini"), BARE, 7.0, _COLD),
}


def seconds(process: Process, scratch: Path) -> float:
    """Measure the processor time of a process, from start to end."""
    words = list(process.words)
    if process.run_folder:
        folder = scratch / process.run_folder
        if process.run_folder == _COLD:
            shutil.rmtree(folder, ignore_errors=True)
        words += ["--out", str(folder)]
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        words, check=True, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--repeat", type=int, default=7)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--data", default=os.environ.get("TARGET_BENCH_DATA"))
    options = parser.parse_args()
    if options.data:
        os.environ["TARGET_BENCH_DATA"] = options.data
    compileall.compile_dir(Path(target_bench.__file__).parent, quiet=2, workers=1)
    measured = {n: p for n, p in PROCESSES.items() if options.data or "ottqa" not in n}
    times: dict[str, list[float]] = {name: [] for name in measured}
    with tempfile.TemporaryDirectory() as scratch:
        for turn in range(options.repeat + 1):
            for name, process in measured.items():
                took = seconds(process, Path(scratch))
                if turn:  # the first one fills caches
                    times[name].append(took)
    least = {name: min(each) for name, each in times.items()}
    table = Table(title=f"least of {options.repeat} fresh processes")
    for column in ("what", "milliseconds", "ratio", "bound"):
        table.add_column(column, justify="left" if column == "what" else "right")
    slow = []
    for name, process in measured.items():
        ratio = least[name] / least[process.base] if process.base else 1.0
        shown = f"{ratio:.2f} × {process.base}" if process.base else ""
        bound = "" if process.bound is None else f"{process.bound}"
        table.add_row(name, f"{1000 * least[name]:.0f}", shown, bound)
        if process.bound is not None and ratio > process.bound:
            slow.append(f"{name}: {ratio:.2f} × {process.base} exceeds {process.bound}")
    Console(width=120).print(table)
    if options.check:
        sys.exit("\n".join(slow) or 0)


if __name__ == "__main__":
    main()
