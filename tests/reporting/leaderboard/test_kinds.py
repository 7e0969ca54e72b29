"""Every kind of run: what ``submit`` takes passes ``verify``, and a board shows its true times."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from target_bench import TARGET, Corpus, Retriever, TableId
from target_bench.core.errors import ConfigError
from target_bench.core.schema import Generation, GenerationRequest
from target_bench.data.load import load, of_task
from target_bench.reporting.leaderboard.entry import read
from target_bench.reporting.leaderboard.pack import pack
from target_bench.reporting.leaderboard.site import build
from target_bench.reporting.leaderboard.verify import verify
from target_bench.retrievers.bounds import Oracle
from target_bench.runs.manifest import run_key
from target_bench.runs.result import Result
from target_bench.runs.trec import word, words_of
from tests.builders import Record, Recorder, json_lines, rewrite, without
from tests.reporting.leaderboard.conftest import card
from tests.reporting.leaderboard.forging import files_of, packed, with_document

QUERIES = of_task(load("mini"), "retrieval").queries


class Recorded:
    """Every answer was recorded before, and took its time then."""

    def generate(self, request: GenerationRequest) -> Generation:
        return Generation(request.query_id, "no", seconds=3.0, cached=True)


class Slow:
    """Says itself how long it took."""

    def generate(self, request: GenerationRequest) -> Generation:
        return Generation(request.query_id, "no", seconds=1e-5)


def _target(out: Path, task: str = "retrieval") -> TARGET:
    return TARGET((task, "mini"), out=out / "runs", observer=Recorder())


def _answers(out: Path, task: str) -> Path:
    """Gold answers as a predictions file."""
    chosen = [query for query in QUERIES if query.metadata.get("task", task) == task]
    texts = {q.id: q.answer if isinstance(q.answer, str) else q.answer[0] for q in chosen}
    # Of most queries none: all would be an upper bound, which is rejected.
    lines = [
        {"query_id": q, "text": "1" if i % 20 else text}
        for i, (q, text) in enumerate(texts.items())
    ]
    path = out / f"{task}.jsonl"
    path.write_text(json_lines(lines), encoding="utf-8")
    return path


def _trec(out: Path) -> Path:
    path = out / "run.trec"
    words = words_of(load("mini").corpus.ids)
    path.write_text("".join(f"{word(q.id)} Q0 {words[q.gold[-1]]} 1 1.0 x\n" for q in QUERIES[::2]))
    return path


def _jsonl(out: Path) -> Path:
    path = out / "run.jsonl"
    pairs = [(query, [list(QUERIES[i - 1].gold[0])]) for i, query in enumerate(QUERIES)]
    path.write_text(json_lines({"query_id": q.id, "tables": tables} for q, tables in pairs))
    return path


KINDS: dict[str, Callable[[Path], Result]] = {
    "bm25": lambda out: _target(out).run("bm25", latency=20)[0],
    "no-context": lambda out: _target(out).run("no-context")[0],
    "a file of rankings": lambda out: _target(out).score(_jsonl(out))[0],
    "a TREC run": lambda out: _target(out).score(_trec(out))[0],
    "extractive": lambda out: _target(out, "question_answering").run("bm25")[0],
    "no table": lambda out: _target(out, "question_answering").run("no-context")[0],
    "recorded answers": lambda out: _target(out, "question_answering").run(
        "bm25", generator=Recorded()
    )[0],
    "own times": lambda out: _target(out, "question_answering").run("bm25", generator=Slow())[0],
    "empty": lambda out: _target(out, "fact_verification").run("bm25", generator="empty")[0],
    **{
        f"a file of {task}": lambda out, task=task: _target(out, task).score(  # type: ignore[misc]
            predictions=_answers(out, task)
        )[0]
        for task in ("question_answering", "fact_verification", "text_to_sql")
    },
}
TIMED = {
    "bm25": {"retrieve", "embed_corpus", "p50"},
    "extractive": {"retrieve", "embed_corpus", "generate"},
    "no table": {"generate"},
    "recorded answers": {"retrieve", "embed_corpus"},
    "own times": {"retrieve", "embed_corpus", "generate"},
    "empty": {"retrieve", "embed_corpus"},
}


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_submitted_is_accepted(tmp_path: Path, kind: str) -> None:
    result = KINDS[kind](tmp_path)
    path = pack([result.folder], card(), tmp_path / "a.tbs.zip")
    found = verify(path)
    assert found.verdict == "accepted", found.findings
    assert found.entry is not None
    timed: set[str] = set()
    for run in found.entry.runs:
        timed |= set(run.seconds) - {"load", "score"}
        timed |= {"p50"} if run.latency_ms else set()
        assert (run.retrieve_ms is None) == ("retrieve" not in run.seconds)
        single = run.model_copy(update={"seconds": {}, "timed_queries": 0})
        assert single.retrieve_ms is None, "the median of single queries is another quantity"
    assert timed == TIMED.get(kind, set())
    written = tmp_path / "entries" / "a.entry.json"
    written.parent.mkdir()
    found.entry.write(written)
    assert read(written).model_dump_json() == found.entry.model_dump_json()
    build(written.parent, tmp_path / "site")
    metrics = {
        column["metric"]: [row["cells"][i] for row in data["rows"]]
        for data in (json.loads(p.read_bytes()) for p in (tmp_path / "site").glob("*.json"))
        for i, column in enumerate(data.get("columns", ()))
    }
    assert any(metrics.get("ms", ())) == (kind == "bm25")
    assert any(metrics.get("ms/answer", ())) == ("generate" in timed)


@pytest.mark.parametrize(("retriever", "generator"), [("oracle", "extractive"), ("bm25", "gold")])
def test_what_reads_the_gold_is_refused(tmp_path: Path, retriever: str, generator: str) -> None:
    result = _target(tmp_path, "question_answering").run(retriever, generator=generator)[0]
    with pytest.raises(ConfigError, match="upper bound"):
        pack([result.folder], card(), tmp_path / "a.tbs.zip")


class FirstGold(Retriever):
    """A bound of somebody's own."""

    reads_gold = True

    def embed_corpus(self, corpus: Corpus) -> None:
        pass

    def retrieve(self, query: Any, top_k: int) -> list[TableId]:
        return [*dict.fromkeys(query.gold)][: min(top_k, 1)]


@pytest.mark.parametrize("retriever", ["best=oracle", Oracle(), FirstGold()])
def test_what_reads_the_gold_is_rejected_past_pack(
    tmp_path: Path, retriever: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = _target(tmp_path, "retrieval").run(retriever)[0]
    path = tmp_path / "a.tbs.zip"
    with pytest.raises(ConfigError, match="upper bound"):
        pack([result.folder], card(), path)
    monkeypatch.setattr("target_bench.reporting.leaderboard.pack.reads_gold", lambda _: False)
    said = verify(pack([result.folder], card(), path)).findings
    assert any(f.level == "rejected" and "which reads the gold" in f.message for f in said)


def test_a_time_from_a_cache_is_not_submitted(tmp_path: Path) -> None:
    """A saved index has no time of its own; nor has a run that does not say what was cached."""
    for out in ("a", "b"):
        target = TARGET(("retrieval", "mini"), out=tmp_path / out, observer=Recorder())
        result = target.run("bm25", indexes=tmp_path / "indexes")[0]
    found = verify(pack([result.folder], card(), tmp_path / "a.tbs.zip"))
    assert found.entry is not None
    assert set(found.entry.runs[0].seconds) == {"load", "retrieve", "score"}
    path = result.folder / "manifest.json"
    rewrite(path, lambda manifest: without(manifest, "from_caches"))
    named = rewrite(path, _of_another_class)["id"]
    folder = result.folder.rename(result.folder.with_name(named))
    found = verify(pack([folder], card(), tmp_path / "b.tbs.zip"))
    assert found.entry is not None
    assert not set(found.entry.runs[0].seconds) - {"load", "score"}


def _of_another_class(manifest: Record) -> None:
    identity = manifest["identity"]
    identity["retriever"]["class"] = "mine:Mine"
    manifest["id"] = f"{manifest['id'].rpartition('-')[0]}-{run_key(identity)}"


def test_another_format_is_refused(tmp_path: Path, packed_retrieval: Path) -> None:
    files = with_document(
        files_of(packed_retrieval), "submission.json", lambda index: index.update(format=3)
    )
    (finding,) = verify(packed(tmp_path / "a.tbs.zip", files)).findings
    assert finding.message == "submission.json: format: input should be 1 or 2 (found 3)"
