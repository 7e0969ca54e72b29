"""The runs of a folder, and the one that is meant."""

from pathlib import Path

import pytest

from target_bench.core.errors import ConfigError
from target_bench.runs.find import find_run, is_run_name, list_run_folders

NAME = "retrieval-mini-test-bm25-0123456789ab"


def _run(folder: Path) -> Path:
    folder.mkdir(parents=True)
    (folder / "manifest.json").write_text("{}")
    return folder


def test_links_and_folders_of_other_names_are_no_runs(tmp_path: Path) -> None:
    first = _run(tmp_path / NAME)
    other = _run(tmp_path / "elsewhere" / NAME)
    (tmp_path / NAME.replace("bm25", "lsa")).symlink_to(other)
    assert list_run_folders(tmp_path) == [first]
    assert find_run("0123456789ab", tmp_path) == first
    assert find_run(f"elsewhere/{NAME}", tmp_path) == other


def test_the_first_characters_are_enough(tmp_path: Path) -> None:
    first = _run(tmp_path / NAME)
    second = _run(tmp_path / "retrieval-mini-test-lsa-0123ffffffff")
    for name in ("01234", "retrieval-mini-test-b", NAME[:-1], tmp_path / NAME[:-3]):
        assert find_run(name, tmp_path) == first
    assert find_run("0123f", tmp_path) == second
    assert is_run_name("0123f", tmp_path)
    assert not is_run_name("ottqa", tmp_path)
    for name in ("9999", "012", "mini"):
        with pytest.raises(ConfigError, match="neither a run folder nor the name or id"):
            find_run(name, tmp_path)
    with pytest.raises(ConfigError, match="at least 4 characters"):
        find_run("012", tmp_path)


def test_nothing_is_guessed(tmp_path: Path) -> None:
    names = [f"retrieval-mini-test-bm25-0123456789{i:02d}" for i in range(25)]
    for name in names:
        _run(tmp_path / name)
    with pytest.raises(
        ConfigError, match="0123: 25 runs have a name or id that begins with it"
    ) as raised:
        find_run("0123", tmp_path)
    assert str(raised.value).count("\n  retrieval-mini-test-bm25-") == 20
    assert "and 5 more" in str(raised.value)
    with pytest.raises(ConfigError) as raised:
        find_run("01234567890", tmp_path)
    assert all(name in str(raised.value) for name in names[:10])
