"""Tasks and corpora by their names, and loading each split once."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from target_bench import corpora
from target_bench.core.errors import ConfigError
from target_bench.core.task_names import task_named
from target_bench.data.load import Loaded, Loader, once, tasks_and_corpora
from tests.builders import Recorder, ottqa_question, ottqa_table, write_ottqa

MINI = corpora.load("mini")


@pytest.mark.parametrize(
    ("name", "short"),
    [
        ("retrieval", "retrieval"),
        ("Table Retrieval", "retrieval"),
        ("table-retrieval", "retrieval"),
        ("qa", "question_answering"),
        ("QA", "question_answering"),
        ("table_qa", "question_answering"),
        ("Table Question Answering", "question_answering"),
        ("fv", "fact_verification"),
        ("Fact Verification", "fact_verification"),
        ("fact-checking", "fact_verification"),
        ("Table Retrieval Task", "retrieval"),
        ("Table Question Answering Task", "question_answering"),
        ("Fact Verification Task", "fact_verification"),
        ("Text to SQL Task", "text_to_sql"),
    ],
)
def test_tasks_by_any_name(name: str, short: str) -> None:
    assert task_named(name) == short


def test_a_task_alone_is_about_every_corpus_that_serves_it() -> None:
    pairs = tasks_and_corpora("qa")
    assert {task for task, _ in pairs} == {"question_answering"}
    assert {"mini", "fetaqa", "ottqa"} <= {corpus for _, corpus in pairs}
    assert "tabfact" not in {corpus for _, corpus in pairs}
    assert ("fact_verification", "tabfact") in tasks_and_corpora("fv")


@pytest.mark.parametrize("asked", ["mini", "Spider-Test", "./tables", ("mini", "retrieval")])
def test_a_corpus_in_the_place_of_a_task(asked: Any) -> None:
    with pytest.raises(ConfigError, match=r"is a corpus, and a task comes first.*TARGET\(\("):
        tasks_and_corpora(asked)


@pytest.mark.parametrize("asked", [3, ("qa", "mini", "ottqa"), object(), (MINI, "qa")])
def test_what_is_no_task(asked: Any) -> None:
    with pytest.raises(ConfigError, match=r"is no task: expected its name.*a pair"):
        tasks_and_corpora(asked)


def test_a_corpus_that_is_named_twice_is_run_once() -> None:
    """Under any of its names; two datasets are two, even under one name."""
    pairs = tasks_and_corpora(("retrieval", ["ottqa", "OTT-QA", "mini", "ottqa"]))
    assert once(pairs) == [("retrieval", "ottqa"), ("retrieval", "mini")]
    both = [("retrieval", "mini"), ("question_answering", "mini")]
    assert once([*both, *both]) == both
    other = replace(MINI, queries=MINI.queries[:3])
    assert len(once(tasks_and_corpora(("retrieval", [MINI, other, MINI])))) == 2


@pytest.mark.parametrize(
    ("task", "corpus", "part"),
    [
        ("qa", "tabfact", "corpus tabfact does not serve the task question_answering; it serves"),
        ("fv", "fetaqa", "corpus fetaqa does not serve the task fact_verification"),
        ("qa", "minni", "Did you mean mini"),
        ("qa", replace(MINI, info=replace(MINI.info, tasks=("retrieval",))), "does not serve"),
    ],
)
def test_invalid_corpora(task: str, corpus: Any, part: str) -> None:
    with pytest.raises(ConfigError, match=part):
        tasks_and_corpora((task, corpus))


# loading


def test_what_a_user_should_know_is_reported_once(tmp_path: Path) -> None:
    write_ottqa(tmp_path, [ottqa_table("Cup")], [ottqa_question("q1", "Cup", question="")])
    recorder = Recorder()
    loader = Loader(tmp_path, recorder)
    for _ in range(2):
        loader.load("ottqa", None, ())
    assert len(recorder.warnings) == 1
    assert recorder.warnings[0].startswith("ottqa validation: 1 of 1 queries are empty")


def test_a_dataset_is_its_own_split() -> None:
    loader = Loader(None, Recorder())
    assert loader.load(MINI, None, ()).dataset.queries == MINI.queries
    assert loader.load(MINI, "test", ()).dataset.queries == MINI.queries
    with pytest.raises(ConfigError, match=r"split='dev'.* is its split test"):
        loader.load(MINI, "dev", ())


def test_how_it_was_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """So that a stored run can be gone on with, from any folder."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "a.csv").write_text("x,y\n1,2\n", encoding="utf-8")
    (tmp_path / "own" / "queries.jsonl").write_text(
        '{"query_id": "q", "query": "?", "table_id": "a"}\n', encoding="utf-8"
    )
    loader = Loader(None, Recorder())
    assert loader.load("mini", None, ()).words["corpus"] == "mini"
    assert loader.load("./own", None, ()).words["corpus"] == str(tmp_path / "own")
    assert loader.load(MINI, None, ()).words["corpus"] is None
    code = "from target_bench.corpora.mini.loader import Mini\n\nclass Mine(Mini): ...\n"
    (tmp_path / "mine.py").write_text(code, encoding="utf-8")
    assert loader.load("mine.py:Mine", None, ()).words["corpus"] == f"{tmp_path}/mine.py:Mine"
    assert Loaded(MINI, 0.0).limited(3).words["limit"] == 3


# the queries of a task


def test_queries_of_a_task() -> None:
    loaded = Loaded(MINI, 0.0)
    ranked = tuple(query for query in MINI.queries if query.metadata.get("ranked", True))
    assert loaded.of_task("retrieval").dataset.queries == ranked
    assert len(ranked) == 280, "not those whose metadata say that they are not ranked"
    questions = loaded.of_task("question_answering").dataset.queries
    statements = loaded.of_task("fact_verification").dataset.queries
    assert (len(questions), len(statements)) == (144, 79)
    assert {q.metadata["task"] for q in questions} == {"question_answering"}
    assert loaded.of_task("fact_verification").limited(5).dataset.queries == statements[:5]


def test_no_query_of_a_task() -> None:
    loaded = Loaded(MINI, 0.0)
    with pytest.raises(ConfigError, match="no query of mini test is about the task table_reading"):
        loaded.of_task("table_reading")
