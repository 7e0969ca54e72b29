"""TF-IDF vectors of texts over words and word n-grams.

They are those of scikit-learn, bit for bit, which a test sees to; its import takes 0.7 s, more than
all the rest of a short run. Only its hash function is used, where n-grams are hashed.
"""

from array import array
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import count
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
        counts = self._hash(texts) if self._hashed else self._count_new(texts)
        if not counts.nnz:
            return None
        smooth = float(self._smooth_idf)
        df = np.bincount(counts.indices, minlength=counts.shape[1])
        with np.errstate(divide="ignore"):
            idf = np.log((counts.shape[0] + smooth) / (df + smooth)) + 1.0
        self._idf = np.where(np.isfinite(idf), idf, 0.0)  # of hash buckets that no text fills
        return self._weigh(counts)

    def vectors(self, texts: Sequence[str]) -> Any:
        """Return the (texts, n-grams) vectors; of length 0 where no n-gram is in the vocabulary.

        A text of pairs of characters without any of them is read as ``match_known_tokens`` says.
        """
        if self._hashed:
            return self._weigh(self._hash(texts))
        known = self._vocabulary
        tokens = (match_known_tokens(self.analyzer(text), known) for text in texts)
        return self._weigh(self._count(tokens, known, lambda ngram: known.get(ngram, -1)))

    def _count_new(self, texts: Iterable[str]) -> Any:
        """Count n-grams, whose columns are in alphabetical order."""
        found: dict[str, int] = defaultdict(count().__next__)
        counts = self._count(map(self.analyzer, texts), found, found.__getitem__)
        self._vocabulary = {ngram: column for column, ngram in enumerate(sorted(found))}
        moved = np.array([self._vocabulary[ngram] for ngram in found], dtype=counts.indices.dtype)
        counts.indices = moved[counts.indices]
        counts.has_sorted_indices = False
        return counts

    def _count(
        self, texts: Iterable[Sequence[str]], known: Mapping[str, int], number: Callable[[str], int]
    ) -> Any:
        """Count n-grams; ``number`` gives the column of one, or -1 where it is left out."""
        from scipy.sparse import csr_matrix

        columns, values, ends = array("i"), array("i"), array("q", [0])
        for tokens in texts:
            counted = Counter(map(number, self._list_ngrams(tokens)))
            counted.pop(-1, None)
            columns.extend(counted.keys())
            values.extend(counted.values())
            ends.append(len(columns))
        shape = len(ends) - 1, len(known)
        counts = csr_matrix((np.array(values, dtype=np.float64), columns, ends), shape=shape)
        counts.sort_indices()  # lengths of rows are added up in this order
        return counts

    def _list_ngrams(self, tokens: Sequence[str]) -> Iterable[str]:
        if self._ngram == 1:
            return tokens
        starts = {n: range(len(tokens) - n + 1) for n in range(1, self._ngram + 1)}
        return (" ".join(tokens[i : i + n]) for n, places in starts.items() for i in places)

    def _hash(self, texts: Sequence[str]) -> Any:
        from sklearn.feature_extraction.text import HashingVectorizer

        return HashingVectorizer(
            tokenizer=self.analyzer,
            token_pattern=None,
            lowercase=False,
            ngram_range=(1, self._ngram),
            n_features=_HASH_BUCKETS,
            norm=None,
            alternate_sign=False,
        ).transform(texts)

    def _weigh(self, counts: Any) -> Any:
        """Weigh counts and make each row of unit length, in place."""
        weights = 1.0 + np.log(counts.data) if self._sublinear else counts.data
        weights *= self._idf[counts.indices]
        n = counts.shape[0]
        rows = np.repeat(np.arange(n), np.diff(counts.indptr))
        lengths = np.sqrt(np.bincount(rows, weights * weights, minlength=n))
        counts.data = weights / np.where(lengths > 0, lengths, 1.0)[rows]
        return counts
