"""Search among the tables of the question's own database only."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from target_bench.core.ranking import Ranking
from target_bench.search.nested import InnerRetriever, Wrapper


@dataclass(eq=False, repr=False)
class WithinDatabase(Wrapper):
    """Another retriever, for which the tables of a question's database are the whole corpus.

    A run has it index each database by itself and asks it the questions about that database. The
    database of a question is given, as in text-to-SQL, so its scores are not those of a search
    among all tables.

    Args:
        retriever: what searches: as written on the command line, or an object.

    Raises:
        ConfigError: there is no such retriever.
    """

    scope = "database"

    retriever: Any = "bm25"

    def __post_init__(self) -> None:
        self._inner = InnerRetriever(self.retriever)

    def retrieve(self, query: str, top_k: int) -> Ranking:
        """Return the ranking of the retriever."""
        ranking: Ranking = self._inner.retriever.retrieve(query, top_k)
        return ranking

    def retrieve_batch(self, queries: Sequence[str], top_k: int) -> Sequence[Ranking]:
        """Return the rankings of the retriever."""
        batch = getattr(self._inner.retriever, "retrieve_batch", None)  # users' own may lack it
        if not callable(batch):
            return [self.retrieve(query, top_k) for query in queries]
        rankings: Sequence[Ranking] = batch(queries, top_k)
        return rankings
