"""Sweeps: many cells from one YAML file, run by an executor, and gone on with.

``Sweep.load("titles.yaml").run()`` is ``target-bench sweep titles.yaml``.
"""

from target_bench.sweeps.cell import CellOutcome, SweepCell, run_cell
from target_bench.sweeps.executors import Executor
from target_bench.sweeps.local import Local
from target_bench.sweeps.plan import PlannedCell
from target_bench.sweeps.sweep import Sweep

__all__ = [
    "CellOutcome",
    "Executor",
    "Local",
    "PlannedCell",
    "Sweep",
    "SweepCell",
    "run_cell",
]
