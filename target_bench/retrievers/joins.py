"""Tables that can be joined with the best tables of another retriever."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from target_bench.core.errors import ConfigError, check_at_least_one
from target_bench.core.ranking import Ranked, Ranking, top_k
from target_bench.core.schema import Corpus
from target_bench.search.join_keys import KeySource, join_weights
from target_bench.search.nested import Candidates, InnerRetriever, Wrapper

Floats = NDArray[np.float64]

DEPTH = 200


@dataclass(eq=False, repr=False)
class Joins(Wrapper):
    """Completes the ranking of another retriever with tables that its best tables join.

    The first ``seeds`` tables of a question hand on their scores, as shares of the largest one,
    along the keys of their database. A table's score is its own share plus ``weight`` times the
    largest that it is handed: the share of a seed times the weight of the join, from 0 to 1. So a
    table that the retriever did not find can be found.

    The defaults were chosen on the validation splits of BIRD and Spider.

    Args:
        retriever: whose ranking is completed: as written on the command line, or an object. One
            that gives no scores counts as one with the scores 1 / rank.
        keys: ``declared`` foreign keys of the tables, ``inferred`` ones from names of columns, or
            ``auto``: declared ones in databases that have any, and inferred ones in the others; or
            ``links`` of rows to passages; or ``titles`` of passages that are cells.
        weight: of what a table is handed; 0 changes nothing.
        seeds: how many tables hand on their scores.
        depth: how many tables the retriever gives. Default: 200, or ``top_k`` where that is more.

    Raises:
        ConfigError: a setting is invalid.
    """

    packages = ("numpy", "scipy")

    retriever: Any = "bm25"
    keys: KeySource = "auto"
    weight: float = 0.6
    seeds: int = 10
    depth: int | None = None

    def __post_init__(self) -> None:
        if not 0 <= self.weight < float("inf"):
            raise ConfigError(f"weight={self.weight}: expected a number from 0")
        check_at_least_one(seeds=self.seeds, depth=self.depth)
        self._inner = InnerRetriever(self.retriever)
        self._unjoined: list[str] = []

    def notes(self) -> Sequence[str]:
        """Return the notes of the retriever, and whether the tables have no join."""
        return [*super().notes(), *self._unjoined]

    def embed_corpus(self, corpus: Corpus) -> None:
        """Have the retriever index the tables, and find the joins."""
        super().embed_corpus(corpus)
        self._prepare(corpus)

    def _prepare(self, corpus: Corpus) -> None:
        self._ids = corpus.ids
        self._weights = join_weights(corpus, self.keys)
        self._unjoined = [] if self._weights.nnz else [self._without_joins()]

    def _without_joins(self) -> str:
        keys = "declared or inferred" if self.keys == "auto" else self.keys
        return f"no two tables are joined by {keys} keys: rankings are those of {self._inner.label}"

    def retrieve_batch(self, queries: Sequence[str], top_k: int) -> Sequence[Ranking]:
        """Return the rankings of several queries."""
        candidates = self._inner.candidates(queries, self.depth or max(DEPTH, top_k))
        shares = _shares(candidates)
        ranked = [
            self._completed(row[row >= 0], share[row >= 0], top_k)
            for row, share in zip(candidates.rows, shares, strict=True)
        ]
        width = max((len(places) for places, _ in ranked), default=0)
        rows, scores = np.full((len(queries), width), -1), np.zeros((len(queries), width))
        for i, (places, values) in enumerate(ranked):
            rows[i, : len(places)], scores[i, : len(places)] = places, values
        return Ranked(self._ids, rows, scores)

    def _completed(
        self, places: NDArray[np.int64], shares: Floats, k: int
    ) -> tuple[NDArray[np.int64], Floats]:
        """Return the first ``k`` of these tables and of those that they join."""
        seeds = self._weights[places[: self.seeds]].tocoo()
        handed = np.zeros(len(self._ids))
        np.maximum.at(handed, seeds.col, seeds.data * np.maximum(shares[seeds.row], 0.0))
        candidates = np.union1d(places, np.flatnonzero(handed * self.weight > 0))
        own = np.zeros(len(self._ids))
        own[places] = shares
        best, values = top_k((own + self.weight * handed)[None, candidates], k)
        return candidates[best[0]], values[0]


def _shares(candidates: Candidates) -> Floats:
    """Return scores divided by the largest absolute one of a ranking; without scores, 1 / rank."""
    n, width = candidates.rows.shape
    if candidates.scores is None:
        return np.tile(1 / np.arange(1.0, width + 1), (n, 1))
    largest = np.max(np.abs(candidates.scores), axis=1, keepdims=True, initial=0.0)
    return np.divide(candidates.scores, np.where(largest > 0, largest, 1.0))
