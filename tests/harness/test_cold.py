"""A time of which something came out of a cache is recorded with that fact, and shown nowhere."""

import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from target_bench.core.contract import Generator
from target_bench.core.schema import Corpus, Generation, GenerationRequest
from target_bench.core.vectors import Encoder, TextKind, Vectors
from target_bench.retrievers.dense import Dense
from target_bench.retrievers.hybrid import Hybrid
from target_bench.runs.result import Result, Results
from target_bench.runs.score_tables import to_document
from tests.builders import Counting, Recorder
from tests.harness.answering import QUESTIONS, Own
from tests.target import TARGET

SENT: list[str] = []
"""The queries that ``Known`` was asked to encode, one by one or together."""


class Known(Encoder):
    """An encoder with a revision, so that its vectors are recorded."""

    def encode(self, texts: Sequence[str], kind: TextKind) -> Vectors:
        if kind == "query":
            SENT.extend(texts)
        return np.array([[len(t), len(t.split()), ord((t or " ")[0])] for t in texts], np.float32)

    def revision(self) -> str:
        return "1"


class Told(Generator):
    """Answers with a schema, or says that it was asked before."""

    def __init__(self, cached: bool) -> None:
        self.cached = cached

    def generate(self, request: GenerationRequest) -> Generation:
        text = '[{"title": "Medals", "columns": ["nation", "gold"]}]'
        return Generation(request.query_id, text, cached=self.cached, seconds=2.0)


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TARGET_BENCH_CACHE", str(tmp_path / "cache"))
    SENT.clear()


def _run(out: Path, retriever: Any, **options: Any) -> Result:
    target = TARGET(("retrieval", "mini"), out=out, observer=Recorder())
    return target.run(retriever, limit=40, **options)[0]


def _manifest(result: Result) -> Any:
    return json.loads((result.folder / "manifest.json").read_bytes())


def _answer(out: Path, generator: Any) -> Result:
    target = TARGET(("question_answering", "mini"), out=out, observer=Recorder())
    return target.run("oracle", generator=generator, limit=9)[0]


def test_recorded_embeddings_leave_no_time(tmp_path: Path) -> None:
    """The first run of an encoder has times; the second, and a hybrid that contains it, none."""
    first = _run(tmp_path / "a", Dense(Known()))
    assert set(first.times.seconds) >= {"embed_corpus", "retrieve"}
    assert first.times.left_out == {}
    assert _manifest(first)["from_caches"] == {"embed_corpus": [], "retrieve": []}
    assert first.times.milliseconds.get("retrieve") is not None
    for again in (_run(tmp_path / "b", Dense(Known())), _run(tmp_path, Hybrid([Dense(Known())]))):
        manifest = _manifest(again)
        assert manifest["from_caches"]["retrieve"] == ["embedding cache"]
        assert manifest["seconds"]["retrieve"] > 0
        assert not {"embed_corpus", "retrieve"} & set(again.times.seconds)
        assert again.times.milliseconds.get("retrieve") is None
        shown = to_document(again)
        assert "retrieve" not in shown["seconds"]
        assert shown["times_left_out"]["retrieve"] == "from a cache (embedding cache)"
        text = " ".join(str(Results([first, again])).split())
        assert f"{first.times.milliseconds['retrieve']:.2f}" in text
        assert "– is a time that is not shown: from a cache (embedding cache)." in text
    assert "not shown" not in str(Results([first]))


def test_times_hold_no_import(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "slow_index.py").write_text("import time\ntime.sleep(0.4)\n", encoding="utf-8")

    class Lazy(Counting):
        def embed_corpus(self, corpus: Corpus) -> None:
            __import__("slow_index")
            time.sleep(0.05)
            super().embed_corpus(corpus)

    assert 0.05 <= _run(tmp_path / "runs", Lazy()).times.seconds["embed_corpus"] < 0.4
    assert "slow_index" in sys.modules


def test_latency_encodes_every_query(tmp_path: Path) -> None:
    """Though all of them are recorded: nothing is read, and nothing is recorded."""
    _run(tmp_path / "a", Dense(Known()))
    SENT.clear()
    result = _run(tmp_path / "b", Dense(Known()), latency=20)
    assert len(SENT) == 10 + 20
    assert result.times.latency is not None
    assert result.times.latency["queries"] == 20
    assert "latency" not in result.times.left_out
    assert "retrieve" in result.times.left_out


def test_answers(tmp_path: Path) -> None:
    """Of a generator they have a time; recorded ones, and those of a file, have none."""
    assert _answer(tmp_path, Own()).times.milliseconds.get("generate") is not None
    cached = _answer(tmp_path, Told(cached=True))
    assert cached.times.left_out == {"generate": "from a cache (recorded answers)"}
    assert _answer(tmp_path, "gold").times.left_out == {}
    assert "generate" not in _answer(tmp_path, "gold").times.seconds
    path = tmp_path / "answers.json"
    path.write_text(json.dumps({query.id: "yes" for query in QUESTIONS}))
    target = TARGET(("question_answering", "mini"), out=tmp_path, observer=Recorder())
    scored = target.score(predictions=path)[0]
    assert "generate" not in scored.times.seconds
    assert scored.times.milliseconds.get("generate") is None
