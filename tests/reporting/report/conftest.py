"""Runs on mini that several test modules report on, made once."""

from pathlib import Path

import pytest

from target_bench.reporting.report import write_report
from tests.reporting.report.written import ranked


@pytest.fixture(scope="session")
def mini_runs(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Retrieval by bm25, tfidf and chance."""
    return ranked(tmp_path_factory.mktemp("runs"), "bm25", "tfidf", "random", top_k=[1, 5, 10])


@pytest.fixture(scope="session")
def mini_report(mini_runs: list[Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of them."""
    return write_report(mini_runs, tmp_path_factory.mktemp("report") / "report.html")
