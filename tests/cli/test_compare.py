"""``target-bench compare``."""

import csv
import json
from pathlib import Path

import pytest

from tests.cli.inside import Inside
from tests.runs.stored import Runs, copied


@pytest.fixture
def runs(tmp_path: Path) -> Runs:
    return copied(tmp_path)


def test_table(inside: Inside, runs: Runs) -> None:
    out = inside.good("compare", runs.bm25.name, runs.tfidf.name[-12:], "--resamples", "500")
    for part in ("recall@10 · retrieval, mini test", ".797 [.751, .837]", "1/260/19"):
        assert part in out
    assert "-.076" not in out
    assert "p corrected for 1 test of recall@10 (Holm)" in out
    assert "recall@10 is tested. Name metrics with --metric" in out
    assert out.count("not tested · retrieval, mini test") == 1
    assert "\nrecall@10: 280 queries are likely to show differences from .040 on (power" in out
    out = inside.good(
        *("compare", runs.bm25, runs.tfidf, "--resamples", "500"),
        *("--metric", "recall@1", "--metric", "mrr"),
    )
    assert "-.076*" in out
    assert "p corrected for 2 tests of recall@1, mrr (Holm)" in out
    assert "not tested" not in out


def test_other_forms(inside: Inside, runs: Runs) -> None:
    command = ("compare", runs.bm25, runs.tfidf, "--metric", "mrr", "--resamples", "50")
    document = json.loads(inside.good(*command, "--json", "--slice", "task"))
    assert [row["slice"] for row in document["rows"][::2]] == [
        "task=fact_verification",
        "task=question_answering",
        "task=text_to_sql",
    ]
    assert document["baseline"] == "bm25"
    rows = list(csv.DictReader(inside.good(*command, "--format", "csv").splitlines()))
    assert [row["run"] for row in rows] == ["bm25", "tfidf"]
    assert float(rows[1]["difference"]) == pytest.approx(
        float(rows[1]["score"]) - float(rows[0]["score"])
    )
    assert r"\toprule" in inside.good(*command, "--latex")
    assert "| tfidf |" in inside.good(*command, "--format", "markdown")
    assert "choose one of" in inside.bad(2, *command, "--latex", "--json")


def test_what_cannot_be_compared(inside: Inside, runs: Runs) -> None:
    assert "different tables" in inside.bad(2, "compare", runs.bm25, runs.mixed)
    assert "limit none and 20" in inside.bad(2, "compare", runs.bm25, runs.first)
    assert "two runs at least" in inside.bad(2, "compare", runs.bm25)
    assert "runs list" in inside.bad(2, "compare", runs.bm25, "nothing")
    (runs.tfidf / "scores.json").unlink()
    assert "not finished" in inside.bad(4, "compare", runs.bm25, runs.tfidf)


def test_runs_of_several_corpora(inside: Inside, runs: Runs) -> None:
    """Tables of other sizes are columns; what concerns one corpus only is refused."""
    command = ("compare", runs.bm25, runs.tfidf, runs.mixed, "--resamples", "50")
    document = json.loads(inside.good(*command, "--metric", "mrr", "--json"))
    assert document["methods"] == ["bm25", "tfidf"]
    assert len(document["cells"]) == 3
    out = inside.good(*command)
    assert "tfidf was not run on mini test + " in out
    assert inside.good(*command, "--latex").startswith("% recall@1")
    assert "| method |" in inside.good(*command, "--format", "markdown")
    assert "name the runs of one corpus" in inside.bad(2, *command, "--by", "task")
