"""Retrievers and vector stores of LangChain."""

import importlib.util
import uuid
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from target_bench.core.errors import MissingExtraError, PluginError
from target_bench.core.ranking import is_rising
from target_bench.core.schema import Table
from target_bench.search.external import ExternalRetriever, Hit

Scores = Literal["auto", "similarity", "distance", "relevance", "none"]

_BATCH = 256  # documents that are added at a time
_NAMESPACE = uuid.uuid5(uuid.NAMESPACE_URL, "https://pypi.org/project/target-bench/")


@dataclass(eq=False, repr=False)
class LangChainRetriever(ExternalRetriever):
    """Ask a ``BaseRetriever`` or ``VectorStore``, with one or several documents a table.

    Needs: extra langchain; a retriever of yours.

    A ``BaseRetriever`` has its documents already. It is asked for ``top_k`` documents through its
    field ``k``, ``top_k`` or ``search_kwargs``; one without any of them returns as many as it
    likes, and a note says so. Its order is the ranking. A ``VectorStore`` must be empty and gets
    one document a table; they stay in it. Of a filled store, give ``store.as_retriever()``.

    Args:
        scores: the scores of a vector store: a ``similarity``, a ``distance``, whose sign is
            changed, or ``relevance`` (the store's own, from 0 to 1); with ``none`` only the order
            counts. ``auto`` tells similarity from distance by the order, best first.
    """

    packages = ("langchain-core",)
    noun = "documents"

    scores: Scores = "auto"

    def __post_init__(self) -> None:
        self._direction: Literal["similarity", "distance"] | None = None
        self._added: list[str] = []
        super().__post_init__()

    def _load_classes(self) -> tuple[tuple[type, ...], tuple[type, ...]]:
        if importlib.util.find_spec("langchain_core") is None:
            raise MissingExtraError("langchain-core", "langchain", "the retriever langchain")
        from langchain_core.retrievers import BaseRetriever
        from langchain_core.vectorstores import VectorStore

        return (BaseRetriever,), (VectorStore,)

    def config(self) -> dict[str, Any]:
        """See ``ExternalRetriever.config``."""
        return {**super().config(), "scores": self.scores}

    def _make_text(self, table: Table, text: str, metadata: dict[str, str], position: int) -> Any:
        from langchain_core.documents import Document

        name = str(uuid.uuid5(_NAMESPACE, f"{position}/{table.id}"))
        return Document(page_content=text, metadata=metadata, id=name)

    def _fill(self, store: Any, texts: list[Any]) -> None:
        if self._is_used and self._foreign is not None and not self._foreign.is_made:
            self._empty(store)
        self._added = []
        for start in range(0, len(texts), _BATCH):
            self._added += store.add_documents(texts[start : start + _BATCH]) or ()

    def _empty(self, store: Any) -> None:
        """Remove the tables of another corpus."""
        try:
            done = store.delete(ids=self._added)
        except NotImplementedError:
            done = False
        if done is False:
            raise PluginError(
                f"{type(store).__name__} cannot delete the documents of the last corpus; name a "
                "function that makes a new store, as in retriever=my_module:make"
            )

    def _search(self, query: str, n: int) -> list[Hit]:
        from langchain_core.vectorstores import VectorStore

        if isinstance(self._object, VectorStore):
            return self._search_store(self._object, query, n)
        documents = self._get_sized(n).invoke(query)
        return [Hit(document.metadata) for document in documents]

    def _resize(self, retriever: Any, n: int) -> Any:
        fields = type(retriever).model_fields
        if "search_kwargs" in fields:
            search_kwargs = {**retriever.search_kwargs, "k": n}
            return retriever.model_copy(update={"search_kwargs": search_kwargs})
        name = next((name for name in ("k", "top_k") if name in fields), None)
        if name is None:
            self._note(
                f"{type(retriever).__name__} has no field that says how many documents to give "
                "(k, top_k, search_kwargs): it decides on the number itself"
            )
            return retriever
        return retriever.model_copy(update={name: n})

    def _search_store(self, store: Any, query: str, n: int) -> list[Hit]:
        if self.scores == "none":
            return [Hit(document.metadata) for document in store.similarity_search(query, k=n)]
        if self.scores == "relevance":
            pairs = store.similarity_search_with_relevance_scores(query, k=n)
            return [Hit(document.metadata, float(score)) for document, score in pairs]
        try:
            pairs = store.similarity_search_with_score(query, k=n)
        except NotImplementedError:
            self._note(f"{type(store).__name__} gives no scores: its order alone is the ranking")
            return [Hit(document.metadata) for document in store.similarity_search(query, k=n)]
        scores = [float(score) for _, score in pairs]
        sign = -1 if self._are_distances(scores, type(store).__name__) else 1
        return [Hit(document.metadata, sign * float(score)) for document, score in pairs]

    def _are_distances(self, scores: list[float], store: str) -> bool:
        """Return whether lower scores are better, as declared or as their order shows.

        Raises:
            PluginError: the order of the documents contradicts it.
        """
        values = np.array(scores)
        # The best document is first: distances rise.
        rises_somewhere, falls_somewhere = is_rising(values), is_rising(-values)
        declared = self._direction if self.scores == "auto" else self.scores
        is_contrary = (rises_somewhere and declared == "similarity") or (
            falls_somewhere and declared == "distance"
        )
        does_both = rises_somewhere and falls_somewhere
        if does_both or is_contrary:
            raise PluginError(
                f"{store} gave scores that {'rise and fall' if does_both else 'run'} against "
                f"its order, best first (scores={self.scores}); say what they are with "
                "scores=similarity, distance, relevance or none"
            )
        if rises_somewhere or falls_somewhere:
            self._direction = "distance" if rises_somewhere else "similarity"
        return (declared or self._direction) == "distance"
