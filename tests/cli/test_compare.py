"""``target-bench compare``: its forms and exit codes."""

import csv
import json
from pathlib import Path

import pytest

from tests.cli.inside import Inside
from tests.runs.stored import Runs, copied


@pytest.fixture
def runs(tmp_path: Path) -> Runs:
    return copied(tmp_path)


def test_forms(inside: Inside, runs: Runs) -> None:
    out = inside.good("compare", runs.bm25.name, runs.tfidf.name[-12:], "--resamples", "500")
    assert out.startswith("Beside bm25, by recall@10: tfidf is worse (p < .05).\n")
    assert "1/260/19" in out
    assert "p corrected for 1 test of recall@10 (Holm)" in out
    command = ("compare", runs.bm25, runs.tfidf, "--metric", "mrr", "--resamples", "50")
    document = json.loads(inside.good(*command, "--json", "--slice", "task"))
    tasks = ["fact_verification", "question_answering", "text_to_sql"]
    assert [row["slice"] for row in document["rows"][::2]] == [f"task={task}" for task in tasks]
    assert document["baseline"] == "bm25"
    base, run = csv.DictReader(inside.good(*command, "--format", "csv").splitlines())
    assert (base["run"], run["run"]) == ("bm25", "tfidf")
    difference = float(run["score"]) - float(base["score"])
    assert float(run["difference"]) == pytest.approx(difference)
    assert r"\toprule" in inside.good(*command, "--latex")
    assert "| tfidf |" in inside.good(*command, "--format", "markdown")
    assert "choose one of" in inside.bad(2, *command, "--latex", "--json")


def test_exit_codes(inside: Inside, runs: Runs) -> None:
    assert "different tables" in inside.bad(2, "compare", runs.bm25, runs.mixed)
    assert "runs list" in inside.bad(2, "compare", runs.bm25, "nothing")
    (runs.tfidf / "scores.json").unlink()
    assert "not finished" in inside.bad(4, "compare", runs.bm25, runs.tfidf)


def test_runs_of_several_corpora(inside: Inside, runs: Runs) -> None:
    """Tables of other sizes are columns; what concerns one corpus only is refused."""
    command = ("compare", runs.bm25, runs.tfidf, runs.mixed, "--resamples", "50")
    document = json.loads(inside.good(*command, "--metric", "mrr", "--json"))
    assert document["methods"] == ["bm25", "tfidf"]
    assert len(document["cells"]) == 3
    assert "tfidf was not run on mini test + " in inside.good(*command)
    assert inside.good(*command, "--latex").startswith("% recall@1")
    assert "| method |" in inside.good(*command, "--format", "markdown")
    assert "name the runs of one corpus" in inside.bad(2, *command, "--by", "task")
