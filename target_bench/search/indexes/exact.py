"""Exact search with numpy: products of blocks in single precision, candidates rescored in double.

Matrix products and the search for candidates are BLAS's and numpy's; any score that could be among
the best, were it added up without error, is a candidate.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from target_bench.core.vectors import VectorIndex, Vectors
from target_bench.search.indexes.rescoring import (
    BLOCK,
    Found,
    Lengths,
    Rows,
    Stored,
    blas_threads,
    in_blocks,
    rank,
    slack,
)
from target_bench.search.indexes.torch import Torch

_CELLS = 8_000_000
"""Scores held at a time by a thread; all threads together hold no more than ``_ALL_CELLS``."""

_ALL_CELLS = 64_000_000
_FEWEST = 16
_GROUP = 16


class Exact(VectorIndex):
    """Compares each query with every vector, by matrix products.

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
        self._gpu = None if device in (None, "cpu") else Torch(device)

    def config(self) -> Mapping[str, Any]:
        """Return no setting: the device changes no ranking."""
        return {}

    def build(self, vectors: Vectors) -> None:
        """Keep (m, d) vectors; see ``VectorIndex.build``."""
        if self._gpu is not None:
            self._gpu.build(vectors)
        else:
            self._stored = Stored.from_array(vectors)

    def search(self, vectors: Vectors, k: int) -> Found:
        """Return the best rows for each of (n, d) vectors; see ``VectorIndex.search``.

        Raises:
            ConfigError: other dimension than the indexed vectors, or products too large.
        """
        if self._gpu is not None:
            return self._gpu.search(vectors, k)
        return search_exactly(self._stored, *self._stored.checked_queries(vectors, k), k)

    def save(self, folder: Path) -> None:
        """Write the vectors as .npy."""
        if self._gpu is not None:
            self._gpu.save(folder)
        else:
            self._stored.save(folder)

    def load(self, folder: Path) -> None:
        """Read the files that ``save`` wrote; the vectors stay on disk until they are used."""
        if self._gpu is not None:
            self._gpu.load(folder)
        else:
            self._stored = Stored.load(folder)

    def notes(self) -> Sequence[str]:
        """Return whether the memory of a GPU ran short."""
        return () if self._gpu is None else self._gpu.notes()


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
