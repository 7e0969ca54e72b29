"""``target-bench compare``: its forms and exit codes."""

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


def test_forms(inside: Inside, runs: Runs) -> None:
    out = inside.good("compare", runs.bm25.name, runs.tfidf.name[-12:])
    assert out.startswith("Compared with bm25 by recall@10: worse: tfidf (p < .05).\n")
    assert "2/259/19" in out
    assert "p corrected for 1 test of recall@10 (Holm)" in out
    command = ("compare", runs.bm25, runs.tfidf, "--metric", "mrr")
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


@pytest.mark.parametrize("in_quotes", [True, False])
def test_an_unfinished_run_of_a_pattern_is_left_out(
    inside: Inside, runs: Runs, in_quotes: bool
) -> None:
    """A shell has replaced the pattern by the names, if it is not in quotes."""
    for run in {*runs.root.iterdir()} - {runs.bm25, runs.tfidf, runs.first}:
        shutil.rmtree(run)
    (runs.first / "scores.json").unlink()
    pattern = ["runs/*"] if in_quotes else sorted(Path("runs").iterdir())
    warning = f"left out, as not finished: runs/{runs.first.name}; the command that began"
    document = json.loads(inside.telling(warning, "compare", *pattern, "--json"))
    assert document["systems"] == ["bm25", "tfidf"]
    inside.telling(warning, "report", *pattern)
    assert "not finished" in inside.bad(4, "compare", runs.first, runs.tfidf)
    assert "not finished" in inside.bad(4, "report", runs.first)
    shutil.rmtree(runs.bm25)
    pattern = ["runs/*"] if in_quotes else sorted(Path("runs").iterdir())
    inside.telling(warning, "gate", "base.json", "--update", "--run", *pattern)


def test_runs_of_several_corpora(inside: Inside, runs: Runs) -> None:
    """Tables of other sizes are columns; what concerns one corpus only is refused."""
    command = ("compare", runs.bm25, runs.tfidf, runs.mixed)
    document = json.loads(inside.good(*command, "--metric", "mrr", "--json"))
    assert document["systems"] == ["bm25", "tfidf"]
    assert len(document["rows"]) == 3
    assert "tfidf was not run on mini test + " in inside.good(*command, "--verbose")
    assert inside.good(*command, "--latex").startswith("% recall@1")
    assert "| method |" in inside.good(*command, "--format", "markdown")
    assert "name the runs of one corpus" in inside.bad(2, *command, "--by", "task")


def test_a_folder_with_runs_of_several_corpora(inside: Inside, tmp_path: Path) -> None:
    """Their newest runs are one table; what has another limit, or no baseline, is left out."""
    for name, cities in (("north", "Oslo Bergen"), ("south", "Rome Nice"), ("west", "Cork Faro")):
        (tables := tmp_path / name).mkdir()
        for city in cities.split():
            (tables / f"{city}.csv").write_text(f"city,visitors\n{city},3\n", encoding="utf-8")
        lines = [f"visitors of {city},{city}" for city in cities.split()]
        (tables / "queries.csv").write_text("\n".join(["query,table_id", *lines]))
    run = ("--task", "retrieval", "--top-k", "1", "--json")
    both = ("--retriever", "bm25", "--retriever", "tfidf")
    inside("run", "./north", *both, *run, "--limit", "1")
    inside("run", "./west", "--retriever", "tfidf", *run)
    for name in ("./north", "./south"):
        inside("run", name, *both, *run)
    document = json.loads(inside.good("compare", "runs", "--json"))
    assert (document["systems"], document["baseline"]) == (["bm25", "tfidf"], "bm25")
    assert sorted(map(str, document["corpora"])) == ["north test", "south test"]
    assert {row["n"] for row in document["rows"]} == {2}
    (left_out,) = (note for note in document["notes"] if note.startswith("Left out"))
    assert left_out.startswith("Left out: 2 runs with corpus north, 1 with corpus west.")
    assert "method" in inside.good("compare", "runs")
    other = json.loads(inside.good("compare", "runs", "--baseline", "tfidf", "--json"))
    assert other["baseline"] == "tfidf"
    one = json.loads(inside.good("compare", "runs", "--by", "gold_tables", "--json"))
    assert one["corpora"] == ["south test"]
