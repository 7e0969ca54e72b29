"""Explained comparison of two tables: what is missing, what is extra, what differs and how much.

``values`` reads cells, ``differences`` names how two differ, ``align`` pairs rows and columns,
``rubric`` counts and scores, ``show`` holds and shows what a comparison says, ``compare`` makes it.
"""

from target_bench.tables.comparison.compare import compare_tables
from target_bench.tables.comparison.rubric import RubricWeights
from target_bench.tables.comparison.show import TableComparison

__all__ = ["RubricWeights", "TableComparison", "compare_tables"]
