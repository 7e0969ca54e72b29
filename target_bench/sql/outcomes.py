"""Where points of text-to-SQL are lost: outcomes, and scores by hardness and by database."""

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from typing import Any

from target_bench.core.interfaces import Dataset
from target_bench.core.schema import Query
from target_bench.sql.judged_answer import JudgedAnswer
from target_bench.sql.linking import total

_SHOWN = ("bird", "spider", "multiset", "soft_f1")


def report(dataset: Dataset, judged: Sequence[JudgedAnswer], engine: str) -> dict[str, Any]:
    """Outcomes with their numbers of queries, scores of groups of queries, and schema linking.

    ``engine`` is what ran the statements, ``judged`` over how many queries the scores are,
    ``not_runnable`` how many are left out and why: their database is ``missing`` or ``unusable``,
    or the ``engines`` differ over the gold. ``left_out`` says it of each.

    Groups are by ``hardness`` and ``difficulty``, where queries say theirs, and by database. A
    group has ``queries``, how many of them are ``runnable``, and the means over these. Linking is
    the micro-averaged precision and recall of the tables and columns that predictions use, over
    runnable queries with a prediction on an SQLite database.
    """
    queries = {query.id: query for query in dataset.queries}
    by: dict[str, dict[str, Any]] = {}
    for name, key in _GROUPS.items():
        groups = _grouped(judged, queries, key)
        if groups:
            by[name] = {group: _means(members) for group, members in groups.items()}
    why = Counter(found.left_out for found in judged if found.left_out is not None)
    return {
        "engine": engine,
        "judged": len(judged) - why.total(),
        "not_runnable": dict(why),
        "outcomes": dict(Counter(found.query.verdict for found in judged).most_common()),
        "left_out": {
            found.query_id: found.reason
            for found in judged
            if found.query.verdict == "not_runnable"
        },
        "by": by,
        "linking": _linking(judged),
    }


_GROUPS: dict[str, Callable[[Query], Any]] = {
    "hardness": lambda query: query.metadata.get("hardness"),
    "difficulty": lambda query: query.metadata.get("difficulty"),
    "database": lambda query: query.database_id,
}
_ORDER = ("easy", "simple", "medium", "moderate", "hard", "challenging", "extra")


def _grouped(
    judged: Sequence[JudgedAnswer], queries: dict[str, Query], key: Callable[[Query], Any]
) -> dict[str, list[JudgedAnswer]]:
    groups: dict[str, list[JudgedAnswer]] = defaultdict(list)
    for found in judged:
        name = key(queries[found.query_id])
        if name is not None:
            groups[str(name)].append(found)
    rank = {name: place for place, name in enumerate(_ORDER)}
    return {name: groups[name] for name in sorted(groups, key=lambda n: (rank.get(n, 99), n))}


def _means(judged: Sequence[JudgedAnswer]) -> dict[str, Any]:
    runnable = [found.query for found in judged if found.query.verdict != "not_runnable"]
    means = {
        name: sum(getattr(query, name) for query in runnable) / len(runnable) if runnable else None
        for name in _SHOWN
    }
    return {
        "queries": len(judged),
        "runnable": len(runnable),
        **{f"ex[{name}]" if name != "soft_f1" else name: mean for name, mean in means.items()},
    }


def _linking(judged: Sequence[JudgedAnswer]) -> dict[str, Any] | None:
    links = [found.links for found in judged if found.links is not None]
    tables, used = [link.tables for link in links], [link.columns for link in links]
    if not tables:
        return None
    return {
        name: {"precision": overlap.precision, "recall": overlap.recall, "f1": overlap.f1}
        for name, overlap in (("tables", total(tables)), ("columns", total(used)))
    }
