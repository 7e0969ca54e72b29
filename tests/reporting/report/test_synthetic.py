"""Pictures and reports of synthetic questions say what they are of."""

import json
from pathlib import Path

import pytest

from target_bench import Observer, ask, read_run
from target_bench.data.own_data import write_questions
from target_bench.reporting import plots
from target_bench.reporting.report import write_report
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


@pytest.mark.parametrize(("people", "mark"), [(True, ""), (False, "[synthetic]")])
def test_curves_are_of_one_origin(folder: Path, tmp_path: Path, people: bool, mark: str) -> None:
    run = read_run(_run(folder, people, tmp_path))
    recall, *_ = plots.recall_at_every_k(run, None, Observer())
    assert plots.synthetic_mark([run]) == mark
    assert list(recall) == pytest.approx([run.scores[f"recall@{k}{mark}"].value for k in (1, 2, 3)])
    report = tmp_path / "report.html"
    write_report([run.folder], report)
    assert ("Recall over k (synthetic questions)" in report.read_text()) == (not people)
