"""Retrievers and indexes of LlamaIndex."""

import copy
import importlib.util
from typing import Any

import numpy as np

from target_bench.core.errors import MissingExtraError
from target_bench.core.ranking import is_rising
from target_bench.core.schema import Table
from target_bench.search.external import ExternalRetriever, Hit


class LlamaIndexRetriever(ExternalRetriever):
    """Ask a ``BaseRetriever`` or an index of LlamaIndex, with one or several nodes a table.

    Needs: extra llama-index; a retriever of yours.

    It has its nodes already, or a function makes it from a list of nodes. It is asked for ``top_k``
    nodes through its attribute ``similarity_top_k``; a retriever without it returns as many as it
    likes, and a note says so. Nodes have scores, higher is better; where scores are missing or rise
    the order alone is the ranking, and a note says that they rise.
    """

    packages = ("llama-index-core",)
    noun = "nodes"

    def _load_classes(self) -> tuple[tuple[type, ...], tuple[type, ...]]:
        spec = importlib.util.find_spec
        if spec("llama_index") is None or spec("llama_index.core") is None:
            raise MissingExtraError("llama-index-core", "llama-index", "the retriever llama-index")
        from llama_index.core.indices.base import BaseIndex
        from llama_index.core.retrievers import BaseRetriever

        return (BaseRetriever, BaseIndex), ()

    def _make_text(self, table: Table, text: str, metadata: dict[str, str], position: int) -> Any:  # noqa: ARG002 (the base's argument)
        from llama_index.core.schema import TextNode

        return TextNode(
            id_=f"table-{position:09d}",
            text=text,
            metadata=metadata,
            excluded_embed_metadata_keys=list(metadata),  # an id is not part of the text
            excluded_llm_metadata_keys=list(metadata),
        )

    def _search(self, query: str, n: int) -> list[Hit]:
        if not query:
            self._note("an empty query finds nothing: LlamaIndex makes no vector of it")
            return []
        nodes = self._get_sized(n).retrieve(query)
        scores = [node.score for node in nodes]
        if any(score is None for score in scores):
            return [Hit(node.metadata) for node in nodes]
        if is_rising(np.array(scores, float)):
            self._note(
                f"{type(self._object).__name__} gave nodes against the order of their scores: its "
                "order alone is the ranking of such queries"
            )
            return [Hit(node.metadata) for node in nodes]
        return [Hit(node.metadata, float(node.score)) for node in nodes]

    def _resize(self, source: Any, n: int) -> Any:
        from llama_index.core.indices.base import BaseIndex

        if isinstance(source, BaseIndex):
            return source.as_retriever(similarity_top_k=n)
        names = ("similarity_top_k", "_similarity_top_k")
        name = next((name for name in names if hasattr(source, name)), None)
        if name is None:
            self._note(
                f"{type(source).__name__} has no attribute similarity_top_k: it decides on "
                "the number of nodes itself"
            )
            return source
        sized = copy.copy(source)
        setattr(sized, name, n)
        return sized
