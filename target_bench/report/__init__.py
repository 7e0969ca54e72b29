"""A report of one or more runs on the same queries, as one HTML file that asks nothing of a net."""

from target_bench.report.writing import Limits, write_report

__all__ = ["Limits", "write_report"]
