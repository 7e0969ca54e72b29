"""Tables that people ranked by how good they are beside one reference."""

from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.table_metrics.changes import Rows
from target_bench.core.schema import Dataset, Query, Table, TableId
from target_bench.data.table_text import Serializer
from target_bench.tables.compared_tables import ComparedTables

TASK = "table_comparison"
"""What the metadata of a query call this, where a corpus has queries of tasks, too."""

_MARKDOWN = Serializer(("header", "rows"), "markdown")


@dataclass(frozen=True, slots=True)
class RankedSet:
    """Tables beside one reference, and their ranking by people.

    Attributes:
        pairs: each table beside the reference, in the order of the data.
        order: places of the pairs, best first.
    """

    pairs: tuple[ComparedTables, ...]
    order: tuple[int, ...]


def ranked_sets(dataset: Dataset) -> list[RankedSet]:
    """Return the sets of a corpus whose queries are tables with a ``rank``: mini and tabxbench.

    The text of such a query is the table, in Markdown, its answer the reference; ``rank`` in its
    metadata is 0 for the best of its set. Queries with one reference are a set.

    Raises:
        ValueError: the corpus has none, or the ranks of a set are not 0 to n - 1.
    """
    by_reference: dict[str, list[Query]] = {}
    for query in dataset.queries:
        if query.metadata.get("task", TASK) == TASK and "rank" in query.metadata:
            by_reference.setdefault(query.references[0], []).append(query)
    if not by_reference:
        raise ValueError(
            f"{dataset.info.name} has no tables ranked by people; mini and tabxbench have"
        )
    return [_ranked_set(queries) for queries in by_reference.values()]


def _ranked_set(queries: Sequence[Query]) -> RankedSet:
    ranks = [query.metadata["rank"] for query in queries]
    if sorted(ranks) != list(range(len(ranks))):
        raise ValueError(
            f"{queries[0].id}: its set has the ranks {ranks}, not 0 to {len(ranks) - 1}"
        )
    pairs = tuple(ComparedTables(q.text, q.references[0], "text") for q in queries)
    return RankedSet(pairs, tuple(sorted(range(len(ranks)), key=ranks.__getitem__)))


def markdown(rows: Rows) -> str:
    """Write a table in Markdown; rows may differ in length."""
    return _MARKDOWN(Table(TableId("0", ""), rows[0], rows[1:]))
