"""Explained comparison of two tables: what is missing, what is extra, what differs and how much.

``values`` reads cells, ``differences`` names how two differ, ``align`` pairs rows and columns,
``rubric`` counts, scores and shows, and ``compare`` puts them together.
"""

from target_bench.tables.comparison.compare import compare_tables
from target_bench.tables.comparison.rubric import RubricWeights, TableComparison, summed_types

__all__ = ["RubricWeights", "TableComparison", "compare_tables", "summed_types"]
