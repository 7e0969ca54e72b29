"""The space of latent semantic analysis (Deerwester et al. 1990): TF-IDF vectors cut down.

The (texts, words) matrix X is approximated by its largest singular values, X ~ U S V'. A text that
was fitted is its row of U S, and any text q the row q V; both are made unit length.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from target_bench.core.array_files import read_array, read_json, write_array, write_json
from target_bench.core.errors import ConfigError
from target_bench.search.lexical.tfidf_vectors import NGrams

Floats = NDArray[np.float64]

_SHORTEST = 1e-6
"""Of vectors that had length 1; a shorter remainder points where rounding errors say."""


class SingularSpace:
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

    @property
    def width(self) -> int:
        """Number of dimensions."""
        return int(self._axes.shape[1])

    def points(self, vectors: Any) -> Floats:
        """Return (texts, dims) points of unit length; 0 for vectors almost outside it."""
        return _unit_rows(np.array(vectors @ self._axes))

    def places(self, texts: Sequence[str]) -> tuple[Floats, NDArray[np.bool_]]:
        """Return the points of texts, and which of them have a known n-gram at all."""
        vectors = self._ngrams.vectors(texts)
        return self.points(vectors), np.diff(vectors.indptr) > 0

    def save(self, folder: Path) -> None:
        """Write axes, the vocabulary and its weights."""
        write_json(folder / "lsa.json", {"words": self.has_words})
        if self.has_words:
            self._ngrams.save(folder)
            write_array(folder / "axes.npy", self._axes)

    def load(self, folder: Path) -> None:
        """Read the files of ``save``, in place of ``fit``; axes stay on disk until used."""
        self.has_words = read_json(folder / "lsa.json")["words"]
        if self.has_words:
            self._ngrams.load(folder)
            self._axes = read_array(folder / "axes.npy")


def _unit_rows(rows: Floats) -> Floats:
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    rows /= np.where(lengths > _SHORTEST, lengths, np.inf)
    return rows
