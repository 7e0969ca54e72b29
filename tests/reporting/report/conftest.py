"""Runs on mini that several test modules report on, made once."""

from pathlib import Path
from typing import Any

import pytest

from target_bench.reporting.report import write_report
from tests.builders import Recorder, only
from tests.reporting.report.written import ranked, read_data
from tests.target import TARGET


@pytest.fixture(scope="session")
def mini_runs(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Retrieval by bm25, tfidf and chance."""
    return ranked(tmp_path_factory.mktemp("runs"), "bm25", "tfidf", "random", top_k=[1, 5, 10])


@pytest.fixture(scope="session")
def mini_report(mini_runs: list[Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of them."""
    return write_report(mini_runs, tmp_path_factory.mktemp("report") / "report.html")


@pytest.fixture(scope="session")
def mini_data(mini_report: Path) -> dict[str, Any]:
    """The data in it."""
    stored: dict[str, Any] = read_data(mini_report)
    return stored


@pytest.fixture(scope="session")
def sql_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Queries in SQL, from rankings of bm25."""
    folder = tmp_path_factory.mktemp("sql")
    target = TARGET(("text_to_sql", "mini"), out=folder, observer=Recorder())
    return only(target.run("bm25", generator="extractive")).folder
