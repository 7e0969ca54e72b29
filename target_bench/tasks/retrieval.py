"""Table retrieval: is the right table among the first k?"""

from collections.abc import Sequence
from typing import ClassVar

from target_bench.core.interfaces import Dataset
from target_bench.core.schema import NO_DATABASE, Retrieval
from target_bench.metrics.retrieval import (
    JudgedRankings,
    RetrievalMetric,
    at_cutoffs,
    judge,
    with_databases,
)


class TableRetrieval:
    """Rankings judged against the gold tables of each query."""

    name = "retrieval"
    title = "Table Retrieval"
    aliases = ("table_retrieval",)
    input = "the tables of a corpus"
    answer = "a ranking of tables"
    reads: ClassVar[frozenset[str]] = frozenset({"run_file"})

    def metrics(self, cutoffs: Sequence[int], dataset: Dataset) -> list[RetrievalMetric]:
        """Every retrieval metric at these cutoffs, those about databases if there are any."""
        return at_cutoffs(cutoffs, _has_databases(dataset))

    def examples(
        self, dataset: Dataset, retrievals: Sequence[Retrieval], depth: int
    ) -> JudgedRankings:
        """The rankings of all queries of the dataset, in its order, judged down to ``depth``."""
        groups = dataset.corpus.groups
        copies = None
        if any(first != i for i, first in enumerate(groups)):
            copies = dict(zip(dataset.corpus.ids, groups, strict=True))
        judged = judge(
            [retrieval.tables for retrieval in retrievals],
            [query.gold for query in dataset.queries],
            depth,
            copies,  # type: ignore[arg-type]  # ids are hashable, groups too
        )
        if not _has_databases(dataset):
            return judged
        found = [[table.database_id for table in r.tables] for r in retrievals]
        return with_databases(judged, found, [query.database_id for query in dataset.queries])


def _has_databases(dataset: Dataset) -> bool:
    """Whether every query is about a database; in a mixture of tasks some are about none."""
    return all(query.database_id != NO_DATABASE for query in dataset.queries)
