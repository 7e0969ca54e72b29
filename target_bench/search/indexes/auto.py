"""Exact search where it is fastest: on a GPU that PyTorch sees, else by numpy."""

import importlib.util
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from target_bench.core.vectors import VectorIndex, Vectors
from target_bench.search.indexes.exact import Exact


class Auto(VectorIndex):
    """Compares each query with every vector, on the GPU if there is one.

    That is the index ``torch`` on a GPU and ``exact`` without one; both rank alike, and read what
    the other has saved.
    """

    packages = ("torch", "numpy")

    def __init__(self) -> None:
        self._index: VectorIndex = Exact()

    def build(self, vectors: Vectors) -> None:
        """Index (m, d) vectors; see ``VectorIndex.build``."""
        self._index = _fastest()
        self._index.build(vectors)

    def search(
        self, vectors: Vectors, k: int
    ) -> tuple[NDArray[np.floating[Any]], NDArray[np.int64]]:
        """Return the best rows for each of (n, d) vectors; see ``VectorIndex.search``."""
        return self._index.search(vectors, k)

    def notes(self) -> Sequence[str]:
        """Return the notes of the index that was chosen."""
        return self._index.notes()

    def save(self, folder: Path) -> None:
        """Write the vectors as .npy."""
        self._index.save(folder)

    def load(self, folder: Path) -> None:
        """Read the files that ``save`` wrote."""
        self._index = _fastest()
        self._index.load(folder)


def _fastest() -> VectorIndex:
    if importlib.util.find_spec("torch") is not None:
        import torch

        if torch.cuda.is_available():
            from target_bench.search.indexes.torch import Torch

            return Torch()
    return Exact()
