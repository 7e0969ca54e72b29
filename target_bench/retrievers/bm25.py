"""Fielded BM25 (Robertson & Zaragoza 2009) on bm25s' scores, or on rank-bm25's.

A table is indexed once for each field; the score is the weighted sum of the fields' BM25 scores.
With bm25s every field is a sparse matrix of precomputed term weights over one vocabulary, so the
weighted sum of the matrices is made once and a batch of queries is one sparse product.
"""

from collections import defaultdict
from collections.abc import Sequence
from itertools import chain, count
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from target_bench.errors import ConfigError, MissingExtraError
from target_bench.interfaces import Corpus, Ranking, Retriever
from target_bench.retrievers.lexical import (
    Analyzer,
    Stemming,
    StopWords,
    distinct,
    rank,
    serializers,
)
from target_bench.serialization import Field, Format, RowLimit

Fields = Sequence[Field] | Sequence[Sequence[Field]]
Method = Literal["lucene", "robertson", "atire", "bm25l", "bm25+", "okapi", "l", "plus"]

_BM25S = ("lucene", "robertson", "atire", "bm25l", "bm25+")
_RANK_BM25 = {"okapi": "BM25Okapi", "l": "BM25L", "plus": "BM25Plus"}

TITLE_AND_ALL: Fields = (("title", "section", "header"), ("title", "section", "header", "rows"))
"""The default fields: what the table is called, and everything in it."""


class BM25(Retriever):
    """Weighted sum of BM25 scores over one or several fields of a table.

    Args:
        fields: one list of parts for one field, a list of lists for several.
        weights: one weight a field; default: (0.4, 0.6) for the default fields, else 1 for each.
        rows: how many rows of each table to index.
        format: how header and rows are written before they are split into tokens.
        method: the BM25 variant: lucene (default), robertson, atire, bm25l or bm25+ with bm25s;
            okapi (default), l or plus with rank-bm25.
        k1: saturation of term frequency.
        b: strength of length normalisation.
        delta: the lower bound that bm25l and bm25+ (l and plus) add.
        tokens: the regular expression of a token.
        fold: leave accents off.
        stopwords: bm25s' list of stop words to leave out: ``en_plus``, ``en`` or ``none``.
        stemmer: the Snowball stemmer, ``english`` or ``none``.
        unique_terms: count each query term once, however often the query repeats it.
        backend: ``bm25s`` (sparse, fast) or ``rank-bm25`` (an independent implementation, slow).

    Raises:
        ConfigError: the weights do not fit the fields, or the method does not fit the backend.
    """

    packages = ("bm25s", "rank-bm25", "PyStemmer", "numpy", "scipy")

    def __init__(
        self,
        fields: Fields = TITLE_AND_ALL,
        weights: Sequence[float] | None = None,
        rows: RowLimit = "all",
        format: Format = "text",
        method: Method | None = None,
        k1: float = 0.5,
        b: float = 0.75,
        delta: float = 0.5,
        tokens: str = r"[^\W_]+",
        fold: bool = True,
        stopwords: StopWords = "en_plus",
        stemmer: Stemming = "english",
        unique_terms: bool = True,
        backend: Literal["bm25s", "rank-bm25"] = "bm25s",
    ) -> None:
        self.fields = fields
        self.weights = weights
        self.rows: RowLimit = rows
        self.format: Format = format
        self.method = method
        self.k1 = k1
        self.b = b
        self.delta = delta
        self.tokens = tokens
        self.fold = fold
        self.stopwords: StopWords = stopwords
        self.stemmer: Stemming = stemmer
        self.unique_terms = unique_terms
        self.backend = backend
        self._check()

    def _check(self) -> None:
        n = len(serializers(self.fields, self.format, self.rows))
        if self.weights is not None and len(self.weights) != n:
            raise ConfigError(f"weights={list(self.weights)!r}: {n} fields need {n} weights")
        known = _BM25S if self.backend == "bm25s" else tuple(_RANK_BM25)
        if self.method is not None and self.method not in known:
            raise ConfigError(
                f"method={self.method!r}: backend {self.backend} has {', '.join(known)}"
            )
        if self.weights is not None and not all(0 <= w < float("inf") for w in self.weights):
            raise ConfigError(f"weights={list(self.weights)!r}: a weight is a number from 0")
        if not (0 <= self.k1 < float("inf") and 0 <= self.b <= 1):
            raise ConfigError(f"k1={self.k1}, b={self.b}: k1 is at least 0 and b from 0 to 1")
        Analyzer(self.tokens, self.fold, self.stopwords, self.stemmer)

    def embed_corpus(self, corpus: Corpus) -> None:
        """Index every field of every table."""
        self._ids = corpus.ids
        self._analyzer = Analyzer(self.tokens, self.fold, self.stopwords, self.stemmer)
        write = serializers(self.fields, self.format, self.rows)
        documents: list[list[list[str]]] = [[] for _ in write]
        for table in corpus:
            for field, serializer in zip(documents, write, strict=True):
                field.append(self._analyzer(serializer(table)))
        index = _SparseIndex if self.backend == "bm25s" else _RankBM25Index
        self._index = index(self, documents)

    def retrieve(self, query: str, top_k: int) -> Ranking:
        """The tables that share a term with the query, best first."""
        return self.retrieve_batch([query], top_k)[0]

    def retrieve_batch(self, queries: Sequence[str], top_k: int) -> Sequence[Ranking]:
        """One sparse product for a block of queries."""
        terms = [self._analyzer(query) for query in queries]
        if self.unique_terms:
            terms = [distinct(query) for query in terms]
        return self._index.rank(terms, self._ids, top_k)

    def field_weights(self) -> Sequence[float]:
        """One weight a field."""
        if self.weights is not None:
            return self.weights
        fields = tuple(s.fields for s in serializers(self.fields, self.format, self.rows))
        return (0.4, 0.6) if fields == TITLE_AND_ALL else [1.0] * len(fields)


class _SparseIndex:
    """(terms, tables) weights of all fields, added up; scores are a sparse product."""

    def __init__(self, settings: BM25, documents: list[list[list[str]]]) -> None:
        from scipy.sparse import csr_matrix

        self.vocabulary: dict[str, int] = defaultdict(count().__next__)
        fields = [self._encoded(field) for field in documents]
        self.vocabulary = dict(self.vocabulary)
        shape = (len(self.vocabulary), len(documents[0]))
        self.weights = csr_matrix(shape, dtype=np.float64)
        self.absent = np.zeros(shape[0])
        for weight, field in zip(settings.field_weights(), fields, strict=True):
            if not any(field):
                continue  # no table has such a field: it matches nothing
            model = self._model(settings, field)
            scores = model.scores
            terms_by_tables = (scores["data"], scores["indices"], scores["indptr"])
            self.weights += weight * csr_matrix(terms_by_tables, shape=shape)
            if model.nonoccurrence_array is not None:
                self.absent += weight * model.nonoccurrence_array

    def _encoded(self, documents: list[list[str]]) -> list[list[int]]:
        return [list(map(self.vocabulary.__getitem__, terms)) for terms in documents]

    def _model(self, settings: BM25, field: list[list[int]]) -> Any:
        import bm25s

        model = bm25s.BM25(
            method=settings.method or "lucene",
            k1=settings.k1,
            b=settings.b,
            delta=settings.delta,
            dtype="float64",
        )
        model.index((field, self.vocabulary), create_empty_token=False, show_progress=False)
        return model

    def rank(self, queries: list[list[str]], ids: Sequence[Any], k: int) -> Sequence[Ranking]:
        terms = self._query_matrix(queries)

        def scores(block: slice) -> NDArray[np.float64]:
            dense: NDArray[np.float64] = (terms[block] @ self.weights).toarray()
            return dense

        offsets = terms @ self.absent if self.absent.any() else None
        return rank(scores, len(queries), ids, k, offsets)

    def _query_matrix(self, queries: list[list[str]]) -> Any:
        from scipy.sparse import csr_matrix

        number = self.vocabulary.get
        known = [[n for n in map(number, query) if n is not None] for query in queries]
        indptr = np.cumsum([0, *map(len, known)])
        indices = np.fromiter(chain.from_iterable(known), dtype=np.int32, count=indptr[-1])
        shape = (len(queries), len(self.vocabulary))
        return csr_matrix((np.ones(len(indices)), indices, indptr), shape=shape)


class _RankBM25Index:
    """One rank-bm25 model a field, asked one query at a time."""

    def __init__(self, settings: BM25, documents: list[list[list[str]]]) -> None:
        try:
            import rank_bm25
        except ImportError as error:
            raise MissingExtraError("rank-bm25", "rank-bm25", "bm25:backend=rank-bm25") from error
        method = settings.method or "okapi"
        model = getattr(rank_bm25, _RANK_BM25[method])
        parameters = {"k1": settings.k1, "b": settings.b}
        if method != "okapi":
            parameters["delta"] = settings.delta
        fields = zip(settings.field_weights(), documents, strict=True)
        self.fields = [(w, model(field, **parameters)) for w, field in fields if any(field)]
        self.terms = [set().union(*parts) for parts in zip(*documents, strict=True)]

    def rank(self, queries: list[list[str]], ids: Sequence[Any], k: int) -> Sequence[Ranking]:
        def scores(block: slice) -> NDArray[np.float64]:
            return np.stack([self._scores(query) for query in queries[block]])

        return rank(scores, len(queries), ids, k)

    def _scores(self, query: list[str]) -> NDArray[np.float64]:
        """The weighted sum, 0 for tables that share no term (``plus`` scores those too)."""
        wanted = set(query)
        shared = np.array([not wanted.isdisjoint(terms) for terms in self.terms], dtype=np.float64)
        scores: NDArray[np.float64] = np.zeros(len(self.terms))
        for weight, model in self.fields:
            scores += weight * model.get_scores(query)
        return scores * shared
