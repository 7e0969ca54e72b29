"""One process at a time is at a run; the others wait, and then find it done."""

import platform
import shutil
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import portalocker
import pytest

from target_bench.core.schema import Corpus, TableId
from target_bench.harness.target import TARGET
from target_bench.runs.result import Result
from target_bench.runs.store import Run
from tests.builders import ASKED, Recorder, only, run_identity, same_scores
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

PATIENCE = 60
IDENTITY = run_identity()


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


def _until(true: object, seconds: float = PATIENCE) -> None:
    assert callable(true)
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.01)


def _waits(process: Process) -> str:
    """The first line that a process says, which is that it waits."""
    assert process.stderr is not None
    return process.stderr.readline()


def test_second_process_waits_and_reuses(tmp_path: Path) -> None:
    write_slow(tmp_path)
    with _holder(tmp_path, at=100) as first:
        second = start(run_slow(), tmp_path, SLOW_ASKED="second", COLUMNS="500")
        said = _waits(second)
        assert f"process {first.pid} on {platform.node()} is running this" in said
        assert "waiting for it to finish: runs/retrieval-mini-test-slow.py-slow-" in said
        assert second.poll() is None
        (tmp_path / "go").touch()
        for process, reused in ((first, False), (second, True)):
            out, _ = process.communicate(timeout=PATIENCE)
            assert process.returncode == 0
            assert ("reused" in out) == reused
    assert not (tmp_path / "second").exists()
    assert len(rankings(tmp_path / "runs")) == N_QUERIES
    assert finish(run_slow("whole"), tmp_path)[0] == 0
    assert scores(tmp_path / "runs") == scores(tmp_path / "whole")


def test_killed_process_leaves_no_lock(tmp_path: Path) -> None:
    """Who waits for it goes on where it stopped; who comes later does not wait."""
    write_slow(tmp_path)
    with _holder(tmp_path, at=100) as first:
        second = start(run_slow(), tmp_path, SLOW_ASKED="second", COLUMNS="500")
        assert f"process {first.pid} " in _waits(second)
        first.send_signal(signal.SIGKILL)
        out, err = second.communicate(timeout=PATIENCE)
        assert second.returncode == 0, err
    assert "reused" not in out
    asked = (tmp_path / "second").read_text(encoding="utf-8").splitlines()
    assert len(asked) == N_QUERIES - 96  # six batches of sixteen were finished
    found = rankings(tmp_path / "runs")
    assert len(found) == len(dict(found)) == N_QUERIES
    (tmp_path / "runs").rename(tmp_path / "kept")
    (tmp_path / "waiting").unlink()
    with _holder(tmp_path, at=20):
        pass
    code, _, err = finish(run_slow(), tmp_path)
    assert (code, err) == (0, "")
    assert scores(tmp_path / "runs") == scores(tmp_path / "kept")


class Shared:
    """Counts what all of its kind are asked, and waits at the first query."""

    asked: list[str]
    started: threading.Event
    go: threading.Event

    def embed_corpus(self, corpus: Corpus) -> None:
        self._ids = corpus.ids

    def retrieve(self, query: str, top_k: int) -> list[TableId]:
        Shared.asked.append(query)
        Shared.started.set()
        assert Shared.go.wait(PATIENCE)
        return list(self._ids[len(query) % 100 :][:top_k])


def test_threads(tmp_path: Path) -> None:
    Shared.asked, Shared.started, Shared.go = [], threading.Event(), threading.Event()
    results: dict[int, Result] = {}
    recorders = [Recorder() for _ in range(3)]

    def run(i: int) -> None:
        target = TARGET(("retrieval", "mini"), out=tmp_path, observer=recorders[i])
        results[i] = only(target.run(Shared()))

    threads = [threading.Thread(target=run, args=[i]) for i in range(3)]
    threads[0].start()
    assert Shared.started.wait(PATIENCE)
    for thread in threads[1:]:
        thread.start()
    _until(lambda: all(recorder.warnings for recorder in recorders[1:]))
    Shared.go.set()
    for thread in threads:
        thread.join(PATIENCE)
    assert len(Shared.asked) == N_QUERIES
    assert [results[i].reused for i in range(3)] == [False, True, True]
    assert [len(recorder.warnings) for recorder in recorders] == [0, 1, 1]
    for i in (1, 2):
        same_scores(results[i], results[0])


def test_left_behind_files_are_removed(tmp_path: Path) -> None:
    """Of processes that were killed: nobody else can be writing them."""
    run = Run(tmp_path, ["x"], IDENTITY)
    (run.folder / "scores.123.tmp").write_text("half", encoding="utf-8")
    with run.locked(lambda _: None):
        assert not list(run.folder.glob("*.tmp"))


def test_lock_is_given_back(tmp_path: Path) -> None:
    told: list[str] = []
    for _ in range(2):
        with Run(tmp_path, ["x"], IDENTITY).locked(told.append):
            pass
    with pytest.raises(RuntimeError), Run(tmp_path, ["x"], IDENTITY).locked(told.append):
        raise RuntimeError
    with Run(tmp_path, ["x"], IDENTITY).locked(told.append):
        pass
    assert told == []


def test_a_lock_that_is_held_for_a_moment(tmp_path: Path) -> None:
    """As by who reads a finished run: nobody hears of that."""
    told: list[str] = []
    run, other = (Run(tmp_path, ["x"], IDENTITY) for _ in range(2))
    held = threading.Event()

    def hold() -> None:
        with other.locked(told.append):
            held.set()
            time.sleep(0.05)

    thread = threading.Thread(target=hold)
    thread.start()
    assert held.wait(PATIENCE)
    with run.locked(told.append):
        thread.join(PATIENCE)
    assert told == []


def test_folder_that_is_removed_meanwhile(tmp_path: Path) -> None:
    """By ``runs gc``, which holds the lock of what it removes: it is made again, and locked."""
    told: list[str] = []
    run, other = (Run(tmp_path, ["x"], IDENTITY) for _ in range(2))
    run.begin(ASKED, 1)
    went_on = threading.Event()

    def go_on() -> None:
        with other.locked(told.append):
            assert other.is_new
            other.begin(ASKED, 1)
            other.write_manifest(seconds={"load": 2})
            lock = other.folder / "lock"
            with lock.open("rb+") as file, pytest.raises(portalocker.AlreadyLocked):
                portalocker.lock(file, portalocker.LOCK_EX | portalocker.LOCK_NB)
            went_on.set()

    thread = threading.Thread(target=go_on)
    with run.locked(told.append):
        thread.start()
        _until(lambda: bool(told))
        shutil.rmtree(run.folder)
    thread.join(PATIENCE)
    assert went_on.is_set()
    assert Run(tmp_path, ["x"], IDENTITY).manifest.seconds == {"load": 2}


def test_file_systems_without_locks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The run goes on, and the user hears of it."""

    def refuses(*_: object) -> None:
        raise portalocker.LockException("No locks available")

    monkeypatch.setattr(portalocker, "lock", refuses)
    recorder = Recorder()
    target = TARGET(("retrieval", "mini"), out=tmp_path, observer=recorder)
    assert only(target.run("oracle", limit=3)).counts.answered == 3
    (warning,) = recorder.warnings
    assert "cannot be locked (No locks available); let one process at a time run there" in warning


def test_what_another_process_found_meanwhile_is_read(tmp_path: Path) -> None:
    """The manifest is read once the lock is had."""
    early, late = (Run(tmp_path, ["x"], IDENTITY) for _ in range(2))
    with early.locked(lambda _: None):
        early.begin(ASKED, 1)
        early.write_manifest(seconds={"load": 1})
    assert late.is_new
    with late.locked(lambda _: None):
        assert late.manifest.seconds == {"load": 1}
