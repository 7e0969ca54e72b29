"""Scores -> rankings: products of queries with a sparse index, or blocks of dense scores.

Two ways give the same rankings. Over few tables a block of queries is one sparse product and one
partition. Over many tables most scores are zero or far from the best, so each query is added up by
itself and only what may be among its best is looked at.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from target_bench.core.interfaces import Ranked
from target_bench.core.ranking import top_k
from target_bench.core.schema import TableId

Places = NDArray[np.int64]
Scores = NDArray[np.float64]

BLOCK_CELLS = 250_000
"""Scores held at a time, so that memory does not grow with the number of queries."""

WIDE = 16_384
"""From here on there are many tables."""

_GROUP = 64
_SLACK = 2.0**-30
"""More than rounding moves a score, as a share of it."""


def rank_product(
    queries: Any,
    shards: Iterable[Any],
    ids: Sequence[TableId],
    k: int,
    offsets: Scores | None = None,
) -> Ranked:
    """Return the tables that score more than 0 in the product of queries and index, best first.

    Args:
        queries: (queries, terms) CSR matrix.
        shards: (terms, tables) CSR matrices of consecutive tables.
        ids: the ids of all tables, in corpus order.
        k: the most tables to return.
        offsets: (queries,) what each query adds to the score of every table that matches.
    """
    parts, start = [], 0
    for shard in shards:
        find = _in_blocks if shard.shape[1] < WIDE else _one_by_one
        places, values = find(queries, shard, k, offsets)
        parts.append((np.where(places < 0, -1, places + start), values))
        start += shard.shape[1]
    return Ranked(ids, *_merged(parts, k))


def rank_scores(
    score_block: Callable[[slice], Scores], n_queries: int, ids: Sequence[TableId], k: int
) -> Ranked:
    """Return the tables that score more than 0, best first, from dense scores.

    Args:
        score_block: gives the (block, tables) scores of a slice of the queries.
        n_queries: how many there are.
        ids: the tables' ids, in corpus order.
        k: the most tables to return.
    """
    parts = [positive_best(score_block(b), k) for b in blocks(n_queries, len(ids))]
    return Ranked(ids, *stacked(parts))


def blocks(n_queries: int, n_tables: int, cells: int = BLOCK_CELLS) -> list[slice]:
    """Yield slices of the queries that have about this many scores each."""
    size = max(1, cells // max(1, n_tables))
    return [slice(start, min(start + size, n_queries)) for start in range(0, n_queries, size)]


def stacked(parts: Sequence[tuple[Places, Scores]]) -> tuple[Places, Scores]:
    """Return the places and scores of consecutive blocks of queries, as one."""
    if not parts:
        return np.empty((0, 0), dtype=np.int64), np.empty((0, 0))
    places, values = zip(*parts, strict=True)
    return np.concatenate(places), np.concatenate(values)


def positive_best(scores: Scores, k: int, offsets: Scores | None = None) -> tuple[Places, Scores]:
    """Return places and scores of the ``k`` best of each row; -1 and 0 where none is above 0."""
    if offsets is not None:
        scores = np.where(scores > 0, scores + offsets[:, None], 0.0)
    best, found = top_k(scores, k)
    matches = found > 0
    return np.where(matches, best, -1), np.where(matches, found, 0.0)


def _merged(parts: Sequence[tuple[Places, Scores]], k: int) -> tuple[Places, Scores]:
    """Merge the best of all shards, side by side in corpus order, so that ties keep it."""
    if len(parts) == 1:
        return parts[0]
    places = np.concatenate([part[0] for part in parts], axis=1)
    values = np.concatenate([part[1] for part in parts], axis=1)
    best, found = top_k(values, k)
    return np.take_along_axis(places, best, axis=1), found


def _in_blocks(queries: Any, weights: Any, k: int, offsets: Scores | None) -> tuple[Places, Scores]:
    parts = [
        positive_best((queries[b] @ weights).toarray(), k, None if offsets is None else offsets[b])
        for b in blocks(queries.shape[0], weights.shape[1])
    ]
    return stacked(parts)


def _one_by_one(
    queries: Any, weights: Any, k: int, offsets: Scores | None
) -> tuple[Places, Scores]:
    shape = queries.shape[0], min(k, weights.shape[1])
    places, values = np.full(shape, -1, dtype=np.int64), np.zeros(shape)
    scores = np.empty(weights.shape[1])
    for i in range(shape[0]):
        scores.fill(0.0)
        _add_up(queries, i, weights, scores)
        offset = None if offsets is None else offsets[i : i + 1]
        candidates = np.flatnonzero(scores > _bound(scores, k, offset))
        best, found = positive_best(scores[None, candidates], k, offset)
        n = int((best >= 0).sum())
        places[i, :n] = candidates[best[0, :n]]
        values[i, :n] = found[0, :n]
    return places, values


def _add_up(queries: Any, i: int, weights: Any, scores: Scores) -> None:
    """Add the weights of one query's terms to the scores."""
    span = slice(queries.indptr[i], queries.indptr[i + 1])
    for term, factor in zip(queries.indices[span], queries.data[span], strict=True):
        entries = slice(weights.indptr[term], weights.indptr[term + 1])
        np.add.at(scores, weights.indices[entries], factor * weights.data[entries])


def _bound(scores: Scores, k: int, offset: Scores | None = None) -> float:
    """Return a score below all of the ``k`` best, and not below 0.

    The tables are dealt into groups: ``k`` groups whose best is at least x hold ``k`` scores of at
    least x. Rounding may make ties of scores just below.
    """
    n_groups = len(scores) // _GROUP
    if n_groups <= k:
        return 0.0
    maxima = scores[: n_groups * _GROUP].reshape(_GROUP, n_groups).max(axis=0)
    least: float = np.partition(maxima, n_groups - k)[n_groups - k]
    ranked = least if offset is None else least + abs(float(offset[0]))
    return max(0.0, least - _SLACK * ranked)
