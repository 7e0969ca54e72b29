"""Rankings compared with gold tables: what every metric of table retrieval reads."""

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class JudgedRankings:
    """Rankings compared with gold tables; n queries, ranks 1 to depth.

    Attributes:
        found: (n, width) how many gold tables are first met at each rank (0 or 1).
        found_or_copy: the same when a copy of a gold table (same header and rows) counts as it.
        gold: (n,) number of gold tables.
        returned: (n,) number of tables returned, repeated ones included.
        depth: the largest rank looked at; ``found`` ends where the longest ranking does.
        database_at: (n,) rank of the first table of the gold database, 0 where there is none; None
            where tables are in no databases.
        databases_to: (n,) how many databases the ranking has met there, the gold one included.
    """

    found: NDArray[np.int32]
    found_or_copy: NDArray[np.int32]
    gold: NDArray[np.int32]
    returned: NDArray[np.int32]
    depth: int
    database_at: NDArray[np.int32] | None = None
    databases_to: NDArray[np.int32] | None = None

    def hits(self, k: int) -> Floats:
        """Return (n,) numbers of gold tables among the first k."""
        hits: Floats = np.sum(self.found[:, :k], axis=1, dtype=np.float64)
        return hits

    @cached_property
    def patterns(self) -> tuple[NDArray[np.int32], NDArray[np.intp]]:
        """The distinct rows of (found, gold, returned), and which one each query has."""
        rows = np.column_stack([self.found, self.gold, self.returned])
        distinct, inverse = np.unique(rows, axis=0, return_inverse=True)
        return distinct, inverse.reshape(-1)


def judge(
    rankings: Sequence[Sequence[Hashable]],
    gold: Sequence[Iterable[Hashable]],
    depth: int,
    copies: Mapping[Hashable, Hashable] | None = None,
) -> JudgedRankings:
    """Compare rankings with gold tables.

    Args:
        rankings: for each query its tables, best first.
        gold: for each query its gold tables, in the same order of queries.
        depth: how many ranks to look at.
        copies: table -> the group of tables that are copies of each other; tables not in it are
            like no other. Default: no copies.
    """
    golds = [set(tables) for tables in gold]
    n = len(golds)
    width = min(depth, max(map(len, rankings), default=0))
    found = np.zeros((n, width), dtype=np.int32)
    for i, (ranking, tables) in enumerate(zip(rankings, golds, strict=True)):
        _mark(found[i], ranking[:depth], dict.fromkeys(tables, 1))
    found_or_copy = found
    if copies:
        found_or_copy = np.zeros_like(found)
        for i, (ranking, tables) in enumerate(zip(rankings, golds, strict=True)):
            groups = [copies.get(table, table) for table in ranking[:depth]]
            _mark(found_or_copy[i], groups, Counter(copies.get(t, t) for t in tables))
    return JudgedRankings(
        found,
        found_or_copy,
        np.array([len(tables) for tables in golds], dtype=np.int32).reshape(n),
        np.array([len(ranking) for ranking in rankings], dtype=np.int32).reshape(n),
        depth,
    )


def with_databases(
    judged: JudgedRankings, rankings: Sequence[Sequence[str]], gold: Sequence[str]
) -> JudgedRankings:
    """Return the same rankings, judged by databases too.

    Args:
        judged: the rankings of tables.
        rankings: for each query the databases of its tables, best first.
        gold: for each query its database.
    """
    n = len(gold)
    at, to = np.zeros(n, dtype=np.int32), np.zeros(n, dtype=np.int32)
    for i, (ranking, database) in enumerate(zip(rankings, gold, strict=True)):
        looked_at = list(ranking[: judged.depth])
        if database in looked_at:
            at[i] = looked_at.index(database) + 1
            to[i] = len(set(looked_at[: at[i]]))
    return replace(judged, database_at=at, databases_to=to)


def _mark(row: NDArray[np.int32], ranking: Sequence[Hashable], wanted: dict[Hashable, int]) -> None:
    for rank, table in enumerate(ranking):
        if table in wanted:
            row[rank] = wanted.pop(table)
