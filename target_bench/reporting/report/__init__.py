"""A report of one or more runs on the same queries, as one HTML file that asks nothing of a net."""

from target_bench.reporting.report.report_writer import write_report

__all__ = ["write_report"]
