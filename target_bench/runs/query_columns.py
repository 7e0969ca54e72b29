"""Queries beside what a stored run gave for them, as columns of a data frame."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from target_bench.core.schema import Query
from target_bench.runs.read import read_run


def query_columns(
    folder: Path, queries: Mapping[str, Query], *, ranked: bool, answered: bool
) -> dict[str, Sequence[Any]]:
    """Return id, text and gold tables of queries, their rankings and their answers.

    Args:
        folder: the run folder.
        queries: query id -> query, in the order of the rows.
        ranked: whether the run has rankings; without, that column holds None.
        answered: whether it has answers; as above.

    Raises:
        StoreError: the folder cannot be read.
    """
    run = read_run(folder)
    return {
        "query_id": list(queries),
        "query": [query.text for query in queries.values()],
        "gold": [list(map(str, query.gold)) for query in queries.values()],
        "ranking": [list(map(str, run.rankings[q].tables)) if ranked else None for q in queries],
        "answer": [run.answers[q].generation.text if answered else None for q in queries],
    }
