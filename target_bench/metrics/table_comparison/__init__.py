"""Explained comparison of two tables: what is missing, what is extra, what differs and how much."""

from target_bench.metrics.table_comparison.compare import compare_tables
from target_bench.metrics.table_comparison.rubric import TableComparison
from target_bench.metrics.table_comparison.score import RubricWeights

__all__ = ["RubricWeights", "TableComparison", "compare_tables"]
