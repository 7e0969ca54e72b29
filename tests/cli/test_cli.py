"""The command itself: in a process of its own where a process is the point."""

import csv
import io
import json
from pathlib import Path

import pytest

from target_bench.core import registry
from target_bench.data.load import load
from tests.cli.inside import Inside
from tests.runs.processes import command, ended, start_unforked

pytestmark = pytest.mark.slow

RETRIEVER = """
def fail():
    raise RuntimeError("the index is gone")


class Mine:
    def __init__(self, bad: str = "nothing") -> None:
        self.bad = bad

    def embed_corpus(self, corpus):
        self.ids = corpus.ids

    def retrieve(self, query, top_k):
        if self.bad in query:
            fail()
        return list(self.ids[:top_k])
"""

PRINTED = {"corpus", "split", "task", "retriever", "generator", "n_queries", "scores", "seconds"}
"""The entries that every printed result has, now and in later stages."""
MORE = {"answers", "counts", "data", "folder", "latency_ms", "names"}
MORE |= {"times_left_out"}


@pytest.fixture
def mine(tmp_path: Path) -> str:
    (tmp_path / "mine.py").write_text(RETRIEVER, encoding="utf-8")
    return "mine.py:Mine"


def test_run_mini_for_all_tasks(tmp_path: Path, inside: Inside) -> None:
    """Every offline retriever, from rankings to answers; the second time reused."""
    run = ("run", "mini", "--task", "all", "--limit", "6")
    printed = inside.good(*run)
    retrieving = ("retrieval", "question_answering", "fact_verification", "text_to_sql")
    names = list(registry.BASELINES)
    for task, n in dict.fromkeys(retrieving, 6).items():
        assert f"mini test: {task}, a sample of {n} queries" in printed
        for name in names:
            assert list((tmp_path / "runs").glob(f"{task.replace('_', '-')}-mini-test-{name}-*"))
    for task in ("text_to_table", "table_to_text"):
        assert f"mini test: {task}, a sample of 6 queries" in printed
    assert {printed.count(f"\n {name} ") for name in names} == {4}
    assert printed.count("\n extractive ") == 2, "nothing is retrieved for them"
    assert f"{4 * len(names) + 2} runs in runs/, reused" in inside.good(*run)


def test_json(tmp_path: Path, inside: Inside) -> None:
    """One document on standard output and nothing else there."""
    run = ("run", "MINI", "--task", "retrieval", "--out", "my runs", "--split", "dev")
    named = ("--retriever", "bm25:k1=0.9", "--retriever", "oracle", "--top-k", "10,1")
    document = json.loads(inside.good(*run, *named, "--json"))
    assert set(document) == {"results"}
    assert [r["retriever"] for r in document["results"]] == ["bm25:k1=0.9", "oracle"]
    for result in document["results"]:
        assert set(result) == PRINTED | MORE
        described = [result[name] for name in ("corpus", "split", "task", "generator")]
        assert described == ["mini", "validation", "retrieval", None]
        assert result["n_queries"] >= 50
        assert {"recall@1", "recall@10", "recall_micro@10", "mrr", "map"} <= set(result["scores"])
        for score in result["scores"].values():
            assert set(score) == {"value", "low", "high", "n", "signature"}
            assert 0 <= score["low"] <= score["value"] <= score["high"] <= 1
            assert score["n"] == result["n_queries"]
        assert all(isinstance(value, float) for value in result["seconds"].values())
        assert (tmp_path / result["folder"] / "retrieval.jsonl").is_file()


def test_a_failed_query_is_recorded(tmp_path: Path, inside: Inside, mine: str) -> None:
    query = load("mini").queries[9]
    spec = f"{mine}:bad={json.dumps(query.text)}"
    run = ("run", "mini", "--task", "retrieval", "--retriever", spec, "--json")
    recorded = inside(*run)
    assert recorded.code == 3
    (result,) = json.loads(recorded.out)["results"]
    assert (result["counts"]["failed"], result["n_queries"]) == (1, 280)
    assert "failed on 1 of 280 queries of mini (scored 0)" in recorded.err
    assert f"the first is {query.id!r}: raised RuntimeError" in recorded.err


def test_debug_shows_the_traceback(inside: Inside, mine: str) -> None:
    """Of an error of this package, and every line of a user's own on the way to one of theirs."""
    done = inside("run", "minni", "--debug")
    assert (done.code, done.out) == (2, "")
    assert "Traceback (most recent call last)" in done.err
    assert "ConfigError" in done.err
    done = inside("run", "mini", "--retriever", f"{mine}:bad=''", "--debug")
    assert done.code == 3
    assert "in retrieve\n    fail()" in done.err
    assert done.err.rstrip().endswith('in fail\n    raise RuntimeError("the index is gone")')


def test_hash_seed_and_threads_change_nothing(tmp_path: Path, inside: Inside) -> None:
    """Neither rankings nor answers nor scores, of any task; this process has another hash seed."""
    parts = ("lsa", "rows", "hybrid:retrievers=[bm25,tfidf]")
    retrievers = [word for part in parts for word in ("--retriever", part)]
    run = ["run", "mini", "--task", "all", "--limit", "8", *retrievers, "--out"]
    inside.good(*run, "inside")
    variables = {"PYTHONHASHSEED": "1", "OMP_NUM_THREADS": "2"}
    code, _, error = ended(start_unforked(command(*run, "outside"), tmp_path, **variables))
    assert code == 0, error
    kept: list[dict[str, object]] = []
    for out in ("inside", "outside"):
        files: dict[str, object] = {}
        for path in (tmp_path / out).glob("*/*"):
            name = str(path.relative_to(tmp_path / out))
            if path.name in ("retrieval.jsonl", "scores.json"):
                files[name] = path.read_bytes()
            elif path.name == "generations.jsonl":
                lines = map(json.loads, path.read_text(encoding="utf-8").splitlines())
                files[name] = {line["query_id"]: line["text"] for line in lines}
        kept.append(files)
    assert len(kept[0]) > 14
    assert kept[0] == kept[1]


def test_other_formats(inside: Inside, tmp_path: Path) -> None:
    """A table of Markdown, a row of CSV for each score, and JSON as with ``--json``."""
    run = ("run", "mini", "--retriever", "bm25", "--out", str(tmp_path))
    whole = inside(*run, "--json").out
    assert json.loads(inside(*run, "--format", "json").out).keys() == json.loads(whole).keys()
    rows = list(csv.DictReader(io.StringIO(inside(*run, "--format", "csv").out)))
    scores = json.loads(whole)["results"][0]["scores"]
    assert {row["metric"]: float(row["value"]) for row in rows} == {
        name: score["value"] for name, score in scores.items()
    }
    assert {(row["corpus"], row["retriever"], row["n"]) for row in rows} == {
        ("mini", "bm25", "280")
    }
    lines = inside(*run, "--format", "markdown").out.splitlines()
    assert lines[:2] == ["**mini test: retrieval, 280 queries**", ""]
    assert [len(line.split(" | ")) for line in lines[2:5]] == [4] * 3
    assert lines[4].startswith("| bm25 | .804 [.759, .843] | .982 [.961, .992] | ")
