"""Tables ranked, by people or by a rule, by how good they are beside one reference."""

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

import yaml

from target_bench.core.schema import Dataset, Query
from target_bench.tables.compared_tables import ComparedTables

TASK = "table_comparison"
"""What the metadata of a query call this, where a corpus has queries of tasks, too."""


@dataclass(frozen=True, slots=True)
class RankedSet:
    """Tables beside one reference, and their ranking.

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


WRITTEN = Path(__file__).with_name("written_tables.yaml")


def written_sets(errors_alone: bool = False) -> list[RankedSet]:
    """Return the sets of ``written_tables.yaml``, ranked by the rule that stands there.

    The tables of a set are in the order of their texts, so that the place of a table in the file,
    which has the best first, says nothing.

    Args:
        errors_alone: whether to leave out the best of each set, which is written in another order
            and with other units or formats.

    Raises:
        ValueError: two tables of a set have the same counts, which the rule cannot rank.
    """
    sets = []
    for record in yaml.safe_load(WRITTEN.read_text()):
        tables = sorted(record["tables"], key=lambda table: tuple(table["counts"]))[errors_alone:]
        tables.sort(key=lambda table: _mixed(table["table"]))
        counts = [tuple(table["counts"]) for table in tables]
        if len(set(counts)) < len(counts):
            raise ValueError(f"{WRITTEN.name}: two tables have the same counts: {counts}")
        pairs = tuple(ComparedTables(t["table"], record["reference"], "text") for t in tables)
        sets.append(RankedSet(pairs, tuple(sorted(range(len(pairs)), key=counts.__getitem__))))
    return sets


def _mixed(text: str) -> str:
    return sha256(text.encode()).hexdigest()


def _ranked_set(queries: Sequence[Query]) -> RankedSet:
    ranks = [query.metadata["rank"] for query in queries]
    if sorted(ranks) != list(range(len(ranks))):
        raise ValueError(
            f"{queries[0].id}: its set has the ranks {ranks}, not 0 to {len(ranks) - 1}"
        )
    pairs = tuple(ComparedTables(q.text, q.references[0], "text") for q in queries)
    return RankedSet(pairs, tuple(sorted(range(len(ranks)), key=ranks.__getitem__)))
