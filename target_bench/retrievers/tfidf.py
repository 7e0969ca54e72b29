"""TF-IDF with cosine similarity, on scikit-learn."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from target_bench.errors import ConfigError
from target_bench.interfaces import Corpus, Ranking, Retriever
from target_bench.retrievers.lexical import Analyzer, Stemming, StopWords, rank
from target_bench.serialization import Field, Format, RowLimit, Serializer

_HASH_BUCKETS = 2**24


class TfIdf(Retriever):
    """Cosine of TF-IDF vectors over words and word n-grams.

    Args:
        fields: the parts of a table to index, as one text.
        rows: how many rows of each table to index.
        format: how header and rows are written before they are split into tokens.
        ngram: the longest word n-gram; all shorter ones are counted too.
        sublinear: 1 + ln(tf) in place of tf.
        smooth_idf: ln((1 + N) / (1 + df)) + 1 in place of ln(N / df) + 1.
        hashed: hash n-grams into 2^24 buckets (DrQA, Chen et al. 2017, section 3.1) in place of
            keeping a vocabulary.
        tokens: the regular expression of a token.
        fold: leave accents off.
        stopwords: bm25s' list of stop words to leave out: ``en_plus``, ``en`` or ``none``.
        stemmer: the Snowball stemmer, ``english`` or ``none``.
    """

    packages = ("scikit-learn", "bm25s", "PyStemmer", "numpy", "scipy")

    def __init__(
        self,
        fields: Sequence[Field] = ("title", "section", "header", "rows"),
        rows: RowLimit = "all",
        format: Format = "text",
        ngram: int = 1,
        sublinear: bool = True,
        smooth_idf: bool = True,
        hashed: bool = False,
        tokens: str = r"[^\W_]+",
        fold: bool = False,
        stopwords: StopWords = "en",
        stemmer: Stemming = "none",
    ) -> None:
        self.fields = fields
        self.rows: RowLimit = rows
        self.format: Format = format
        self.ngram = ngram
        self.sublinear = sublinear
        self.smooth_idf = smooth_idf
        self.hashed = hashed
        self.tokens = tokens
        self.fold = fold
        self.stopwords: StopWords = stopwords
        self.stemmer: Stemming = stemmer
        Serializer(tuple(fields), format, rows)
        Analyzer(tokens, fold, stopwords, stemmer)
        if ngram < 1:
            raise ConfigError(f"ngram={ngram}: the longest n-gram has at least one word")

    def embed_corpus(self, corpus: Corpus) -> None:
        """Fit the weights on the tables and keep their vectors."""
        from sklearn.feature_extraction.text import TfidfTransformer

        self._ids = corpus.ids
        self._count = self._counter()
        self._weigh = TfidfTransformer(sublinear_tf=self.sublinear, smooth_idf=self.smooth_idf)
        write = Serializer(tuple(self.fields), self.format, self.rows)
        texts = [write(table) for table in corpus]
        self._wordless = not any(map(self._count.build_tokenizer(), texts))
        if self._wordless:
            return
        with np.errstate(divide="ignore"):
            vectors = self._weigh.fit_transform(self._count.fit_transform(texts))
        idf = self._weigh.idf_  # without smoothing, hash buckets that no table fills are infinite
        self._weigh.idf_ = np.where(np.isfinite(idf), idf, 0.0)
        self._tables = vectors.T.tocsr()

    def _counter(self) -> Any:
        from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer

        settings = {
            "tokenizer": Analyzer(self.tokens, self.fold, self.stopwords, self.stemmer),
            "token_pattern": None,
            "lowercase": False,
            "ngram_range": (1, self.ngram),
            "dtype": np.float64,
        }
        if not self.hashed:
            return CountVectorizer(**settings)
        return HashingVectorizer(
            n_features=_HASH_BUCKETS, norm=None, alternate_sign=False, **settings
        )

    def retrieve(self, query: str, top_k: int) -> Ranking:
        """The tables that share an n-gram with the query, best first."""
        return self.retrieve_batch([query], top_k)[0]

    def retrieve_batch(self, queries: Sequence[str], top_k: int) -> Sequence[Ranking]:
        """One sparse product for a block of queries."""
        if self._wordless or not queries:
            return [[] for _ in queries]
        vectors = self._weigh.transform(self._count.transform(queries))

        def scores(block: slice) -> NDArray[np.float64]:
            dense: NDArray[np.float64] = (vectors[block] @ self._tables).toarray()
            return dense

        return rank(scores, len(queries), self._ids, top_k)
