"""Retrievers and indexes of LlamaIndex."""

import copy
import importlib.util
from collections.abc import Sequence
from typing import Any

import numpy as np

from target_bench.core.errors import MissingExtraError
from target_bench.core.ranking import rises
from target_bench.core.schema import Field, Format, RowLimit, Table
from target_bench.search.external import Hit, WrappedRetriever


class LlamaIndexRetriever(WrappedRetriever):
    """Asks a ``BaseRetriever`` or an index of LlamaIndex, one node per table or several.

    Needs: extra llama-index; a retriever of yours.

    It is asked for ``top_k`` nodes through its attribute ``similarity_top_k``; a retriever that
    has none gives as many as it likes, and that is said. Nodes have scores, higher is better;
    where they are missing or rise, the order alone is the ranking, and the latter is said.

    Args:
        retriever: a ``BaseRetriever`` or an index, filled already; or a function that makes one
            from a list of nodes; or where to find either or a function that gives the object
            without arguments: ``module:name`` or ``path/file.py:name``.
        table_key: the key of a node's metadata that holds the id of its table.
        database_key: the key that holds the id of its database; it may be missing from metadata
            if no two tables have the same id.
        fields: the parts of a table to write into a node. Where the retriever is filled already,
            fields, rows and format change nothing.
        rows: how many rows of each table to write, as for ``bm25``.
        format: how header and rows are written.
        fetch: how many nodes to ask for, as a multiple of ``top_k``, where a table has several.
        version: any text that changes with the content of a retriever that is filled already;
            without it no run of that is reused.
        concurrency: how many queries are under way at most, in threads.

    Raises:
        ConfigError: there is no such object, or a setting is invalid.
        MissingExtraError: llama-index-core is not installed.
    """

    packages = ("llama-index-core",)
    noun = "nodes"

    def __init__(
        self,
        retriever: object,
        table_key: str = "table_id",
        database_key: str = "database_id",
        fields: Sequence[Field] = ("title", "section", "header", "rows"),
        rows: RowLimit = "auto",
        format: Format = "text",
        fetch: int = 1,
        version: str | None = None,
        concurrency: int = 1,
    ) -> None:
        spec = importlib.util.find_spec
        if spec("llama_index") is None or spec("llama_index.core") is None:
            raise MissingExtraError("llama-index-core", "llama-index", "the retriever llama-index")
        from llama_index.core.indices.base import BaseIndex
        from llama_index.core.retrievers import BaseRetriever

        super().__init__(
            retriever,
            (BaseRetriever, BaseIndex),
            (),
            table_key=table_key,
            database_key=database_key,
            fields=fields,
            rows=rows,
            format=format,
            fetch=fetch,
            version=version,
            concurrency=concurrency,
        )

    def _text(self, table: Table, text: str, place: int) -> Any:
        from llama_index.core.schema import TextNode

        metadata = self._keys.metadata(table.id)
        return TextNode(
            id_=f"table-{place:09d}",
            text=text,
            metadata=metadata,
            excluded_embed_metadata_keys=list(metadata),  # an id is not part of the text
            excluded_llm_metadata_keys=list(metadata),
        )

    def _search(self, query: str, n: int) -> list[Hit]:
        if not query:
            self._note("an empty query finds nothing: LlamaIndex makes no vector of it")
            return []
        found = self._asking(n).retrieve(query)
        scores = [node.score for node in found]
        if any(score is None for score in scores):
            return [Hit(node.metadata) for node in found]
        if rises(np.array(scores, float)):
            self._note(
                f"{type(self._asked).__name__} gave nodes against the order of their scores: its "
                "order alone is the ranking of such queries"
            )
            return [Hit(node.metadata) for node in found]
        return [Hit(node.metadata, float(node.score)) for node in found]

    def _of_size(self, asked: Any, n: int) -> Any:
        from llama_index.core.indices.base import BaseIndex

        if isinstance(asked, BaseIndex):
            return asked.as_retriever(similarity_top_k=n)
        names = ("similarity_top_k", "_similarity_top_k")
        name = next((name for name in names if hasattr(asked, name)), None)
        if name is None:
            self._note(
                f"{type(asked).__name__} has no attribute similarity_top_k: it decides on "
                "the number of nodes itself"
            )
            return asked
        sized = copy.copy(asked)
        setattr(sized, name, n)
        return sized
