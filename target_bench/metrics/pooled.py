"""Scores where only a pool of tables was judged: how much of a ranking was, and bpref.

A query has in its metadata, as ``not_relevant``, the tables that people judged and found not
relevant; with the gold tables these are all that were judged. Definitions are in
``docs/metrics.md``.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from target_bench.core.errors import ConfigError, DataError
from target_bench.core.metric import by_name
from target_bench.core.schema import Query, TableId
from target_bench.metrics.retrieval import (
    Floats,
    JudgedRankings,
    RetrievalMetric,
    define,
    made,
    ratio,
)

NOT_RELEVANT = "not_relevant"
"""The entry of a query's metadata with the tables that were judged and are not relevant.

A table of the query's database is named by its id, another one by ``[database, table]``.
"""


def labelled_tables(query: Query) -> frozenset[TableId]:
    """Return the tables that were judged for a query, relevant or not.

    Raises:
        DataError: ``not_relevant`` is not a list of tables.
    """
    refused = query.metadata.get(NOT_RELEVANT) or ()
    pairs = (name for name in refused if not isinstance(name, str))
    if isinstance(refused, str) or not all(
        isinstance(p, list | tuple) and len(p) == 2 for p in pairs
    ):
        raise DataError(
            f"query {query.id!r:.60}: not_relevant should be a list of tables (an id, or a "
            f"database and an id), but is {refused!r:.80}"
        )
    named = (
        TableId(*name) if isinstance(name, list | tuple) else TableId(query.database_id, str(name))
        for name in refused
    )
    return frozenset([*query.gold, *named])


def with_labels(
    judged: JudgedRankings, rankings: Sequence[Sequence[TableId]], queries: Iterable[Query]
) -> JudgedRankings:
    """Return the same rankings, with what is known of their other tables.

    Args:
        judged: the rankings.
        rankings: for each query its tables, best first.
        queries: the queries, in the same order.
    """
    n = len(judged.gold)
    refused = np.zeros((n, judged.found.shape[1]), dtype=np.bool_)
    in_all = np.full(n, -1, dtype=np.int32)
    for i, (ranking, query) in enumerate(zip(rankings, queries, strict=True)):
        if NOT_RELEVANT not in query.metadata:
            continue
        known = labelled_tables(query) - set(query.gold)
        in_all[i] = len(known)
        first = ranking[: refused.shape[1]]
        refused[i, : len(first)] = [table in known for table in first]
    return replace(judged, pool=(refused, in_all))


def pooled_metrics(cutoffs: Sequence[int]) -> list[RetrievalMetric]:
    """List the metrics of pooled labels at these cutoffs."""
    return [*(made(JUDGED, k=k) for k in cutoffs), made(BPREF, depth=max(cutoffs))]


def _labels(judged: JudgedRankings) -> tuple[Floats, Floats]:
    if judged.pool is None:
        raise ConfigError(
            "judged@k and bpref need queries with not_relevant in their metadata, which "
            "`target-bench labels read` writes"
        )
    refused, in_all = judged.pool
    return refused.astype(np.float64), in_all.astype(np.float64)


def _judged(judged: JudgedRankings, k: int) -> tuple[Floats, Floats]:
    refused, in_all = _labels(judged)
    known = judged.hits(k) + refused[:, :k].sum(axis=1)
    pooled = in_all >= 0
    returned = np.minimum(judged.returned, k) * pooled
    return ratio(known * pooled, returned), (returned > 0).astype(np.float64)


def _bpref(judged: JudgedRankings, _k: int) -> tuple[Floats, Floats]:
    refused, in_all = _labels(judged)
    most = np.minimum(judged.gold, in_all)
    above = np.minimum(np.cumsum(refused, axis=1), most[:, None])
    lost = np.divide(above, most[:, None], out=np.zeros_like(above), where=most[:, None] > 0)
    counted = ((1 - lost) * judged.found).sum(axis=1)
    pooled = in_all >= 0
    return ratio(counted * pooled, judged.gold), pooled.astype(np.float64)


_NEEDS = ("queries with judged tables that are not relevant (not_relevant)",)

JUDGED = define(
    "judged",
    "judged",
    "mean share of the first k tables that people judged, over queries with a pool",
    _judged,
    source="Judged@k",
    needs=_NEEDS,
)
BPREF = define(
    "bpref",
    "bpref",
    "mean over gold tables of 1 - judged tables that are not relevant above it / min(gold, such)",
    _bpref,
    at_k=False,
    source="Buckley & Voorhees 2004",
    needs=_NEEDS,
)

DEFINITIONS = by_name(JUDGED, BPREF)
