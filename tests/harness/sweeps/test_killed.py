"""A sweep that is killed again and again ends as if it had never been."""

import json
import sys
from pathlib import Path

import pytest

from tests.harness.sweeps.workplace import TWELVE, write
from tests.runs.processes import start

pytestmark = pytest.mark.slow


def test_killed_at_random_moments(tmp_path: Path) -> None:
    """Six kills of twelve cells: equal scores to the byte, and no recorded answer made again."""
    write(tmp_path, TWELVE)
    process = start([sys.executable, "-m", "tests.harness.sweeps.killed", "20240229"], tmp_path)
    out, err = process.communicate(timeout=600)
    assert process.returncode == 0, err
    found = json.loads(out)
    assert len(found["kills"]) == 6
    assert (found["again"], found["other"]) == ([], [])
    assert len(set(found["kills"])) > 2  # many moments, not one
