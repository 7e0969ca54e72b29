"""Rank tables by the product of queries with a sparse index, in two ways with equal results.

Over few tables a block of queries is one sparse product and one partition. Over many tables most
scores are zero or far from the best, so each query is summed alone, and only candidates for its
best tables are sorted.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, TypeVar

import numpy as np

from target_bench.core.processors import count_processors
from target_bench.core.ranking import (
    Floats,
    Positions,
    Ranked,
    split_into_blocks,
    stack_rankings,
    top_k,
    top_k_positive,
)
from target_bench.core.schema import TableId

T = TypeVar("T")
U = TypeVar("U")

WIDE = 16_384
"""From here on there are many tables."""

_GROUP = 64  # tables of which the best is compared first
_SLACK = 2.0**-30  # more than rounding changes a score, as a share of it


def rank_product(
    queries: Any,
    shards: Iterable[Any],
    ids: Sequence[TableId],
    k: int,
    offsets: Floats | None = None,
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
        find = _rank_blocks if shard.shape[1] < WIDE else _rank_one_by_one
        positions, values = find(queries, shard, k, offsets)
        parts.append((np.where(positions < 0, -1, positions + start), values))
        start += shard.shape[1]
    if len(parts) == 1:
        return Ranked(ids, *parts[0])
    # The best of all shards side by side, in corpus order, so that ties keep it.
    positions = np.concatenate([part[0] for part in parts], axis=1)
    best, values = top_k(np.concatenate([part[1] for part in parts], axis=1), k)
    return Ranked(ids, np.take_along_axis(positions, best, axis=1), values)


def _rank_blocks(
    queries: Any, weights: Any, k: int, offsets: Floats | None
) -> tuple[Positions, Floats]:
    parts = [
        top_k_positive((queries[b] @ weights).toarray(), k, None if offsets is None else offsets[b])
        for b in split_into_blocks(queries.shape[0], weights.shape[1])
    ]
    return stack_rankings(parts)


def _rank_one_by_one(
    queries: Any, weights: Any, k: int, offsets: Floats | None
) -> tuple[Positions, Floats]:
    n = queries.shape[0]
    size = max(1, -(-n // count_processors()))
    spans = [slice(start, min(start + size, n)) for start in range(0, n, size)]
    return stack_rankings(in_threads(partial(_rank_span, queries, weights, k, offsets), spans))


def _rank_span(
    queries: Any, weights: Any, k: int, offsets: Floats | None, span: slice
) -> tuple[Positions, Floats]:
    """Rank the queries of a span, in one thread."""
    scorer = QueryScorer(queries, weights, k)
    shape = span.stop - span.start, min(k, weights.shape[1])
    positions, values = np.full(shape, -1, dtype=np.int64), np.zeros(shape)
    for row, i in enumerate(range(span.start, span.stop)):
        offset = None if offsets is None else offsets[i : i + 1]
        candidates, scores = scorer.find_candidates(i, 0.0 if offset is None else float(offset[0]))
        best, best_scores = top_k_positive(scores[None, :], k, offset)
        n = int((best >= 0).sum())
        positions[row, :n] = candidates[best[0, :n]]
        values[row, :n] = best_scores[0, :n]
    return positions, values


class QueryScorer:
    """Adds up the weights of a query's terms, one query after the other. For one thread.

    Args:
        queries: (queries, terms) CSR matrix.
        weights: (terms, tables) CSR matrix; of 64-bit floats, or it is copied.
        k: how many of the best tables are needed.
    """

    def __init__(self, queries: Any, weights: Any, k: int) -> None:
        # The inner loop of scipy's products. The products themselves would copy the weights of the
        # terms, or visit all terms. The loop holds no lock, so threads run in parallel.
        from scipy.sparse._sparsetools import csc_matvec

        self._add = csc_matvec
        self._queries, self._k = queries, k
        self._starts = np.asarray(weights.indptr)  # slices of mapped arrays are slow
        self._weights = np.asarray(weights.indices), np.asarray(weights.data, dtype=np.float64)
        self._scores = np.empty(weights.shape[1])

    def find_candidates(self, i: int, offset: float = 0.0) -> tuple[Positions, Floats]:
        """Return a superset of the ``k`` best tables of a query, and their scores.

        Args:
            i: the row of the query.
            offset: what will be added to each score.

        Returns:
            (n,) positions in ascending order; (n,) scores, all above 0.
        """
        self._score(i)
        positions = _find_candidates(self._scores, self._k, offset)
        return positions, self._scores[positions]

    def _score(self, i: int) -> None:
        self._scores.fill(0.0)
        queries, n_tables = self._queries, len(self._scores)
        for entry in range(queries.indptr[i], queries.indptr[i + 1]):
            term, factor = queries.indices[entry], queries.data[entry : entry + 1]
            starts = self._starts[term : term + 2]
            self._add(n_tables, 1, starts, *self._weights, factor, self._scores)


def _find_candidates(scores: Floats, k: int, offset: float) -> Positions:
    n_groups = len(scores) // _GROUP
    if n_groups <= k:
        return np.flatnonzero(scores > 0)
    n_grouped = n_groups * _GROUP
    grouped = scores[:n_grouped].reshape(_GROUP, n_groups)
    maxima = grouped.max(axis=0)
    # k groups with a best score of at least x have k scores of at least x. Scores just below it may
    # be rounded to ties.
    least: float = np.partition(maxima, n_groups - k)[n_groups - k]
    bound = max(0.0, least - _SLACK * (least + abs(offset)))
    groups = np.flatnonzero(maxima > bound)
    if len(groups) > n_groups // 4:  # many ties
        return np.flatnonzero(scores > bound)
    rows, columns = np.nonzero(grouped[:, groups] > bound)
    rest = n_grouped + np.flatnonzero(scores[n_grouped:] > bound)
    return np.concatenate([np.sort(rows * n_groups + groups[columns]), rest])


def in_threads(work: Callable[[T], U], values: list[T]) -> list[U]:
    """Return the results of values, on all processors; ``values`` is emptied, to free memory."""
    if len(values) < 2 or count_processors() < 2:
        return [work(values.pop(0)) for _ in range(len(values))]
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(count_processors()) as threads:
        waiting = [threads.submit(work, values.pop(0)) for _ in range(len(values))]
        return [future.result() for future in waiting]
