"""A table search as a retriever of LangChain; imported only where it is asked for."""

from collections.abc import Callable, Sequence
from typing import Any

from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever


class LangChainTableSearch(BaseRetriever):
    """Returns the tables that a search finds, one document per table, best first.

    Attributes:
        ask: (question, k) -> text and metadata of each table found.
        k: how many documents to return.
    """

    ask: Callable[[str, int], Sequence[tuple[str, dict[str, Any]]]]
    k: int

    def _get_relevant_documents(
        self,
        query: str,
        *,
        run_manager: CallbackManagerForRetrieverRun,  # noqa: ARG002 (the contract's argument)
    ) -> list[Document]:
        hits = self.ask(query, self.k)
        return [Document(page_content=text, metadata=metadata) for text, metadata in hits]
