"""The command line. Nothing else in the package imports it."""

from target_bench.cli.command_line import main

__all__ = ["main"]
