"""The command itself, in a process of its own."""

import inspect
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from target_bench.core import registry
from target_bench.data.splits import load
from tests.builders import ottqa_question, ottqa_table, write_ottqa

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
MORE = {"answers", "counts", "data", "folder", "latency_ms", "times_left_out"}


def _command(folder: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    env = {key: value for key, value in os.environ.items() if key != "TARGET_BENCH_DATA"}
    return subprocess.run(
        [sys.executable, "-m", "target_bench", *arguments],
        cwd=folder,
        env={**env, "COLUMNS": "120", "PYTHONIOENCODING": "utf-8", **environment},
        capture_output=True,
        encoding="utf-8",
        timeout=300,
        check=False,
    )


def _is_message(done: subprocess.CompletedProcess[str], code: int, *parts: str) -> None:
    """A message on standard error, no traceback, nothing on standard output."""
    assert done.returncode == code, done.stderr
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    for part in parts:
        assert part in done.stderr


@pytest.fixture
def mine(tmp_path: Path) -> str:
    (tmp_path / "mine.py").write_text(RETRIEVER, encoding="utf-8")
    return "mine.py:Mine"


def test_run_mini(tmp_path: Path) -> None:
    """Every offline retriever, from rankings to answers; the second time reused."""
    done = _command(tmp_path, "run", "mini")
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
        assert done.stdout.count(f"{n} of {n} answered") == len(names)
        for name in names:
            assert f"\n {name} " in done.stdout
            assert f"{task.replace('_', '-')}-mini-test-{name}-" in done.stdout
    assert "mini test: text_to_table, 30 queries" in done.stdout
    assert "mini test: table_to_text, 30 queries" in done.stdout
    assert done.stdout.count("30 of 30 answered") == 2, "nothing is retrieved for them"
    assert done.stdout.count(" extractive ") == 4 * len(names) + 2
    folders = list((tmp_path / "runs").iterdir())
    assert len(folders) == 9 * len(names) + 2, "an answering task ranks its own queries"
    again = _command(tmp_path, "run", "mini")
    assert again.stdout.count("reused") == 5 * len(names) + 2


def test_json(tmp_path: Path) -> None:
    """One document on standard output and nothing else there."""
    arguments = ("--retriever", "bm25:k1=0.9", "--retriever", "oracle", "--top-k", "10,1", "--json")
    done = _command(
        tmp_path,
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
    assert (done.returncode, done.stderr) == (0, "")
    document = json.loads(done.stdout)
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


def test_limit(tmp_path: Path) -> None:
    retrieval = ("run", "mini", "--task", "retrieval", "--retriever", "bm25")
    done = _command(tmp_path, *retrieval, "--limit", "7", "--json")
    (result,) = json.loads(done.stdout)["results"]
    assert result["n_queries"] == result["scores"]["recall@1"]["n"] == 7


def test_several_corpora_in_the_order_asked(tmp_path: Path) -> None:
    """Warnings go to standard error; corpora keep their order, retrievers theirs."""
    tables = [ottqa_table("Cup_0"), ottqa_table("Cup_1", data=[])]
    write_ottqa(tmp_path / "data" / "ottqa", tables, [ottqa_question("q1", "Cup_1", question="")])
    arguments = ("run", "--corpus", "OTT-QA", "--corpus", "mini", "--retriever", "bm25")
    more = ("--retriever", "no-context", "--json", "--task", "Table Retrieval")
    done = _command(tmp_path, *arguments, *more, "--data-dir", "data")
    assert done.returncode == 0
    results = json.loads(done.stdout)["results"]
    assert [(r["corpus"], r["retriever"]) for r in results] == [
        ("ottqa", "bm25"),
        ("ottqa", "no-context"),
        ("mini", "bm25"),
        ("mini", "no-context"),
    ]
    assert done.stderr.count("Warning: ottqa validation: 1 of 1 queries are empty") == 1
    assert done.stderr.count("Warning: top_k=10 is more than the 2 tables") == 1
    printed = _command(tmp_path, *arguments, TARGET_BENCH_DATA="data")
    assert printed.stdout.index("ottqa validation") < printed.stdout.index("mini test")


def test_own_retriever(tmp_path: Path, mine: str) -> None:
    done = _command(tmp_path, "run", "mini", "--retriever", f"{mine}:bad=zzz", "--top-k", "120")
    assert done.returncode == 0
    assert "mine.py:Mine" in done.stdout
    assert "1.000" in done.stdout


def test_failed_query_stops(tmp_path: Path, mine: str) -> None:
    query = load("mini").queries[9]
    spec = f"{mine}:bad={json.dumps(query.text)}"
    arguments = ("run", "mini", "--task", "retrieval", "--retriever", spec, "--json")
    done = _command(tmp_path, *arguments)
    _is_message(done, 3, "Mine", "RuntimeError: the index is gone", query.id, "--on-error record")
    (kept,) = (tmp_path / "runs").glob("*/retrieval.jsonl")
    assert len(kept.read_text(encoding="utf-8").splitlines()) == 9

    recorded = _command(tmp_path, *arguments, "--on-error", "record")
    assert recorded.returncode == 3
    (result,) = json.loads(recorded.stdout)["results"]
    assert result["counts"]["failed"] == 1
    assert result["n_queries"] == 280
    assert "failed on 1 of 280 queries of mini (scored 0)" in recorded.stderr
    assert f"the first is {query.id!r}: raised RuntimeError" in recorded.stderr
    assert "Traceback" not in recorded.stderr

    table = _command(tmp_path, *arguments[:-1], "--on-error", "record")
    assert table.returncode == 3
    assert "279 of 280 answered, 1 failed" in table.stdout


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (
            ["mini", "--retriever", "bm52"],
            ["unknown retriever 'bm52'. Did you mean bm25", "oracle"],
        ),
        (["minni"], ["unknown corpus 'minni'. Did you mean mini", "tabfact"]),
        (["mini", "--task", "retrieve"], ["unknown task 'retrieve'"]),
        (["mini", "--split", "train"], ["mini has no split 'train'", "test, validation"]),
        (["mini", "--retriever", "bm25:k=1"], ["unknown setting 'k'", "k1"]),
        (["mini", "--retriever", "bm25:k1=high"], ["k1='high'", "number"]),
        (["mini", "--retriever", "bm25:fields=[title"], ["not closed"]),
        (["mini", "--retriever", "nowhere.py:Mine"], ["there is no file"]),
        (["mini", "--retriever", "no_such_module:Mine"], ["no module 'no_such_module'"]),
        (["mini", "--top-k", "0"], ["top_k=0", "from 1"]),
        (["mini", "--top-k", "5,-1"], ["top_k=-1"]),
        (["mini", "--top-k", "ten"], ["'ten'", "1,5,10"]),
        (["mini", "--top-k", ""], ["--top-k"]),
        (["mini", "--limit", "0"], ["limit=0"]),
        (["mini", "--limit", "many"], ["--limit"]),
        (["mini", "--on-error", "ignore"], ["--on-error", "record"]),
        (["mini", "--latency", "-1"], ["latency"]),
        ([], ["name a corpus", "target-bench run mini"]),
        (["ottqa"], ["Download OTT-QA", "--data-dir", "dev_tables.jsonl"]),
        (["ottqa", "--data-dir", "nowhere"], ["nowhere", "no such folder", "Download OTT-QA"]),
        (["--corpus", "mini", "--no-such-option"], ["--no-such-option"]),
    ],
)
def test_mistakes(tmp_path: Path, arguments: list[str], parts: list[str]) -> None:
    _is_message(_command(tmp_path, "run", *arguments, "--json"), 2, *parts)


def test_data_that_is_broken(tmp_path: Path) -> None:
    write_ottqa(tmp_path, [ottqa_table("Cup_0")], [ottqa_question("q1", "Cup_9")])
    done = _command(tmp_path, "run", "ottqa", "--data-dir", ".", "--retriever", "bm25")
    _is_message(done, 2, "'q1'", "Cup_9", "not among the 1 tables")


def test_run_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    done = _command(tmp_path, "run", "mini", "--retriever", "oracle", "--out", "file/runs")
    _is_message(done, 4, "cannot be created", "--out")


@pytest.mark.parametrize("arguments", [("run", "minni"), ("run", "mini", "--top-k", "0")])
def test_debug_shows_the_traceback(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    done = _command(tmp_path, *arguments, "--debug")
    assert done.returncode == 2
    assert done.stdout == ""
    assert "Traceback (most recent call last)" in done.stderr
    assert "ConfigError" in done.stderr


@pytest.mark.parametrize(
    ("what", "parts"),
    [
        ("corpora", ["mini", "ottqa", "fetaqa", "tabfact", "CC BY-SA", "validation"]),
        ("retrievers", ["bm25", "tfidf", "random", "oracle", "no-context"]),
        ("generators", ["extractive", "langchain", "llama-index", "openai", "transformers"]),
        ("tasks", ["retrieval"]),
        (
            "metrics",
            [
                "recall@k",
                "recall[dup]@k",
                "capped_recall[target]@k",
                "mrr",
                "ndcg@k",
                "sacrebleu",
                "bertscore",
                "ex[bird]",
                "soft_f1",
            ],
        ),
    ],
)
def test_list(tmp_path: Path, what: str, parts: list[str]) -> None:
    done = _command(tmp_path, "list", what)
    assert (done.returncode, done.stderr) == (0, "")
    for part in parts:
        assert part in done.stdout


def test_describe_corpus(tmp_path: Path) -> None:
    done = _command(tmp_path, "describe", "corpus", "Mini", "--split", "val")
    assert (done.returncode, done.stderr) == (0, "")
    for part in ("split validation", "139", "9.525180", "4.395683", "Apache-2.0", "First query"):
        assert part in done.stdout
    write_ottqa(tmp_path, [ottqa_table("[b]Cup")], [ottqa_question("[i]", "[b]Cup")])
    done = _command(tmp_path, "describe", "corpus", "ottqa", "--data-dir", ".")
    assert (done.returncode, done.stderr) == (0, "")
    for part in ("2.000000", "MIT", "ICLR 2021", "[b]Cup", "[i]", "Winner", "Ann"):
        assert part in done.stdout


@pytest.mark.parametrize("name", ["bm25", "tfidf", "random"])
def test_describe_retriever(tmp_path: Path, name: str) -> None:
    done = _command(tmp_path, "describe", "retriever", name)
    assert (done.returncode, done.stderr) == (0, "")
    assert "setting" in done.stdout
    for parameter in inspect.signature(registry.resolve("retriever", name)).parameters:
        assert re.search(rf"^ {parameter} .*\w", done.stdout, re.MULTILINE)


def test_describe_own_retriever(tmp_path: Path, mine: str) -> None:
    done = _command(tmp_path, "describe", "retriever", mine)
    assert done.returncode == 0
    assert re.search(r"^ bad +.*nothing", done.stdout, re.MULTILINE)


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (["list", "corpus"], "corpora"),
        (["describe", "corpus", "minni"], "Did you mean mini"),
        (["describe", "corpus", "fetaqa"], "Download FeTaQA"),
        (["describe", "retriever", "bm52"], "Did you mean bm25"),
        (["describe", "table", "x"], "corpus"),
        (["describe", "task", "sqll"], "unknown task 'sqll'"),
        (["describe", "encoder", "minilmm"], "Did you mean minilm"),
        (["runn", "mini"], "runn"),
    ],
)
def test_other_mistakes(tmp_path: Path, arguments: list[str], part: str) -> None:
    _is_message(_command(tmp_path, *arguments), 2, part)


@pytest.mark.parametrize("mode", ["oracle", "no-context"])
def test_describe_mode(tmp_path: Path, mode: str) -> None:
    """What ``list retrievers`` shows can be described."""
    assert _command(tmp_path, "describe", "retriever", mode).returncode == 0


def test_help(tmp_path: Path) -> None:
    done = _command(tmp_path, "--help")
    assert done.returncode == 0
    for command in ("run", "list", "describe"):
        assert command in done.stdout
    assert _command(tmp_path, "run", "--help").stdout.count("--on-error") >= 1


def test_hash_seed_and_threads_change_nothing(tmp_path: Path) -> None:
    """Neither rankings nor answers nor scores, of any task."""
    kept = []
    for seed, threads in (("1", "1"), ("2", "2"), ("3", "1")):
        arguments = ("run", "mini", "--retriever", "bm25", "--retriever", "lsa", "--out", seed)
        done = _command(tmp_path, *arguments, PYTHONHASHSEED=seed, OMP_NUM_THREADS=threads)
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
    assert kept[0] == kept[1] == kept[2]
