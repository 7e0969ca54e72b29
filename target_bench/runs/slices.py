"""Properties that divide queries: database, number of gold tables, metadata of the corpus."""

from collections.abc import Sequence
from typing import Any

from target_bench.core.schema import NO_DATABASE, Query
from target_bench.runs.slicing import Partition, partition

PREFIX = "slice."
"""How the columns of ``per_query.parquet`` begin that hold no metric."""

_LONGEST = 64


def columns(queries: Sequence[Query]) -> dict[str, list[Any]]:
    """Return the columns of metadata: column -> the value of every query, or None.

    ``gold_tables`` is how many tables answer the query, ``db_id`` its database if it is about one;
    the rest is metadata that is a number, a truth value or a short text in every query that has it.
    """
    found: dict[str, list[Any]] = {"gold_tables": [len(query.gold) for query in queries]}
    databases = [query.database_id for query in queries]
    if set(databases) - {NO_DATABASE}:
        found["db_id"] = [None if name == NO_DATABASE else name for name in databases]
    for name in sorted({name for query in queries for name in query.metadata}):
        values = [query.metadata.get(name) for query in queries]
        kinds = {type(value) for value in values if value is not None}
        if len(kinds) == 1 and kinds <= {str, int, float, bool} and not _long(values):
            found.setdefault(name, values)
    return {PREFIX + name: values for name, values in found.items()}


def by_property(queries: Sequence[Query]) -> dict[str, list[Any]]:
    """Return ``columns`` by the names that users write, as in ``--by difficulty``."""
    return {name.removeprefix(PREFIX): values for name, values in columns(queries).items()}


def partitions(queries: Sequence[Query]) -> dict[str, Partition]:
    """Divide queries by each of their properties."""
    return {name: partition(values) for name, values in by_property(queries).items()}


def _long(values: Sequence[Any]) -> bool:
    return any(isinstance(value, str) and len(value) > _LONGEST for value in values)
