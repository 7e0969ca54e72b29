"""Chunks of rows around any retriever: a table is found by its best chunk."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from target_bench.core.errors import ConfigError
from target_bench.core.ranking import Ranked, Ranking
from target_bench.core.schema import Corpus, RowLimit
from target_bench.data.row_chunks import RowChunks
from target_bench.search.nested import BatchRetriever, Candidates, InnerRetriever

Places = NDArray[np.int64]
Floats = NDArray[np.float64]

_DEPTH = 4
"""How many chunks are asked for per table that is wanted, at first."""


@dataclass(eq=False, repr=False)
class Chunks(BatchRetriever):
    """Divides tables into chunks of rows, and ranks a table by the best of its chunks.

    Each chunk has the header and the context of its table, so another retriever reads it as a
    table of its own; what it counts over tables (such as BM25's document frequencies and lengths)
    it counts over chunks. The score of a table is the largest of its chunks. The ranking is that
    of all chunks, each table at its first chunk: where the first chunks hold too few tables, more
    are asked for, so nothing is left out.

    Args:
        retriever: ranks the chunks: as written on the command line, or an object.
        rows: how many rows a chunk has.
        limit: how many rows of each table are divided, from the first: a number, ``all``, or
            ``auto``, which is all of a web table and the first 1,000 of a table in a database.

    Raises:
        ConfigError: a number below 1, or the retriever cannot be built.
    """

    packages = ("numpy",)

    retriever: Any = "bm25"
    rows: int = 50
    limit: RowLimit = "auto"

    def __post_init__(self) -> None:
        for name, value in (("rows", self.rows), ("limit", self.limit)):
            if not isinstance(value, str) and value < 1:
                raise ConfigError(f"{name}={value}: at least 1 is needed")
        self._inner = InnerRetriever(self.retriever)
        self._n_cut = 0

    def parts(self) -> Mapping[str, object]:
        """Return the retriever of the chunks."""
        return {"retriever": self._inner.retriever}

    def embed_corpus(self, corpus: Corpus) -> None:
        """Divide the tables, and have the retriever index the chunks."""
        self._ids = corpus.ids
        self._chunks = RowChunks(corpus, self.rows, self.limit)
        self._n_cut = self._chunks.n_cut
        self._inner.embed_corpus(self._chunks)

    def notes(self) -> Sequence[str]:
        """Return the number of tables with rows left out, and the notes of the retriever."""
        notes = self._inner.notes()
        if self._n_cut:
            notes.insert(
                0,
                f"{self._n_cut:,} of {len(self._ids):,} tables have more rows than limit="
                f"{self.limit} lets in: those behind are not searched",
            )
        return notes

    def retrieve_batch(self, queries: Sequence[str], top_k: int) -> Sequence[Ranking]:
        """Return the rankings of several queries, computed together."""
        k = min(top_k, len(self._ids))
        rows = np.full((len(queries), k), -1, dtype=np.int64)
        scores = np.zeros((len(queries), k))
        scored = True
        waiting, depth = np.arange(len(queries)), k * _DEPTH
        while len(waiting) and k:
            depth = min(depth, len(self._chunks))
            candidates = self._inner.candidates([queries[i] for i in waiting.tolist()], depth)
            scored &= candidates.scores is not None
            rows[waiting], scores[waiting] = self._rolled_up(candidates, k)
            short = rows[waiting, -1] < 0
            waiting = waiting[short & _may_have_more(candidates, depth, len(self._chunks))]
            depth *= _DEPTH
        return Ranked(self._ids, rows, scores) if scored else self._unscored(rows)

    def _rolled_up(self, candidates: Candidates, k: int) -> tuple[Places, Floats]:
        """Return the first ``k`` tables of each ranking of chunks, and the scores they get."""
        n = len(candidates.rows)
        rows, scores = np.full((n, k), -1, dtype=np.int64), np.zeros((n, k))
        owners = np.where(candidates.rows < 0, -1, self._chunks.tables[candidates.rows])
        for i, ranking in enumerate(owners):
            tables, first = np.unique(ranking, return_index=True)
            first = np.sort(first[tables >= 0])[:k]
            rows[i, : len(first)] = ranking[first]
            if candidates.scores is not None:
                scores[i, : len(first)] = candidates.scores[i, first]
        return rows, scores

    def _unscored(self, rows: Places) -> Sequence[Ranking]:
        return [[self._ids[place] for place in ranking if place >= 0] for ranking in rows.tolist()]


def _may_have_more(candidates: Candidates, depth: int, n_chunks: int) -> NDArray[np.bool_]:
    """Return for each ranking whether the retriever was not asked for all that it finds."""
    full = (candidates.rows >= 0).sum(axis=1) == depth
    return np.asarray(full & (depth < n_chunks))
