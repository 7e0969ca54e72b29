"""The command line. Nothing else in the package imports it."""

from functools import partial

from target_bench.cli import command_line
from target_bench.cli.main import app

main = partial(command_line.main, app)
"""Run the command line and exit with its code."""

__all__ = ["main"]
