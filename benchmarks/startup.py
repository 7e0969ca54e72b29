"""What it costs to import the package and to ask for help, as multiples of ``import numpy``.

Bytecode is compiled first, as installers do. Every figure is the median of several fresh
interpreters, taken in turns so that a slow moment of the machine hits all alike.

    python benchmarks/startup.py [--repeat 15]
"""

import argparse
import compileall
import os
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


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--repeat", type=int, default=15)
    repeat = parser.parse_args().repeat
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
    base = statistics.median(seconds["import numpy"])
    table = Table(title=f"median of {repeat} fresh interpreters")
    for column in ("what", "milliseconds", "× import numpy"):
        table.add_column(column, justify="left" if column == "what" else "right")
    for name, times in seconds.items():
        median = statistics.median(times)
        table.add_row(name, f"{1000 * median:.0f}", f"{median / base:.2f}")
    Console(width=100).print(table)


if __name__ == "__main__":
    main()
