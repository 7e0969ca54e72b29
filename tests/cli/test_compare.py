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


def test_a_pattern_in_quotes_names_finished_runs(inside: Inside, runs: Runs) -> None:
    """Beside an unfinished run and what a sweep wrote; a run that is named has to be finished."""
    for run in {*runs.root.iterdir()} - {runs.bm25, runs.tfidf, runs.first}:
        shutil.rmtree(run)
    (runs.first / "scores.json").unlink()
    (runs.root / "s.conclusions.md").touch()
    warning = f"left out, as not finished: runs/{runs.first.name}; the command that began"
    document = json.loads(inside.telling(warning, "compare", "runs/*", "--json"))
    assert document["systems"] == ["bm25", "tfidf"]
    inside.telling(warning, "report", "runs/*")
    for unfinished in ((runs.first,), (runs.first, runs.bm25), (f"{runs.first}*",)):
        assert "not finished" in inside.bad(4, "compare", *unfinished, runs.tfidf)
        report = inside("report", *unfinished, runs.tfidf)
        assert (report.code, "not finished" in report.err) == (4, True)


def test_a_file_with_a_name_like_a_pattern(inside: Inside, tmp_path: Path) -> None:
    """It is read itself; a pattern that matches files alone names these."""
    for name, value in (("x[1]", 0), ("x1", 1), ("y", 1)):
        lines = ["id,value", *(f"{i},{value}" for i in range(9))]
        (tmp_path / f"{name}.csv").write_text("\n".join(lines), encoding="utf-8")
    columns = ("--id", "id", "--value", "value", "--json")
    for first in ("x[1]", "x1"):
        pattern = f"{first.replace('x1', 'x?')}.csv"
        document = json.loads(inside.good("compare", pattern, "y.csv", *columns))
        assert document["systems"] == [first, "y"]


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
