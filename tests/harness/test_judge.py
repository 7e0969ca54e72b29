"""The judging stage: each answer is judged once, and again only if something of it changed."""

import json
import shutil
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from target_bench import StoreError, read_run
from target_bench.core.errors import ConfigError
from target_bench.core.schema import Dataset, Generation, Judgement, Query, Retrieval, TableId
from target_bench.core.task import AnswerJudge
from target_bench.data.load import load
from target_bench.data.selection import select_queries
from target_bench.harness.consent import Estimate
from target_bench.harness.judge import judge_answers
from target_bench.harness.score_external import score_file
from target_bench.harness.stored import score_again
from target_bench.harness.sweeps import Sweep
from target_bench.runs.result import Result
from target_bench.tasks.question_answering import QuestionAnswering
from target_bench.tasks.text_to_sql import TextToSQL
from tests.builders import Recorder, json_lines, only, rewrite, unfinish
from tests.harness.judged import SPREAD, N, judged, parts, refuse
from tests.target import TARGET


def _cut(folder: Path, n: int) -> None:
    """Leave a run as one that was killed after so many judgements."""
    path = folder / "judgements.jsonl"
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:n]))
    (folder / "scores.json").unlink()
    unfinish(folder)


@pytest.mark.parametrize("generator", ["gold", "extractive"])
def test_a_finished_run_executes_nothing_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, generator: str
) -> None:
    """Asked for again, and scored again: neither predictions nor gold."""
    first = judged(tmp_path, generator)
    before = parts(first.folder)
    refuse(monkeypatch)
    again = judged(tmp_path, generator)
    assert again.run.reused
    assert (again.scores, again.stored.answers) == (first.scores, first.stored.answers)
    assert again.stored.report == first.stored.report
    assert score_again(read_run(first.folder), "text-to-sql:workers=1").run.reused
    assert parts(first.folder) == before


def test_a_run_that_was_killed_goes_on(tmp_path: Path) -> None:
    """Only what is missing is judged, and nothing tells the run from one that was not killed."""
    whole = judged(tmp_path, "extractive")
    before = parts(whole.folder)
    for kept, torn in ((0, b""), (3, b'{"query_id": "'), (3, b"\xc3"), (N, b""), (N, b"\xc3")):
        _cut(whole.folder, kept)
        rewrite(whole.folder / "manifest.json", lambda m: m["seconds"].update(judge=100.0))
        with (whole.folder / "judgements.jsonl").open("ab") as file:
            file.write(torn)
        observer = Recorder()
        again = judged(tmp_path, "extractive", observer)
        assert observer.steps == N - kept
        assert ("extractive: judge" in observer.stages) is (kept < N)
        assert not again.run.reused, "at least its scores were missing"
        assert (again.run.manifest.seconds["judge"] > 100) is (kept < N), "times add up"
        assert observer.warnings == []
        if kept < N or not torn:
            assert parts(whole.folder) == before


MINI = replace(select_queries(load("mini"), "text_to_sql"), queries=tuple(SPREAD))
ANSWERS = {query.id: Generation(query.id, str(query.answer)) for query in SPREAD}
RANKED = {q.id: Retrieval(q.id, (TableId(q.database_id, "t"),)) for q in SPREAD}


@pytest.fixture(scope="module")
def known() -> dict[str, Judgement]:
    return judge_answers(MINI, ANSWERS, TextToSQL(workers=1), RANKED)


def test_what_is_judged_again(known: dict[str, Judgement]) -> None:
    """Whatever a judgement follows from: answer, ranking, reference, database, settings."""
    task = TextToSQL()
    assert task.find_unjudged(MINI, ANSWERS, RANKED, known) == []
    first, other = SPREAD[0], SPREAD[-1].database_id
    assert first.database_id != other
    answers = {**ANSWERS, first.id: Generation(first.id, "SELECT 1")}
    assert task.find_unjudged(MINI, answers, RANKED, known) == [first]
    failed = {**ANSWERS, first.id: replace(ANSWERS[first.id], error="gone")}
    assert task.find_unjudged(MINI, failed, RANKED, known) == [first]
    ranked = {**RANKED, first.id: Retrieval(first.id, (TableId(other, "t"),))}
    assert task.find_unjudged(MINI, ANSWERS, ranked, known) == [first]
    queries = (replace(first, answer="SELECT 2"), *SPREAD[1:])
    assert task.find_unjudged(replace(MINI, queries=queries), ANSWERS, RANKED, known) == [
        queries[0]
    ]
    for settings in ({"rule": "spider"}, {"timeout": 7.0}, {"repeats": 2}, {"engine": "duckdb"}):
        assert TextToSQL(**settings).find_unjudged(MINI, ANSWERS, RANKED, known) == SPREAD


def test_a_database_of_another_content_is_another_database(
    known: dict[str, Judgement], tmp_path: Path
) -> None:
    """A copy of it is the same, wherever it lies."""
    name = SPREAD[0].database_id
    file = Path(shutil.copy(MINI.databases[name], tmp_path / "elsewhere.sqlite"))
    moved = replace(MINI, databases={**MINI.databases, name: file})
    task = TextToSQL()
    assert task.find_unjudged(moved, ANSWERS, RANKED, known) == []
    with closing(sqlite3.connect(file)) as database, database:
        database.execute("CREATE TABLE one_more (a)")
    queries = [query for query in SPREAD if query.database_id == name]
    assert task.find_unjudged(moved, ANSWERS, RANKED, known) == queries
    assert 0 < len(queries) < N
    others = {key: path for key, path in MINI.databases.items() if key != name}
    unjudged = task.find_unjudged(replace(MINI, databases=others), ANSWERS, RANKED, known)
    assert [query for query in unjudged if query.database_id == name] == queries


@pytest.mark.parametrize("end", [-2, None])
def test_damaged_judgements_are_refused_and_made_again_without_the_file(
    tmp_path: Path, end: int | None
) -> None:
    """A changed verdict, or lines that are not there."""
    first = judged(tmp_path, "extractive")
    before = parts(first.folder)
    path = first.folder / "judgements.jsonl"
    whole = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([whole[0].replace(b"verdict", b"verdikt"), *whole[1:end]]))
    with pytest.raises(StoreError, match=r"judgements\.jsonl: damaged .*; remove it and run"):
        judged(tmp_path, "extractive")
    path.unlink()
    observer = Recorder()
    judged(tmp_path, "extractive", observer)
    assert (observer.steps, parts(first.folder) == before) == (N, True)


SCRIPT = """
CREATE TABLE orders (id INTEGER, price INTEGER);
INSERT INTO orders VALUES (1, 5), (2, 'a lot'), (3, 8);
CREATE TABLE names (id INTEGER, name TEXT COLLATE NOCASE);
INSERT INTO names VALUES (1, 'Ann');
CREATE TABLE gone (x INTEGER);
CREATE VIEW of_gone AS SELECT x FROM gone;
PRAGMA legacy_alter_table = ON;
DROP TABLE gone;
"""
GOLDS = {
    "all": "SELECT count(*) FROM orders",
    "some": "SELECT id FROM orders WHERE id > 1",
    "collated": "SELECT count(*) FROM names WHERE name = 'ANN'",
    "bad": "SELECT nothing FROM orders",
}


def _own(out: Path, engine: str, corpus: Path) -> Result:
    task = f"text-to-sql:engine={engine},workers=1"
    target = TARGET((task, corpus), out=out, observer=Recorder())
    return only(target.run("oracle", top_k=1, generator="gold"))


@pytest.mark.parametrize("engine", ["sqlite", "duckdb"])
def test_what_is_said_of_databases_survives(tmp_path: Path, engine: str) -> None:
    """Notes, engine and what is left out are those of a run that was not killed."""
    corpus = tmp_path / "shop.sqlite"
    with closing(sqlite3.connect(corpus)) as database:
        database.executescript(SCRIPT)
    queries = (
        {"query_id": n, "query": n, "answer": sql, "task": "text_to_sql", "table_id": "orders"}
        for n, sql in GOLDS.items()
    )
    (tmp_path / "queries.jsonl").write_text(json_lines(queries), encoding="utf-8")
    whole = _own(tmp_path / "runs", engine, corpus)
    before = parts(whole.folder)
    assert whole.stored.report is not None
    assert whole.stored.report["engine"] == engine
    if engine == "duckdb":
        assert whole.stored.report["notes"]
        assert whole.stored.report["not_runnable"] == {"engines": 1}
    for kept in (0, 2):
        _cut(whole.folder, kept)
        assert _own(tmp_path / "runs", engine, corpus).stored.report == whole.stored.report
        assert parts(whole.folder) == before


JUDGED = """
from pathlib import Path
from target_bench import AnswerJudge, Generator, Judgement, Task, metric

class Dear(Generator):
    paid = True

    def generate(self, request):
        with Path(__file__).with_name("asked").open("a") as file:
            file.write(request + "\\n")
        return "yes"

class ModelJudge(AnswerJudge):
    packages = ("numpy",)

    def __init__(self):
        self.generator = Dear()

    def parts(self):
        return {"generator": self.generator}

    def find_unjudged(self, dataset, generations, retrievals, stored):
        return [query for query in dataset.queries if query.id not in stored]

    def make_judgements(self, queries, dataset, generations, retrievals):
        for query in queries:
            yield Judgement(query.id, "", {"reply": self.generator.generate(query.id)})

@metric
def is_answered(answer):
    return bool(answer)

class Judged(Task):
    name = "judged"
    source = "none"
    judge = ModelJudge()

    def metrics(self, queries, cutoffs=()):
        return [is_answered]

class Answers(Generator):
    def generate(self, request):
        return "an answer"
"""
"""A task whose judge is an object of its own, with a generator that is paid for."""


def test_a_judge_that_is_an_object_of_its_own_is_agreed_to(tmp_path: Path) -> None:
    file = tmp_path / "judged.py"
    file.write_text(JUDGED, encoding="utf-8")
    target = TARGET((f"{file}:Judged", "mini"), out=tmp_path / "runs", observer=Recorder())
    estimates: list[Estimate] = []

    def run(answer: bool) -> Result:
        def confirm(estimate: Estimate) -> bool:
            estimates.append(estimate)
            return answer

        return only(target.run(None, generator=f"{file}:Answers", limit=5, confirm=confirm))

    with pytest.raises(ConfigError, match="nothing was sent"):
        run(False)
    assert not (tmp_path / "asked").exists()
    sweep = tmp_path / "sweep.yaml"
    content = f"corpora: {{name: mini, limit: 5}}\ntasks: '{file}:Judged'\n"
    sweep.write_text(f"{content}generators: '{file}:Answers'", encoding="utf-8")
    planned = Sweep.load(sweep, out=tmp_path / "sweep", observer=Recorder())
    assert [(each.requests, each.unit) for each in planned.estimates] == [(5, "answers")]
    result = run(True)
    assert len((tmp_path / "asked").read_text(encoding="utf-8").splitlines()) == 5
    assert [(each.requests, each.unit) for each in estimates] == [(5, "answers")] * 2
    assert "numpy" in result.run.manifest.environment["used_packages"]


def test_the_code_of_a_judge_in_another_file_is_recorded(tmp_path: Path) -> None:
    """Also where no import of the task's file names it; and its packages, whatever is judged."""
    (tmp_path / "critic.py").write_text(JUDGED.replace("paid = True", ""), encoding="utf-8")
    file = tmp_path / "criticised.py"
    file.write_text(
        "from target_bench.core.registry import resolve\n"
        "from target_bench import Task, metric\n"
        f"class Criticised(Task):\n    name = 'criticised'\n    source = 'none'\n"
        f"    judge = resolve('retriever', {f'{tmp_path}/critic.py:ModelJudge'!r})()\n"
        "    def metrics(self, queries, cutoffs=()):\n        return [is_answered]\n"
        "@metric\ndef is_answered(answer):\n    return bool(answer)\n",
        encoding="utf-8",
    )
    target = TARGET((f"{file}:Criticised", "mini"), out=tmp_path / "runs", observer=Recorder())
    for generator in ("gold", "empty"):
        result = only(target.run(None, generator=generator, limit=5))
        assert {Path(name).name for name in result.run.manifest.code} == {
            "criticised.py",
            "critic.py",
        }
        assert "numpy" in result.run.manifest.environment["used_packages"]
    answers = tmp_path / "answers.json"
    answers.write_text(json.dumps(dict.fromkeys(result.run.answers, "yes")))
    task, out = f"{file}:Criticised", tmp_path / "runs"
    scored = score_file(task, "mini", predictions=answers, limit=5, out=out)
    assert "numpy" in scored.run.manifest.environment["used_packages"]


class Lazy(QuestionAnswering, AnswerJudge):
    """Lists each query twice, one by one."""

    name = "lazy"

    def __init__(self) -> None:
        self.judge = self
        self.seen: list[str] = []

    def find_unjudged(self, dataset: Dataset, *_: Any) -> Any:
        return (query for query in dataset.queries for _ in range(2))

    def make_judgements(self, queries: Sequence[Query], *_: Any) -> Any:
        for query in queries:
            self.seen.append(query.id)
            yield Judgement(query.id, "", {})


def test_each_answer_is_judged_once_however_it_is_listed() -> None:
    task = Lazy()
    dataset = select_queries(load("mini"), "question_answering")
    judgements = judge_answers(dataset, {}, task)
    assert task.seen == [*judgements] == [query.id for query in dataset.queries]
