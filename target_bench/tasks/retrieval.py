"""Table retrieval: is the right table among the first k?"""

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

from target_bench.core.families import find_family, has_table_families
from target_bench.core.metric import OF_RANKINGS
from target_bench.core.schema import NO_DATABASE, AnswerKind, Dataset, Query
from target_bench.core.task import Predictions, Task, View
from target_bench.metrics.retrieval import (
    GRADES,
    VERSION,
    JudgedRankings,
    RetrievalMetric,
    match,
    match_gold,
    metrics_at,
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
    scores = OF_RANKINGS
    main = "recall"
    view = View("the tables of a corpus", "a ranking of tables")
    answer: ClassVar[AnswerKind] = "ranking"

    def __init__(self, sets: bool = False) -> None:
        self.sets = sets

    def metrics(
        self, queries: Sequence[Query], cutoffs: Sequence[int] = ()
    ) -> list[RetrievalMetric]:
        """Return every retrieval metric at these cutoffs, with those about databases if any."""
        return metrics_at(
            cutoffs,
            databases=_has_databases(queries),
            sets=self.sets,
            families=has_table_families(queries),
            graded=_has_grades(queries),
        )

    def settings(self) -> list[str]:
        """Return the version of the metrics' rules, which changes scores."""
        return [VERSION]

    def examples(self, dataset: Dataset, predictions: Predictions) -> JudgedRankings:
        """Return the rankings of all queries in the dataset's order, down to the largest cutoff."""
        queries = dataset.queries
        rankings = [predictions.rankings[query.id].tables for query in queries]
        groups = dataset.corpus.groups  # for each table the position of the first equal one
        has_copies = any(first != i for i, first in enumerate(groups))
        judged = match_gold(
            rankings,
            [query.gold for query in queries],
            predictions.depth,
            copies=dict(zip(dataset.corpus.ids, groups, strict=True)) if has_copies else None,
            grades=[read_grades(query) for query in queries] if _has_grades(queries) else None,
            families={table.id: find_family(table) for table in dataset.corpus}
            if has_table_families(queries)
            else None,
        )
        if not _has_databases(queries):
            return judged
        databases = [[t.database_id for t in tables[: predictions.depth]] for tables in rankings]
        return replace(judged, databases=match(databases, [[q.database_id] for q in queries]))


def _has_grades(queries: Sequence[Query]) -> bool:
    """Return whether gold tables of any query have grades."""
    return any(GRADES in query.metadata for query in queries)


def _has_databases(queries: Sequence[Query]) -> bool:
    """Return whether every query is about a database; in a mixture of tasks some are about none."""
    return all(query.database_id != NO_DATABASE for query in queries)
