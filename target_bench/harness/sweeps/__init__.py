"""Sweeps: many cells from one YAML file, run by an executor, and gone on with.

``Sweep.load("titles.yaml").run()`` is ``target-bench sweep titles.yaml``.
"""

from target_bench.harness.sweeps.cell import CellOutcome, SweepCell, run_cell
from target_bench.harness.sweeps.executors import Executor, Local, Ray
from target_bench.harness.sweeps.plan import PlannedCell
from target_bench.harness.sweeps.sweep import Sweep

__all__ = [
    "CellOutcome",
    "Executor",
    "Local",
    "PlannedCell",
    "Ray",
    "Sweep",
    "SweepCell",
    "run_cell",
]
