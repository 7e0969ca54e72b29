"""TARGET: arguments, what is asked of a retriever, what makes another run, and run folders."""

import gc
import json
from collections import Counter
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

import pytest

from target_bench.core.errors import ConfigError
from target_bench.core.schema import Corpus, CorpusInfo, Dataset, Query, TableId
from target_bench.data.load import load
from target_bench.data.selection import select_queries
from tests.builders import (
    Counting,
    Record,
    Recorder,
    only,
    ottqa_question,
    ottqa_table,
    rewrite,
    same_scores,
    write_ottqa,
)
from tests.target import TARGET

TASK = ("retrieval", "mini")


def _target(out: Path, recorder: Recorder | None = None) -> TARGET:
    return TARGET(TASK, out=out, observer=recorder or Recorder())


@pytest.fixture(autouse=True)
def _no_data(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TARGET_BENCH_DATA", raising=False)


@pytest.mark.parametrize(
    ("tasks", "retriever", "options", "message"),
    [
        ("retrieve", "bm25", {}, "unknown task 'retrieve'. Did you mean retrieval"),
        ("mini", "bm25", {}, "'mini' is a corpus"),
        (("retrieval", "minni"), "bm25", {}, "unknown corpus 'minni'. Did you mean mini"),
        (TASK, "bm52", {}, "unknown retriever 'bm52'. Did you mean bm25"),
        (TASK, "oracle", {"split": "train"}, "mini has no split 'train'"),
        (TASK, Counting, {}, "Counting is a class; pass an object of it"),
        (TASK, object(), {}, "object is not a retriever: it has no method embed_corpus"),
        (TASK, None, {}, "the task retrieval is about tables that are retrieved: name a retriever"),
    ],
)
def test_what_cannot_be_run(
    tmp_path: Path, tasks: Any, retriever: Any, options: Any, message: str
) -> None:
    with pytest.raises(ConfigError) as error:
        TARGET(tasks, out=tmp_path).run(retriever, **options)
    assert message in str(error.value)


def test_bounds(tmp_path: Path) -> None:
    """The oracle finds all that k tables can hold, no-context finds nothing."""
    target = _target(tmp_path)
    oracle, nothing = (only(target.run(mode, top_k=[1, 5])) for mode in ("oracle", "no-context"))
    exempt = {"recall@1", "recall_micro@1", "recall[dup]@1", "full_recall@1"}
    for name, score in oracle.scores.items():
        expected = score.value if name.startswith("precision") or name in exempt else 1.0
        assert score.value == expected, name
    assert 0.5 < oracle.scores["recall@1"].value < 1
    assert all(score.value == score.low == 0 for score in nothing.scores.values())
    assert all(0 < score.high < 0.05 for score in nothing.scores.values())
    assert (
        nothing.stored.counts.empty == nothing.stored.counts.asked == nothing.stored.counts.answered
    )
    assert nothing.stored.counts.failed == 0


def test_one_retrieval_serves_every_k(tmp_path: Path) -> None:
    """Each query is asked once, at the largest; 59 are asked at the other cutoffs too."""
    retriever = Counting()
    several = only(_target(tmp_path).run(retriever, top_k=[5, 1, 20, 5]))
    queries = select_queries(load("mini"), "retrieval").queries
    assert len(retriever.embedded) == 1
    assert [call for call in retriever.calls if call[1] == 20] == [(q.text, 20) for q in queries]
    probes = [call for call in retriever.calls if call[1] != 20]
    assert Counter(k for _, k in probes) == {1: 59, 5: 59}
    assert len(set(probes)) == len(probes)
    assert several.stored.counts.asked == several.stored.counts.answered == len(queries)
    single = only(_target(tmp_path / "5").run(Counting(), top_k=5))
    for name in ("recall@5", "ndcg@5", "recall_micro@5"):
        assert single.scores[name].value == several.scores[name].value
        assert single.per_query.values[name].tolist() == several.per_query.values[name].tolist()


def test_empty_and_odd_data_is_counted(tmp_path: Path) -> None:
    tables = [ottqa_table("Cup_0"), ottqa_table("Cup_1", data=[])]
    questions = [ottqa_question("q1", "Cup_0", question=""), ottqa_question("q2", "Cup_1")]
    write_ottqa(tmp_path, tables, questions)
    recorder = Recorder()
    target = TARGET(
        ("retrieval", "ottqa"), data_dir=tmp_path, out=tmp_path / "runs", observer=recorder
    )
    for name in ("bm25", "tfidf", "no-context"):
        result = only(target.run(name, top_k=1))
        assert (result.stored.counts.asked, result.stored.counts.empty_queries) == (2, 1), name
        assert result.stored.counts.failed == 0
    assert [warning for warning in recorder.warnings if "queries are empty" in warning] == [
        "ottqa validation: 1 of 2 queries are empty"
    ]


def test_retriever_never_sees_gold_or_dataset(tmp_path: Path) -> None:
    """Nothing that can be reached from what it is given."""
    retriever = Counting()
    _target(tmp_path).run(retriever, limit=1)
    (corpus,) = retriever.embedded
    assert isinstance(corpus, Corpus)
    seen: dict[int, Any] = {}
    todo: list[Any] = [corpus]
    while todo:
        thing = todo.pop()
        if id(thing) not in seen and not isinstance(thing, type | ModuleType | FunctionType):
            seen[id(thing)] = thing
            todo += gc.get_referents(thing)
    assert not [t for t in seen.values() if isinstance(t, Query | Dataset | CorpusInfo)]
    texts = {thing for thing in seen.values() if isinstance(thing, str)}
    assert not texts & ({"mini", "target-bench mini"} | {q.text for q in load("mini").queries})
    assert {TableId("0", "missions-apollo")} <= set(corpus.ids)


def test_a_reused_run_asks_nothing_and_is_scored_again(tmp_path: Path) -> None:
    """So a run of an older version shows no old interval under a new signature."""
    first = only(_target(tmp_path).run(Counting()))
    path = first.folder / "scores.json"
    old = {"low": 1.0, "high": 1.0, "signature": "recall|bootstrap:percentile"}

    def as_before(stored: Record) -> None:
        for score in stored["scores"].values():
            score |= old

    rewrite(path, as_before)
    again = Counting()
    second = only(_target(tmp_path).run(again))
    assert (first.run.reused, second.run.reused, second.folder) == (False, True, first.folder)
    assert (again.embedded, again.calls) == ([], [])
    same_scores(first, second)
    written = json.loads(path.read_bytes())["scores"]
    assert written == {name: score.to_json() for name, score in first.scores.items()}


def test_what_makes_another_run(tmp_path: Path) -> None:
    """Another k, setting, split, limit or source file is another folder."""
    path = tmp_path / "mine.py"
    source = (
        "class Mine:\n    def __init__(self, n: int = 0):\n        self.n = n\n"
        "    def embed_corpus(self, corpus):\n        self.ids = corpus.ids\n"
        "    def retrieve(self, query, top_k):\n        return list(self.ids[:top_k])\n"
    )
    path.write_text(source, encoding="utf-8")
    mine = f"{path}:Mine"
    target = _target(tmp_path / "runs")
    results = [
        target.run(mine),
        target.run(mine, top_k=5),
        target.run(mine, top_k=[5, 10]),
        target.run(f"{mine}:n=1"),
        target.run(mine, "validation"),
        target.run(mine, limit=5),
        target.run("random"),
        target.run("random:seed=1"),
    ]
    path.write_text(source.replace("[:top_k]", "[-top_k:]"), encoding="utf-8")
    results.append(target.run(mine))
    folders = [only(result).folder for result in results]
    assert len(set(folders)) == len(folders)
    assert all(not only(result).run.reused for result in results)
    path.write_text(source, encoding="utf-8")
    assert only(target.run(mine)).run.reused


def test_latency_is_measured_apart(tmp_path: Path) -> None:
    plain = only(_target(tmp_path).run("bm25"))
    timed = only(_target(tmp_path).run("bm25", latency=20))
    assert plain.times.latency is None
    latency = timed.times.latency
    assert latency is not None
    assert (timed.folder, timed.run.reused) == (plain.folder, False)
    assert 0 < latency["p50"] <= latency["p95"] <= latency["p99"]
    assert latency["queries"] == 20
    assert latency["threads"] >= 1
    same_scores(plain, timed)
    most = only(_target(tmp_path).run("random", latency=10_000))
    assert most.times.latency is not None
    assert (
        most.times.latency["queries"]
        == len(select_queries(load("mini"), "retrieval").queries)
        <= 500
    )


def test_run_folder(tmp_path: Path) -> None:
    result = only(_target(tmp_path).run("tfidf:ngram=2", top_k=[1, 5]))
    folder = result.folder
    names = {"lock", "manifest.json", "per_query.parquet", "retrieval.jsonl"}
    names |= {"scores.json", "statistics.parquet"}
    assert {path.name for path in folder.iterdir()} == names
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    identity = manifest["identity"]
    assert identity["corpus_fingerprint"] == load("mini").corpus.fingerprint
    assert (identity["split"], identity["top_k"]) == ("test", [1, 5])
    assert identity["retriever"]["config"]["ngram"] == 2
    assert manifest["environment"]["used_packages"]["PyStemmer"]
    assert len(identity["metrics"]) == len(result.scores) + 1  # and the version of their rules
    assert manifest["environment"]["python"]
    assert manifest["files"] == dict(load("mini").files)
    scores = json.loads((folder / "scores.json").read_text(encoding="utf-8"))
    assert scores["scores"] == {name: score.to_json() for name, score in result.scores.items()}
    assert scores["counts"] == result.stored.counts.to_json()


def test_python_looks_for_cycles_less_often_while_a_run_is_made(tmp_path: Path) -> None:
    thresholds = []

    class Watching(Counting):
        def embed_corpus(self, corpus: Corpus) -> None:
            thresholds.append(gc.get_threshold()[0])
            super().embed_corpus(corpus)

    before = gc.get_threshold()
    try:
        gc.set_threshold(700)
        _target(tmp_path).run(Watching(), limit=2)
        assert thresholds == [50_000]
        assert gc.get_threshold()[0] == 700
    finally:
        gc.set_threshold(*before)
