"""Reranking with a tiny cross-encoder of random weights."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from target_bench.core.errors import ConfigError
from target_bench.core.identity import plugin_identity
from target_bench.data.table_text import Serializer
from target_bench.retrievers.bm25 import BM25
from target_bench.retrievers.rerank import Rerank
from tests.retrievers.models import cross_encoder, encoder_of
from tests.retrievers.tables import QUERIES, Pairs, ask, corpus, names

pytest.importorskip("sentence_transformers")


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(cross_encoder(tmp_path_factory.mktemp("models") / "scorer"))


def built(model: str, **settings: Any) -> Rerank:
    retriever = Rerank(model=model, device="cpu", **settings)
    retriever.embed_corpus(corpus())
    return retriever


def near(rankings: list[Pairs], expected: list[Pairs]) -> None:
    """Assert equal rankings, but for what padding does to the last bits of a score."""
    for mine, theirs in zip(rankings, expected, strict=True):
        assert names(mine) == names(theirs)
        assert [s for _, s in mine] == pytest.approx([s for _, s in theirs], abs=1e-4)


def scores_of(model: str, query: str, tables: Sequence[Any]) -> list[float]:
    """The model's own scores, one pair at a time."""
    import torch
    from sentence_transformers import CrossEncoder

    scorer = CrossEncoder(model, device="cpu")
    write = Serializer()
    return [
        float(scorer.predict([(query, write(corpus()[t]))], activation_fn=torch.nn.Identity())[0])
        for t in tables
    ]


def test_candidates_are_in_the_order_of_the_models_scores(model: str) -> None:
    first = BM25()
    first.embed_corpus(corpus())
    for query, ranking in zip(QUERIES, ask(built(model)), strict=True):
        candidates = [table for table, _ in ask(first, [query])[0]]
        scores = dict(zip(candidates, scores_of(model, query, candidates), strict=True))
        assert dict(ranking) == pytest.approx(scores, abs=1e-4)
        assert np.diff([score for _, score in ranking]).max(initial=0) < 1e-4


def test_the_first_score_can_be_blended_in(model: str) -> None:
    query = "river river fruit plum rhine length"
    firsts = dict(ask(built(model, weight=0.0, retriever="bm25"), [query])[0])
    seconds = dict(ask(built(model), [query])[0])
    both = dict(ask(built(model, weight=0.25), [query])[0])
    low, high = min(seconds.values()), max(seconds.values())
    assert max(firsts.values()) == 1
    assert min(firsts.values()) == 0
    for table, score in both.items():
        second = (seconds[table] - low) / (high - low)
        assert score == pytest.approx(0.25 * second + 0.75 * firsts[table], abs=1e-4)


def test_pairs_that_are_cut_are_counted(model: str) -> None:
    fits, cut = built(model), built(model, max_tokens=8)
    assert list(fits.notes()) == []
    ask(fits, ["apple plum"])
    ask(cut, ["apple plum"])
    assert list(fits.notes()) == []
    notes = ["2 of 2 pairs of query and table are longer than the limit of 8 tokens and were cut"]
    assert list(cut.notes()) == notes
    cut.embed_corpus(corpus())
    ask(cut, ["apple plum"])
    assert list(cut.notes()) == notes


def test_batches_are_halved_where_memory_does_not_suffice(
    model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from sentence_transformers import CrossEncoder

    real = CrossEncoder.predict

    def scarce(self: Any, pairs: Any, batch_size: int, **settings: Any) -> Any:
        if batch_size > 2:
            raise RuntimeError("CUDA out of memory. Tried to allocate")
        return real(self, pairs, batch_size=batch_size, **settings)

    expected = ask(built(model))
    monkeypatch.setattr(CrossEncoder, "predict", scarce)
    retriever = built(model, batch_size=8)
    near(ask(retriever), expected)
    assert list(retriever.notes()) == ["out of memory with batches of 8 pairs; went on with 2"]


def test_identity_is_the_models_content_and_the_inner_retriever(model: str, tmp_path: Path) -> None:
    import shutil

    copy = shutil.copytree(model, tmp_path / "copy")
    identity, warning = plugin_identity(Rerank(model=model))
    assert warning is None
    assert plugin_identity(Rerank(BM25(), str(copy)))[0] == identity
    assert plugin_identity(Rerank("tfidf", str(copy)))[0] != identity
    (copy / "config.json").write_text((copy / "config.json").read_text() + " ")
    assert plugin_identity(Rerank(model=str(copy)))[0] != identity


def test_a_model_without_the_layer_that_scores(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """The libraries would make one of random numbers."""
    model = encoder_of(cross_encoder(tmp_path / "scorer"))
    with pytest.raises(ConfigError, match=r"there is no folder .*/nowhere"):
        built("./nowhere")
    with pytest.raises(ConfigError, match="holds no model"):
        built(str(tmp_path))
    with pytest.raises(ConfigError, match="device=gpu9"):
        Rerank(model=str(model), device="gpu9").embed_corpus(corpus())
    with pytest.raises(ConfigError, match="its weights are of BertModel, which gives no score"):
        built(str(model))
    assert "LOAD REPORT" not in "".join(capfd.readouterr())
