"""Vectors of an index; candidates -> rankings: their inner products again, in double precision.

Libraries add up in single precision, each in an order of its own, so their scores differ in the
last bits. An inner product of float32 vectors taken in float64 is exact to about 1e-16 of the
product of both lengths, and is rounded to 1e-6 of that, so that the order is the same whoever named
the candidates, and however vectors are dealt over shards.
"""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from target_bench.core.array_files import read_array, read_json, write_array, write_json
from target_bench.core.errors import ConfigError
from target_bench.core.ranking import SINGLE, round_to_grade, top_k
from target_bench.core.vectors import Vectors

Lengths = NDArray[np.float64]
Scores = NDArray[np.float64]
Rows = NDArray[np.int64]
Found = tuple[Scores, Rows]

BLOCK = 1024
"""Queries looked at together."""

_PAIRS = 512  # inner products at a time: their vectors stay in the processor's cache
_ALONE = threading.Lock()
_LARGEST = float(np.finfo(np.float32).max) / 4


@dataclass(frozen=True, slots=True)
class Stored:
    """The indexed vectors.

    Attributes:
        vectors: (m, d) vectors, C-contiguous.
        longest: the Euclidean length of the longest.
    """

    vectors: Vectors
    longest: float

    @classmethod
    def from_array(cls, vectors: NDArray[Any]) -> Self:
        """Keep (m, d) finite numbers as float32."""
        table = np.ascontiguousarray(vectors, np.float32)
        return cls(table, float(_lengths(table).max(initial=0.0)))

    def checked_queries(self, vectors: NDArray[Any], k: int) -> tuple[Vectors, Lengths]:
        """Return (n, d) queries as float32, and their lengths.

        Raises:
            ConfigError: they are of other dimension than the indexed vectors, or not finite, or so
                long that an inner product is more than single precision holds; or ``k`` is less
                than 1.
        """
        if k < 1:
            raise ConfigError(f"k={k}: at least one row is asked for")
        queries = np.ascontiguousarray(vectors, np.float32)
        d, width = self.vectors.shape[1], queries.shape[1]
        if len(self.vectors) and len(queries) and width != d:
            raise ConfigError(
                f"the queries have {width} dimensions, the indexed vectors {d}: "
                "encode both with the same model and settings"
            )
        lengths = _lengths(queries)
        largest = lengths.max(initial=0.0) * self.longest
        if not largest <= _LARGEST:  # NaN among them
            raise ConfigError(
                f"the vectors are too long: inner products up to {largest:.3g} overflow single "
                f"precision. Scale them so that products stay below {_LARGEST:.3g}"
            )
        return queries, lengths

    def save(self, folder: Path) -> None:
        """Write the vectors and their largest length into an existing folder."""
        write_array(folder / "vectors.npy", self.vectors)
        write_json(folder / "index.json", {"longest": self.longest})

    @classmethod
    def load(cls, folder: Path) -> Self:
        """Return the vectors that ``save`` wrote, memory-mapped.

        Whoever loads an index has checked the hashes of its files (``core/index_store.py``).
        """
        longest = read_json(folder / "index.json")["longest"]
        return cls(np.asarray(read_array(folder / "vectors.npy")), longest)


def _lengths(vectors: Vectors) -> Lengths:
    """Return the Euclidean lengths, in double precision so that none overflows."""
    squares = np.empty(len(vectors))
    for start in range(0, len(vectors), BLOCK):
        chunk = vectors[start : start + BLOCK].astype(np.float64)
        squares[start : start + BLOCK] = np.vecdot(chunk, chunk)
    return np.sqrt(squares)


def slack(stored: Stored, lengths: Lengths) -> Scores:
    """Return how far below the k-th best single-precision score one of the k best can lie.

    With u = 2^-24, an inner product of length d is off by at most d u / (1 - d u) times both
    lengths, in any order of summation (Higham 2002, Accuracy and Stability of Numerical
    Algorithms, section 3.1). Both scores may be off, and both are rounded by half a step, which is
    2^-20 of the power of two next to the product of both lengths. Products of tiny numbers may
    vanish besides, each by less than 2^-149.
    """
    d = stored.vectors.shape[1] + 2
    du = d * 2.0**-24
    share = 2 * du / (1 - du) + 1.5 * 2.0**-SINGLE
    bound: Scores = share * stored.longest * lengths + 2 * d * 2.0**-149
    return bound


def rank(queries: Vectors, stored: Stored, numbers: Rows, rows: Rows, k: int) -> Found:
    """Return the best candidates of each query.

    Args:
        queries: (n, d) vectors.
        stored: the indexed vectors.
        numbers: (p,) numbers of queries, ascending.
        rows: (p,) a candidate of each, ascending for each query, none twice.
        k: how many to return, no more than there are vectors.

    Returns:
        (n, k) rounded inner products and rows; 0 and -1 where a query has fewer candidates.
    """
    n = len(queries)
    counts = np.bincount(numbers, minlength=n)
    places = np.arange(len(numbers)) - np.repeat(np.cumsum(counts) - counts, counts)
    products = inner_products(queries, stored.vectors, numbers, rows)
    width = max(k, int(counts.max(initial=0)))
    scores = np.full((n, width), -np.inf)
    scores[numbers, places] = products
    candidates = np.full((n, width), -1, dtype=np.int64)
    candidates[numbers, places] = rows
    best, ranked = top_k(scores, k)
    best_rows = np.take_along_axis(candidates, best, axis=1)
    return np.where(best_rows < 0, 0.0, ranked), best_rows


def rank_candidates(queries: Vectors, stored: Stored, candidates: Rows, k: int) -> Found:
    """Rank (n, c) rows in any order as ``rank`` does; -1 where there is none."""

    def ranked(block: slice) -> Found:
        ordered = np.sort(candidates[block], axis=1)
        numbers, places = np.nonzero(ordered >= 0)
        return rank(queries[block], stored, numbers, ordered[numbers, places], k)

    return in_blocks(ranked, len(queries), k)


def inner_products(queries: Vectors, vectors: Vectors, numbers: Rows, rows: Rows) -> Scores:
    """Return the (p,) rounded inner products of pairs; each depends on its two vectors only."""
    doubles = queries.astype(np.float64)
    products, lengths = np.empty(len(numbers)), np.empty(len(numbers))
    for start in range(0, len(numbers), _PAIRS):
        pairs = slice(start, start + _PAIRS)
        right = vectors[rows[pairs]].astype(np.float64)
        np.vecdot(doubles[numbers[pairs]], right, out=products[pairs])
        np.vecdot(right, right, out=lengths[pairs])
    lengths *= np.vecdot(doubles, doubles)[numbers]
    return round_to_grade(products, np.sqrt(lengths, out=lengths), SINGLE)


def in_blocks(
    work: Callable[[slice], Found], n: int, k: int, size: int = BLOCK
) -> tuple[Scores, Rows]:
    """Return the results of ``work`` for blocks of queries, joined; processors share the blocks.

    BLAS is kept to one thread meanwhile: a block is one thread's, from products to ranks.
    """
    blocks = [slice(start, min(start + size, n)) for start in range(0, n, size)]
    if not blocks:
        return np.empty((0, k)), np.empty((0, k), dtype=np.int64)
    if len(blocks) == 1:
        return work(blocks[0])
    from threadpoolctl import threadpool_limits

    with _ALONE:  # limits are those of the process
        threads = blas_threads()
        with threadpool_limits(1, "blas"), ThreadPoolExecutor(threads) as pool:
            scores, rows = zip(*pool.map(work, blocks), strict=True)
    return np.concatenate(scores), np.concatenate(rows)


def blas_threads() -> int:
    """Return how many threads linear algebra may use, as ``OMP_NUM_THREADS`` and the like say."""
    from threadpoolctl import threadpool_info

    pools: list[dict[str, Any]] = threadpool_info()
    return max(
        [int(pool["num_threads"]) for pool in pools if pool["user_api"] == "blas"], default=1
    )
