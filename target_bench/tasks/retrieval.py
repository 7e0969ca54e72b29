"""Table retrieval: is the right table among the first k?"""

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

from target_bench.core.families import find_family, has_families
from target_bench.core.metric import RANKINGS
from target_bench.core.schema import NO_DATABASE, AnswerKind, Dataset, Query
from target_bench.core.task import Predictions, Task, View
from target_bench.metrics.retrieval import (
    GRADES,
    VERSION,
    JudgedRankings,
    RetrievalMetric,
    judge,
    match_families,
    metrics_at,
    rank_databases,
    read_grades,
)


class TableRetrieval(Task[JudgedRankings]):
    """Rankings judged against the gold tables of each query.

    Args:
        sets: measure the set of tables that a retriever chose to return too: precision, recall, F1,
            complete recall and size.
    """

    name = "retrieval"
    title = "Table Retrieval"
    aliases = ("table_retrieval", "table_retrieval_task")
    scores = RANKINGS
    main = "recall"
    view = View("the tables of a corpus", "a ranking of tables")
    answer: ClassVar[AnswerKind] = "ranking"

    def __init__(self, sets: bool = False) -> None:
        self.sets = sets

    def metrics(
        self, queries: Sequence[Query], cutoffs: Sequence[int] = ()
    ) -> list[RetrievalMetric]:
        """Return every retrieval metric at these cutoffs, with those about databases if any."""
        graded, families = _has_grades(queries), has_families(queries)
        return metrics_at(cutoffs, _has_databases(queries), self.sets, graded, families)

    def settings(self) -> list[str]:
        """Return the version of the metrics' rules, which changes scores."""
        return [VERSION]

    def examples(self, dataset: Dataset, predictions: Predictions) -> JudgedRankings:
        """Return the rankings of all queries in the dataset's order, down to the largest cutoff."""
        queries = dataset.queries
        retrievals = [predictions.rankings[query.id] for query in queries]
        groups = dataset.corpus.groups
        copies = None
        if any(first != i for i, first in enumerate(groups)):
            copies = dict(zip(dataset.corpus.ids, groups, strict=True))
        grades = [read_grades(query) for query in queries] if _has_grades(queries) else None
        judged = judge(
            [retrieval.tables for retrieval in retrievals],
            [query.gold for query in queries],
            predictions.depth,
            copies,  # type: ignore[arg-type]  # ids are hashable, groups too
            grades,
        )
        if has_families(queries):
            families = {table.id: find_family(table) for table in dataset.corpus}
            rankings, gold = [r.tables for r in retrievals], [query.gold for query in queries]
            found = match_families(rankings, gold, families, predictions.depth)  # type: ignore[arg-type]  # ids are hashable
            judged = replace(judged, families=found)
        if not _has_databases(queries):
            return judged
        databases = [
            [table.database_id for table in retrieval.tables[: predictions.depth]]
            for retrieval in retrievals
        ]
        ranks = rank_databases(databases, [query.database_id for query in queries])
        return replace(judged, database_ranks=ranks)


def _has_grades(queries: Sequence[Query]) -> bool:
    """Return whether gold tables of any query have grades."""
    return any(GRADES in query.metadata for query in queries)


def _has_databases(queries: Sequence[Query]) -> bool:
    """Return whether every query is about a database; in a mixture of tasks some are about none."""
    return all(query.database_id != NO_DATABASE for query in queries)
