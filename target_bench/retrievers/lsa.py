"""Latent semantic analysis (Deerwester et al. 1990): TF-IDF vectors in a few dimensions.

The (texts, words) matrix X is approximated by its largest singular values, X ~ U S V'. A text that
was fitted is its row of U S, and any text q the row q V; both are made unit length.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from target_bench.core.errors import ConfigError
from target_bench.core.ranking import (
    DOUBLE,
    Ranked,
    Ranking,
    round_to_grade,
    split_into_blocks,
    stack_rankings,
)
from target_bench.core.ranking import top_k as best_columns
from target_bench.core.schema import Corpus
from target_bench.data.languages import Stemming, StopWords
from target_bench.retrievers.tfidf import TfIdf
from target_bench.search.lexical.tfidf_vectors import NGrams

Floats = NDArray[np.float64]

_BLOCK_CELLS = 4_000_000
_SHORTEST = 1e-6
"""Of vectors that had length 1; a shorter remainder points where rounding errors say."""


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
        self._space = _SingularSpace(self._ngrams, self.dims, self.seed, self.iterations)

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
            for block in split_into_blocks(len(queries), len(self._ids), _BLOCK_CELLS)
        ]
        return Ranked(self._ids, *stack_rankings(parts))

    def _best(
        self, points: Floats, known: NDArray[np.bool_], k: int
    ) -> tuple[NDArray[np.int64], Floats]:
        best, scores = best_columns(round_to_grade(points @ self._points.T, 1.0, DOUBLE), k)
        return np.where(known[:, None], best, -1), scores


class _SingularSpace:
    """Learns the axes of a space from texts, and finds the place of any text in it.

    Args:
        ngrams: text -> TF-IDF vector.
        dims: how many dimensions to keep; no more than there are texts, or different n-grams.
            Dimensions that have no singular value are left out.
        seed: fixes the random start of the decomposition.
        iterations: power iterations of the decomposition (Halko et al. 2011).

    Attributes:
        has_words: whether any text that was fitted has a word; without one there is no space.

    Raises:
        ConfigError: fewer than one dimension, or a negative number of iterations.
    """

    def __init__(self, ngrams: NGrams, dims: int, seed: int, iterations: int) -> None:
        if dims < 1:
            raise ConfigError(f"dims={dims}: at least one dimension is kept")
        if iterations < 0:
            raise ConfigError(f"iterations={iterations}: a number from 0")
        if not 0 <= seed < 2**32:
            raise ConfigError(f"seed={seed}: a number from 0 to {2**32 - 1}")
        self._ngrams = ngrams
        self._dims = dims
        self._seed = seed
        self._iterations = iterations

    def fit(self, texts: Sequence[str]) -> Any:
        """Learn the axes; the texts' TF-IDF vectors, or None if no text has a word."""
        vectors = self._ngrams.fit(texts)
        self.has_words = vectors is not None
        if self.has_words:
            self._axes = self._decomposed(vectors)
        return vectors

    def _decomposed(self, vectors: Any) -> Floats:
        """Return the (n-grams, dims) right singular vectors, those of singular value 0 left out."""
        from sklearn.utils.extmath import randomized_svd

        dims = min(self._dims, *vectors.shape)
        _, values, axes = randomized_svd(
            vectors, dims, n_iter=self._iterations, random_state=self._seed
        )
        kept: Floats = np.ascontiguousarray(axes[values > 1e-9 * values[0]].T)
        return kept

    def points(self, vectors: Any) -> Floats:
        """Return (texts, dims) points of unit length; 0 for vectors almost outside it."""
        return _unit_rows(np.array(vectors @ self._axes))

    def places(self, texts: Sequence[str]) -> tuple[Floats, NDArray[np.bool_]]:
        """Return the points of texts, and which of them have a known n-gram at all."""
        vectors = self._ngrams.vectors(texts)
        return self.points(vectors), np.diff(vectors.indptr) > 0


def _unit_rows(rows: Floats) -> Floats:
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    rows /= np.where(lengths > _SHORTEST, lengths, np.inf)
    return rows
