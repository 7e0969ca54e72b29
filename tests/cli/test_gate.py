"""``target-bench gate``, and the workflow in its page."""

import csv
import json
import shutil
from pathlib import Path

import pytest

from tests.cli.inside import Inside
from tests.runs.stored import Runs, copied


@pytest.fixture
def runs(tmp_path: Path) -> Runs:
    return copied(tmp_path)


def test_update_and_check(inside: Inside, runs: Runs, tmp_path: Path) -> None:
    baseline, xml, page = (tmp_path / name for name in ("base.json", "gate.xml", "gate.md"))
    rule = ("--fail-on", "recall@10<-0.01")
    command = ("gate", baseline, *rule, "--out", runs.root)
    assert "--update" in inside.bad(2, *command, "--run", runs.bm25)
    assert "leave out --fail-on" in inside.bad(2, *command, "--run", runs.bm25, "--update")
    written = inside.good("gate", baseline, "--run", runs.bm25, "--update")
    assert written.startswith(f"{baseline}: {runs.bm25.name}, ")
    assert "The gate passed." in inside.good(*command, "--run", runs.bm25.name[-12:])
    worse = (*command, "--run", runs.tfidf)
    failed = inside(*worse, "--junit", xml, "--markdown", page)
    assert (failed.code, failed.err) == (1, "")
    assert "The gate failed: recall@10<-0.01." in failed.out
    assert 'failures="1"' in xml.read_text()
    assert page.read_text().startswith("### target-bench gate: failed\n")
    printed = inside(*worse, "--json")
    assert (printed.code, json.loads(printed.out)["failed"]) == (1, True)
    (row,) = csv.DictReader(inside(*worse, "--format", "csv").out.splitlines())
    assert (row["rule"], row["verdict"]) == ("recall@10<-0.01", "failed")
    assert float(row["difference"]) < 0
    in_markdown = inside(*worse, "--format", "markdown").out
    assert in_markdown.startswith("The gate failed")
    assert "| recall@10" in in_markdown
    assert "--junit" in inside.bad(4, *worse, "--junit", baseline / "gate.xml")


@pytest.mark.parametrize("in_quotes", [True, False])
@pytest.mark.parametrize("finished", [True, False])
def test_a_pattern_that_matches_several_runs(
    inside: Inside, runs: Runs, in_quotes: bool, finished: bool
) -> None:
    """As it does once a changed retriever has a second run in the same folder, finished or not."""
    for run in {*runs.root.iterdir()} - {runs.bm25, runs.tfidf}:
        shutil.rmtree(run)
    if not finished:
        (runs.tfidf / "scores.json").unlink()
    pattern = ["runs/*"] if in_quotes else sorted(Path("runs").iterdir())
    for update in (["--update"], []):
        message = inside.bad(2, "gate", "base.json", "--run", *pattern, *update)
        names = f"runs/{runs.bm25.name}, runs/{runs.tfidf.name}"
        assert f"--run is one run, and 2 are named: {names}." in message
        assert "or run it into a new folder (--out)" in message
    assert not Path("base.json").exists()


def test_a_pattern_that_matches_one_run(inside: Inside, runs: Runs) -> None:
    pattern = f"runs/*{runs.bm25.name[-12:]}"
    inside.good("gate", "base.json", "--run", pattern, "--update")
    assert "The gate passed." in inside.good("gate", "base.json", "--run", pattern)
