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
    DOUBLE_DIGITS,
    Ranked,
    Ranking,
    round_scores,
    split_into_blocks,
    stack_rankings,
)
from target_bench.core.ranking import top_k as best_columns
from target_bench.core.schema import Corpus
from target_bench.data.languages import Stemming, StopWords
from target_bench.retrievers.tfidf import TfIdf

Floats = NDArray[np.float64]

_BLOCK_CELLS = 4_000_000
_MORE_DIMENSIONS = 10  # drawn than are kept
_SHORTEST = 1e-6  # of a projected unit vector; the direction of a shorter one is a rounding error


@dataclass(eq=False, repr=False)
class LSA(TfIdf):
    """Cosine in the space of the largest singular vectors of the TF-IDF matrix.

    Dimensions, iterations and words were chosen on the validation splits of FeTaQA and TabFact.
    Every table has a score, which may be negative, so rankings have ``top_k`` tables; that of a
    query without any known word is empty. Dimensions with singular value 0 are dropped.

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
        if self.dims < 1:
            raise ConfigError(f"dims={self.dims}: at least one dimension is kept")
        if self.iterations < 0:
            raise ConfigError(f"iterations={self.iterations}: a number from 0")
        if not 0 <= self.seed < 2**32:
            raise ConfigError(f"seed={self.seed}: a number from 0 to {2**32 - 1}")

    def embed_corpus(self, corpus: Corpus) -> None:
        """Decompose the TF-IDF matrix of the tables."""
        self._start(corpus)
        vectors = self._ngrams.fit(self._texts(corpus))
        self._has_words = vectors is not None
        if self._has_words:
            self._axes = self._decompose(vectors)
            self._points = self._project(vectors)

    def retrieve_batch(self, queries: Sequence[str], top_k: int) -> Sequence[Ranking]:
        """Return the rankings of several queries, computed together."""
        if not self._has_words or not queries:
            return [[] for _ in queries]
        vectors = self._ngrams.vectors(queries)
        points, has_words = self._project(vectors), np.diff(vectors.indptr) > 0
        parts = []
        for block in split_into_blocks(len(queries), len(self._ids), _BLOCK_CELLS):
            cosines = round_scores(points[block] @ self._points.T, 1.0, DOUBLE_DIGITS)
            best, scores = best_columns(cosines, top_k)
            parts.append((np.where(has_words[block, None], best, -1), scores))
        return Ranked(self._ids, *stack_rankings(parts))

    def _decompose(self, vectors: Any) -> Floats:
        """Return the (n-grams, dims) right singular vectors, those of singular value 0 left out.

        By the algorithm of scikit-learn's ``randomized_svd``, whose import takes 0.7 s.
        """
        from scipy import linalg

        dims = min(self.dims, *vectors.shape)
        is_wide = vectors.shape[0] < vectors.shape[1]
        tall = vectors.T if is_wide else vectors
        draws = np.random.RandomState(self.seed)
        basis = draws.normal(size=(tall.shape[1], dims + _MORE_DIMENSIONS))
        for _ in range(self.iterations):
            for matrix in (tall, tall.T):
                basis = matrix @ basis
                if self.iterations > 2:  # else all columns would become the first axis
                    basis, _ = linalg.lu(basis, permute_l=True, check_finite=False)
        basis, _ = linalg.qr(tall @ basis, mode="economic", check_finite=False)
        left, values, right = linalg.svd(basis.T @ tall, full_matrices=False)
        axes = basis @ left if is_wide else right.T
        kept: Floats = np.ascontiguousarray(axes[:, :dims][:, values[:dims] > 1e-9 * values[0]])
        return kept

    def _project(self, vectors: Any) -> Floats:
        """Return (texts, dims) points of unit length; 0 for vectors almost outside the space."""
        points: Floats = np.array(vectors @ self._axes)
        lengths = np.linalg.norm(points, axis=1, keepdims=True)
        points /= np.where(lengths > _SHORTEST, lengths, np.inf)
        return points
