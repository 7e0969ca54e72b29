"""The trial of flipped bits, with one in every kind of file."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.builders import ROOT

pytestmark = pytest.mark.slow


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs to fork")
def test_no_flipped_bit_changes_a_score_in_silence(tmp_path: Path) -> None:
    """Nor ends in a traceback; docs of the benchmark have the figures of 200 flips."""
    command = [sys.executable, "-m", "benchmarks.bit_flips"]
    command += ["--flips", "16", "--seed", "1", "--sql-limit", "20"]
    done = subprocess.run(
        command,
        cwd=ROOT,
        env={**os.environ, "TMPDIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    outcomes = [line.split("\t")[0] for line in done.stderr.splitlines()]
    assert len(outcomes) == 16, done.stderr
    assert set(outcomes) == {"no effect", "made again", "refused"}, done.stderr
