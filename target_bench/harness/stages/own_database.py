"""Retrieval within the database of each question: parts of a corpus, and what is asked of them."""

import json
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from target_bench.core import registry
from target_bench.core.contract import RetrieverLike
from target_bench.core.errors import ConfigError
from target_bench.core.schema import NO_DATABASE, Corpus, Dataset, Query, TableId
from target_bench.data.tables import MemoryCorpus

Part = tuple[Corpus, Sequence[Query]]
"""Tables that are indexed together, and what is asked of them."""

NAME = "within-database"
"""The retriever that searches there."""


def within_database(retriever: Any) -> Any:
    """Return a retriever, or its name with settings, that searches in the question's database."""
    if not isinstance(retriever, str):
        return registry.build("retriever", NAME, {"retriever": retriever})
    if retriever.partition(":")[0] == NAME:
        return retriever
    plain = re.fullmatch(r"[\w.-]+", retriever)
    return f"{NAME}:retriever={retriever if plain else json.dumps(retriever)}"


def notes(retriever: RetrieverLike, dataset: Dataset) -> list[str]:
    """Return a note where databases are searched and none of them has a distractor."""
    databases = {query.database_id for query in dataset.queries}
    drawn = [table_id.database_id for mixed_in in dataset.distractors for table_id in mixed_in.ids]
    if getattr(retriever, "scope", "corpus") == "corpus" or databases & {*drawn}:
        return []
    return [
        f"no distractor is in the database of a question, so none can be found: leave --{NAME} out"
    ]


def joined(on: Mapping[str, Sequence[str]], n: int) -> list[str]:
    """Return the notes on some of ``n`` databases, each once, beginning with what it is on.

    Args:
        on: note -> the databases that it is on.
        n: how many databases there are.
    """
    lines = []
    for note, databases in on.items():
        named = ", ".join(map(repr, databases[:3])) + (", ..." if len(databases) > 3 else "")
        where = f"in {len(databases):,} of {n:,} databases ({named}): "
        lines.append(note if len(databases) == n else where + note)
    return lines


def by_database(dataset: Dataset, queries: Sequence[Query]) -> list[Part]:
    """Return the tables of each database that queries are about, with these queries.

    The corpus of a database without tables is empty.
    """
    queries_of: dict[str, list[Query]] = defaultdict(list)
    for query in queries:
        if query.database_id == NO_DATABASE:
            raise ConfigError(
                f"query {query.id!r} of {dataset.info.name} {dataset.split} is about no database, "
                f"so there is nothing to search within: leave --{NAME} out"
            )
        queries_of[query.database_id].append(query)
    tables: dict[str, list[TableId]] = defaultdict(list)
    for table_id in dataset.corpus.ids:
        tables[table_id.database_id].append(table_id)
    return [
        (MemoryCorpus(dataset.corpus[table_id] for table_id in tables[database]), about_it)
        for database, about_it in queries_of.items()
    ]
