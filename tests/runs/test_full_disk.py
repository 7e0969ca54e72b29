"""No room left, in the middle of a run: what is said, what is kept, and how it goes on."""

import resource
from pathlib import Path

import pytest

from tests.runs.processes import (
    N_QUERIES,
    ended,
    finish,
    rankings,
    run_slow,
    scores,
    start_unforked,
    write_slow,
)

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("share", [0.02, 0.9])
def test_files_that_may_not_grow(tmp_path: Path, share: float) -> None:
    """The system limits the size of a file, as quotas do; for full disks see ``faults``."""
    write_slow(tmp_path)
    assert finish(run_slow("whole"), tmp_path)[0] == 0
    (path,) = tmp_path.glob("whole/*/retrieval.jsonl")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    room = int(path.stat().st_size * share)
    resource.setrlimit(resource.RLIMIT_FSIZE, (room, limits[1]))
    try:
        code, out, err = ended(start_unforked(run_slow(), tmp_path))  # it inherits the limit
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert (code, out) == (4, "")
    assert "cannot be written: File too large. Make room and run the same command again" in err
    assert "Traceback" not in err
    kept = rankings(tmp_path / "runs")
    assert bool(kept) == (share > 0.1)
    code, _, err = finish(run_slow(), tmp_path, SLOW_ASKED="asked")
    assert (code, err) == (0, "")
    assert len((tmp_path / "asked").read_text().splitlines()) == N_QUERIES - len(kept)
    assert scores(tmp_path / "runs") == scores(tmp_path / "whole")
    assert sorted(rankings(tmp_path / "runs")) == sorted(rankings(tmp_path / "whole"))
