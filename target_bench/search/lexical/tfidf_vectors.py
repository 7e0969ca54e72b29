"""TF-IDF vectors of texts over words and word n-grams, on scikit-learn."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from target_bench.core.errors import ConfigError
from target_bench.data.languages import match_known_tokens
from target_bench.data.table_text import Analyzer

_HASH_BUCKETS = 2**24


class NGrams:
    """Counts n-grams, and weighs them by how few texts have them.

    Args:
        analyzer: text -> tokens.
        ngram: the longest word n-gram; all shorter ones are counted too.
        sublinear: 1 + ln(tf) in place of tf.
        smooth_idf: ln((1 + N) / (1 + df)) + 1 in place of ln(N / df) + 1.
        hashed: hash n-grams into 2^24 buckets in place of keeping a vocabulary.

    Attributes:
        analyzer: text -> tokens; may be another one before each ``fit``.
    """

    def __init__(
        self,
        analyzer: Analyzer,
        ngram: int = 1,
        sublinear: bool = True,
        smooth_idf: bool = True,
        hashed: bool = False,
    ) -> None:
        if ngram < 1:
            raise ConfigError(f"ngram={ngram}: the longest n-gram has at least one word")
        self.analyzer = analyzer
        self._ngram = ngram
        self._sublinear = sublinear
        self._smooth_idf = smooth_idf
        self._hashed = hashed

    def fit(self, texts: Sequence[str]) -> Any:
        """Return the (texts, n-grams) vectors of unit length, or None if no text has a word."""
        from sklearn.feature_extraction.text import TfidfTransformer

        self._count = self._make_counter()
        self._weigh = TfidfTransformer(sublinear_tf=self._sublinear, smooth_idf=self._smooth_idf)
        if not any(map(self.analyzer, texts)):
            return None
        with np.errstate(divide="ignore"):
            vectors = self._weigh.fit_transform(self._count.fit_transform(texts))
        idf = self._weigh.idf_  # without smoothing, hash buckets that no text fills are infinite
        self._weigh.idf_ = np.where(np.isfinite(idf), idf, 0.0)
        return vectors

    def vectors(self, texts: Sequence[str]) -> Any:
        """Return the (texts, n-grams) vectors; of length 0 where no n-gram is in the vocabulary.

        A text of pairs of characters without any of them is read as ``match_known_tokens`` says.
        """
        if not self._hashed:
            vocabulary = self._count.vocabulary_
            self._count.tokenizer = lambda text: match_known_tokens(self.analyzer(text), vocabulary)
        return self._weigh.transform(self._count.transform(texts))

    def _make_counter(self) -> Any:
        from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer

        settings = {
            "tokenizer": self.analyzer,
            "token_pattern": None,
            "lowercase": False,
            "ngram_range": (1, self._ngram),
            "dtype": np.float64,
        }
        if not self._hashed:
            return CountVectorizer(**settings)
        return HashingVectorizer(
            n_features=_HASH_BUCKETS, norm=None, alternate_sign=False, **settings
        )
