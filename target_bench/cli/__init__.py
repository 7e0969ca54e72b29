"""The command line. Nothing else in the package imports it."""

# ruff: noqa: E402 (imports make the most objects of a short run)
import gc

gc.set_threshold(200_000)  # new objects after which Python looks for cycles: most objects live on

from functools import partial

from target_bench.cli import command_line
from target_bench.cli.main import app

main = partial(command_line.main, app)
"""Run the command line and exit with its code."""

__all__ = ["main"]
