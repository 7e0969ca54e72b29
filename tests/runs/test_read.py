"""Stored runs as they are read back: what ran, how it stands, and every part of it when needed."""

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import portalocker
import pytest

from target_bench import TARGET, StoreError, list_runs, read_run
from target_bench.core.schema import Corpus, TableId
from target_bench.runs.result import Result
from target_bench.runs.store import Run
from tests.builders import Recorder, only, rewrite, same_scores
from tests.runs.stored import Runs, copied

WITHOUT_STATUS = "status", "error"


@pytest.fixture
def runs(tmp_path: Path) -> Runs:
    return copied(tmp_path)


class Broken:
    """Fails at the tenth query as long as it is to."""

    error: BaseException | None = None

    def embed_corpus(self, corpus: Corpus) -> None:
        self._ids = corpus.ids
        self._n = 0

    def retrieve(self, query: str, top_k: int) -> Sequence[TableId]:
        self._n += 1
        if self._n == 10 and Broken.error is not None:
            raise Broken.error
        return self._ids[:top_k]


def _run(out: Path, error: BaseException | None = None) -> Result:
    Broken.error = error
    target = TARGET(("retrieval", "mini"), out=out, observer=Recorder())
    return only(target.run(Broken(), limit=20))


def _manifest(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "manifest.json").read_bytes())
    return found


def test_a_run_of_rankings(runs: Runs) -> None:
    run = read_run(runs.bm25)
    assert (run.task, run.corpus, run.split, run.label) == ("retrieval", "mini", "test", "bm25")
    assert (run.status, run.error, run.problem) == ("finished", None, None)
    assert (run.headline, run.n_queries, run.n_failed) == ("recall@10", 280, 0)
    assert run.counts.answered == 280
    assert run.answer_counts is None
    assert run.retrieval is run
    assert len(run.rankings) == len(run.query_ids) == 280
    assert (run.answers, run.judgements) == ({}, {})
    assert list(run.query_ids) == sorted(run.query_ids)
    assert set(run.per_query) == set(run.statistics) == set(run.scores)
    assert dict(run) == run.all_scores
    assert "recall@10" in run
    assert run.per_query["recall@10"].mean() == pytest.approx(run.scores["recall@10"].value)
    assert run.statistics["recall@10"].shape[0] == 280
    assert len(run.slices["task"]) == 280
    assert run.id == runs.bm25.name[-12:]
    assert run.times.retrieve is not None


def test_a_run_of_answers(runs: Runs) -> None:
    run = read_run(str(runs.answers))
    assert run.label == "bm25 + extractive"
    assert run.retrieval.folder.parent == runs.root
    assert run.retrieval.identity.retriever == run.identity.retriever
    assert set(run.rankings) == set(run.answers) == set(run.query_ids)
    assert run.answer_counts is not None
    assert run.answer_counts.asked == run.n_queries == 144
    assert {"retrieve", "generate"} <= set(run.times.seconds)
    assert "retrieve" not in run.own_times.seconds


def test_the_same_values_as_of_the_result(tmp_path: Path) -> None:
    """Every score and every value of a query is the one that was returned."""
    result = only(TARGET(("retrieval", "mini"), out=tmp_path).run("tfidf", limit=50))
    run = read_run(result.folder)
    assert dict(run.scores) == dict(result.scores)
    assert run.counts == result.counts
    place = {query_id: i for i, query_id in enumerate(result.query_ids)}
    for name, values in run.per_query.items():
        mine = result.per_query[name][[place[query_id] for query_id in run.query_ids]]
        np.testing.assert_array_equal(values, mine)


def test_judgements(tmp_path: Path) -> None:
    target = TARGET(("text_to_sql", "mini"), out=tmp_path)
    run = read_run(only(target.run("oracle", generator="gold", limit=5)).folder)
    assert set(run.judgements) == set(run.query_ids)
    assert run.report


def test_an_unfinished_run_is_read(runs: Runs) -> None:
    """Until its scores are asked for."""
    (runs.bm25 / "scores.json").unlink()
    run = read_run(runs.bm25)
    assert (run.status, run.is_scored, len(run.rankings)) == ("unfinished", False, 280)
    with pytest.raises(StoreError, match="the run is not finished"):
        assert run.scores
    with pytest.raises(StoreError, match="there is no such run folder"):
        read_run(runs.root / "none")


def test_every_run_is_listed(runs: Runs) -> None:
    """In order, and each as it stands, whatever the others are."""
    (runs.bm25 / "scores.json").unlink()
    (runs.tfidf / "manifest.json").write_text("{", encoding="utf-8")
    (runs.answers / "generations.jsonl").write_bytes(b"{}\n")
    (runs.mixed / "scores.json").write_bytes(b"{}")
    found = {run.folder: run for run in list_runs(runs.root)}
    assert len(found) == len(list(runs.root.iterdir()))
    assert next(iter(found)) == runs.tfidf  # what cannot be read comes first
    assert found[runs.bm25].status == "unfinished"
    assert found[runs.tfidf].status == found[runs.mixed].status == "unreadable"
    assert "manifest.json: cannot be read" in str(found[runs.tfidf].problem)
    assert found[runs.answers].status == "damaged"
    assert "line 1: damaged" in str(found[runs.answers].problem)
    assert found[runs.other].status == "finished"
    with pytest.raises(StoreError, match="there is no such folder"):
        list_runs(runs.root / "none")


def test_an_error_is_recorded_until_the_run_goes_on(tmp_path: Path) -> None:
    with pytest.raises(Exception, match="no luck"):
        _run(tmp_path, RuntimeError("no luck with sk-abcdefghijklmnop"))
    (run,) = list_runs(tmp_path)
    assert run.status == "failed"
    assert str(run.error).startswith("PluginError: retriever ")
    assert "no luck with ***" in str(run.error)
    assert len(run.rankings) < 20
    whole = _run(tmp_path)
    again = read_run(run.folder)
    assert (again.status, again.error) == ("finished", None)
    assert "error" not in _manifest(run.folder)
    shutil.rmtree(run.folder)
    same_scores(whole, _run(tmp_path))


def test_ctrl_c_is_recorded(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        _run(tmp_path, KeyboardInterrupt())
    (run,) = list_runs(tmp_path)
    assert (run.status, run.error) == ("interrupted", "KeyboardInterrupt")
    _run(tmp_path)
    assert read_run(run.folder).status == "finished"


def test_answers_that_fail_as_a_whole(tmp_path: Path) -> None:
    """The rankings they are built on are finished."""

    class Refusing:
        def generate_many(self, requests: Any, observer: Any) -> Any:
            raise RuntimeError("no server")

        def generate(self, request: Any) -> str:
            return ""

    target = TARGET(("question_answering", "mini"), out=tmp_path, observer=Recorder())
    with pytest.raises(Exception, match="no server"):
        target.run("bm25", generator=Refusing(), limit=3)
    assert {run.task: run.status for run in list_runs(tmp_path)} == {
        "question_answering": "failed",
        "retrieval": "finished",
    }


def test_running_is_what_a_process_works_on(runs: Runs) -> None:
    """Where none does, as after it was killed, the run is unfinished."""
    rewrite(runs.bm25 / "manifest.json", lambda manifest: manifest.update(status="running"))
    assert read_run(runs.bm25).status == "unfinished"
    with (runs.bm25 / "lock").open("rb+") as file:
        portalocker.lock(file, portalocker.LOCK_EX)
        assert read_run(runs.bm25).status == "running"


def test_the_status_while_a_run_works(tmp_path: Path) -> None:
    seen: list[str] = []

    class Looking(Broken):
        def retrieve(self, query: str, top_k: int) -> Sequence[TableId]:
            seen.extend(run.status for run in list_runs(tmp_path))
            return super().retrieve(query, top_k)

    only(TARGET(("retrieval", "mini"), out=tmp_path).run(Looking(), limit=3))
    assert seen == ["running"] * 3


def test_entries_of_a_later_version_are_kept(tmp_path: Path) -> None:
    result = _run(tmp_path)
    later = {"colour": ["green"]}
    path = result.folder / "manifest.json"
    rewrite(path, lambda manifest: manifest.update(later=later, status="failed", error="x"))
    _run(tmp_path)
    assert _manifest(result.folder)["later"] == later
    assert _manifest(result.folder)["status"] == "finished"


def test_a_folder_that_cannot_be_written_keeps_the_first_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise StoreError("no room")

    monkeypatch.setattr(Run, "_replace", full)
    with pytest.raises(StoreError, match="no room"):
        _run(tmp_path)
    monkeypatch.undo()
    (run,) = list_runs(tmp_path)
    assert run.status == "unfinished"
