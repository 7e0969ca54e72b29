"""Dense retrieval: serializer, encoder and index put together."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from target_bench.core.errors import ConfigError
from target_bench.core.vectors import TextKind, Vectors
from target_bench.data.table_text import Serializer
from target_bench.data.tables import MemoryCorpus
from target_bench.retrievers.dense import Dense
from target_bench.search.indexes.exact import Exact
from target_bench.testing import check_retriever
from tests.retrievers.encoders import Words
from tests.retrievers.tables import QUERIES, TABLES, ask, corpus, table


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TARGET_BENCH_CACHE", str(tmp_path / "cache"))


def _built(**settings: Any) -> Dense:
    retriever = Dense(**{"encoder": Words(), **settings})
    retriever.embed_corpus(corpus())
    return retriever


@pytest.mark.parametrize("similarity", ["cosine", "dot"])
def test_scores(similarity: Any) -> None:
    """Cosine, or inner product, of what the encoder gives for the serializer's text."""
    write = Serializer(("title", "header"), "csv", 1)
    retriever = _built(fields=("title", "header"), rows=1, format="csv", similarity=similarity)
    tables = Words().encode([write(t) for t in TABLES], "table").astype(float)
    queries = Words().encode(QUERIES, "query").astype(float)
    for query, ranking in zip(queries, ask(retriever, k=100), strict=True):
        assert len(ranking) == (len(TABLES) if query.any() else 0)
        for table_id, score in ranking:
            row = tables[corpus().positions[table_id]]
            norms = np.linalg.norm(row) * np.linalg.norm(query) if similarity == "cosine" else 1
            assert score == pytest.approx(row @ query / norms if norms else 0, abs=1e-5)


class _Made(Words):
    """Made for a similarity."""

    def __init__(self, similarity: str) -> None:
        super().__init__()
        self.own = similarity

    def similarity_name(self) -> str:
        return self.own


@pytest.mark.parametrize(
    ("own", "similarity", "used", "noted"),
    [
        ("dot", "auto", "dot", False),
        ("cosine", "auto", "cosine", False),
        ("dot", "cosine", "cosine", True),
        ("cosine", "dot", "dot", True),
        ("euclidean", "auto", "cosine", True),
    ],
)
def test_the_similarity_of_the_model_is_used_or_it_is_said(
    own: str, similarity: Any, used: Any, noted: bool
) -> None:
    retriever = _built(encoder=_Made(own), similarity=similarity)
    assert ask(retriever, k=5) == ask(_built(similarity=used), k=5)
    note = (
        f"the model was made for the similarity {own}, which is not used: vectors are compared by "
        f"{used}"
    )
    assert (note in retriever.notes()) is noted


def test_nothing_is_encoded_twice() -> None:
    """Neither by another run nor by another index; another serializer has other texts."""
    _built()
    words = Words()
    again = _built(encoder=words, index=Exact())
    assert not words.encoded
    ask(again)
    assert {kind for _, kind in words.encoded} == {"query"}
    ask(_built(encoder=words, similarity="dot"))
    assert len(words.encoded) == len(set(QUERIES))
    _built(encoder=words, rows=0)
    assert len(words.encoded) > len(set(QUERIES))


def test_zeros_are_reported() -> None:
    words = [table("a", "one two"), table("b", "")]
    retriever = Dense(encoder=Words(), fields=("title",))
    retriever.embed_corpus(MemoryCorpus(words))
    assert retriever.retrieve_batch(["", "one"], 5)[0] == []
    assert len(retriever.retrieve_batch(["", "one"], 5)[1]) == 2
    notes = " ".join(retriever.notes())
    assert "1 table texts" in notes
    assert "2 queries" in notes


class Longer(Words):
    """Gives queries vectors of other dimensions."""

    def encode(self, texts: Sequence[str], kind: TextKind) -> Vectors:
        return np.ones((len(texts), 3 if kind == "table" else 4), np.float32)


class Unknown(Words):
    """Is never cached."""

    def revision(self) -> str | None:  # type: ignore[override]  # none is known
        return None


def test_queries_of_other_dimensions() -> None:
    with pytest.raises(ConfigError, match="dimension"):
        _built(encoder=Longer()).retrieve("one", 3)


def test_an_encoder_without_a_revision_keeps_the_contract() -> None:
    check_retriever(lambda: Dense(encoder=Unknown()))
