"""Files are replaced as a whole, locked by one at a time, and sealed: damage is detected."""

import json
import os
import threading
from pathlib import Path
from typing import Any

import numpy as np
import portalocker
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_matrix, random_array

from target_bench.core import array_files, files
from target_bench.core.files import DamageError, atomic_write, exclusive_lock

PATIENCE = 60


@pytest.mark.parametrize("call", ["fsync", "replace"])
def test_a_full_disk_leaves_the_old_content(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    path = tmp_path / "a"
    atomic_write(path, b"old")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, call, full)
    with pytest.raises(OSError, match="No space left"):
        atomic_write(path, b"new")
    monkeypatch.undo()
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("removed", [False, True])
def test_a_lock_is_held_by_one_at_a_time(tmp_path: Path, removed: bool) -> None:
    """The other waits, says so, and comes in afterwards, even if the lock file was removed."""
    path, order = tmp_path / "deep" / "lock", []
    waiting = threading.Event()

    def second() -> None:
        with exclusive_lock(path, lambda _: waiting.set()):
            order.append(f"second, lock file there: {path.exists()}")

    thread = threading.Thread(target=second)
    with exclusive_lock(path):
        thread.start()
        assert waiting.wait(PATIENCE)
        order.append("first")
        if removed:
            path.unlink()
    thread.join(PATIENCE)
    assert order == ["first", "second, lock file there: True"]


def test_file_systems_without_locks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The context is entered, and its caller has the error."""

    def refuses(*_: object) -> None:
        raise portalocker.LockException("No locks available")

    monkeypatch.setattr(portalocker, "lock", refuses)
    errors: list[Exception] = []
    with exclusive_lock(tmp_path / "lock", unlocked=errors.append):
        assert str(errors[0]) == "No locks available"


# Seals

KEYS = st.text(max_size=5).filter(lambda name: name != files.FIELD)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=8,
)
RECORDS = st.dictionaries(KEYS, VALUES, min_size=1, max_size=4)


def _as_text(value: object) -> str:
    return json.dumps(value, sort_keys=True)


def _flip_a_bit(raw: bytes, data: Any) -> bytes:
    flipped = bytearray(raw)
    flipped[data.draw(st.integers(0, len(raw) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    return bytes(flipped)


@given(RECORDS, st.data())
def test_no_flipped_bit_of_a_document_goes_unseen(record: dict[str, Any], data: Any) -> None:
    """It is an error, or the content is the same, as where it hits white space."""
    raw = json.dumps(files.add_seal(record), indent=1).encode()
    assert _as_text(files.remove_seal(json.loads(raw))) == _as_text(record)
    try:
        read = files.remove_seal(json.loads(_flip_a_bit(raw, data)))
    except (ValueError, RecursionError):
        return
    assert _as_text(read) == _as_text(record)


def test_a_state_of_a_file_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reads = []

    def counted(path: Path) -> str:
        reads.append(path)
        return path.read_text(encoding="utf-8")

    monkeypatch.setattr(files, "hash_file", counted)
    path = tmp_path / "file"
    path.write_text("one", encoding="utf-8")
    assert [files.digest(path), files.digest(path), len(reads)] == ["one", "one", 1]
    times = path.stat().st_atime_ns, path.stat().st_mtime_ns
    path.write_text("two", encoding="utf-8")
    os.utime(path, ns=times)  # of the same size and age
    files.check_file(path, "two")
    with pytest.raises(DamageError, match="file has changed since it was written"):
        files.check_file(path, "one")


@pytest.mark.parametrize("document", ['{"a":' * 2 + "%s" + "}" * 2, '{"a": %s, "seal": "x"}'])
def test_json_of_any_depth_is_read_or_a_value_error(document: str) -> None:
    """At the edge of Python's limit it can be read but not sealed."""
    for depth in (*range(985, 1000), 100_000):
        with pytest.raises(ValueError, match=r"nested too deep|changed since it was written"):
            files.remove_seal(files.parse_json(document % ("[" * depth + "]" * depth)))


# Arrays and sparse matrices


@pytest.mark.parametrize("shape", [(3, 5), (0, 0), (0, 4), (4, 0)])
def test_sparse_matrices_come_back(tmp_path: Path, shape: tuple[int, int]) -> None:
    matrix = csr_matrix(random_array(shape, density=0.5, rng=np.random.default_rng(1)))
    array_files.write_sparse(tmp_path, "weights", matrix)
    read = array_files.read_sparse(tmp_path, "weights")
    assert read.shape == shape
    assert (read.toarray() == matrix.toarray()).all()
    assert {p: getattr(read, p).dtype for p in ("data", "indices", "indptr")} == {
        p: getattr(matrix, p).dtype for p in ("data", "indices", "indptr")
    }


def test_arrays_are_mapped_and_hold_no_objects(tmp_path: Path) -> None:
    """Objects would need pickle, which runs what it reads."""
    array_files.write_array(tmp_path / "a.npy", np.arange(4))
    array = array_files.read_array(tmp_path / "a.npy")
    assert isinstance(array, np.memmap)
    with pytest.raises(ValueError, match="read-only"):
        array[0] = 1
    objects = np.array([None], dtype=object)
    with pytest.raises(ValueError, match="allow_pickle"):
        array_files.write_array(tmp_path / "a.npy", objects)
    np.save(tmp_path / "b.npy", objects, allow_pickle=True)
    with pytest.raises(ValueError, match=r"Python objects|pickle"):
        array_files.read_array(tmp_path / "b.npy")
