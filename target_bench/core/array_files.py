"""Indexes on disk: arrays as .npy, everything else as JSON, sparse matrices memory-mapped."""

import json
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

_PARTS = ("data", "indices", "indptr")
_PARSING = Lock()
"""Headers are Python literals, whose parser in CPython 3.11 may fail with a SystemError when a
garbage collection hands over to another thread that parses too; shards are read in threads."""


def write_json(path: Path, value: Any) -> None:
    """Write a value; text may be any, lone surrogates included."""
    path.write_text(json.dumps(value), encoding="ascii")


def read_json(path: Path) -> Any:
    """Read a file that ``write_json`` wrote."""
    return json.loads(path.read_text(encoding="ascii"))


def write_array(path: Path, array: NDArray[Any]) -> None:
    """Write an array of numbers."""
    np.save(path, array, allow_pickle=False)


def read_array(path: Path) -> NDArray[Any]:
    """Read what ``write_array`` wrote, memory-mapped."""
    with _PARSING:
        array: NDArray[Any] = np.load(path, mmap_mode="r", allow_pickle=False)
    return array


def write_sparse(folder: Path, name: str, matrix: Any) -> None:
    """Write a CSR matrix as ``name.json`` and three arrays."""
    for part in _PARTS:
        write_array(folder / f"{name}.{part}.npy", getattr(matrix, part))
    flags = {"shape": matrix.shape, "sorted": bool(matrix.has_sorted_indices)}
    write_json(folder / f"{name}.json", flags)


def read_sparse(folder: Path, name: str) -> Any:
    """Read what ``write_sparse`` wrote; the arrays stay on disk until they are used."""
    from scipy.sparse import csr_matrix

    flags = read_json(folder / f"{name}.json")
    arrays = tuple(read_array(folder / f"{name}.{part}.npy") for part in _PARTS)
    matrix = csr_matrix(arrays, shape=flags["shape"])
    matrix.has_sorted_indices = flags["sorted"]
    return matrix
