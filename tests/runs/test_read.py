"""Stored runs as they are read back: what ran, how it stands, and every part of it when needed."""

import re
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from target_bench import StoreError, evaluate, list_runs, read_run
from target_bench.core.errors import PluginError
from target_bench.core.schema import Corpus, TableId
from target_bench.runs.result import Result, Results, read_main_metric
from target_bench.runs.slicing import read_metric
from target_bench.runs.times import read_cold_times
from tests.builders import Record, Recorder, only, rewrite, same_scores
from tests.runs.stored import Runs, copied
from tests.target import TARGET


@pytest.fixture
def runs(tmp_path: Path) -> Runs:
    return copied(tmp_path)


class Broken:
    """Fails as long as it is to: at the tenth query, or, with an error of its own, before."""

    error: BaseException | None = None

    def embed_corpus(self, corpus: Corpus) -> None:
        if isinstance(Broken.error, Exception):
            raise Broken.error
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


def test_a_run_of_rankings(runs: Runs) -> None:
    run = read_run(runs.bm25)
    assert (run.identity.task, run.identity.corpus, run.identity.split, run.command.label) == (
        "retrieval",
        "mini",
        "test",
        "bm25",
    )
    assert (run.run.status, run.run.manifest.error, run.run.problem) == ("finished", None, None)
    assert (read_main_metric(run), run.stored.n_queries, run.stored.n_failed) == (
        "recall@10",
        280,
        0,
    )
    assert (run.stored.counts.answered, run.stored.answers, run.rankings_result) == (280, None, run)
    assert (len(run.run.rankings), run.run.answers, run.run.judgements) == (280, {}, {})
    assert run.per_query.ids == sorted(run.run.rankings)
    assert set(run.per_query.values) == set(run.per_query.statistics) == set(run.scores)
    assert dict(run) == run.scores
    assert "recall@10" in run
    assert run.per_query.values["recall@10"].mean() == pytest.approx(run.scores["recall@10"].value)
    assert (
        len(run.per_query.statistics["recall@10"]) == len(run.per_query.properties["task"]) == 280
    )
    assert run.run.key == runs.bm25.name[-12:]
    assert run.times.milliseconds.get("retrieve") is not None


def test_a_run_of_answers(runs: Runs) -> None:
    run = read_run(str(runs.answers))
    assert run.command.label == "bm25 + extractive"
    assert run.rankings_result.folder.parent == runs.root
    assert run.rankings_result.identity.retriever == run.identity.any_retriever
    assert set(run.run.rankings) == set(run.run.answers) == set(run.per_query.ids)
    assert run.stored.answers is not None
    assert run.stored.answers.asked == run.stored.n_queries == 144
    assert {"retrieve", "generate"} <= set(run.times.seconds)
    assert "retrieve" not in read_cold_times(run.run.manifest).seconds


def test_judgements(tmp_path: Path) -> None:
    target = TARGET(("text_to_sql", "mini"), out=tmp_path)
    run = read_run(only(target.run("oracle", generator="gold", limit=5)).folder)
    assert set(run.run.judgements) == set(run.per_query.ids)
    assert run.stored.report


def test_an_unfinished_run_is_read(runs: Runs) -> None:
    """Until its scores are asked for."""
    (runs.bm25 / "scores.json").unlink()
    run = read_run(runs.bm25)
    assert (run.run.status, run.run.is_scored, len(run.run.rankings)) == ("unfinished", False, 280)
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
    listed = {run.folder: run for run in list_runs(runs.root)}
    assert len(listed) == len(list(runs.root.iterdir()))
    assert next(iter(listed)) == runs.tfidf  # what cannot be read comes first
    assert listed[runs.bm25].status == "unfinished"
    assert listed[runs.tfidf].status == listed[runs.mixed].status == "damaged"
    assert "manifest.json: cannot be read" in str(listed[runs.tfidf].problem)
    assert listed[runs.answers].status == "damaged"
    assert "generations.jsonl: damaged" in str(listed[runs.answers].problem)
    assert listed[runs.other].status == "finished"
    with pytest.raises(StoreError, match="there is no such folder"):
        list_runs(runs.root / "none")


@pytest.mark.parametrize(
    ("error", "recorded"),
    [
        (RuntimeError("sk-abcdefghijklmnop"), "PluginError: retriever .*: \\*\\*\\*"),
        (KeyboardInterrupt(), "KeyboardInterrupt"),
    ],
)
def test_what_ended_a_run_is_recorded_until_it_goes_on(
    tmp_path: Path, error: BaseException, recorded: str
) -> None:
    with pytest.raises((KeyboardInterrupt, PluginError)):
        _run(tmp_path, error)
    (run,) = list_runs(tmp_path)
    assert run.status == "unfinished"
    assert re.match(recorded, str(run.manifest.error))
    assert len(run.rankings) < 20
    whole = _run(tmp_path)
    again = read_run(run.folder)
    assert (again.run.status, again.run.manifest.error) == ("finished", None)
    assert '"error"' not in (run.folder / "manifest.json").read_text("utf-8")
    shutil.rmtree(run.folder)
    same_scores(whole, _run(tmp_path))


def test_a_metric_that_raises_leaves_a_finished_run_as_it_is(runs: Runs) -> None:
    def broken(gold: Sequence[str], ranking: Sequence[str]) -> float:
        raise RuntimeError("no")

    with pytest.raises(PluginError, match="no"):
        evaluate("bm25", "mini", out=runs.root, metrics=[broken])
    run = read_run(runs.bm25)
    assert (run.run.status, run.run.manifest.error) == ("finished", None)


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("manifest.json", lambda text: text[:-40], "cannot be read"),
        ("manifest.json", lambda text: text.replace('"mini"', '"maxi"'), "has changed since it"),
        ("manifest.json", lambda text: text.replace('"seal"', '"seel"'), "has changed since it"),
        (
            "retrieval.jsonl",
            lambda text: text.replace("\n", "\n{\n", 1),
            "retrieval.jsonl: damaged",
        ),
        ("retrieval.jsonl", lambda text: text.split("\n", 1)[1], "retrieval.jsonl: damaged"),
        ("scores.json", lambda text: text[:-40], "scores.json: cannot be read"),
        (
            "scores.json",
            lambda text: re.sub(r'"value": [\d.]+', '"value": 0.9', text, count=1),
            r"scores.json: cannot be read \(it has changed since it was written\); remove it and",
        ),
        ("per_query.parquet", lambda _: "x", "per_query.parquet: damaged, or not of these scores"),
        ("statistics.parquet", lambda _: "x", "statistics.parquet: damaged, or not of these"),
    ],
)
def test_a_damaged_or_edited_file_is_named_with_the_remedy(
    runs: Runs, name: str, change: Callable[[str], str], message: str
) -> None:
    path = runs.bm25 / name
    path.write_text(change(path.read_text("utf-8", errors="replace")), encoding="utf-8")
    run = Result(runs.bm25)
    assert run.run.status == "damaged"
    assert re.search(message, str(run.run.problem)), run.run.problem


def test_an_edited_score_with_a_new_checksum_is_found_when_it_is_compared(runs: Runs) -> None:
    def change(scored: Record) -> None:
        scored["scores"]["recall@1"]["value"] = 0.89

    rewrite(runs.bm25 / "scores.json", change)
    with pytest.raises(StoreError, match=r"recall@1 is 0.89.* in scores.json, but .* give 0.80"):
        read_metric(read_run(runs.bm25), "recall@1")


def test_statistics_of_an_earlier_version_are_refused(runs: Runs) -> None:
    """Of precision@k they lack the largest value of each query, from which its interval follows."""
    (runs.bm25 / "statistics.parquet").unlink()
    rewrite(runs.bm25 / "manifest.json", lambda manifest: manifest.update(value_file_hashes={}))
    run = read_run(runs.bm25)
    assert read_metric(run, "recall@10").is_mean
    with pytest.raises(StoreError, match=r"precision@10 give no score .*target-bench score"):
        read_metric(run, "precision@10")


def test_a_damaged_log_is_removed_and_made_again(runs: Runs) -> None:
    """The command that finds it names the remedy, and the remedy gives the same run."""
    path = runs.bm25 / "retrieval.jsonl"
    whole = path.read_bytes()
    path.write_bytes(whole.replace(b"medal", b"metal", 1))
    again: dict[str, Any] = {"task": "retrieval", "top_k": [1, 10], "out": runs.root}
    with pytest.raises(
        StoreError, match=r"retrieval\.jsonl: damaged .*; remove it and run the same"
    ):
        evaluate("bm25", "mini", **again)
    path.unlink()
    (run,) = evaluate("bm25", "mini", **again)
    assert (run.run.reused, path.read_bytes() == whole, run.run.status) == (False, True, "finished")


def test_results_are_joined_each_run_once(runs: Runs) -> None:
    first, second = read_run(runs.bm25), read_run(runs.tfidf)
    joined = Results([first]) + Results([second, read_run(runs.bm25)])
    assert [result.folder for result in joined] == [runs.bm25, runs.tfidf]
