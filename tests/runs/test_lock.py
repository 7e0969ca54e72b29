"""One process at a time is at a run; the others wait, and then find it done."""

import platform
import shutil
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import portalocker
import pytest

from target_bench.core.schema import TableId
from target_bench.runs.result import Result
from target_bench.runs.run import open_run
from tests.builders import Counting, Recorder, first_manifest, only, same_scores
from tests.runs.forked import Forked
from tests.runs.processes import (
    N_QUERIES,
    Process,
    finish,
    rankings,
    run_slow,
    scores,
    start,
    write_slow,
)
from tests.target import TARGET

PATIENCE = 60
MANIFEST = first_manifest()


@contextmanager
def _holder(folder: Path, at: int) -> Iterator[Process]:
    """A process that has asked so many queries and waits."""
    process = start(run_slow(), folder, SLOW_WAITS_AT=str(at), SLOW_ASKED="first")
    try:
        _until(lambda: (folder / "waiting").exists() or process.poll() is not None)
        assert process.poll() is None, process.communicate()
        yield process
    finally:
        process.kill()
        process.communicate()


def _until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.01)


@contextmanager
def _waiting(folder: Path, holder: Process) -> Iterator[Process]:
    """A second process, which has said that it waits for the holder."""
    process = start(run_slow(), folder, SLOW_ASKED="second", COLUMNS="500")
    assert isinstance(process, Forked)
    _until(lambda: "\n" in process.written()[1])
    message = process.written()[1]
    assert f"process {holder.pid} on {platform.node()} is running this" in message
    assert "waiting for it to finish: runs/retrieval-mini-test-slow.py-slow-" in message
    assert process.poll() is None
    yield process
    process.communicate(timeout=PATIENCE)


def test_second_process_waits_and_reuses(tmp_path: Path) -> None:
    write_slow(tmp_path)
    with _holder(tmp_path, at=100) as first, _waiting(tmp_path, first) as second:
        (tmp_path / "go").touch()
        for process, reused in ((first, False), (second, True)):
            out, _ = process.communicate(timeout=PATIENCE)
            assert (process.returncode, "reused" in out) == (0, reused)
    assert not (tmp_path / "second").exists()
    assert len(rankings(tmp_path / "runs")) == N_QUERIES


def test_killed_process_leaves_no_lock(tmp_path: Path) -> None:
    """Who waits for it goes on where it stopped; who comes later does not wait."""
    write_slow(tmp_path)
    with _holder(tmp_path, at=100) as first, _waiting(tmp_path, first) as second:
        first.send_signal(signal.SIGKILL)
        out, err = second.communicate(timeout=PATIENCE)
        assert (second.returncode, "reused" in out) == (0, False), err
    queries = (tmp_path / "second").read_text(encoding="utf-8").splitlines()
    assert len(queries) == N_QUERIES - 96  # six batches of sixteen were finished
    lines = rankings(tmp_path / "runs")
    assert len(lines) == len(dict(lines)) == N_QUERIES
    (tmp_path / "runs").rename(tmp_path / "kept")
    (tmp_path / "waiting").unlink()
    with _holder(tmp_path, at=20):
        pass
    code, _, err = finish(run_slow(), tmp_path)
    assert (code, err) == (0, "")
    assert scores(tmp_path / "runs") == scores(tmp_path / "kept")


class Waiting(Counting):
    """Waits at every query until it may go on."""

    started, go = threading.Event(), threading.Event()

    def retrieve(self, query: str, top_k: int) -> list[TableId]:
        Waiting.started.set()
        assert Waiting.go.wait(PATIENCE)
        return super().retrieve(query, top_k)


def test_threads(tmp_path: Path) -> None:
    results: dict[int, Result] = {}
    recorders, retrievers = [Recorder() for _ in range(3)], [Waiting() for _ in range(3)]

    def run(i: int) -> None:
        target = TARGET(("retrieval", "mini"), out=tmp_path, observer=recorders[i])
        results[i] = only(target.run(retrievers[i], top_k=10))

    threads = [threading.Thread(target=run, args=[i]) for i in range(3)]
    threads[0].start()
    assert Waiting.started.wait(PATIENCE)
    for thread in threads[1:]:
        thread.start()
    _until(lambda: all(recorder.warnings for recorder in recorders[1:]))
    Waiting.go.set()
    for thread in threads:
        thread.join(PATIENCE)
    assert [len(retriever.calls) for retriever in retrievers] == [N_QUERIES, 0, 0]
    assert [results[i].run.reused for i in range(3)] == [False, True, True]
    waited = [sum("is running this" in w for w in r.warnings) for r in recorders]
    assert waited == [0, 1, 1]
    same_scores(results[1], results[0])


def test_a_lock_is_given_back_and_what_was_found_meanwhile_is_read(tmp_path: Path) -> None:
    """After an error too; what killed processes left is removed: nobody else can be writing it."""
    messages: list[str] = []
    early, late = (open_run(tmp_path, ["x"], MANIFEST) for _ in range(2))
    with early.locked(messages.append):
        early.write_new_manifest()
        early.write_manifest(seconds={"load": 1})
    (early.folder / "scores.123.tmp").write_text("half", encoding="utf-8")

    def fail() -> None:
        with late.locked(messages.append):
            assert late.manifest.seconds == {"load": 1}
            assert not list(late.folder.glob("*.tmp"))
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    with early.locked(messages.append):
        assert early.manifest.error == "RuntimeError"
    assert messages == []


def test_a_lock_that_is_held_for_a_moment(tmp_path: Path) -> None:
    """As by who reads a finished run: nobody hears of that."""
    messages: list[str] = []
    run, other = (open_run(tmp_path, ["x"], MANIFEST) for _ in range(2))
    held = threading.Event()

    def hold() -> None:
        with other.locked(messages.append):
            held.set()
            time.sleep(0.05)

    thread = threading.Thread(target=hold)
    thread.start()
    assert held.wait(PATIENCE)
    with run.locked(messages.append):
        thread.join(PATIENCE)
    assert messages == []


def _is_locked(path: Path) -> bool:
    with path.open("rb+") as file:
        try:
            portalocker.lock(file, portalocker.LOCK_EX | portalocker.LOCK_NB)
        except portalocker.LockException:
            return True
    return False


def test_folder_that_is_removed_meanwhile(tmp_path: Path) -> None:
    """It is made again, and locked."""
    messages: list[str] = []
    run, other = (open_run(tmp_path, ["x"], MANIFEST) for _ in range(2))
    run.write_new_manifest()

    def go_on() -> None:
        with other.locked(messages.append):
            assert other.is_new
            assert _is_locked(other.folder / "lock")
            other.write_new_manifest()
            other.write_manifest(seconds={"load": 2})

    thread = threading.Thread(target=go_on)
    with run.locked(messages.append):
        thread.start()
        _until(lambda: bool(messages))
        shutil.rmtree(run.folder)
    thread.join(PATIENCE)
    assert open_run(tmp_path, ["x"], MANIFEST).manifest.seconds == {"load": 2}


def test_file_systems_without_locks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The run goes on, and the user hears of it."""

    def refuses(*_: object) -> None:
        raise portalocker.LockException("No locks available")

    monkeypatch.setattr(portalocker, "lock", refuses)
    recorder = Recorder()
    target = TARGET(("retrieval", "mini"), out=tmp_path, observer=recorder)
    assert only(target.run("oracle", limit=3)).stored.counts.answered == 3
    (warning,) = recorder.warnings
    assert "cannot be locked (No locks available); let one process at a time run there" in warning
