"""What is recorded beside a run's timings."""

import os
import subprocess
from pathlib import Path

import pytest

from target_bench.core.registry import installed_version
from target_bench.runs import times
from target_bench.runs.times import environment


def _git(folder: Path, *arguments: str) -> str:
    who = ["-c", "user.name=x", "-c", "user.email=x@example.org"]
    done = subprocess.run(
        ["git", *who, *arguments], cwd=folder, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def test_what_it_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    found = environment({"numpy": "1.0"})
    assert found["used_packages"] == {"numpy": "1.0"}
    assert found["host"]
    assert found["processors"] == os.cpu_count()
    assert 1 <= found["usable_processors"] <= found["processors"]
    assert found["threads"]["OMP_NUM_THREADS"] == "3"
    assert found["packages"]["numpy"] == installed_version("numpy")
    assert None not in found["packages"].values()
    assert isinstance(found["devices"], list)


def test_commit_of_the_working_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files that git does not track make no commit dirty."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    monkeypatch.setattr(times, "_GIT_FRESH", 1e-9)  # else an answer holds for seconds
    assert environment({})["git"] is None
    _git(tmp_path, "init", "-q")
    assert environment({})["git"] is None
    (tmp_path / "a").write_text("1", encoding="utf-8")
    _git(tmp_path, "add", "a")
    _git(tmp_path, "commit", "-qm", "one")
    (tmp_path / "untracked").touch()
    commit = _git(tmp_path, "rev-parse", "HEAD")
    assert environment({})["git"] == {"commit": commit, "dirty": False}
    (tmp_path / "a").write_text("2", encoding="utf-8")
    assert environment({})["git"] == {"commit": commit, "dirty": True}


def test_without_git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(times, "_GIT_FRESH", 1e-9)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert environment({})["git"] is None
