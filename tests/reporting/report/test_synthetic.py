"""Screens, comparisons and reports of synthetic questions say what they do not decide."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from target_bench import Observer, ask, compare, gate, read_run
from target_bench.cli.output import fold_notes
from target_bench.cli.results import print_results
from target_bench.data.own_data import write_questions
from target_bench.reporting import plots
from target_bench.reporting.layouts import to_text
from target_bench.reporting.report import write_report
from target_bench.runs.result import SYNTHETIC
from tests.target import TARGET

PEOPLE = [
    {"query_id": "1", "query": "who works in the kitchen in Oslo", "table_id": "staff"},
    {"query_id": "2", "query": "thriller from the nineties", "table_id": "films"},
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("drive")
    (folder / "staff.csv").write_text("name,city,role\nAnn,Oslo,chef\nBo,Nice,host\n")
    (folder / "films.csv").write_text("film,director,year\nHeat,Mann,1995\nAlien,Scott,1979\n")
    (folder / "towns.csv").write_text("city,country\nOslo,Norway\nNice,France\n")
    return folder


def _run(folder: Path, people: bool, out: Path) -> Path:
    path = folder / "queries.jsonl"
    path.unlink(missing_ok=True)
    if people:
        path.write_text("".join(json.dumps(line) + "\n" for line in PEOPLE))
    write_questions(ask(folder, 8).queries, path)
    return TARGET(("retrieval", folder), out=out).run("bm25", top_k=[1, 2, 3])[0].folder


@pytest.mark.parametrize("people", [True, False])
def test_every_screen_says_so(
    folder: Path, tmp_path: Path, people: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    """In one line, also where only some are synthetic; the score is over all of them."""
    run = read_run(_run(folder, people, tmp_path))
    recall, *_ = plots.recall_at_every_k(run, None, Observer())
    assert list(recall) == pytest.approx([run.scores[f"recall@{k}"].value for k in (1, 2, 3)])
    assert run.scores["recall@1"].n == run.stored.n_queries
    report = tmp_path / "report.html"
    write_report([run.folder], report)
    assert SYNTHETIC in report.read_text()
    other = TARGET(("retrieval", folder), out=tmp_path).run("tfidf", top_k=[1, 2, 3])[0]
    comparison = replace(compare([run, other]), notes=("one", "two"))
    shown, _ = fold_notes(comparison, False)
    assert "Note: " not in str(shown)
    assert SYNTHETIC in str(shown)
    assert SYNTHETIC in gate(run, other, "recall@1<-0.5", alpha=0.9).sentence
    with_mini = TARGET(("retrieval", "mini"), out=tmp_path).run("bm25", limit=5)[0]
    on_mini = TARGET(("retrieval", "mini"), out=tmp_path).run("tfidf", limit=5)[0]
    table = compare([run, other, with_mini, on_mini])
    assert f"{run.identity.corpus} test: {SYNTHETIC}" in to_text(table)
    print_results([run], [])
    assert SYNTHETIC in capsys.readouterr().out.replace("\n", " ")


def test_questions_of_people_are_not_called_so(folder: Path, tmp_path: Path) -> None:
    path = folder / "queries.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in PEOPLE))
    target = TARGET(("retrieval", folder), out=tmp_path)
    runs = [target.run(name, top_k=[1, 2, 3])[0] for name in ("bm25", "tfidf")]
    assert not runs[0].per_query.are_synthetic
    assert SYNTHETIC not in str(compare(runs))
