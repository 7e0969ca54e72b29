"""Runs on mini whose answers are rated, made once."""

from pathlib import Path

import pytest

from target_bench.harness.target import TARGET
from target_bench.runs.result import Result, read_run
from tests.builders import Recorder, only


def _run(out: Path, task: str, generator: str) -> Result:
    target = TARGET((task, "mini"), out=out, observer=Recorder())
    return read_run(only(target.run(generator=generator)).folder)


@pytest.fixture(scope="session")
def described(tmp_path_factory: pytest.TempPathFactory) -> Result:
    """Sentences of the template for the examples of table-to-text."""
    return _run(tmp_path_factory.mktemp("described"), "table_to_text", "template")


@pytest.fixture(scope="session")
def tabled(tmp_path_factory: pytest.TempPathFactory) -> Result:
    """Gold tables for the texts of text-to-table."""
    return _run(tmp_path_factory.mktemp("tabled"), "text_to_table", "gold")
