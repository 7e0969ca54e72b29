"""Latent semantic analysis (Deerwester et al. 1990): TF-IDF vectors in a few dimensions."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from target_bench.core.ranking import DOUBLE, Ranked, Ranking, blocks, graded, stacked
from target_bench.core.ranking import top_k as best_columns
from target_bench.core.schema import Corpus
from target_bench.data.languages import Stemming, StopWords
from target_bench.retrievers.tfidf import TfIdf
from target_bench.search.lexical.latent_space import SingularSpace

Floats = NDArray[np.float64]

_BLOCK_CELLS = 4_000_000


@dataclass(eq=False, repr=False)
class LSA(TfIdf):
    """Cosine in the space of the largest singular vectors of the TF-IDF matrix.

    Dimensions, iterations and words were chosen on the validation splits of FeTaQA and TabFact.
    Every table has a score, perhaps a negative one, so ``top_k`` tables come back; only a query
    without any known word gets none. Dimensions that have no singular value are left out.

    Args:
        dims: how many dimensions to keep. A corpus has no more than it has tables, or different
            n-grams; then it keeps that many.
        seed: fixes the random start of the decomposition.
        iterations: power iterations of the decomposition (Halko et al. 2011).

    Raises:
        ConfigError: fewer than one dimension, or a negative number of iterations.
    """

    hashed: bool = field(default=False, init=False)  # its axes are those of words
    fold: bool = True
    stopwords: StopWords = "en_plus"
    stemmer: Stemming = "english"
    dims: int = 512
    seed: int = 0
    iterations: int = 2

    def __post_init__(self) -> None:
        super().__post_init__()
        self._space = SingularSpace(self._ngrams, self.dims, self.seed, self.iterations)

    def embed_corpus(self, corpus: Corpus) -> None:
        """Decompose the TF-IDF matrix of the tables."""
        self._start(corpus)
        vectors = self._space.fit(self._texts(corpus))
        if vectors is not None:
            self._points = self._space.points(vectors)

    def retrieve_batch(self, queries: Sequence[str], top_k: int) -> Sequence[Ranking]:
        """Return the rankings of several queries, computed together."""
        if not self._space.has_words or not queries:
            return [[] for _ in queries]
        points, known = self._space.places(queries)
        parts = [
            self._best(points[block], known[block], top_k)
            for block in blocks(len(queries), len(self._ids), _BLOCK_CELLS)
        ]
        return Ranked(self._ids, *stacked(parts))

    def _best(
        self, points: Floats, known: NDArray[np.bool_], k: int
    ) -> tuple[NDArray[np.int64], Floats]:
        best, scores = best_columns(graded(points @ self._points.T, 1.0, DOUBLE), k)
        return np.where(known[:, None], best, -1), scores
