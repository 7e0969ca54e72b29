"""Retrievers that may cost money are agreed to before they begin."""

from pathlib import Path

import pytest

from target_bench.core.contract import Retriever, is_paid
from target_bench.core.errors import ConfigError
from target_bench.core.ranking import Ranking
from target_bench.core.schema import Corpus
from target_bench.harness.consent import Estimate
from target_bench.retrievers.dense import Dense
from target_bench.runs.run import list_runs
from tests.builders import Recorder
from tests.retrievers.encoders import Words
from tests.target import TARGET


class Dear(Words):
    paid = True


class Outer(Retriever):
    """Made of another retriever."""

    def __init__(self, inner: Retriever) -> None:
        self.inner = inner

    def parts(self) -> dict[str, object]:
        return {"inner": self.inner}

    def embed_corpus(self, corpus: Corpus) -> None:
        self.inner.embed_corpus(corpus)

    def retrieve(self, query: str, top_k: int) -> Ranking:
        return self.inner.retrieve(query, top_k)


def test_is_paid() -> None:
    assert is_paid(Outer(Dense(encoder=Dear())))
    assert not is_paid(Outer(Dense(encoder=Words())))
    assert not is_paid(object())


def test_asked_once_and_first(tmp_path: Path) -> None:
    estimates: list[Estimate] = []
    replies = iter([False, True, True])

    def confirm(estimate: Estimate) -> bool:
        estimates.append(estimate)
        return next(replies)

    encoder, recorder = Dear(), Recorder()
    target = TARGET(("retrieval", "mini"), out=tmp_path, observer=recorder)
    retriever = Outer(Dense(encoder=encoder, cache=False))
    with pytest.raises(ConfigError, match="nothing was sent"):
        target.run(retriever, limit=5, confirm=confirm)
    assert not encoder.encoded
    for _ in range(2):
        target.run(retriever, limit=5, confirm=confirm)
    assert [(e.requests, e.cost) for e in estimates] == [(139 + 5, None)] * 2
    with pytest.raises(ConfigError, match="nothing was sent"):
        target.run(retriever, limit=5, latency=5, confirm=lambda _estimate: False)
    assert [run.status for run in list_runs(tmp_path)] == ["finished"]
    assert all(e.plugin.startswith("Outer:") for e in estimates)
    target.run(Outer(Dense(encoder=Words())), limit=5, confirm=confirm)
    assert len(estimates) == 2
    assert recorder.warnings == []
