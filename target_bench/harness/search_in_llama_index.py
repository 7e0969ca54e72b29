"""A table search as a retriever of LlamaIndex; imported only where it is asked for."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from llama_index.core.retrievers import BaseRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode


class LlamaIndexTableSearch(BaseRetriever):
    """Returns the tables that a search finds, one node per table, best first.

    Args:
        ask: (question, k) -> text and metadata of each table found.
        similarity_top_k: how many nodes to return.
    """

    def __init__(
        self,
        ask: Callable[[str, int], Sequence[tuple[str, dict[str, Any]]]],
        similarity_top_k: int,
    ) -> None:
        self.ask = ask
        self.similarity_top_k = similarity_top_k
        super().__init__()

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        hits = self.ask(query_bundle.query_str, self.similarity_top_k)
        return [
            NodeWithScore(node=_node(text, metadata), score=metadata["score"])
            for text, metadata in hits
        ]


def _node(text: str, metadata: Mapping[str, Any]) -> TextNode:
    return TextNode(
        id_=f"{metadata['database_id']}/{metadata['table_id']}",
        text=text,
        metadata=dict(metadata),
        excluded_embed_metadata_keys=list(metadata),  # nothing of it is part of the text
        excluded_llm_metadata_keys=list(metadata),
    )
