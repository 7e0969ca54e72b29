"""Table retrieval: is the right table among the first k?"""

from collections.abc import Sequence

from target_bench.interfaces import Dataset
from target_bench.metrics.retrieval import (
    JudgedRankings,
    RetrievalMetric,
    at_cutoffs,
    judge,
)
from target_bench.schema import Retrieval


class TableRetrieval:
    """Rankings judged against the gold tables of each query."""

    name = "retrieval"
    title = "Table Retrieval"

    def metrics(self, cutoffs: Sequence[int]) -> list[RetrievalMetric]:
        """Every retrieval metric at these cutoffs."""
        return at_cutoffs(cutoffs)

    def examples(
        self, dataset: Dataset, retrievals: Sequence[Retrieval], depth: int
    ) -> JudgedRankings:
        """The rankings of all queries of the dataset, in its order, judged down to ``depth``."""
        groups = dataset.corpus.groups
        copies = None
        if any(first != i for i, first in enumerate(groups)):
            copies = dict(zip(dataset.corpus.ids, groups, strict=True))
        return judge(
            [retrieval.tables for retrieval in retrievals],
            [query.gold for query in dataset.queries],
            depth,
            copies,  # type: ignore[arg-type]  # ids are hashable, groups too
        )
