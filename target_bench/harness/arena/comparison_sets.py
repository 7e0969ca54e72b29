"""What metrics are tested on: tables ranked by people, and perturbed tables, beside references."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from target_bench.core.errors import ConfigError, DataError
from target_bench.core.schema import Dataset, Query, Table, TableId
from target_bench.data.table_text import Serializer
from target_bench.models.perturbations.drawing import Perturbation
from target_bench.models.perturbations.perturbed import Rows
from target_bench.tables.compared_tables import ComparedTables

TASK = "table_comparison"
"""What the metadata of a query call this, where a corpus has queries of tasks, too."""

_MARKDOWN = Serializer(("header", "rows"), "markdown")


@dataclass(frozen=True, slots=True)
class ComparisonSet:
    """Tables that people ranked by how good they are beside one reference.

    Attributes:
        id: of its first table.
        pairs: each table beside the reference, in the order of the data.
        order: places of the pairs, best first.
    """

    id: str
    pairs: tuple[ComparedTables, ...]
    order: tuple[int, ...]


def ranked_sets(dataset: Dataset) -> list[ComparisonSet]:
    """Return the sets of a corpus whose queries are tables with a ``rank``.

    The text of such a query is the table, in Markdown, its answer the reference; ``rank`` in its
    metadata is 0 for the best of its set. Queries with one reference are a set.

    Raises:
        ConfigError: the corpus has none.
        DataError: the ranks of a set are not 0 to n - 1.
    """
    found: dict[str, list[Query]] = {}
    for query in dataset.queries:
        if query.metadata.get("task", TASK) == TASK and "rank" in query.metadata:
            found.setdefault(query.references[0], []).append(query)
    if not found:
        raise ConfigError(
            f"{dataset.info.name} has no tables ranked by people; mini and tabxbench have"
        )
    return [_set(queries) for queries in found.values()]


def _set(queries: Sequence[Query]) -> ComparisonSet:
    name = queries[0].id
    ranks = [query.metadata["rank"] for query in queries]
    if sorted(ranks) != list(range(len(ranks))):
        raise DataError(f"{name}: the ranks {ranks} of its tables are not 0 to {len(ranks) - 1}")
    pairs = tuple(ComparedTables(q.text, q.references[0], "text") for q in queries)
    return ComparisonSet(name, pairs, tuple(sorted(range(len(ranks)), key=ranks.__getitem__)))


def perturbed_pairs(perturbations: Iterable[Perturbation]) -> list[ComparedTables]:
    """Return each perturbed table beside its reference."""
    return [
        ComparedTables(markdown(one.table), markdown(one.reference), "text")
        for one in perturbations
    ]


def markdown(rows: Rows) -> str:
    """Write a table in Markdown; rows may differ in length."""
    return _MARKDOWN(Table(TableId("0", ""), rows[0], rows[1:]))


def tables_of(dataset: Dataset) -> dict[str, Rows]:
    """Return id -> rows of the tables of a corpus; cells are texts of one line."""
    return {
        str(table.id): tuple(tuple(map(_cell, row)) for row in (table.header, *table.rows))
        for table in dataset.corpus
    }


def _cell(cell: object) -> str:
    return "" if cell is None else " ".join(str(cell).split())
