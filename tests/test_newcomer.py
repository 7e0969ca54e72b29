"""A newcomer's own metric, retriever, task and corpus, from files, through every command.

Three lines, two methods, ten lines and a folder of tables with a file of questions; no edit of the
package, no entry point but for the task that is submitted.
"""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from target_bench import TARGET
from tests.browser import OpenPage
from tests.builders import Recorder
from tests.cli.inside import Done, Inside
from tests.reporting.report.driving import ready as report_ready

METRIC = """
from target_bench import metric

@metric(higher_is_better=True, digits=2, label="Short")
def short(answer, references):
    return float(len(answer.split()) <= 2)
"""

RETRIEVER = '''
class Alphabet:
    """Ranks tables by the number of words of the question that they hold."""

    def embed_corpus(self, corpus):
        self.tables = {table.id: str((table.header, *table.rows)).lower() for table in corpus}

    def retrieve(self, query, top_k):
        words = query.lower().strip("?").split()
        count = {id: sum(word in text for word in words) for id, text in self.tables.items()}
        return sorted(count, key=count.get, reverse=True)[:top_k]
'''

TASK = '''
from my_metric import short
from target_bench import Task


class Brevity(Task):
    """Is the answer short?"""

    name = "brevity"
    title = "Brevity"

    def metrics(self, queries, cutoffs=()):
        return [short]
'''

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
name: Alphabet
authors: [Ann Other]
retriever_kind: other
parameters: 0
training_data: {tables: "no"}
hardware: 2 cores
licence: MIT
open_weights: true
"""

INSTALLED = {
    "METADATA": "Metadata-Version: 2.1\nName: mine\nVersion: 1\n",
    "entry_points.txt": "[target_bench.tasks]\nbrevity = my_task:Brevity\n",
}


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the files, in which the commands are run."""
    (tmp_path / "tables").mkdir()
    for name, text in TABLES.items():
        (tmp_path / "tables" / f"{name}.csv").write_text(text)
    lines = "".join(json.dumps(question) + "\n" for question in QUESTIONS)
    (tmp_path / "tables" / "queries.jsonl").write_text(lines)
    for name, text in (("metric", METRIC), ("retriever", RETRIEVER), ("task", TASK)):
        (tmp_path / f"my_{name}.py").write_text(text)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def target_bench(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Inside:
    return Inside(capsys, monkeypatch)


RUN = ("run", "./tables", "--retriever", "my_retriever.py:Alphabet", "--top-k", "1,2")
OWN = (*RUN, "--task", "my_task.py:Brevity", "--generator", "extractive")
QA = (*RUN, "--task", "qa", "--generator", "extractive", "--metric", "my_metric.py:short")


def _result(done: Done) -> Any:
    assert done.code == 0, done.err
    (result,) = json.loads(done.out)["results"]
    return result


def test_from_run_to_report(files: Path, target_bench: Inside, open_page: OpenPage) -> None:
    own = _result(target_bench(*OWN, "--json"))
    assert own["scores"]["short"]["value"] == 1
    assert own["scores"]["recall@1"]["value"] == 1
    shown = _result(target_bench(*QA, "--json"))
    assert {"short", "token_f1"} <= shown["scores"].keys()
    assert shown["scores"]["short"]["spec"]["label"] == "Short"
    bm25 = [*QA]
    bm25[3] = "bm25"
    other = _result(target_bench(*bm25, "--json"))["folder"]
    again = _result(target_bench("score", shown["folder"], "--json"))
    assert again["scores"]["short"] == shown["scores"]["short"], "asked for once, kept"
    compared = json.loads(
        target_bench("compare", shown["folder"], other, "--metric", "short", "--json").out
    )
    assert "short" in json.dumps(compared)
    page = files / "report.html"
    assert target_bench("report", shown["folder"], other, "-o", page).code == 0
    report = report_ready(open_page(page))
    assert "short" in report.locator("#scores").inner_text()


def test_a_metric_is_added_to_a_stored_run(files: Path, target_bench: Inside) -> None:
    folder = _result(target_bench(*QA[:-2], "--json"))["folder"]
    (files / "broken.py").write_text("def broken(answer, references):\n    return float('inf')\n")
    failed = target_bench("score", folder, "--metric", "broken.py:broken")
    assert failed.code == 3, "and the next commands know nothing of it"
    assert "short" not in target_bench("score", folder).out
    scored = target_bench("score", folder, "--metric", "my_metric.py:short", "--json")
    result = _result(scored)
    assert Path(result["folder"]).samefile(folder)
    assert result["scores"]["short"]["n"] == 3


def test_a_sweep(files: Path, target_bench: Inside) -> None:
    (files / "sweep.yaml").write_text(
        "corpora: [./tables]\ntasks: [qa, my_task.py:Brevity]\ngenerators: [extractive]\n"
        "retrievers: [bm25, my_retriever.py:Alphabet]\nmetrics: [my_metric.py:short]\ntop_k: 2\n"
    )
    done = target_bench("sweep", "sweep.yaml")
    assert done.code == 0, done.err
    table = json.loads((files / "runs" / "sweep.sweep.json").read_text())
    assert [cell["state"] for cell in table["cells"]] == ["done"] * 4
    answered = list((files / "runs").glob("[bq]*-extractive-*/scores.json"))
    assert len(answered) == 4
    assert all("short" in json.loads(path.read_text())["scores"] for path in answered)


def test_from_submission_to_board(
    files: Path, target_bench: Inside, monkeypatch: pytest.MonkeyPatch, open_page: OpenPage
) -> None:
    """A leaderboard knows tasks and corpora by their names: the task is installed."""
    installed = files / "mine-1.dist-info"
    installed.mkdir()
    for name, text in INSTALLED.items():
        (installed / name).write_text(text)
    monkeypatch.syspath_prepend(str(files))
    for module in ("my_task", "my_metric", "my_retriever"):
        monkeypatch.delitem(sys.modules, module, raising=False)
    (result,) = TARGET(("brevity", "mini"), observer=Recorder()).run("my_retriever:Alphabet")
    assert result.scores["short"].n == 144, "the questions whose answers are texts"
    (files / "card.yaml").write_text(CARD.replace("tables", "mini"))
    (files / "board").mkdir()
    packed = ("leaderboard", "submit", result.folder, "-o", "board/a.tbs.zip")
    assert target_bench(*packed, "--card", "card.yaml").code == 0
    verified = target_bench("leaderboard", "verify", "board/a.tbs.zip")
    assert verified.code == 0, verified.out + verified.err
    assert "brevity" in verified.out
    assert "short" in verified.out
    target_bench("leaderboard", "build", "board", "-o", "site")
    page = open_page(files / "site" / "index.html", files / "site").page
    assert "Brevity leaderboard" in page.locator("h1").inner_text()
    assert "Short" in page.locator("#scores thead").inner_text()
