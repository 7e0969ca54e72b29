"""The bounds of answers: the gold tables, and no table at all."""

from typing import ClassVar

from target_bench.core.contract import Retriever
from target_bench.core.errors import ConfigError
from target_bench.core.schema import Corpus, Query, TableId


class Oracle(Retriever):
    """The gold tables: upper bound."""

    reads_gold: ClassVar[bool] = True

    def embed_corpus(self, corpus: Corpus) -> None:
        """Keep the ids of the tables."""
        self._known = frozenset(corpus.ids)

    def retrieve(self, query: str | Query, top_k: int) -> list[TableId]:
        """Return the gold tables of a query.

        Raises:
            ConfigError: the query is a text, as in ``search`` or inside another retriever.
        """
        if isinstance(query, str):
            raise ConfigError(
                "oracle only knows the gold tables of the queries in a corpus: it cannot answer "
                "other questions, or be part of another retriever"
            )
        return [table for table in dict.fromkeys(query.gold) if table in self._known][:top_k]


class NoContext(Retriever):
    """No table: lower bound."""

    def embed_corpus(self, corpus: Corpus) -> None:
        """Keep nothing."""

    def retrieve(self, query: str, top_k: int) -> list[TableId]:  # noqa: ARG002 (the contract)
        """Return no table."""
        return []
