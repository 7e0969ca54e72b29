"""Vectors of an index: checked, stored and read."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from target_bench.core.array_files import read_array, read_json, write_array, write_json
from target_bench.core.errors import ConfigError, DataError
from target_bench.core.files import sha256_of
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
    def of(cls, vectors: NDArray[Any]) -> Self:
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
        (m, d), (n, given) = self.vectors.shape, queries.shape
        if m and n and given != d:
            raise ConfigError(
                f"the queries have {given} dimensions, the indexed vectors {d}: "
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

    def save(self, folder: Path, **more: Any) -> None:
        """Write the vectors, and a record of what else the index consists of.

        Args:
            folder: an existing one.
            more: entries of the record. ``file`` names a file in the folder, already written, whose
                SHA-256 is recorded.
        """
        write_array(folder / _VECTORS, self.vectors)
        if "file" in more:
            more["sha256"] = sha256_of(folder / more["file"])
        record = {"shape": self.vectors.shape, "longest": self.longest, **more}
        write_json(folder / _RECORD, record)

    @classmethod
    def load(cls, folder: Path) -> tuple[Self, dict[str, Any]]:
        """Return the vectors, memory-mapped, and the record that ``save`` wrote with them.

        Raises:
            DataError: a file is missing or damaged, or the vectors are not those recorded.
        """
        record = _read_record(folder / _RECORD)
        path = folder / _VECTORS
        try:
            vectors = np.asarray(read_array(path))
        except (OSError, ValueError, EOFError) as error:
            raise DataError(f"{path}: no array of vectors ({error}); index again") from error
        if list(vectors.shape) != record["shape"] or vectors.dtype != np.float32:
            raise DataError(
                f"{path}: {vectors.dtype} vectors of shape {vectors.shape}, but {_RECORD} tells of "
                f"float32 of shape {tuple(record['shape'])}; index again"
            )
        if not vectors.flags.c_contiguous:
            raise DataError(f"{path}: stored column by column; index again")
        if "file" in record:
            _check_sha256(folder / record["file"], record.get("sha256"))
        return cls(vectors, record["longest"]), record


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


def _read_record(path: Path) -> dict[str, Any]:
    try:
        record = read_json(path)
        if not isinstance(record["longest"], float) or len(record["shape"]) != 2:
            raise ValueError("no record of an index")
    except (OSError, KeyError, TypeError, ValueError, json.JSONDecodeError) as error:
        raise DataError(f"{path}: missing or damaged ({error}); index again") from error
    return dict(record)


def _check_sha256(path: Path, recorded: str | None) -> None:
    """Check a file's hash: libraries read a damaged one without noticing, or crash."""
    try:
        found = sha256_of(path)
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error}); index again") from error
    if found != recorded:
        raise DataError(f"{path}: damaged (its SHA-256 is not the one recorded); index again")
