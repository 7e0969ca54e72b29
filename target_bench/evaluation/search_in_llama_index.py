"""A table search as a retriever of LlamaIndex; imported only where it is asked for."""

from llama_index.core.retrievers import BaseRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode

from target_bench.components.table_text import Serializer
from target_bench.evaluation.search import Hit, TableSearch

_BESIDE_THE_TEXT = ["database_id", "table_id", "title", "rank", "score"]


class LlamaIndexTableSearch(BaseRetriever):
    """Returns the tables that a search finds, one node per table, best first.

    Args:
        table_search: the search.
        similarity_top_k: how many nodes to return.
        serializer: writes a table as text.
    """

    def __init__(
        self, table_search: TableSearch, similarity_top_k: int, serializer: Serializer
    ) -> None:
        self.table_search = table_search
        self.similarity_top_k = similarity_top_k
        self.serializer = serializer
        super().__init__()

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        hits = self.table_search.search(query_bundle.query_str, self.similarity_top_k)
        return [NodeWithScore(node=self._node(hit), score=hit.score) for hit in hits]

    def _node(self, hit: Hit) -> TextNode:
        return TextNode(
            id_=str(hit.table.id),
            text=self.serializer(hit.table),
            metadata=hit.metadata(),
            excluded_embed_metadata_keys=_BESIDE_THE_TEXT,
            excluded_llm_metadata_keys=_BESIDE_THE_TEXT,
        )
