"""LlamaIndex: its own indexes and retrievers find what they hold.

What it shares with LangChain is in ``test_langchain.py``.
"""

from typing import Any

import pytest

from target_bench.core.errors import ConfigError
from target_bench.core.schema import TableId
from tests.retrievers.foreign import llama_index
from tests.retrievers.tables import TABLES, corpus

pytest.importorskip("llama_index.core")

from llama_index.core import VectorStoreIndex
from llama_index.core.retrievers import BaseRetriever
from llama_index.core.schema import BaseNode, NodeWithScore, QueryBundle, TextNode

from target_bench.retrievers.llama_index import LlamaIndexRetriever

NODES = [
    TextNode(
        text=f"{t.context['title']} {t.header}",
        metadata={"database_id": t.id.database_id, "table_id": t.id.table_id},
        excluded_embed_metadata_keys=["database_id", "table_id"],
    )
    for t in TABLES
]


class Given(BaseRetriever):
    """Gives the first nodes, with the scores it has."""

    def __init__(self, scores: list[float | None]) -> None:
        self.scores = scores
        super().__init__()

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        pairs = zip(NODES, self.scores, strict=False)
        return [NodeWithScore(node=node, score=score) for node, score in pairs]


def make_retriever(nodes: list[BaseNode]) -> Any:
    """Makes a retriever from nodes."""
    return llama_index(nodes).as_retriever(similarity_top_k=2)


def _embedded(given: object) -> LlamaIndexRetriever:
    retriever = LlamaIndexRetriever(given)
    retriever.embed_corpus(corpus())
    return retriever


@pytest.mark.parametrize(
    "given",
    [llama_index, make_retriever, llama_index(NODES), make_retriever(list(NODES))],
    ids=["index from nodes", "retriever from nodes", "index", "retriever"],
)
def test_tables_are_found(given: object) -> None:
    retriever = _embedded(given)

    def names(query: str, k: int) -> list[str]:
        return [str(pair[0][1]) for pair in retriever.retrieve(query, k)]

    assert names("fruit prices", 1) == ["fruit"]
    assert set(names("rivers river length", 2)) == {"rivers", "rowless"}
    assert len(names("river", len(TABLES) + 5)) == len(TABLES)
    assert not retriever.notes()


def test_scores_and_orders() -> None:
    fruit, rivers, kings = (TableId("0", t.id.table_id) for t in TABLES[:3])
    falling = _embedded(Given([3.0, 2.0, 2.0]))
    assert falling.retrieve("x", 2) == [(fruit, 3.0), (rivers, 2.0)]
    assert "Given has no attribute similarity_top_k" in falling.notes()[0]
    assert _embedded(Given([3.0, None, 2.0])).retrieve("x", 3) == [fruit, rivers, kings]
    rising = _embedded(Given([1.0, 2.0, 3.0]))
    assert rising.retrieve("x", 3) == [fruit, rivers, kings]
    assert any("against the order of their scores" in note for note in rising.notes())


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (VectorStoreIndex, "VectorStoreIndex is not an object"),
        ("tests.retrievers.test_llama_index:__name__", "a str is not a BaseRetriever or BaseIndex"),
    ],
)
def test_errors(given: object, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        LlamaIndexRetriever(given)
