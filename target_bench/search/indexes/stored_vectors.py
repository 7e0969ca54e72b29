"""Vectors of an index: checked, stored and read."""

import importlib.util
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from target_bench.core.array_files import read_array, read_json, write_array, write_json
from target_bench.core.errors import ConfigError, MissingExtraError
from target_bench.core.vectors import Vectors

Lengths = NDArray[np.float64]

_RECORD = "index.json"
_VECTORS = "vectors.npy"
_CHUNK = 1024
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
        """Check vectors and keep them as float32.

        Raises:
            ConfigError: they are no (m, d) array of numbers, or hold NaN or infinity.
        """
        table = _as_float32(vectors, "the vectors to index")
        return cls(table, float(_lengths(table, "the vectors to index").max(initial=0.0)))

    def checked_queries(self, vectors: NDArray[Any], k: int) -> tuple[Vectors, Lengths]:
        """Return the queries as float32, and their lengths.

        Raises:
            ConfigError: they are no (n, d) array of numbers, or of other dimension than the indexed
                vectors, or hold NaN or infinity, or are so long that an inner product is more than
                single precision holds; or ``k`` is less than 1.
        """
        if k < 1:
            raise ConfigError(f"k={k}: at least one row is asked for")
        queries = _as_float32(vectors, "the queries")
        (m, d), (n, width) = self.vectors.shape, queries.shape
        if m and n and width != d:
            raise ConfigError(
                f"the queries have {width} dimensions, the indexed vectors {d}: "
                "encode both with the same model and settings"
            )
        lengths = _lengths(queries, "the queries")
        largest = lengths.max(initial=0.0) * self.longest
        if largest > _LARGEST:
            raise ConfigError(
                f"the vectors are too long: inner products up to {largest:.3g} overflow single "
                f"precision. Scale them so that products stay below {_LARGEST:.3g}"
            )
        return queries, lengths

    def save(self, folder: Path) -> None:
        """Write the vectors and their largest length into an existing folder."""
        write_array(folder / _VECTORS, self.vectors)
        write_json(folder / _RECORD, {"longest": self.longest})

    @classmethod
    def load(cls, folder: Path) -> Self:
        """Return the vectors that ``save`` wrote, memory-mapped.

        Whoever loads an index has checked the hashes of its files (``core/index_store.py``).
        """
        longest = read_json(folder / _RECORD)["longest"]
        return cls(np.asarray(read_array(folder / _VECTORS)), longest)


def _as_float32(vectors: NDArray[Any], what: str) -> Vectors:
    array = np.asarray(vectors)
    if array.ndim != 2:
        raise ConfigError(f"{what}: an array of shape {array.shape}; expected (n, d), one a row")
    if array.dtype.kind not in "fiu":
        raise ConfigError(f"{what}: an array of {array.dtype}; expected numbers (float32)")
    with np.errstate(over="ignore"):  # what is too large becomes infinite, and is refused as such
        return np.ascontiguousarray(array, dtype=np.float32)


def _lengths(vectors: Vectors, what: str) -> Lengths:
    """Return the Euclidean lengths, in double precision so that none overflows."""
    squares = np.empty(len(vectors))
    for start in range(0, len(vectors), _CHUNK):
        chunk = vectors[start : start + _CHUNK].astype(np.float64)
        squares[start : start + _CHUNK] = np.vecdot(chunk, chunk)
    if not np.isfinite(squares).all():
        bad = np.flatnonzero(~np.isfinite(squares))
        raise ConfigError(
            f"{what}: {len(bad)} of {len(vectors)} hold NaN or infinity, the first is number "
            f"{bad[0]} (from 0): the encoder failed on that text, or half precision overflowed"
        )
    return np.sqrt(squares)


def needs(module: str, package: str, index: str, extra: str = "dense") -> None:
    """See that a module can be imported, without importing it.

    Raises:
        MissingExtraError: it is not installed.
    """
    if importlib.util.find_spec(module) is None:
        raise MissingExtraError(package, extra, f"the index {index}")
