"""Exact search: products in single precision name candidates, which are rescored in double.

Matrix products and the search for candidates are those of BLAS and numpy, or of PyTorch on a GPU;
any score that could be among the best, were it added up without error, is a candidate.
"""

import importlib.util
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from target_bench.core.errors import ConfigError, MissingExtraError
from target_bench.core.vectors import VectorIndex, Vectors
from target_bench.search.indexes.rescoring import (
    BLOCK,
    Found,
    Lengths,
    Rows,
    Scores,
    Stored,
    blas_threads,
    in_blocks,
    rank,
    slack,
)

_CELLS = 8_000_000
"""Scores held at a time by a thread; all threads together hold no more than ``_ALL_CELLS``."""

_ALL_CELLS = 64_000_000
_GPU_CELLS = 256_000_000
_FEWEST = 16
_GROUP = 16


class Exact(VectorIndex):
    """Compares each query with every vector, by matrix products.

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

    def build(self, vectors: Vectors) -> None:
        """Keep (m, d) vectors; see ``VectorIndex.build``.

        Raises:
            ConfigError: there is no such device, or it has no memory for them.
        """
        self._keep(Stored.from_array(vectors))

    def search(self, vectors: Vectors, k: int) -> Found:
        """Return the best rows for each of (n, d) vectors; see ``VectorIndex.search``.

        Raises:
            ConfigError: other dimension than the indexed vectors, or products too large.
        """
        queries, lengths = self._stored.checked_queries(vectors, k)
        if self._gpu is None:
            return search_exactly(self._stored, queries, lengths, k)
        return self._gpu.search(self._stored, queries, slack(self._stored, lengths), k)

    def save(self, folder: Path) -> None:
        """Write the vectors as .npy."""
        self._stored.save(folder)

    def load(self, folder: Path) -> None:
        """Read the files that ``save`` wrote; the vectors stay on disk until they are used."""
        self._keep(Stored.load(folder))

    def _keep(self, stored: Stored) -> None:
        self._stored = stored
        if self._gpu is not None:
            self._gpu.upload(stored.vectors)


class Gpu:
    """Finds candidates with PyTorch on a device, in full single precision (no TF32)."""

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
            words = " ".join(str(error).split())[:200]
            raise ConfigError(
                f"device={self._device}: PyTorch has no such device here ({words})"
            ) from error

    def search(self, stored: Stored, queries: Vectors, slacks: Scores, k: int) -> Found:
        """Return the best rows of each query; blocks are halved where memory does not suffice."""
        import torch

        n, m = len(queries), len(stored.vectors)
        k, start = min(k, m), 0
        size = max(1, _GPU_CELLS // max(1, m))
        scores, rows = np.empty((n, k)), np.empty((n, k), dtype=np.int64)
        while start < n and k:
            block = slice(start, start + size)
            try:
                candidates = self._candidates(queries[block], slacks[block], k)
            except torch.OutOfMemoryError as error:
                if size == 1:
                    raise ConfigError(
                        f"device={self._device}: out of memory with one query over {m:,} vectors; "
                        "leave device out"
                    ) from error
                size = min(size, n) // 2 or 1
                continue
            scores[block], rows[block] = rank(queries[block], stored, *candidates, k)
            start += size
        return scores, rows

    def _candidates(self, block: Vectors, slacks: Scores, k: int) -> tuple[Rows, Rows]:
        """Return number and row of each possible pair of the best, query by query."""
        import torch

        with _full_precision(), torch.inference_mode():
            scores = torch.tensor(block, device=self._device) @ self._vectors.T
            least = scores.topk(k, dim=1).values[:, -1].double()
            least -= torch.tensor(slacks, device=self._device)
            numbers, rows = (scores >= least[:, None]).nonzero(as_tuple=True)
            return numbers.cpu().numpy(), rows.cpu().numpy()


@contextmanager
def _full_precision() -> Iterator[None]:
    """Compute products in full single precision, regardless of the settings of the process."""
    import torch

    if hasattr(torch.backends.cuda.matmul, "fp32_precision"):
        places: list[Any] = [torch.backends.cuda.matmul, torch.backends.mkldnn.matmul]
        name: str = "fp32_precision"
        full: Any = "ieee"
    else:  # before PyTorch 2.9
        places = [torch.backends.cuda.matmul]
        name, full = "allow_tf32", False
    before = [getattr(place, name) for place in places]
    for place in places:
        setattr(place, name, full)
    try:
        yield
    finally:
        for place, value in zip(places, before, strict=True):
            setattr(place, name, value)


def search_exactly(stored: Stored, queries: Vectors, lengths: Lengths, k: int) -> Found:
    """Return the ``k`` best rows by the rule of ``ranking``.

    Args:
        stored: the (m, d) indexed vectors.
        queries: (n, d) vectors.
        lengths: theirs, as ``Stored.checked_queries`` gives them.
        k: how many rows.

    Returns:
        (n, min(k, m)) inner products and rows, best first.
    """
    m = len(stored.vectors)
    k = min(k, m)
    if k == 0:
        return np.empty((len(queries), 0)), np.empty((len(queries), 0), dtype=np.int64)
    slacks = slack(stored, lengths)

    def best_of_block(block: slice) -> Found:
        scores = queries[block] @ stored.vectors.T
        least = _kth_at_least(scores, k) - slacks[block]
        return rank(queries[block], stored, *_above(scores, least), k)

    return in_blocks(best_of_block, len(queries), k, _block_size(len(queries), m))


def _block_size(n: int, m: int) -> int:
    if n * m <= _CELLS // 8:
        return max(n, 1)  # too little to share
    cells = min(_CELLS, _ALL_CELLS // blas_threads())
    return max(_FEWEST, min(BLOCK, cells // m))


def _kth_at_least(scores: Vectors, k: int) -> Vectors:
    """Return a number for each row that ``k`` of its scores reach.

    The columns are dealt into groups: ``k`` groups whose best is at least x hold ``k`` scores of at
    least x. Few groups are partitioned faster than all scores.
    """
    n, m = scores.shape
    size = max(1, min(_GROUP, m // (8 * k)))
    n_groups = m // size
    maxima = scores[:, : n_groups * size].reshape(n, size, n_groups).max(axis=1)
    maxima.partition(n_groups - k, axis=1)
    least: Vectors = maxima[:, n_groups - k]
    return least


def _above(scores: Vectors, least: Lengths) -> tuple[Rows, Rows]:
    """Return row and column of each score that is not below its row's number, row by row."""
    # Rounded down, so that no score between the number and its float32 is lost.
    bounds = np.nextafter(least.astype(np.float32), np.float32(-np.inf))
    high = scores >= bounds[:, None]
    numbers = np.repeat(np.arange(len(scores)), np.count_nonzero(high, axis=1))
    return numbers, np.flatnonzero(high) - numbers * scores.shape[1]
