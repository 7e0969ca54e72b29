"""Latent semantic analysis as an encoder: vectors learned from the corpus, without any model."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from target_bench.core.errors import PluginError
from target_bench.core.vectors import Encoder, TextKind, Vectors
from target_bench.data.languages import StopWords
from target_bench.data.table_text import WORDS, Analyzer
from target_bench.search.lexical.latent_space import SingularSpace
from target_bench.search.lexical.tfidf_vectors import NGrams


@dataclass(eq=False, repr=False)
class LSAEncoder(Encoder):
    """Texts in the space of the largest singular vectors of the corpus' TF-IDF matrix.

    The retriever ``lsa`` ranks by the cosine of the same vectors, over the table texts that it
    writes itself; here any serializer and index may be used. Vectors have length 1, or 0 for a text
    without any word of the corpus. A corpus without words has one dimension of zeros.

    Args:
        dims: how many dimensions to keep. A corpus has no more than it has texts, or different
            n-grams; then it keeps that many.
        seed: fixes the random start of the decomposition.
        iterations: power iterations of the decomposition (Halko et al. 2011).
        ngram: the longest word n-gram; all shorter ones are counted too.
        sublinear: 1 + ln(tf) in place of tf.
        smooth_idf: ln((1 + N) / (1 + df)) + 1 in place of ln(N / df) + 1.
        tokens: the regular expression of a token.
        fold: leave accents off.
        stopwords: bm25s' list of stop words to leave out: ``en_plus``, ``en`` or ``none``.
        stemmer: the Snowball stemmer, ``english`` or ``none``.

    Raises:
        ConfigError: a number out of its range, or a regular expression that does not compile.
    """

    packages = ("scikit-learn", "bm25s", "PyStemmer", "numpy", "scipy")

    dims: int = 512
    seed: int = 0
    iterations: int = 2
    ngram: int = 1
    sublinear: bool = True
    smooth_idf: bool = True
    tokens: str = WORDS
    fold: bool = True
    stopwords: StopWords = "en_plus"
    stemmer: Literal["english", "none"] = "english"

    def __post_init__(self) -> None:
        analyzer = Analyzer(self.tokens, self.fold, self.stopwords, self.stemmer)
        ngrams = NGrams(analyzer, self.ngram, self.sublinear, self.smooth_idf)
        self._space = SingularSpace(ngrams, self.dims, self.seed, self.iterations)
        self._ready = False

    def fit(self, texts: Iterable[str]) -> None:
        """Decompose the TF-IDF matrix of the texts of the corpus."""
        self._space.fit(list(texts))
        self._ready = True

    def encode(self, texts: Sequence[str], kind: TextKind) -> Vectors:  # noqa: ARG002 (both alike)
        """Return the (n, d) vectors of the texts, in their order.

        Raises:
            PluginError: nothing has been fitted or loaded before.
        """
        if not self._ready:
            raise PluginError("the encoder lsa learns from a corpus: call fit (or load) first")
        if not self._space.has_words or not texts:
            dims = self._space.width if self._space.has_words else 1
            return np.zeros((len(texts), dims), dtype=np.float32)
        return self._space.places(texts)[0].astype(np.float32)

    def save(self, folder: Path) -> None:
        """Write axes, the vocabulary and its weights."""
        self._space.save(folder)

    def load(self, folder: Path) -> None:
        """Read the files that ``save`` wrote, in place of ``fit``."""
        self._space.load(folder)
        self._ready = True
