"""A ranking of a real corpus, its scores as they are, on other scales and without any."""

from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from target_bench import corpora, read_run
from target_bench.core import registry
from target_bench.core.ranking import Ranked, Ranking
from target_bench.core.schema import Corpus, Dataset, TableId
from target_bench.runs.ranking_files import export_trec
from target_bench.runs.result import Result
from tests.builders import Recorder, only
from tests.real.data import DATA, needs_data
from tests.target import TARGET

pytestmark = needs_data

K = 10
Floats = NDArray[np.float64]

SCALES: dict[str, Callable[[Floats], Floats] | None] = {
    "none": None,
    "1e-8": lambda x: x * 1e-8,
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
}


@cache
def _dataset() -> Dataset:
    return corpora.load("ottqa", None, data_dir=DATA)


@cache
def _bm25() -> Ranked:
    retriever = registry.create("retriever", "bm25")
    retriever.embed_corpus(_dataset().corpus)
    rankings = retriever.retrieve_batch([query.text for query in _dataset().queries], K)
    assert isinstance(rankings, Ranked)
    return rankings


class Rescaled:
    """What BM25 found, its scores changed, as a user's retriever returns it: last first."""

    def __init__(self, change: Callable[[Floats], Floats] | None) -> None:
        self._change = change

    def embed_corpus(self, corpus: Corpus) -> None:
        ranked = dict(zip((q.text for q in _dataset().queries), _bm25(), strict=True))
        self._rankings = {text: list(ranking) for text, ranking in ranked.items()}

    def retrieve(self, query: str, top_k: int) -> list[TableId] | Ranking:
        tables, scores = zip(*self._rankings[query][:top_k], strict=True)
        if self._change is None:
            return list(tables)
        return list(zip(tables, self._change(np.array(scores)).tolist(), strict=True))[::-1]


def _run(out: Path, retriever: object) -> tuple[Result, Recorder]:
    observer = Recorder()
    target = TARGET(("retrieval", _dataset()), out=out, observer=observer)
    return only(target.run(retriever, top_k=[1, K])), observer


@pytest.mark.parametrize("name", SCALES)
def test_recall_is_the_same_on_any_scale(tmp_path: Path, name: str) -> None:
    """R@1 of OTT-QA, also without scores and as a TREC file; and there is nothing to warn of."""
    plain, _ = _run(tmp_path, "bm25")
    assert plain.scores["recall@1"].value == pytest.approx(0.910, abs=0.0005)
    result, observer = _run(tmp_path, Rescaled(SCALES[name]))
    for metric in ("recall@1", f"recall@{K}"):
        assert result.scores[metric].value == plain.scores[metric].value
    assert not [text for text in observer.warnings if "scored rankings" in text]
    paths = export_trec(read_run(result.folder), _dataset(), tmp_path / "trec")
    target = TARGET(("retrieval", _dataset()), out=tmp_path, observer=Recorder())
    again = only(target.score(paths[0], top_k=[1, K]))
    assert again.scores["recall@1"].value == plain.scores["recall@1"].value


def test_scores_that_collapse_are_counted(tmp_path: Path) -> None:
    """A sigmoid in single precision of scores that large is 1 for many tables."""

    def saturated(x: Floats) -> Floats:
        unit = np.float32(1)
        return (unit / (unit + np.exp(-x.astype(np.float32)))).astype(np.float64)

    plain, _ = _run(tmp_path, Rescaled(None))
    result, _ = _run(tmp_path, Rescaled(saturated))
    assert result.stored.counts.tied > plain.stored.counts.tied + 100
