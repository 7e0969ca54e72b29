"""A folder of runs that can be read and not written."""

from pathlib import Path

import pytest

from tests.runs.processes import command, finish, run_slow, with_read_only, write_slow


def _state(folder: Path) -> dict[str, tuple[int, bytes]]:
    return {
        str(path.relative_to(folder)): (path.stat().st_mtime_ns, path.read_bytes())
        for path in folder.rglob("*")
        if path.is_file()
    }


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A finished run under ``runs``."""
    write_slow(tmp_path)
    assert finish(run_slow(), tmp_path)[0] == 0
    return tmp_path


def _shown(out: str) -> list[str]:
    return [line.replace(", reused", "").rstrip() for line in out.splitlines()]


def test_finished_run_is_reused(folder: Path) -> None:
    """The table is the same, and nothing is written."""
    before = _state(folder / "runs")
    _, again, _ = finish(run_slow(), folder)
    assert _state(folder / "runs").keys() == before.keys()
    before = _state(folder / "runs")
    code, out, err = finish(with_read_only(folder / "runs", run_slow()), folder, SLOW_ASKED="asked")
    assert (code, err) == (0, "")
    assert _shown(out) == _shown(again)
    assert "1 run in runs/, reused" in out
    assert not (folder / "asked").exists()
    assert _state(folder / "runs") == before


def test_new_run(folder: Path) -> None:
    arguments = command(
        "run", "mini", "--task", "retrieval", "--retriever", "slow.py:Slow", "--top-k", "3"
    )
    code, out, err = finish(with_read_only(folder / "runs", arguments), folder, SLOW_ASKED="asked")
    assert (code, out) == (4, "")
    assert "runs/retrieval-mini-test-slow.py-slow-" in err
    assert "cannot be created: " in err
    assert "Choose a writable folder with --out." in err
    assert not (folder / "asked").exists()


@pytest.mark.parametrize("lost", ["retrieval.jsonl", "half", "scores.json", "manifest.json"])
def test_unfinished_run(folder: Path, lost: str) -> None:
    """It is told before anything is asked."""
    (run,) = (folder / "runs").iterdir()
    if lost == "half":
        path = run / "retrieval.jsonl"
        path.write_bytes(path.read_bytes()[:10_000])
    else:
        (run / lost).unlink()
    before = _state(folder / "runs")
    code, out, err = finish(with_read_only(folder / "runs", run_slow()), folder, SLOW_ASKED="asked")
    assert (code, out) == (4, "")
    assert "cannot be written: " in err
    assert "Choose a writable folder with --out." in err
    assert "Traceback" not in err
    assert not (folder / "asked").exists()
    assert _state(folder / "runs") == before


def test_gc_tells_that_nothing_can_be_removed(folder: Path) -> None:
    (run,) = (folder / "runs").iterdir()
    (run / "scores.json").unlink()
    before = _state(folder / "runs")
    gc = command("runs", "gc", "--yes")
    code, out, err = finish(with_read_only(folder / "runs", gc), folder)
    assert (code, "nothing to remove" in out) == (4, False)
    assert "cannot be removed: " in err
    assert _state(folder / "runs") == before
