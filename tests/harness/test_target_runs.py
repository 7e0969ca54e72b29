"""TARGET: run folders, when one is used again, and the figures kept in it."""

import json
from pathlib import Path

from target_bench.data.load import load, of_task
from target_bench.harness.target import TARGET
from tests.builders import Counting, Record, Recorder, only, rewrite, same_scores


def _target(out: Path) -> TARGET:
    return TARGET(("retrieval", "mini"), out=out, observer=Recorder())


def test_reuse(tmp_path: Path) -> None:
    """The same run again asks nothing and gives the same scores."""
    first = only(_target(tmp_path).run(Counting()))
    again = Counting()
    second = only(_target(tmp_path).run(again))
    assert (first.reused, second.reused) == (False, True)
    assert again.embedded == []
    assert again.calls == []
    assert first.folder == second.folder
    same_scores(first, second)


def test_reused_run_is_scored_again(tmp_path: Path) -> None:
    """So a run of an older version shows no old interval under a new signature."""
    first = only(_target(tmp_path).run(Counting()))
    path = first.folder / "scores.json"
    old = {"low": 1.0, "high": 1.0, "signature": "recall|bootstrap:percentile"}

    def as_before(stored: Record) -> None:
        for score in stored["scores"].values():
            score |= old

    rewrite(path, as_before)
    second = only(_target(tmp_path).run(Counting()))
    assert second.reused
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
    assert all(not only(result).reused for result in results)
    path.write_text(source, encoding="utf-8")
    assert only(target.run(mine)).reused


def test_latency_is_measured_apart(tmp_path: Path) -> None:
    plain = only(_target(tmp_path).run("bm25"))
    timed = only(_target(tmp_path).run("bm25", latency=20))
    assert plain.latency is None
    assert timed.latency is not None
    assert timed.folder == plain.folder
    assert 0 < timed.latency["p50"] <= timed.latency["p95"] <= timed.latency["p99"]
    assert timed.latency["queries"] == 20
    assert timed.latency["threads"] >= 1
    same_scores(plain, timed)
    most = only(_target(tmp_path).run("random", latency=10_000))
    assert most.latency is not None
    assert most.latency["queries"] == len(of_task(load("mini"), "retrieval").queries) <= 500


def test_run_folder(tmp_path: Path) -> None:
    result = only(_target(tmp_path).run("tfidf:ngram=2", top_k=[1, 5]))
    folder = result.folder
    assert sorted(path.name for path in folder.iterdir()) == [
        "corpus.jsonl",
        "lock",
        "manifest.json",
        "per_query.parquet",
        "retrieval.jsonl",
        "scores.json",
        "statistics.parquet",
    ]
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    identity = manifest["identity"]
    assert identity["corpus_fingerprint"] == load("mini").corpus.fingerprint
    assert (identity["split"], identity["top_k"]) == ("test", [1, 5])
    assert identity["retriever"]["config"]["ngram"] == 2
    assert manifest["environment"]["used_packages"]["scikit-learn"]
    assert len(identity["metrics"]) == len(result.scores) + 1  # and the version of their rules
    assert manifest["environment"]["python"]
    assert manifest["files"] == dict(load("mini").files)
    scores = json.loads((folder / "scores.json").read_text(encoding="utf-8"))
    assert scores["scores"] == {name: score.to_json() for name, score in result.scores.items()}
    assert scores["counts"] == result.counts.to_json()
