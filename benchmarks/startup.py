"""What it costs to import the package and to ask for help, as multiples of ``import numpy``.

Bytecode is compiled first, as installers do. Every figure is the median of several fresh
interpreters, taken in turns so that a slow moment of the machine hits all alike.

    python benchmarks/startup.py [--repeat 15] [--check]

``--check`` ends with exit code 1 if a ratio exceeds its bound, or if README.md states a ratio that
is more than a third below the measured one.
"""

import argparse
import compileall
import os
import re
import statistics
import subprocess
import sys
import time
from pathlib import Path

import numpy
import typer
from rich.console import Console
from rich.table import Table

import target_bench

COMMANDS = {
    "import numpy": [sys.executable, "-c", "import numpy"],
    "from target_bench import TARGET, Retriever": [
        sys.executable,
        "-c",
        "from target_bench import TARGET, Retriever",
    ],
    "target-bench --help": [str(Path(sys.executable).parent / "target-bench"), "--help"],
}
BASE = "import numpy"
BOUNDS = {"from target_bench import TARGET, Retriever": 2.0, "target-bench --help": 2.0}
"""The largest ratio to ``import numpy`` that a release may have."""

_SLACK = 4 / 3
_README = Path(__file__).parent.parent / "README.md"
_STATED = re.compile(
    r"Importing\s+`TARGET` and `Retriever` takes ([\d.]+) × `import numpy`,\s+"
    r"`target-bench --help` ([\d.]+) ×"
)


def stated_ratios(readme: str) -> dict[str, float]:
    """What the README says of every command that has a bound.

    Raises:
        ValueError: the sentence is not there.
    """
    found = _STATED.search(readme)
    if found is None:
        raise ValueError("README.md does not state the ratios of startup in the expected words")
    return dict(zip(BOUNDS, map(float, found.groups()), strict=True))


def faults(measured: dict[str, float], stated: dict[str, float]) -> list[str]:
    """What does not hold of the measured ratios, a sentence each."""
    found = []
    for name, bound in BOUNDS.items():
        if measured[name] > bound:
            found.append(f"{name}: {measured[name]:.2f} × {BASE} exceeds the bound {bound}")
        if measured[name] > stated[name] * _SLACK:
            found.append(
                f"{name}: README.md says {stated[name]} ×, measured {measured[name]:.2f} ×"
            )
    return found


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--repeat", type=int, default=15)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    repeat = options.repeat
    for module in (numpy, typer, target_bench):
        compileall.compile_dir(Path(module.__file__ or "").parent.parent, quiet=2, workers=1)
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    seconds: dict[str, list[float]] = {name: [] for name in COMMANDS}
    for turn in range(repeat + 1):
        for name, command in COMMANDS.items():
            start = time.perf_counter()
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=environment)
            if turn:
                seconds[name].append(time.perf_counter() - start)
    medians = {name: statistics.median(times) for name, times in seconds.items()}
    ratios = {name: median / medians[BASE] for name, median in medians.items()}
    table = Table(title=f"median of {repeat} fresh interpreters")
    for column in ("what", "milliseconds", f"× {BASE}"):
        table.add_column(column, justify="left" if column == "what" else "right")
    for name, median in medians.items():
        table.add_row(name, f"{1000 * median:.0f}", f"{ratios[name]:.2f}")
    Console(width=100).print(table)
    if options.check:
        sys.exit("\n".join(faults(ratios, stated_ratios(_README.read_text("utf-8")))) or 0)


if __name__ == "__main__":
    main()
