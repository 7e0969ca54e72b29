"""Retrievers of other packages over an embedding that has a direction for every text."""

from typing import Any

from tests.retrievers.encoders import Words


def vector(text: str) -> list[float]:
    """Counts of words, and one dimension that is never 0: cosines of zeros are NaN there."""
    [counts] = Words().encode([text], "table")
    return [0.5, *map(float, counts)]


def langchain_store(documents: list[Any]) -> Any:
    """A filled retriever of LangChain."""
    from langchain_core.embeddings import Embeddings
    from langchain_core.vectorstores import InMemoryVectorStore

    class Counted(Embeddings):
        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            return [vector(text) for text in texts]

        def embed_query(self, text: str) -> list[float]:
            return vector(text)

    return InMemoryVectorStore.from_documents(documents, Counted()).as_retriever()


def llama_index(nodes: list[Any]) -> Any:
    """A filled index of LlamaIndex."""
    from llama_index.core import VectorStoreIndex
    from llama_index.core.base.embeddings.base import BaseEmbedding

    class Counted(BaseEmbedding):
        def _get_text_embedding(self, text: str) -> list[float]:
            return vector(text)

        def _get_query_embedding(self, query: str) -> list[float]:
            return vector(query)

        async def _aget_query_embedding(self, query: str) -> list[float]:
            return vector(query)

    return VectorStoreIndex(nodes, embed_model=Counted())
