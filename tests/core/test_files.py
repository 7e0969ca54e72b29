"""Files are replaced as a whole or not at all, and locks are held by one at a time."""

import os
import threading
from pathlib import Path

import portalocker
import pytest

from target_bench.core.files import atomic_write, exclusive_lock, free_lock

PATIENCE = 60


def _names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


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
    assert _names(tmp_path) == ["a"]


def test_one_at_a_time(tmp_path: Path) -> None:
    """The other waits, says so, and comes in when the first has left."""
    path, order = tmp_path / "deep" / "lock", []
    waiting = threading.Event()

    def second() -> None:
        with exclusive_lock(path, lambda _: waiting.set()):
            order.append("second")

    thread = threading.Thread(target=second)
    with exclusive_lock(path):
        with free_lock(path) as free:
            assert not free
        thread.start()
        assert waiting.wait(PATIENCE)
        order.append("first")
    thread.join(PATIENCE)
    assert order == ["first", "second"]
    with free_lock(path) as free:
        assert free


def test_a_lock_file_that_is_removed_meanwhile_is_made_again(tmp_path: Path) -> None:
    path = tmp_path / "lock"

    def second() -> None:
        with exclusive_lock(path, lambda _: waiting.set()):
            held.append(path.exists())

    waiting, held = threading.Event(), list[bool]()
    thread = threading.Thread(target=second)
    with exclusive_lock(path):
        thread.start()
        assert waiting.wait(PATIENCE)
        path.unlink()
    thread.join(PATIENCE)
    assert held == [True]


def test_file_systems_without_locks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The context is entered, and its caller has the error."""

    def refuses(*_: object) -> None:
        raise portalocker.LockException("No locks available")

    monkeypatch.setattr(portalocker, "lock", refuses)
    errors: list[Exception] = []
    with exclusive_lock(tmp_path / "lock", unlocked=errors.append):
        assert str(errors[0]) == "No locks available"
