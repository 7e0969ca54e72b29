"""Base of approximate indexes: rescored candidates, recall, and a library's own file."""

import importlib.util
from abc import abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from target_bench.core.errors import ConfigError, DataError, MissingExtraError
from target_bench.core.vectors import VectorIndex, Vectors
from target_bench.search.indexes.recall import Recall
from target_bench.search.indexes.rescoring import Found, Rows, rank_candidates
from target_bench.search.indexes.stored_vectors import Stored

_MORE = 16
"""Candidates beyond ``k``, so that ties are broken by the rule and not by a library's order."""

_FILE = "library.index"


class Approximate(VectorIndex):
    """A library names candidates; they are scored and ranked here. A library is four methods."""

    exact: ClassVar[bool] = False
    oversampling: int = 1
    """Candidates for each row asked for."""

    _index: Any

    def build(self, vectors: Vectors) -> None:
        """Keep (m, d) vectors and have the library index them; see ``VectorIndex.build``.

        Raises:
            ConfigError: they are no (m, d) array of numbers, hold NaN or infinity, or do not fit
                the settings.
        """
        self._keep(Stored.of(vectors))
        if self._stored.vectors.size:
            self._index = self._built(self._stored.vectors)

    def search(self, vectors: Vectors, k: int) -> Found:
        """Return the rows for each of (n, d) vectors; see ``VectorIndex.search``.

        Raises:
            ConfigError: other dimension than the indexed vectors, NaN or infinity, ``k`` below 1.
        """
        queries, lengths = self._stored.checked_queries(vectors, k)
        n, m = len(queries), len(self._stored.vectors)
        k = min(k, m)
        if self._index is None or n == 0:
            # Vectors of no dimension all score 0.
            rows = np.tile(np.arange(k, dtype=np.int64), (n, 1))
            return np.zeros((n, k)), rows
        candidates = self._candidates(queries, min(m, self.oversampling * k + _MORE))
        found = rank_candidates(queries, self._stored, candidates, k)
        self._recall.add(queries, lengths, found)
        return found

    def notes(self) -> Sequence[str]:
        """Return recall against exact search, over a sample of the queries searched so far."""
        return self._recall.notes()

    def save(self, folder: Path) -> None:
        """Write the vectors as .npy and the index in its library's format."""
        if self._index is None:
            self._stored.save(folder)
        else:
            self._write(self._index, folder / _FILE)
            self._stored.save(folder, file=_FILE)

    def load(self, folder: Path) -> None:
        """Read the files that ``save`` wrote; the vectors stay on disk until they are used.

        Raises:
            DataError: a file is missing or damaged, or of vectors of another shape.
        """
        stored, record = Stored.load(folder)
        self._keep(stored)
        if stored.vectors.size:
            path = folder / _FILE
            if "file" not in record:
                raise DataError(f"{folder}: vectors without {_FILE}; index again")
            self._index = self._read(path)
            shape = self._shape(self._index)
            if shape != stored.vectors.shape:
                raise DataError(
                    f"{path}: an index of {shape[0]} vectors of {shape[1]} dimensions, but there "
                    f"are {stored.vectors.shape[0]} of {stored.vectors.shape[1]}; index again"
                )

    def _keep(self, stored: Stored) -> None:
        self._stored = stored
        self._index = None
        self._recall = Recall(stored)

    @abstractmethod
    def _built(self, vectors: Vectors) -> Any:
        """Return the library's index of (m, d) vectors, at least one."""

    @abstractmethod
    def _candidates(self, queries: Vectors, n_rows: int) -> Rows:
        """Return (n, n_rows) rows in any order, -1 where the library finds fewer."""

    @abstractmethod
    def _write(self, index: Any, path: Path) -> None:
        """Write the library's index."""

    @abstractmethod
    def _read(self, path: Path) -> Any:
        """Read the file that ``_write`` wrote."""

    @abstractmethod
    def _shape(self, index: Any) -> tuple[int, int]:
        """Return how many vectors, and of how many dimensions."""


def needs(module: str, package: str, index: str, extra: str = "dense") -> None:
    """See that a module can be imported, without importing it.

    Raises:
        MissingExtraError: it is not installed.
    """
    if importlib.util.find_spec(module) is None:
        raise MissingExtraError(package, extra, f"the index {index}")


def at_least(least: int, **settings: int) -> None:
    """See that settings are not too small.

    Raises:
        ConfigError: one is.
    """
    for name, value in settings.items():
        if value < least:
            raise ConfigError(f"{name}={value}: at least {least}")
