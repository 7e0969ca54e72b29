"""Which times of a manifest may be shown, and what is recorded beside them."""

import builtins
import os
import subprocess
import threading
from pathlib import Path
from typing import Any

import pytest

from target_bench.core.registry import installed_version
from target_bench.runs import environment
from target_bench.runs.environment import describe_environment
from target_bench.runs.manifest import Identity, Manifest
from target_bench.runs.times import (
    ColdTimes,
    StageTime,
    add_times,
    describe_left_out,
    read_cold_times,
    time_work,
)
from tests.builders import ASKED, run_identity

PATIENCE = 60
BM25 = {"class": "BM25"}
DENSE = {"class": "Dense", "parts": {"encoder": {"class": "MiniLM"}, "index": {"class": "Exact"}}}
SECONDS = {"load": 0.1, "embed_corpus": 2.0, "retrieve": 1.0, "score": 0.2}


def _manifest(plugin: dict[str, Any], **more: Any) -> Manifest:
    latency = {"p50": 1.0, "p95": 2.0, "p99": 3.0}
    times = {"seconds": SECONDS, "timed_queries": 100, "latency_ms": latency}
    return _with({"retriever": plugin}, **times, **more)


def _with(identity: dict[str, Any], **entries: Any) -> Manifest:
    return Manifest(
        identity=Identity.model_validate(run_identity(**identity)), command=ASKED, **entries
    )


def test_only_times_in_which_nothing_was_cached_are_shown() -> None:
    caches = {"embed_corpus": ["embeddings"], "retrieve": [], "latency": ["a", "b"]}
    times = read_cold_times(_manifest(DENSE, from_caches=caches))
    assert "embed_corpus" not in times.seconds
    assert (times.milliseconds.get("retrieve"), times.latency) == (10.0, None)
    assert times.left_out == {
        "embed_corpus": "from a cache (embeddings)",
        "latency": "from a cache (a, b)",
    }
    note = describe_left_out([times, ColdTimes()])
    assert note == "– is a time that is not shown: from a cache (embeddings); from a cache (a, b)."
    assert describe_left_out([times], ("retrieve",)) is None


@pytest.mark.parametrize("plugin", [{"mode": "no-context"}, {"run_file": "abc"}, {}])
def test_what_was_not_computed_has_no_times(plugin: dict[str, Any]) -> None:
    times = read_cold_times(_manifest(plugin))
    assert times.seconds == {"load": 0.1, "score": 0.2}
    assert (times.milliseconds, times.latency, times.left_out) == ({}, None, {})


def test_times_of_a_run_that_is_gone_on_with() -> None:
    """Ranking adds up; what was cached in any part is."""
    stages = {
        "load": StageTime(0.5),
        "embed_corpus": StageTime(2.0),
        "retrieve": StageTime(1.0, (), 10),
    }
    first = add_times(_with({}), stages)
    assert first["from_caches"] == {"embed_corpus": [], "retrieve": []}
    stages = {"load": StageTime(0.4), "embed_corpus": StageTime(0.1, ["index"])}
    stages["retrieve"] = StageTime(0.5, ["embeddings"], 5)
    second = add_times(_with({}, **first), stages)
    assert second["seconds"] == {"load": 0.4, "embed_corpus": 2.0, "retrieve": 1.5}
    assert second["from_caches"] == {"embed_corpus": [], "retrieve": ["embeddings"]}
    assert second["timed_queries"] == 15
    nothing = add_times(_with({}), {"load": StageTime(0.5)})
    assert nothing == {"seconds": {"load": 0.5}, "from_caches": {}}


def test_answers_read_from_a_file_are_not_said_to_come_from_a_cache() -> None:
    manifest = _with(
        {"generator": {"class": "Replay"}},
        seconds={"generate": 1.0},
        from_caches={"generate": ["recorded answers"]},
        n_queries=3,
        timed_answers=3,
    )
    assert read_cold_times(manifest).left_out == {"generate": "answers read from a file"}


def _git(folder: Path, *arguments: str) -> str:
    who = ["-c", "user.name=x", "-c", "user.email=x@example.org"]
    done = subprocess.run(
        ["git", *who, *arguments], cwd=folder, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def test_what_an_environment_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    recorded = describe_environment({"numpy": "1.0"})
    assert recorded["used_packages"] == {"numpy": "1.0"}
    assert recorded["host"]
    assert recorded["processors"] == os.cpu_count()
    assert 1 <= recorded["usable_processors"] <= recorded["processors"]
    assert recorded["threads"]["OMP_NUM_THREADS"] == "3"
    assert recorded["packages"]["numpy"] == installed_version("numpy")
    assert None not in recorded["packages"].values()
    assert isinstance(recorded["devices"], list)


def test_commit_of_the_working_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files that git does not track make no commit dirty."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    monkeypatch.setattr(environment, "_GIT_FRESH", 1e-9)  # else an answer holds for seconds
    assert describe_environment({})["git"] is None
    _git(tmp_path, "init", "-q")
    assert describe_environment({})["git"] is None
    (tmp_path / "a").write_text("1", encoding="utf-8")
    _git(tmp_path, "add", "a")
    _git(tmp_path, "commit", "-qm", "one")
    (tmp_path / "untracked").touch()
    commit = _git(tmp_path, "rev-parse", "HEAD")
    assert describe_environment({})["git"] == {"commit": commit, "dirty": False}
    (tmp_path / "a").write_text("2", encoding="utf-8")
    assert describe_environment({})["git"] == {"commit": commit, "dirty": True}
    monkeypatch.setenv("PATH", str(tmp_path))  # without git
    assert describe_environment({})["git"] is None


def test_works_of_two_threads_may_overlap() -> None:
    """The hook that leaves imports out goes with the last of them."""
    before = builtins.__import__
    begun, second_begun, first_ended = (threading.Event() for _ in range(3))

    def first() -> None:
        with time_work():
            begun.set()
            assert second_begun.wait(PATIENCE)
        first_ended.set()

    thread = threading.Thread(target=first)
    thread.start()
    assert begun.wait(PATIENCE)
    with time_work():
        second_begun.set()
        assert first_ended.wait(PATIENCE)
        assert builtins.__import__ is not before
    thread.join(PATIENCE)
    assert builtins.__import__ is before


@pytest.mark.parametrize("n_timed", [100, 99])
def test_times_of_a_process_that_was_killed_are_left_out(n_timed: int) -> None:
    entries = {"seconds": SECONDS, "n_queries": 100, "timed_queries": n_timed}
    times = read_cold_times(_with({"retriever": BM25}, **entries))
    assert ("retrieve" in times.seconds) is (n_timed == 100)
