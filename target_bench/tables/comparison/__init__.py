"""Explained comparison of two tables: what is missing, what is extra, what differs and how much."""

from target_bench.tables.comparison.by_rules import compare_tables
from target_bench.tables.comparison.explained_comparison import TableComparison
from target_bench.tables.comparison.rubric_score import RubricWeights

__all__ = ["RubricWeights", "TableComparison", "compare_tables"]
