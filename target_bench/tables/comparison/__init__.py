"""Explained comparison of two tables: what is missing, what is extra, what differs and how much."""

from target_bench.tables.comparison.by_rules import compare_tables
from target_bench.tables.comparison.explained_comparison import TableComparison
from target_bench.tables.comparison.rubric_score import RubricWeights
from target_bench.tables.comparison.type_counts import summed as summed_types

__all__ = ["RubricWeights", "TableComparison", "compare_tables", "summed_types"]
