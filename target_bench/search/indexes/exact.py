"""Exact search: products in single precision give candidates, which are rescored in double.

Libraries add up in single precision, each in its own order, so their scores differ in the last
bits. An inner product of float32 vectors in float64 is exact to about 1e-16 of the product of both
lengths, and is rounded to 1e-6 of that. So the ranking is the same, whatever library found the
candidates and however vectors are split. Products in float64 alone take four times as long (1,000
queries over 100,000 vectors of 384 dimensions on two cores).
"""

import importlib.util
import threading
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from target_bench.core.array_files import read_array, read_json, write_array, write_json
from target_bench.core.errors import ConfigError, MissingExtraError
from target_bench.core.ranking import SINGLE_DIGITS, round_scores, top_k
from target_bench.core.vectors import VectorIndex, Vectors

Scores = NDArray[np.float64]
Rows = NDArray[np.int64]
Found = tuple[Scores, Rows]
"""(n, k) scores of n queries, and the rows of the vectors that have them, best first."""

_BLOCK = 1024  # queries, at most, that are scored together
_SMALLEST_BLOCK = 16
_CELLS = 8_000_000  # scores in memory at a time, of a thread
_ALL_CELLS = 64_000_000  # of all threads together
_GPU_CELLS = 256_000_000  # on a GPU
_GROUP = 16  # vectors of which the best score is compared first
_PAIRS = 512  # inner products at a time: their vectors stay in the processor's cache
_LARGEST = float(np.finfo(np.float32).max) / 4
_BLAS_LIMIT = threading.Lock()  # limits of BLAS are those of the process


class StoredVectors(VectorIndex):
    """Base of indexes that keep their vectors and rank candidates by inner products.

    A subclass has ``_prepare``, which is called with new vectors, and ``_search``.

    Attributes:
        vectors: (m, d) vectors, C-contiguous.
        longest: the Euclidean length of the longest.
    """

    vectors: Vectors
    longest: float

    def build(self, vectors: Vectors) -> None:
        """Keep (m, d) vectors; see ``VectorIndex.build``.

        Raises:
            ConfigError: there is no such device, or it has no memory for them.
        """
        self.vectors = np.ascontiguousarray(vectors, np.float32)
        self.longest = float(_measure_lengths(self.vectors).max(initial=0.0))
        self._prepare()

    def search(self, vectors: Vectors, k: int) -> Found:
        """Return the best rows for each of (n, d) vectors; see ``VectorIndex.search``.

        Raises:
            ConfigError: they are of other dimension than the indexed vectors, or not finite, or so
                long that an inner product is more than single precision holds; or ``k`` is less
                than 1.
        """
        if k < 1:
            raise ConfigError(f"k={k}: at least one row is asked for")
        queries = np.ascontiguousarray(vectors, np.float32)
        (n, width), (m, d) = queries.shape, self.vectors.shape
        if n and m and width != d:
            raise ConfigError(
                f"the queries have {width} dimensions, the indexed vectors {d}: "
                "encode both with the same model and settings"
            )
        lengths = _measure_lengths(queries)
        largest = lengths.max(initial=0.0) * self.longest
        if not largest <= _LARGEST:  # NaN among them
            raise ConfigError(
                f"the vectors are too long: inner products up to {largest:.3g} overflow single "
                f"precision. Scale them so that products stay below {_LARGEST:.3g}"
            )
        k = min(k, m)
        if not (n and k and d):  # vectors of no dimension all score 0
            return np.zeros((n, k)), np.tile(np.arange(k, dtype=np.int64), (n, 1))
        return self._search(queries, self._bound_errors(lengths), k)

    def save(self, folder: Path) -> None:
        """Write the vectors as .npy, and their largest length."""
        write_array(folder / "vectors.npy", self.vectors)
        write_json(folder / "index.json", {"longest": self.longest})

    def load(self, folder: Path) -> None:
        """Read the files that ``save`` wrote; the vectors stay on disk until they are used."""
        self.longest = read_json(folder / "index.json")["longest"]
        self.vectors = np.asarray(read_array(folder / "vectors.npy"))
        self._prepare()

    @abstractmethod
    def _prepare(self) -> None: ...

    @abstractmethod
    def _search(self, queries: Vectors, slacks: Scores, k: int) -> Found:
        """Return the best rows of (n, d) queries, n and d above 0.

        ``slacks`` are the (n,) bounds of ``_bound_errors``.
        """

    def _bound_errors(self, lengths: Scores) -> Scores:
        """Return how far below the k-th best score, in single precision, one of the best may be."""
        # With u = 2^-24, an inner product of length d is off by at most d u / (1 - d u) times both
        # lengths, in any order of summation (Higham 2002, Accuracy and Stability of Numerical
        # Algorithms, section 3.1). Both scores may be off, and both are rounded by half a step,
        # which is 2^-20 of the power of two next to the product of both lengths. Products of tiny
        # numbers may vanish besides, each by less than 2^-149.
        d = self.vectors.shape[1] + 2
        du = d * 2.0**-24
        share = 2 * du / (1 - du) + 1.5 * 2.0**-SINGLE_DIGITS
        bounds: Scores = share * self.longest * lengths + 2 * d * 2.0**-149
        return bounds


def _measure_lengths(vectors: Vectors) -> Scores:
    """Return the Euclidean lengths, in double precision so that none overflows."""
    squares = np.empty(len(vectors))
    for start in range(0, len(vectors), _BLOCK):
        chunk = vectors[start : start + _BLOCK].astype(np.float64)
        squares[start : start + _BLOCK] = np.vecdot(chunk, chunk)
    return np.sqrt(squares)


class Exact(StoredVectors):
    """Compare each query with every vector, by matrix products.

        index = Exact()
        index.build(vectors)
        scores, rows = index.search(queries, k=10)

    On the CPU it needs no package beyond numpy, and memory for the vectors (mapped from disk after
    ``load``) and for blocks of scores.

    Args:
        device: a GPU, as PyTorch names it: ``cuda``, ``cuda:1``. Default: the CPU. Rankings are the
            same.

    Raises:
        ConfigError: it is no name of a GPU.
        MissingExtraError: PyTorch is not installed.
    """

    packages = ("numpy",)

    def __init__(self, device: str | None = None) -> None:
        self.device = device
        self._gpu = None if device in (None, "cpu") else Gpu(str(device))

    def config(self) -> Mapping[str, Any]:
        """Return no setting: the device changes no ranking."""
        return {}

    def _prepare(self) -> None:
        if self._gpu is not None:
            self._gpu.upload(self.vectors)

    def _search(self, queries: Vectors, slacks: Scores, k: int) -> Found:
        if self._gpu is not None:
            return self._gpu.search(self.vectors, queries, slacks, k)
        return search_exactly(self.vectors, queries, slacks, k)


def search_exactly(vectors: Vectors, queries: Vectors, slacks: Scores, k: int) -> Found:
    """Return (n, k) inner products and rows of the best, by the rule of ``rank_pairs``."""

    def search_block(block: slice) -> Found:
        scores = queries[block] @ vectors.T
        bounds = _bound_kth_best(scores, k) - slacks[block]
        return rank_pairs(queries[block], vectors, *_find_pairs(scores, bounds), k)

    n, m = len(queries), len(vectors)
    size = n  # one block where there is too little work for several threads
    if n * m > _CELLS // 8:
        cells = min(_CELLS, _ALL_CELLS // _count_blas_threads())
        size = max(_SMALLEST_BLOCK, min(_BLOCK, cells // m))
    return _in_blocks(search_block, n, size)


def _bound_kth_best(scores: Vectors, k: int) -> Vectors:
    """Return (n,) lower bounds of the k-th best score of each row."""
    # Columns are split into groups: k groups with a best score of at least x have k scores of at
    # least x. Few groups are partitioned faster than all scores.
    n, m = scores.shape
    size = max(1, min(_GROUP, m // (8 * k)))
    n_groups = m // size
    maxima = scores[:, : n_groups * size].reshape(n, size, n_groups).max(axis=1)
    maxima.partition(n_groups - k, axis=1)
    least: Vectors = maxima[:, n_groups - k]
    return least


def _find_pairs(scores: Vectors, bounds: Scores) -> tuple[Rows, Rows]:
    """Return query and row of each score that is not below the bound of its query."""
    # Rounded down, so that no score between a bound and its float32 is lost.
    rounded = np.nextafter(bounds.astype(np.float32), np.float32(-np.inf))
    high = scores >= rounded[:, None]
    owners = np.repeat(np.arange(len(scores)), np.count_nonzero(high, axis=1))
    return owners, np.flatnonzero(high) - owners * scores.shape[1]


def rank_pairs(queries: Vectors, vectors: Vectors, owners: Rows, rows: Rows, k: int) -> Found:
    """Rank pairs of query and candidate by rounded inner product, equal ones by row.

    Args:
        queries: (n, d) vectors.
        vectors: (m, d) indexed vectors.
        owners: (p,) the query of each pair, ascending.
        rows: (p,) the candidate of each pair, ascending for each query, none twice.
        k: how many to return, no more than there are vectors.

    Returns:
        (n, k) rounded inner products and rows; 0 and -1 where a query has fewer candidates.
    """
    n = len(queries)
    counts = np.bincount(owners, minlength=n)
    columns = np.arange(len(owners)) - np.repeat(np.cumsum(counts) - counts, counts)
    width = max(k, int(counts.max(initial=0)))
    scores = np.full((n, width), -np.inf)
    scores[owners, columns] = inner_products(queries, vectors, owners, rows)
    candidates = np.full((n, width), -1, dtype=np.int64)
    candidates[owners, columns] = rows
    best, best_scores = top_k(scores, k)
    best_rows = np.take_along_axis(candidates, best, axis=1)
    return np.where(best_rows < 0, 0.0, best_scores), best_rows


def rank_candidates(queries: Vectors, vectors: Vectors, candidates: Rows, k: int) -> Found:
    """Rank (n, c) rows in any order as ``rank_pairs`` does; -1 where there is none."""

    def rank_block(block: slice) -> Found:
        rows = np.sort(candidates[block], axis=1)
        owners, columns = np.nonzero(rows >= 0)
        return rank_pairs(queries[block], vectors, owners, rows[owners, columns], k)

    return _in_blocks(rank_block, len(queries), _BLOCK)


def inner_products(queries: Vectors, vectors: Vectors, owners: Rows, rows: Rows) -> Scores:
    """Return the (p,) rounded inner products of pairs; each depends on its two vectors only."""
    doubles = queries.astype(np.float64)
    products, lengths = np.empty(len(owners)), np.empty(len(owners))
    for start in range(0, len(owners), _PAIRS):
        pairs = slice(start, start + _PAIRS)
        right = vectors[rows[pairs]].astype(np.float64)
        np.vecdot(doubles[owners[pairs]], right, out=products[pairs])
        np.vecdot(right, right, out=lengths[pairs])
    lengths *= np.vecdot(doubles, doubles)[owners]
    return round_scores(products, np.sqrt(lengths, out=lengths), SINGLE_DIGITS)


def _in_blocks(work: Callable[[slice], Found], n: int, size: int) -> Found:
    """Return the joined results of blocks of ``size`` of ``n`` queries, on all processors."""
    blocks = [slice(start, min(start + size, n)) for start in range(0, n, size)]
    if len(blocks) == 1:
        return work(blocks[0])
    from threadpoolctl import threadpool_limits

    # BLAS has one thread meanwhile: each block is one thread's, from products to ranks.
    with _BLAS_LIMIT:
        n_threads = _count_blas_threads()
        with threadpool_limits(1, "blas"), ThreadPoolExecutor(n_threads) as pool:
            scores, rows = zip(*pool.map(work, blocks), strict=True)
    return np.concatenate(scores), np.concatenate(rows)


def _count_blas_threads() -> int:
    """Return how many threads linear algebra may use, as ``OMP_NUM_THREADS`` and the like say."""
    from threadpoolctl import threadpool_info

    pools: list[dict[str, Any]] = threadpool_info()
    return max([int(p["num_threads"]) for p in pools if p["user_api"] == "blas"], default=1)


class Gpu:
    """Find candidates with PyTorch on a device, in full single precision (no TF32)."""

    def __init__(self, device: str) -> None:
        if importlib.util.find_spec("torch") is None:
            raise MissingExtraError("torch", "dense", "exact search on a GPU")
        if device.partition(":")[0] not in ("cuda", "cpu"):
            raise ConfigError(f"device={device!r}: expected cuda, cuda:0, ... or cpu")
        self._device = device

    def upload(self, vectors: Vectors) -> None:
        """Copy the (m, d) vectors to the device."""
        import torch

        try:
            self._vectors = torch.tensor(vectors, device=self._device)
        except torch.OutOfMemoryError as error:
            raise ConfigError(
                f"device={self._device}: out of memory with {len(vectors):,} vectors; leave "
                "device out"
            ) from error
        except (RuntimeError, AssertionError) as error:
            problem = " ".join(str(error).split())[:200]
            raise ConfigError(
                f"device={self._device}: PyTorch has no such device here ({problem})"
            ) from error

    def search(self, vectors: Vectors, queries: Vectors, slacks: Scores, k: int) -> Found:
        """Return the best rows of each query; blocks are halved when memory runs out."""
        import torch

        n, start = len(queries), 0
        size = max(1, _GPU_CELLS // len(vectors))
        scores, rows = np.empty((n, k)), np.empty((n, k), dtype=np.int64)
        while start < n:
            block = slice(start, start + size)
            try:
                pairs = self._find_pairs(queries[block], slacks[block], k)
            except torch.OutOfMemoryError as error:
                if size == 1:
                    raise ConfigError(
                        f"device={self._device}: out of memory with one query over "
                        f"{len(vectors):,} vectors; leave device out"
                    ) from error
                size = min(size, n) // 2 or 1
                continue
            scores[block], rows[block] = rank_pairs(queries[block], vectors, *pairs, k)
            start += size
        return scores, rows

    def _find_pairs(self, block: Vectors, slacks: Scores, k: int) -> tuple[Rows, Rows]:
        """Return query and row of each pair that may be among the best."""
        import torch

        with _full_precision(), torch.inference_mode():
            scores = torch.tensor(block, device=self._device) @ self._vectors.T
            bounds = scores.topk(k, dim=1).values[:, -1].double()
            bounds -= torch.tensor(slacks, device=self._device)
            owners, rows = (scores >= bounds[:, None]).nonzero(as_tuple=True)
            return owners.cpu().numpy(), rows.cpu().numpy()


@contextmanager
def _full_precision() -> Iterator[None]:
    """Compute products in full single precision, regardless of the settings of the process."""
    import torch

    switches: list[Any] = [torch.backends.cuda.matmul]
    name, full = "allow_tf32", False  # before PyTorch 2.9
    if hasattr(torch.backends.cuda.matmul, "fp32_precision"):
        switches.append(torch.backends.mkldnn.matmul)
        name, full = "fp32_precision", "ieee"  # type: ignore[assignment]
    before = [getattr(switch, name) for switch in switches]
    for switch in switches:
        setattr(switch, name, full)
    try:
        yield
    finally:
        for switch, value in zip(switches, before, strict=True):
            setattr(switch, name, value)
