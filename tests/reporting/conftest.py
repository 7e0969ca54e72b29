"""Stored runs on mini: one store for all tests that read, or a copy for those that change it."""

from pathlib import Path

import pytest

from tests.runs.stored import Runs, copied


@pytest.fixture(scope="session")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Runs:
    """Runs to read."""
    return copied(tmp_path_factory.mktemp("stored"))


@pytest.fixture
def own_runs(tmp_path: Path) -> Runs:
    """Runs to change."""
    return copied(tmp_path)
