"""A table search as a retriever of LangChain; imported only where it is asked for."""

from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever

from target_bench.components.table_text import Serializer
from target_bench.evaluation.search import TableSearch


class LangChainTableSearch(BaseRetriever):
    """Returns the tables that a search finds, one document per table, best first.

    Attributes:
        table_search: the search.
        k: how many documents to return.
        serializer: writes a table as text.
    """

    table_search: TableSearch
    k: int
    serializer: Serializer

    def _get_relevant_documents(
        self,
        query: str,
        *,
        run_manager: CallbackManagerForRetrieverRun,  # noqa: ARG002 (the contract's argument)
    ) -> list[Document]:
        return [
            Document(page_content=self.serializer(hit.table), metadata=hit.metadata())
            for hit in self.table_search.search(query, self.k)
        ]
