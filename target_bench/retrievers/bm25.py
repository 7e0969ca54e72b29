"""Fielded BM25 (Robertson & Zaragoza 2009) with the formulas of bm25s, or with rank-bm25.

The score of a table is the weighted sum of the BM25 scores of its fields. Term weights are computed
once and summed over fields into one sparse matrix (``search.lexical.postings``); a query's scores
are a product with it (``search.lexical.products``).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from target_bench.core.errors import ConfigError, MissingExtraError
from target_bench.core.processors import count_processors
from target_bench.core.ranking import (
    Ranked,
    Ranking,
    stack_rankings,
    top_k_positive,
)
from target_bench.core.schema import Corpus, Field, Format, RowLimit
from target_bench.data.languages import (
    AnyLanguage,
    Language,
    Stemming,
    StopWords,
    match_known_tokens,
)
from target_bench.data.table_text import (
    WORDS,
    Analyzer,
    TermNumbers,
    deduplicate,
    list_languages,
    make_serializers,
)
from target_bench.search.lexical.postings import Formula, Postings
from target_bench.search.lexical.products import rank_product
from target_bench.search.nested import BatchRetriever

_MANY = 20_000  # tables: from here on it pays to start processes that tokenize

Fields = Sequence[Field] | Sequence[Sequence[Field]]
Method = Literal["lucene", "robertson", "atire", "bm25l", "bm25+", "okapi", "l", "plus"]

_BM25S = ("lucene", "robertson", "atire", "bm25l", "bm25+")
_RANK_BM25 = {"okapi": "BM25Okapi", "l": "BM25L", "plus": "BM25Plus"}

TITLE_AND_ALL: Fields = (("title", "section", "header"), ("title", "section", "header", "rows"))
"""The default fields: the names of the table, and everything in it."""

_PACKAGES: tuple[str, ...] = ("bm25s", "PyStemmer", "py3langid", "numpy", "scipy")


@dataclass(eq=False, repr=False)
class BM25(BatchRetriever):
    """Weighted sum of BM25 scores over one or several fields of a table.

    Args:
        fields: the parts of a table in the one field, or in each of several: a list of lists.
        weights: one weight per field; default: (0.4, 0.6) for the default fields, else 1 for each.
        rows: how many rows of each table to index: a number, ``all``, or ``auto``, which is all of
            a web table and the first 1,000 of a table in a database.
        format: how header and rows are written before they are split into tokens.
        method: the BM25 variant: lucene (default), robertson, atire, bm25l or bm25+ with bm25s;
            okapi (default), l or plus with rank-bm25.
        k1: saturation of term frequency.
        b: strength of length normalisation.
        delta: the lower bound that bm25l and bm25+ (l and plus) add.
        tokens: the regular expression of a token.
        fold: remove accents.
        stopwords: bm25s' list of stop words to leave out: ``en_plus``, ``en`` or ``none``.
        stemmer: the Snowball stemmer, ``english`` or ``none``.
        language: of stop words and stemmer, unless they are ``none``; ``auto`` detects it.
        unique_terms: count each query term once, however often the query repeats it.
        backend: ``bm25s`` (sparse, fast) or ``rank-bm25`` (an independent implementation, slow,
            whose index is not kept; extra rank-bm25).

    Raises:
        ConfigError: the weights do not fit the fields, a number is out of its range, or the method
            does not fit the backend.
    """

    packages = _PACKAGES  # without an annotation, so that it is no setting

    fields: Fields = TITLE_AND_ALL
    weights: Sequence[float] | None = None
    rows: RowLimit = "auto"
    format: Format = "text"
    method: Method | None = None
    k1: float = 0.5
    b: float = 0.75
    delta: float = 0.5
    tokens: str = WORDS
    fold: bool = True
    stopwords: StopWords = "en_plus"
    stemmer: Stemming = "english"
    language: AnyLanguage = "auto"
    unique_terms: bool = True
    backend: Literal["bm25s", "rank-bm25"] = "bm25s"

    def __post_init__(self) -> None:
        n, weights = len(make_serializers(self.fields, self.format, self.rows)), self.weights
        if weights is not None and len(weights) != n:
            raise ConfigError(f"weights={list(weights)!r}: {n} fields need {n} weights")
        if weights is not None and not all(0 <= w < float("inf") for w in weights):
            raise ConfigError(f"weights={list(weights)!r}: a weight is a number from 0")
        self._make_analyzer(("en",))
        if not (0 <= self.k1 < float("inf") and 0 <= self.b <= 1):
            raise ConfigError(f"k1={self.k1}, b={self.b}: k1 is at least 0 and b from 0 to 1")
        methods = _BM25S if self.backend == "bm25s" else tuple(_RANK_BM25)
        if self.method is not None and self.method not in methods:
            raise ConfigError(
                f"method={self.method!r}: expected one of {', '.join(methods)} "
                f"for backend {self.backend}"
            )
        if self.backend != "bm25s":
            self.packages = ("rank-bm25", *self.packages)

    def field_weights(self) -> Sequence[float]:
        """Return one weight per field."""
        if self.weights is not None:
            return self.weights
        fields = tuple(s.fields for s in make_serializers(self.fields, self.format, self.rows))
        return (0.4, 0.6) if fields == TITLE_AND_ALL else [1.0] * len(fields)

    def embed_corpus(self, corpus: Corpus) -> None:
        """Index every field of every table."""
        self._start(corpus)
        if self.backend == "bm25s":
            self._use(self._build_postings(corpus))
        else:
            self._count_for_rank_bm25(corpus)

    def _start(self, corpus: Corpus) -> None:
        self._ids = corpus.ids
        self._analyzer = self._make_analyzer(list_languages(corpus, self.language))

    def _make_analyzer(self, languages: Sequence[Language]) -> Analyzer:
        return Analyzer(self.tokens, self.fold, self.stopwords, self.stemmer, languages)

    def _build_postings(self, corpus: Corpus) -> Postings:
        write = make_serializers(self.fields, self.format, self.rows)
        texts = ([serializer(table) for serializer in write] for table in corpus)
        workers = count_processors() if len(corpus) >= _MANY and count_processors() > 1 else 0
        weights = self.field_weights()
        formula = Formula(self.method or "lucene", self.k1, self.b, self.delta, weights)
        return Postings.build_from_texts(texts, self._analyzer, formula, workers)

    def _use(self, postings: Postings) -> None:
        self._postings = postings
        self._numbers = TermNumbers(self._analyzer, postings.vocabulary, fixed=True)

    def _count_for_rank_bm25(self, corpus: Corpus) -> None:
        try:
            import rank_bm25
        except ImportError as error:
            raise MissingExtraError("rank-bm25", "rank-bm25", "bm25:backend=rank-bm25") from error
        method = self.method or "okapi"
        model = getattr(rank_bm25, _RANK_BM25[method])
        parameters = {"k1": self.k1, "b": self.b}
        if method != "okapi":
            parameters["delta"] = self.delta
        write = make_serializers(self.fields, self.format, self.rows)
        tables = [[self._analyzer(serializer(table)) for serializer in write] for table in corpus]
        documents = map(list, zip(*tables, strict=True))
        # A corpus without tables has documents of no field at all.
        fields = zip(self.field_weights(), documents, strict=bool(tables))
        self._models = [(w, model(field, **parameters)) for w, field in fields if any(field)]
        self._terms = [set().union(*table) for table in tables]

    def retrieve_batch(self, queries: Sequence[str], top_k: int) -> Sequence[Ranking]:
        """Return the rankings of several queries, computed together."""
        if self.backend != "bm25s":
            scores = (self._rank_bm25_scores(self._analyzer(query)) for query in queries)
            return Ranked(
                self._ids, *stack_rankings([top_k_positive(row[None], top_k) for row in scores])
            )
        postings = self._postings
        numbers = [self._numbers.number_terms(query) for query in queries]
        if self.unique_terms:
            numbers = [list(dict.fromkeys(query)) for query in numbers]
        terms = postings.build_numbered_matrix(numbers)
        if not np.diff(terms.indptr).all():
            # Of a query without an indexed term, as of one Chinese character, the indexed terms
            # that hold any of its characters are looked for.
            stems = map(self._analyzer, queries)
            words = [deduplicate(text) if self.unique_terms else text for text in stems]
            known = [match_known_tokens(each, postings.vocabulary) for each in words]
            terms = postings.build_query_matrix(known)
        offsets = terms @ postings.absent if postings.absent.any() else None
        return rank_product(terms, postings.shards, self._ids, top_k, offsets)

    def _rank_bm25_scores(self, query: list[str]) -> NDArray[np.float64]:
        """Return weighted sums; 0 for tables that share no term, which ``plus`` would score."""
        query = deduplicate(query) if self.unique_terms else query
        shared = np.array([not terms.isdisjoint(query) for terms in self._terms], dtype=np.float64)
        scores = np.zeros(len(self._terms))
        for weight, model in self._models:
            scores += weight * model.get_scores(query)
        return scores * shared

    def save(self, folder: Path) -> None:
        """Write the index of bm25s."""
        if self.backend != "bm25s":
            raise NotImplementedError
        self._postings.save(folder)

    def load(self, folder: Path, corpus: Corpus) -> None:
        """Read the files of ``save``; the weights stay on disk until they are used."""
        self._start(corpus)
        self._use(Postings.load(folder))
