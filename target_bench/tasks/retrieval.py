"""Table retrieval: is the right table among the first k?"""

from collections.abc import Sequence
from typing import ClassVar

from target_bench.core.metric import RANKINGS
from target_bench.core.schema import NO_DATABASE, AnswerKind, Dataset, Query
from target_bench.core.task import Predictions, Task
from target_bench.metrics.retrieval import (
    VERSION,
    JudgedRankings,
    RetrievalMetric,
    at_cutoffs,
    judge,
    with_databases,
)


class TableRetrieval(Task[JudgedRankings]):
    """Rankings judged against the gold tables of each query."""

    name = "retrieval"
    title = "Table Retrieval"
    aliases = ("table_retrieval",)
    scores = RANKINGS
    takes = "the tables of a corpus"
    gives = "a ranking of tables"
    reads: ClassVar[frozenset[str]] = frozenset({"run_file"})
    answer: ClassVar[AnswerKind] = "ranking"

    def has_reference(self, query: Query) -> bool:
        """Return whether a query has gold tables."""
        return bool(query.gold)

    def metrics(
        self, queries: Sequence[Query], cutoffs: Sequence[int] = ()
    ) -> list[RetrievalMetric]:
        """Return every retrieval metric at these cutoffs, with those about databases if any."""
        return at_cutoffs(cutoffs, _have_databases(queries))

    def settings(self) -> list[str]:
        """Return the version of the metrics' rules, which changes scores."""
        return [VERSION]

    def examples(self, dataset: Dataset, predictions: Predictions) -> JudgedRankings:
        """Return the rankings of all queries in the dataset's order, down to the largest cutoff."""
        retrievals = [predictions.rankings[query.id] for query in dataset.queries]
        groups = dataset.corpus.groups
        copies = None
        if any(first != i for i, first in enumerate(groups)):
            copies = dict(zip(dataset.corpus.ids, groups, strict=True))
        judged = judge(
            [retrieval.tables for retrieval in retrievals],
            [query.gold for query in dataset.queries],
            predictions.depth,
            copies,  # type: ignore[arg-type]  # ids are hashable, groups too
        )
        if not _have_databases(dataset.queries):
            return judged
        found = [[table.database_id for table in r.tables] for r in retrievals]
        return with_databases(judged, found, [query.database_id for query in dataset.queries])


def _have_databases(queries: Sequence[Query]) -> bool:
    """Return whether every query is about a database; in a mixture of tasks some are about none."""
    return all(query.database_id != NO_DATABASE for query in queries)
