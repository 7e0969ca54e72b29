"""The command line. Nothing else in the package imports it."""

from target_bench.cli.main import main

__all__ = ["main"]
