"""Table retrieval: is the right table among the first k?"""

from collections.abc import Sequence
from typing import ClassVar

from target_bench.core.errors import ConfigError, DataError
from target_bench.core.metric import RANKINGS
from target_bench.core.schema import (
    NO_DATABASE,
    AnswerKind,
    Corpus,
    Dataset,
    Query,
    TableId,
)
from target_bench.core.task import Predictions, Task, View
from target_bench.metrics.retrieval import (
    GRADES,
    PASSAGES,
    VERSION,
    Column,
    JudgedRankings,
    RetrievalMetric,
    grades_of,
    judge,
    metrics_at,
    with_columns,
    with_databases,
    with_labels,
    with_passages,
)


class TableRetrieval(Task[JudgedRankings]):
    """Rankings judged against the gold tables of each query.

    Args:
        sets: measure the set of tables that a retriever chose to return too: precision, recall, F1,
            complete recall and size.
        columns: measure how many gold columns are in the tables found. A query has them in its
            metadata as ``gold_columns`` (``[table, column]`` of its database), or else they are the
            columns that its gold SQL uses.
    """

    name = "retrieval"
    title = "Table Retrieval"
    aliases = ("table_retrieval", "table_retrieval_task")
    scores = RANKINGS
    view = View("the tables of a corpus", "a ranking of tables")
    answer: ClassVar[AnswerKind] = "ranking"

    def __init__(self, sets: bool = False, columns: bool = False) -> None:
        self.sets = sets
        self.columns = columns
        self._schemas: _Schemas | None = None

    def check(self, dataset: Dataset) -> None:
        """Check that there are gold columns, if they are to be measured.

        Raises:
            ConfigError: no query has any.
            DataError: those of a query are not pairs of names, or not in the corpus.
        """
        if self.columns:
            self._gold_columns(dataset)

    def metrics(
        self, queries: Sequence[Query], cutoffs: Sequence[int] = ()
    ) -> list[RetrievalMetric]:
        """Return every retrieval metric at these cutoffs, with those about databases if any."""
        groups = {
            "databases": _have_databases(queries),
            "passages": _have_passages(queries),
            "sets": self.sets,
            "columns": self.columns,
            "pools": _are_pooled(queries),
        }
        return metrics_at(cutoffs, [name for name, measured in groups.items() if measured])

    def settings(self) -> list[str]:
        """Return the version of the metrics' rules, which changes scores."""
        return [VERSION]

    def examples(self, dataset: Dataset, predictions: Predictions) -> JudgedRankings:
        """Return the rankings of all queries in the dataset's order, down to the largest cutoff.

        Raises:
            ConfigError: as ``check``.
            DataError: as ``check``.
        """
        retrievals = [predictions.rankings[query.id] for query in dataset.queries]
        groups = dataset.corpus.groups
        copies = None
        if any(first != i for i, first in enumerate(groups)):
            copies = dict(zip(dataset.corpus.ids, groups, strict=True))
        graded = any(GRADES in query.metadata for query in dataset.queries)
        grades = [grades_of(query) for query in dataset.queries] if graded else None
        judged = judge(
            [retrieval.tables for retrieval in retrievals],
            [query.gold for query in dataset.queries],
            predictions.depth,
            copies,  # type: ignore[arg-type]  # ids are hashable, groups too
            grades,
        )
        if _have_databases(dataset.queries):
            database_ids = [[table.database_id for table in r.tables] for r in retrievals]
            judged = with_databases(
                judged, database_ids, [query.database_id for query in dataset.queries]
            )
        if _are_pooled(dataset.queries):
            judged = with_labels(judged, [r.tables for r in retrievals], dataset.queries)
        if _have_passages(dataset.queries):
            judged = with_passages(judged, [r.tables for r in retrievals], dataset.queries)
        if self.columns:
            return with_columns(judged, [r.tables for r in retrievals], self._gold_columns(dataset))
        return judged

    def _gold_columns(self, dataset: Dataset) -> list[frozenset[Column]]:
        where = f"{dataset.info.name} {dataset.split}"
        if self._schemas is None or self._schemas.corpus is not dataset.corpus:
            self._schemas = _Schemas(dataset.corpus)
        try:
            gold = [self._schemas.gold_columns(query) for query in dataset.queries]
        except DataError as error:
            raise DataError(f"{where}: {error}") from error
        if not any(gold):
            raise ConfigError(
                f"{where}: no query has gold columns, neither in its metadata as gold_columns nor "
                "as SQL that can be read; leave columns=true out"
            )
        return gold


def _are_pooled(queries: Sequence[Query]) -> bool:
    """Return whether people judged a pool of tables for any query ."""
    return any("not_relevant" in query.metadata for query in queries)


def _have_passages(queries: Sequence[Query]) -> bool:
    """Return whether any query names the passages among its gold tables."""
    return any(PASSAGES in query.metadata for query in queries)


def _have_databases(queries: Sequence[Query]) -> bool:
    """Return whether every query is about a database; in a mixture of tasks some are about none."""
    return all(query.database_id != NO_DATABASE for query in queries)


class _Schemas:
    """The columns of the tables of each database, in which gold columns are looked up, once.

    Attributes:
        corpus: the tables.
    """

    def __init__(self, corpus: Corpus) -> None:
        self.corpus = corpus
        self._known: dict[int, tuple[Query, frozenset[Column]]] = {}
        self._headers: dict[str, dict[str, Sequence[str]]] = {}
        for table in corpus:
            database = self._headers.setdefault(table.id.database_id, {})
            database[table.id.table_id] = table.header

    def gold_columns(self, query: Query) -> frozenset[Column]:
        """Return the gold columns of a query."""
        if id(query) not in self._known:
            self._known[id(query)] = query, self._looked_up(query)
        return self._known[id(query)][1]

    def _looked_up(self, query: Query) -> frozenset[Column]:
        tables = self._headers.get(query.database_id, {})
        listed = query.metadata.get("gold_columns")
        if listed is None:
            return self._of_sql(query, tables)
        if not isinstance(listed, list | tuple):
            raise DataError(
                f"query {query.id!r}: gold_columns should be a list of pairs of table and column, "
                f"but is {listed!r:.80}"
            )
        columns: set[Column] = set()
        for pair in listed:
            named = isinstance(pair, list | tuple) and all(isinstance(part, str) for part in pair)
            if not named or len(pair) != 2 or pair[1] not in tables.get(pair[0], ()):
                raise DataError(
                    f"query {query.id!r}: gold_columns names {pair!r:.80}, which is not a table "
                    f"and a column of the database {query.database_id!r}"
                )
            table, column = pair
            columns.add((TableId(query.database_id, table), column))
        return frozenset(columns)

    def _of_sql(self, query: Query, tables: dict[str, Sequence[str]]) -> frozenset[Column]:
        from target_bench.sql.linking import gold_columns

        if not tables or not query.references or not query.references[0]:
            return frozenset()
        used = gold_columns(query.references[0], tables)
        return frozenset((TableId(query.database_id, table), column) for table, column in used)
