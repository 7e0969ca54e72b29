"""Arrays and sparse matrices on disk."""

from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_matrix, random_array

from target_bench.core import array_files
from target_bench.core.array_files import StoredShards


@pytest.mark.parametrize("shape", [(3, 5), (0, 0), (0, 4), (4, 0), (2, 2)])
def test_sparse_matrices(tmp_path: Path, shape: tuple[int, int]) -> None:
    matrix = csr_matrix(random_array(shape, density=0.5, rng=np.random.default_rng(1)))
    array_files.write_sparse(tmp_path, "m", matrix)
    found = array_files.read_sparse(tmp_path, "m")
    assert found.shape == shape
    assert (found.toarray() == matrix.toarray()).all()
    for part in ("data", "indices", "indptr"):
        assert getattr(found, part).dtype == getattr(matrix, part).dtype
        assert (getattr(found, part) == getattr(matrix, part)).all()


def test_arrays_are_mapped_and_cannot_be_changed(tmp_path: Path) -> None:
    array_files.write_array(tmp_path / "a.npy", np.arange(4))
    found = array_files.read_array(tmp_path / "a.npy")
    assert isinstance(found, np.memmap)
    with pytest.raises(ValueError, match="read-only"):
        found[0] = 1


def test_objects_are_refused(tmp_path: Path) -> None:
    """They would need pickle, which runs what it reads."""
    objects = np.array([None], dtype=object)
    with pytest.raises(ValueError, match="allow_pickle"):
        array_files.write_array(tmp_path / "a.npy", objects)
    np.save(tmp_path / "b.npy", objects, allow_pickle=True)
    with pytest.raises(ValueError, match=r"Python objects|pickle"):
        array_files.read_array(tmp_path / "b.npy")


def test_stored_shards(tmp_path: Path) -> None:
    matrices = [csr_matrix([[float(i), 0.0]]) for i in range(3)]
    array_files.write_shards(tmp_path, matrices)
    shards = StoredShards(tmp_path, 3)
    assert len(shards) == 3
    assert [shard[0, 0] for shard in shards] == [0.0, 1.0, 2.0]
    assert [shard[0, 0] for shard in shards[1:]] == [1.0, 2.0]
    assert shards[-1][0, 0] == 2.0
    assert shards[0] is not shards[0]
    with pytest.raises(IndexError):
        shards[3]
