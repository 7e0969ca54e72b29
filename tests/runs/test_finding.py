"""The runs of a folder, and the one that is meant."""

from pathlib import Path

import pytest

from target_bench.errors import ConfigError
from target_bench.runs.finding import find, run_folders

NAME = "retrieval-mini-test-bm25-0123456789ab"


def _run(folder: Path) -> Path:
    folder.mkdir(parents=True)
    (folder / "manifest.json").write_text("{}")
    return folder


def test_repeats_of_a_sweep_are_runs_too(tmp_path: Path) -> None:
    first = _run(tmp_path / NAME)
    second = _run(tmp_path / "repeat-2" / NAME)
    _run(tmp_path / "elsewhere" / NAME)
    (tmp_path / "repeat-3").symlink_to(tmp_path / "elsewhere")
    assert run_folders(tmp_path) == [first, second]
    assert find("0123456789ab", tmp_path) == first
    assert find(f"repeat-2/{NAME}", tmp_path) == second


def test_a_run_that_was_only_repeated(tmp_path: Path) -> None:
    second = _run(tmp_path / "repeat-2" / NAME)
    assert find("0123456789ab", tmp_path) == second
    with pytest.raises(ConfigError, match="neither a run folder nor the id"):
        find("ba9876543210", tmp_path)
