"""The whole store in one line of DuckDB, as docs/runs.md shows it."""

import re
from pathlib import Path

import duckdb
import pytest

from target_bench.runs.result import read_run
from tests.builders import ROOT
from tests.runs.stored import Runs, copied

LINES = re.findall(
    r"^```sql\n(.*?)^```", (ROOT / "docs" / "runs.md").read_text("utf-8"), re.MULTILINE | re.DOTALL
)


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Runs:
    monkeypatch.chdir(tmp_path)
    return copied(tmp_path)


def test_every_line_runs(runs: Runs) -> None:
    """The first gives the scores of all runs, the second their manifests."""
    assert len(LINES) >= 3
    rows = [duckdb.execute(line).fetchall() for line in LINES]
    assert all(rows)
    means = dict(rows[0])
    for folder in (runs.bm25, runs.tfidf, runs.mixed, runs.first):
        score = read_run(folder).scores["recall@10"].value
        assert means[f"runs/{folder.name}"] == pytest.approx(score)
    manifests = {name: entries for name, *entries in rows[1]}
    assert manifests[runs.bm25.name][:3] == ["retrieval", "mini", "bm25"]
    assert manifests[runs.answers.name][:3] == ["question_answering", "mini", "bm25"]
    assert len(manifests) == len(list(runs.root.iterdir()))
