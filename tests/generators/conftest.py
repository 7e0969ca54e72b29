"""Every test of a generator begins without recorded answers."""

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def _nothing_recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TARGET_BENCH_CACHE", str(tmp_path / "cache"))
