"""The whole store in one line of DuckDB, as docs/runs.md shows it."""

import re
from pathlib import Path
from typing import Any

import duckdb
import pytest

from target_bench.runs.result import read_run
from tests.builders import ROOT
from tests.runs.stored import Runs, copied

LINES = re.findall(
    r"^```sql\n(.*?)^```", (ROOT / "docs" / "runs.md").read_text("utf-8"), re.MULTILINE | re.DOTALL
)


def _rows(line: str) -> list[tuple[Any, ...]]:
    found = duckdb.sql(line)
    assert found is not None
    return found.fetchall()


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Runs:
    monkeypatch.chdir(tmp_path)
    return copied(tmp_path)


def test_per_query_values_of_all_runs(runs: Runs) -> None:
    means = dict(_rows(LINES[0]))
    for folder in (runs.bm25, runs.tfidf, runs.mixed, runs.first):
        wanted = read_run(folder).scores["recall@10"].value
        assert means[f"runs/{folder.name}"] == pytest.approx(wanted)


def test_manifests_and_scores_of_all_runs(runs: Runs) -> None:
    rows = {row[0]: row[1:] for row in _rows(LINES[1])}
    assert rows[runs.bm25.name][:3] == ("retrieval", "mini", "bm25")
    assert rows[runs.answers.name][:3] == ("question_answering", "mini", "bm25")
    assert len(rows) == len(list(runs.root.iterdir()))


def test_every_line_runs(runs: Runs) -> None:
    assert len(LINES) >= 3
    for line in LINES:
        assert _rows(line), line
