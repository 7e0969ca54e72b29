"""LlamaIndex: its own indexes and retrievers find what they hold."""

from typing import Any

import pytest

from target_bench.core.contract import retrieve
from target_bench.core.errors import ConfigError, MissingExtraError
from target_bench.core.schema import Query
from tests.retrievers.encoders import UnitWords
from tests.retrievers.tables import TABLES, corpus

pytest.importorskip("llama_index.core")

from llama_index.core import VectorStoreIndex
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.retrievers import BaseRetriever
from llama_index.core.schema import BaseNode, NodeWithScore, QueryBundle, TextNode

from target_bench.retrievers.llama_index import LlamaIndexRetriever


class WordEmbedding(BaseEmbedding):
    """The test encoder as LlamaIndex calls it."""

    def _get_text_embedding(self, text: str) -> list[float]:
        return list(map(float, UnitWords().encode([text], "table")[0]))

    def _get_query_embedding(self, query: str) -> list[float]:
        return self._get_text_embedding(query)

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return self._get_text_embedding(query)


class Given(BaseRetriever):
    """Gives the nodes it has, with the scores it has."""

    def __init__(self, nodes: list[TextNode], scores: list[float | None]) -> None:
        self.nodes = nodes
        self.scores = scores
        super().__init__()

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        pairs = zip(self.nodes, self.scores, strict=False)
        return [NodeWithScore(node=node, score=score) for node, score in pairs]


def make_index(nodes: list[BaseNode]) -> VectorStoreIndex:
    """Makes an index from nodes."""
    return VectorStoreIndex(nodes, embed_model=WordEmbedding())


def make_retriever(nodes: list[BaseNode]) -> BaseRetriever:
    """Makes a retriever from nodes."""
    return make_index(nodes).as_retriever(similarity_top_k=2)


def _nodes(**more: Any) -> list[TextNode]:
    return [
        TextNode(
            text=f"{t.context['title']} {t.header}",
            metadata={"database_id": t.id.database_id, "table_id": t.id.table_id, **more},
            excluded_embed_metadata_keys=["database_id", "table_id", *more],
        )
        for t in TABLES
    ]


def _names(retriever: LlamaIndexRetriever, query: str, k: int) -> list[str]:
    (retrieval,) = retrieve(retriever, [Query("q", query, (TABLES[0].id,))], k, corpus(), False)
    assert retrieval.error is None, retrieval.error
    return [table_id.table_id for table_id in retrieval.tables]


def _embedded(given: object, **settings: Any) -> LlamaIndexRetriever:
    retriever = LlamaIndexRetriever(given, **settings)
    retriever.embed_corpus(corpus())
    return retriever


@pytest.mark.parametrize(
    "given",
    [
        make_index,
        make_retriever,
        make_index(list(_nodes())),
        make_index(list(_nodes())).as_retriever(similarity_top_k=1),
    ],
    ids=["index from nodes", "retriever from nodes", "index", "retriever"],
)
def test_tables_are_found(given: object) -> None:
    retriever = _embedded(given)
    assert _names(retriever, "fruit prices", 1) == ["fruit"]
    assert set(_names(retriever, "rivers river length", 2)) == {"rivers", "rowless"}
    assert len(_names(retriever, "river", len(TABLES) + 5)) == len(TABLES)
    assert not retriever.notes()


def test_scores_and_orders() -> None:
    nodes = _nodes()[:3]
    fruit, rivers, kings = (TABLES[i].id for i in range(3))
    falling = _embedded(Given(nodes, [3.0, 2.0, 2.0]))
    assert falling.retrieve("x", 2) == [(fruit, 3.0), (rivers, 2.0)]
    assert "Given has no attribute similarity_top_k" in falling.notes()[0]
    assert _embedded(Given(nodes, [3.0, None, 2.0])).retrieve("x", 3) == [fruit, rivers, kings]
    rising = _embedded(Given(nodes, [1.0, 2.0, 3.0]))
    assert rising.retrieve("x", 3) == [fruit, rivers, kings]
    assert any("against the order of their scores" in note for note in rising.notes())


def test_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ConfigError, match="VectorStoreIndex is a class"):
        LlamaIndexRetriever(VectorStoreIndex)
    with pytest.raises(ConfigError, match="a str is no BaseRetriever or BaseIndex object"):
        LlamaIndexRetriever("tests.retrievers.test_llama_index:TEXT")
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match=r"target-bench\[llama-index\]"):
        LlamaIndexRetriever(make_index)


TEXT = "no retriever"
