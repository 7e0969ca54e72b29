"""Learned sparse retrieval with a tiny model of random weights, against the library's scores."""

from pathlib import Path

import numpy as np
import pytest

from target_bench.core.errors import ConfigError
from target_bench.core.registry import create
from target_bench.data.table_text import Serializer
from target_bench.data.tables import MemoryCorpus
from tests.retrievers.models import cross_encoder, encoder_of, sparse_encoder
from tests.retrievers.tables import (
    QUERIES,
    TABLES,
    ask,
    built,
    corpus,
    table,
)


@pytest.fixture(scope="module")
def spec(tmp_path_factory: pytest.TempPathFactory) -> str:
    pytest.importorskip("sentence_transformers")
    return f"splade:device=cpu,model={sparse_encoder(tmp_path_factory.mktemp('models') / 'tiny')}"


def test_scores_are_the_librarys(spec: str) -> None:
    from sentence_transformers import SparseEncoder

    model = SparseEncoder(spec.partition("model=")[2], device="cpu")
    tables = model.encode_document([Serializer()(table) for table in TABLES])
    products = model.similarity(model.encode_query(list(QUERIES)), tables).numpy()
    for ranking, row in zip(ask(built(spec), k=100), products, strict=True):
        expected = {i: s for i, s in zip(corpus().ids, row.tolist(), strict=True) if s > 1e-4}
        assert dict(ranking) == pytest.approx(expected, rel=1e-4, abs=1e-4)
        assert np.diff([score for _, score in ranking]).max(initial=0) <= 0


def test_a_dense_model_is_none(tmp_path: Path) -> None:
    pytest.importorskip("sentence_transformers")
    model = encoder_of(cross_encoder(tmp_path / "dense"))
    with pytest.raises(ConfigError, match=f"model={model}: it is no SparseEncoder"):
        built(f"splade:device=cpu,model={model}")


def test_cut_texts_are_counted_and_bad_settings_named(spec: str) -> None:
    retriever = create("retriever", f"{spec},max_tokens=5")
    retriever.embed_corpus(MemoryCorpus([table("long", "river " * 20), table("short", "river")]))
    assert len(ask(retriever, ["river"])[0]) == 2
    assert retriever.notes()[0].startswith("1 of 3 texts are longer")
    with pytest.raises(ConfigError, match="batch_size=0"):
        create("retriever", f"{spec},batch_size=0")
    retriever.embed_corpus(MemoryCorpus([]))
    assert ask(retriever, ["river"]) == [[]]
