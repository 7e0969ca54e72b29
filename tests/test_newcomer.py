"""The metric, retriever and task of ``examples/``, and an own corpus, through every command.

A folder of tables with a file of questions; no edit of the package, no entry point but for the task
that is submitted.
"""

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.browser import OpenPage
from tests.builders import ROOT, Recorder
from tests.cli.inside import Done, Inside
from tests.reporting.report.driving import ready as report_ready
from tests.target import TARGET

TABLES = {
    "rivers": "River,Length\nRhine,1233\nElbe,1094\n",
    "cities": "City,People\nBonn,336000\nJena,110000\n",
    "stars": "Star,Distance\nSirius,8.6\nVega,25\n",
}

QUESTIONS = [
    {"query_id": "1", "query": "How long is the Rhine?", "table_id": "rivers", "answer": "1233"},
    {"query_id": "2", "query": "How many live in Jena?", "table_id": "cities", "answer": "110000"},
    {"query_id": "3", "query": "How far is Vega?", "table_id": "stars", "answer": "25"},
]

CARD = """
name: LastWord
authors: [Ann Other]
kind: other
parameters: 0
trained_on: {tables: "no"}
chosen_on: nothing
licence: MIT
"""

INSTALLED = {
    "METADATA": "Metadata-Version: 2.1\nName: mine\nVersion: 1\n",
    "entry_points.txt": "[target_bench.tasks]\ngrounded = own_task:Grounded\n",
}


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the files, in which the commands are run."""
    (tmp_path / "tables").mkdir()
    for name, text in TABLES.items():
        (tmp_path / "tables" / f"{name}.csv").write_text(text)
    lines = "".join(json.dumps(question) + "\n" for question in QUESTIONS)
    (tmp_path / "tables" / "queries.jsonl").write_text(lines)
    for example in (ROOT / "examples").glob("own_*.py"):
        shutil.copy(example, tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def target_bench(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Inside:
    return Inside(capsys, monkeypatch)


RUN = ("run", "./tables", "--retriever", "own_retriever.py:LastWord", "--top-k", "1,2")
OWN = (*RUN, "--task", "own_task.py:Grounded", "--generator", "extractive")
QA = (*RUN, "--task", "qa", "--generator", "extractive", "--metric", "own_metric.py:words")


def _result(done: Done) -> Any:
    assert done.code == 0, done.err
    (result,) = json.loads(done.out)["results"]
    return result


def test_from_run_to_report(files: Path, target_bench: Inside, open_page: OpenPage) -> None:
    own = _result(target_bench(*OWN, "--json"))
    assert own["scores"]["grounded"]["value"] == 1
    assert own["scores"]["recall@1"]["value"] == 1
    shown = _result(target_bench(*QA, "--json"))
    assert {"words", "token_f1"} <= shown["scores"].keys()
    assert shown["scores"]["words"]["spec"]["higher_is_better"] is False
    bm25 = [*QA]
    bm25[3] = "bm25"
    other = _result(target_bench(*bm25, "--json"))["folder"]
    again = _result(target_bench("score", shown["folder"], "--json"))
    assert again["scores"]["words"] == shown["scores"]["words"], "asked for once, kept"
    compared = json.loads(
        target_bench("compare", shown["folder"], other, "--metric", "words", "--json").out
    )
    assert "words" in json.dumps(compared)
    page = files / "report.html"
    assert target_bench("report", shown["folder"], other, "-o", page).code == 0
    report = report_ready(open_page(page))
    assert "words" in report.locator("#scores").inner_text()


def test_a_metric_is_added_to_a_stored_run(files: Path, target_bench: Inside) -> None:
    folder = _result(target_bench(*QA[:-2], "--json"))["folder"]
    (files / "broken.py").write_text("def broken(answer, references):\n    return float('inf')\n")
    failed = target_bench("score", folder, "--metric", "broken.py:broken")
    assert failed.code == 3, "and the next commands know nothing of it"
    assert "words" not in target_bench("score", folder).out
    scored = target_bench("score", folder, "--metric", "own_metric.py:words", "--json")
    result = _result(scored)
    assert Path(result["folder"]).samefile(folder)
    assert result["scores"]["words"]["n"] == 3


def test_a_sweep(files: Path, target_bench: Inside) -> None:
    (files / "sweep.yaml").write_text(
        "corpora: [./tables]\ntasks: [qa, own_task.py:Grounded]\ngenerators: [extractive]\n"
        "retrievers: [bm25, own_retriever.py:LastWord]\nmetrics: [own_metric.py:words]\ntop_k: 2\n"
    )
    done = target_bench("sweep", "sweep.yaml")
    assert done.code == 0, done.err
    table = json.loads((files / "runs" / "sweep.sweep.json").read_text())
    assert [cell["state"] for cell in table["cells"]] == ["finished"] * 4
    answered = list((files / "runs").glob("[gq]*-extractive-*/scores.json"))
    assert len(answered) == 4
    assert all("words" in json.loads(path.read_text())["scores"] for path in answered)


def test_from_submission_to_board(
    files: Path, target_bench: Inside, monkeypatch: pytest.MonkeyPatch, open_page: OpenPage
) -> None:
    """A leaderboard knows tasks and corpora by their names: the task is installed."""
    installed = files / "mine-1.dist-info"
    installed.mkdir()
    for name, text in INSTALLED.items():
        (installed / name).write_text(text)
    monkeypatch.syspath_prepend(str(files))
    for module in ("own_task", "own_retriever"):
        monkeypatch.delitem(sys.modules, module, raising=False)
    (result,) = TARGET(("grounded", "mini"), observer=Recorder()).run("own_retriever:LastWord")
    assert result.scores["grounded"].n == 144, "the questions whose answers are texts"
    (files / "card.yaml").write_text(CARD.replace("tables", "mini"))
    (files / "board").mkdir()
    packed = ("leaderboard", "submit", result.folder, "-o", "board/a.tbs.zip")
    assert target_bench(*packed, "--card", "card.yaml").code == 0
    verified = target_bench("leaderboard", "verify", "board/a.tbs.zip")
    assert verified.code == 0, verified.out + verified.err
    assert "grounded" in verified.out
    target_bench("leaderboard", "build", "board", "-o", "site")
    page = open_page(files / "site" / "index.html", files / "site").page
    assert "Grounded leaderboard" in page.locator("h1").inner_text()
    assert "grounded" in page.locator("#scores thead").inner_text()
