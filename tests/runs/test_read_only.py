"""A folder of runs that can be read and not written."""

from pathlib import Path

import pytest

from tests.builders import unfinish
from tests.runs.processes import finish, read_only, run_slow, write_slow


def _state(folder: Path) -> dict[str, tuple[int, bytes]]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {str(path): (path.stat().st_mtime_ns, path.read_bytes()) for path in files}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A finished run under ``runs``."""
    write_slow(tmp_path)
    assert finish(run_slow(), tmp_path)[0] == 0
    return tmp_path


def test_finished_run_is_reused(folder: Path) -> None:
    """The table is the same, and nothing is written."""
    _, again, _ = finish(run_slow(), folder)
    before = _state(folder / "runs")
    code, out, err = finish(read_only(folder / "runs", run_slow()), folder, SLOW_ASKED="asked")
    assert (code, err) == (0, "")
    assert out == again
    assert "1 run in runs/, reused" in out
    assert not (folder / "asked").exists()
    assert _state(folder / "runs") == before


@pytest.mark.parametrize(
    ("lost", "words", "message"),
    [
        (None, [*run_slow(), "--limit", "3"], "cannot be created: "),
        ("half", run_slow(), "cannot be written: "),
        ("scores.json", run_slow(), "cannot be written: "),
    ],
)
def test_what_wants_to_write_says_so_first(
    folder: Path, lost: str | None, words: list[str], message: str
) -> None:
    """A new run, and one that goes on; nothing is asked before."""
    (run,) = (folder / "runs").iterdir()
    if lost == "half":
        path = run / "retrieval.jsonl"
        path.write_bytes(path.read_bytes()[:10_000])
        unfinish(run)
    elif lost:
        (run / lost).unlink()
    before = _state(folder / "runs")
    code, out, err = finish(read_only(folder / "runs", words), folder, SLOW_ASKED="asked")
    assert (code, out) == (4, "")
    assert message in err
    assert "Traceback" not in err
    assert not (folder / "asked").exists()
    assert _state(folder / "runs") == before
