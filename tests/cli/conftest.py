"""What the tests of the command line share."""

from pathlib import Path

import pytest

from tests.cli.inside import Inside


@pytest.fixture
def inside(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Inside:
    """Commands in this process, in an empty folder, without real data."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TARGET_BENCH_DATA", raising=False)
    return Inside(capsys, monkeypatch)
