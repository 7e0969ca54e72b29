"""The command itself: in a process of its own where a process is the point."""

import csv
import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from target_bench.core import registry
from target_bench.data.load import load
from tests.cli.inside import Done, Inside
from tests.runs.forked import client

pytestmark = pytest.mark.slow

RETRIEVER = """
class Mine:
    def __init__(self, bad: str = "nothing") -> None:
        self.bad = bad

    def embed_corpus(self, corpus):
        self.ids = corpus.ids

    def retrieve(self, query, top_k):
        if self.bad in query:
            raise RuntimeError("the index is gone")
        return list(self.ids[:top_k])
"""

PRINTED = {"corpus", "split", "task", "retriever", "generator", "n_queries", "scores", "seconds"}
"""The entries that every printed result has, now and in later stages."""
MORE = {"answers", "counts", "data", "folder", "index_bytes", "latency_ms", "names"}
MORE |= {"times_left_out"}


def _command(folder: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """A command of its own; forked, unless Python has to start with these variables."""
    env = {key: value for key, value in os.environ.items() if key != "TARGET_BENCH_DATA"}
    return subprocess.run(
        [*([sys.executable, "-m", "target_bench"] if environment else [client()]), *arguments],
        cwd=folder,
        env={**env, "COLUMNS": "120", "PYTHONIOENCODING": "utf-8", **environment},
        capture_output=True,
        encoding="utf-8",
        timeout=300,
        check=False,
    )


def _is_message(done: Done, code: int, *parts: str) -> None:
    """A message on standard error, no traceback, nothing on standard output."""
    assert done.code == code, done.err
    assert done.out == ""
    assert "Traceback" not in done.err
    for part in parts:
        assert part in done.err


@pytest.fixture
def inside(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Inside:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TARGET_BENCH_DATA", raising=False)
    return Inside(capsys, monkeypatch)


@pytest.fixture
def mine(tmp_path: Path) -> str:
    (tmp_path / "mine.py").write_text(RETRIEVER, encoding="utf-8")
    return "mine.py:Mine"


def test_run_mini_for_all_tasks(tmp_path: Path) -> None:
    """Every offline retriever, from rankings to answers; the second time reused."""
    done = _command(tmp_path, "run", "mini", "--task", "all")
    assert (done.returncode, done.stderr) == (0, "")
    counts = {
        "retrieval": 280,
        "question_answering": 144,
        "fact_verification": 79,
        "text_to_sql": 57,
        "table_answering": 10,
    }
    names = list(registry.BASELINES)
    for task, n in counts.items():
        assert f"mini test: {task}, {n} queries" in done.stdout
        for name in names:
            assert list((tmp_path / "runs").glob(f"{task.replace('_', '-')}-mini-test-{name}-*"))
    for task in ("text_to_table", "table_to_text"):
        assert f"mini test: {task}, 30 queries" in done.stdout
    for name in names:
        assert done.stdout.count(f"\n {name} ") == len(counts)
    assert done.stdout.count("\n extractive ") == 2, "nothing is retrieved for them"
    folders = list((tmp_path / "runs").iterdir())
    assert len(folders) == 9 * len(names) + 2, "an answering task ranks its own queries"
    again = _command(tmp_path, "run", "mini", "--task", "all")
    assert f"{5 * len(names) + 2} runs in runs/, reused" in again.stdout


def test_json(tmp_path: Path, inside: Inside) -> None:
    """One document on standard output and nothing else there."""
    arguments = ("--retriever", "bm25:k1=0.9", "--retriever", "oracle", "--top-k", "10,1", "--json")
    done = inside(
        "run",
        "MINI",
        *arguments,
        "--task",
        "retrieval",
        "--out",
        "my runs",
        "--split",
        "dev",
    )
    assert (done.code, done.err) == (0, "")
    document = json.loads(done.out)
    assert set(document) == {"results"}
    assert [r["retriever"] for r in document["results"]] == ["bm25:k1=0.9", "oracle"]
    for result in document["results"]:
        assert set(result) == PRINTED | MORE
        assert (result["corpus"], result["split"], result["task"], result["generator"]) == (
            "mini",
            "validation",
            "retrieval",
            None,
        )
        assert result["n_queries"] >= 50
        assert {"recall@1", "recall@10", "recall_micro@10", "mrr", "map"} <= set(result["scores"])
        for score in result["scores"].values():
            assert set(score) == {"value", "low", "high", "n", "signature"}
            assert 0 <= score["low"] <= score["value"] <= score["high"] <= 1
            assert score["n"] == result["n_queries"]
            assert isinstance(score["signature"], str)
        assert all(isinstance(value, float) for value in result["seconds"].values())
        assert (tmp_path / result["folder"] / "retrieval.jsonl").is_file()


def test_failed_query_stops(tmp_path: Path, inside: Inside, mine: str) -> None:
    query = load("mini").queries[9]
    spec = f"{mine}:bad={json.dumps(query.text)}"
    arguments = ("run", "mini", "--task", "retrieval", "--retriever", spec, "--json")
    done = inside(*arguments)
    _is_message(done, 3, "Mine", "RuntimeError: the index is gone", query.id, "--on-error record")
    (kept,) = (tmp_path / "runs").glob("*/retrieval.jsonl")
    assert len(kept.read_text(encoding="utf-8").splitlines()) == 9

    recorded = inside(*arguments, "--on-error", "record")
    assert recorded.code == 3
    (result,) = json.loads(recorded.out)["results"]
    assert result["counts"]["failed"] == 1
    assert result["n_queries"] == 280
    assert "failed on 1 of 280 queries of mini (scored 0)" in recorded.err
    assert f"the first is {query.id!r}: raised RuntimeError" in recorded.err
    assert "Traceback" not in recorded.err

    table = inside(*arguments[:-1], "--on-error", "record")
    assert table.code == 3
    assert "failed on 1 of 280 queries" in table.err


@pytest.mark.parametrize("arguments", [("run", "minni"), ("run", "mini", "--top-k", "0")])
def test_debug_shows_the_traceback(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    done = _command(tmp_path, *arguments, "--debug")
    assert done.returncode == 2
    assert done.stdout == ""
    assert "Traceback (most recent call last)" in done.stderr
    assert "ConfigError" in done.stderr


def test_hash_seed_and_threads_change_nothing(tmp_path: Path) -> None:
    """Neither rankings nor answers nor scores, of any task."""
    kept = []
    for seed, threads in (("1", "1"), ("2", "2")):
        parts = ("lsa", "chunks", "hybrid:retrievers=[bm25,tfidf]")
        retrievers = (word for part in parts for word in ("--retriever", part))
        arguments = ("run", "mini", "--task", "all", *retrievers)
        done = _command(
            tmp_path, *arguments, "--out", seed, PYTHONHASHSEED=seed, OMP_NUM_THREADS=threads
        )
        assert done.returncode == 0, done.stderr
        files = [
            *(tmp_path / seed).glob("*/retrieval.jsonl"),
            *(tmp_path / seed).glob("*/scores.json"),
        ]
        found = {str(path.relative_to(tmp_path / seed)): path.read_bytes() for path in files}
        for path in (tmp_path / seed).glob("*/generations.jsonl"):
            lines = map(json.loads, path.read_text(encoding="utf-8").splitlines())
            answers = {line["query_id"]: line["text"] for line in lines}
            found[str(path.relative_to(tmp_path / seed))] = json.dumps(answers).encode()
        kept.append(found)
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
    assert lines[:3] == [
        "**mini test: retrieval, 280 queries**",
        "",
        "| retriever | R@1 [95%] | R@10 [95%] | ms/query |",
    ]
    assert lines[4].startswith("| bm25 | .797 [.751, .837] | .988 [.968, .995] | ")
