"""Explained comparison of two tables: what is missing, what is extra, what differs and how much.

``values`` reads cells, ``differences`` names how two differ, ``align`` pairs rows and columns,
``rubric`` counts and scores, ``compare`` puts them together, and ``show`` shows them.
"""

from target_bench.tables.comparison.compare import compare_tables
from target_bench.tables.comparison.rubric import RubricWeights, TableComparison

__all__ = ["RubricWeights", "TableComparison", "compare_tables"]
