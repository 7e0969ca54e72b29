"""Fielded BM25 (Robertson & Zaragoza 2009) on bm25s' scores, or on rank-bm25's; and BM25F.

A table is indexed once for each field; the score is the weighted sum of the fields' BM25 scores.
With bm25s every field is a sparse matrix of precomputed term weights over one vocabulary; the
weighted sum of the matrices is made once (``postings``), and scores are a product (``ranking``).
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from target_bench.core.array_files import read_json, write_json
from target_bench.core.contract import Retriever
from target_bench.core.errors import ConfigError, MissingExtraError
from target_bench.core.ranking import Ranked, Ranking, n_processors, rank_product, rank_scores
from target_bench.core.schema import Corpus, Field, Format, RowLimit
from target_bench.data.languages import (
    AnyLanguage,
    Language,
    Stemming,
    StopWords,
    known_or_alike,
)
from target_bench.data.table_text import (
    WORDS,
    Analyzer,
    TermNumbers,
    distinct,
    languages_in,
    serializers,
)
from target_bench.search.lexical.postings import (
    FieldsCombined,
    Formula,
    LeastCounts,
    Postings,
    Weighing,
)
from target_bench.search.lexical.question_log import QuestionLog

_MANY = 20_000
"""Tables from which on processes beside this one are worth starting."""

Fields = Sequence[Field] | Sequence[Sequence[Field]]
Method = Literal["lucene", "robertson", "atire", "bm25l", "bm25+", "okapi", "l", "plus"]

_BM25S = ("lucene", "robertson", "atire", "bm25l", "bm25+")
_RANK_BM25 = {"okapi": "BM25Okapi", "l": "BM25L", "plus": "BM25Plus"}

EACH_PART: Fields = (("title",), ("section",), ("header",), ("rows",))
"""The default fields of BM25F: each part of a table by itself."""

TITLE_AND_ALL: Fields = (("title", "section", "header"), ("title", "section", "header", "rows"))
"""The default fields: what the table is called, and everything in it."""


class BM25(Retriever):
    """Weighted sum of BM25 scores over one or several fields of a table.

    Args:
        fields: one list of parts for one field, a list of lists for several.
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
        fold: leave accents off.
        stopwords: bm25s' list of stop words to leave out: ``en_plus``, ``en`` or ``none``.
        stemmer: the Snowball stemmer, ``english`` or ``none``.
        language: of the words: what is not ``none`` of the two before is then of this language;
            ``auto`` tells it from the tables.
        unique_terms: count each query term once, however often the query repeats it.
        backend: ``bm25s`` (sparse, fast) or ``rank-bm25`` (an independent implementation, slow).
        log: a file of users' questions, a question a line, by which words that many of them have
            count little (docs/retrievers.md). 25 questions are enough. bm25s only.

    Raises:
        ConfigError: the weights do not fit the fields, the method or a log does not fit the
            backend, or the log cannot be read.
    """

    packages: tuple[str, ...] = ("bm25s", "PyStemmer", "py3langid", "numpy", "scipy")

    def __init__(
        self,
        fields: Fields = TITLE_AND_ALL,
        weights: Sequence[float] | None = None,
        rows: RowLimit = "auto",
        format: Format = "text",
        method: Method | None = None,
        k1: float = 0.5,
        b: float = 0.75,
        delta: float = 0.5,
        tokens: str = WORDS,
        fold: bool = True,
        stopwords: StopWords = "en_plus",
        stemmer: Stemming = "english",
        language: AnyLanguage = "auto",
        unique_terms: bool = True,
        backend: Literal["bm25s", "rank-bm25"] = "bm25s",
        log: str | None = None,
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
        self.language: AnyLanguage = language
        self.unique_terms = unique_terms
        self.backend = backend
        self.log = log
        self._log = None if log is None else QuestionLog(log)
        if backend == "rank-bm25":
            self.packages = ("rank-bm25", *self.packages)
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
        if self.log is not None and self.backend != "bm25s":
            raise ConfigError(f"log={self.log!r}: backend {self.backend} takes none")
        self._analyzer_of(("en",))

    def config(self) -> Mapping[str, Any]:
        """Return the settings, with the content of the log in place of its path."""
        settings = super().config()
        return settings if self._log is None else {**settings, "log": self._log.revision}

    def _analyzer_of(self, languages: Sequence[Language]) -> Analyzer:
        return Analyzer(self.tokens, self.fold, self.stopwords, self.stemmer, languages)

    def embed_corpus(self, corpus: Corpus) -> None:
        """Index every field of every table."""
        self._start(corpus)
        self._index: _Bm25sIndex | _RankBM25Index
        if self.backend == "bm25s":
            self._index = _Bm25sIndex(self, self._postings(corpus))
        else:
            self._index = _RankBM25Index(self, list(self._tokens(corpus)))

    def _postings(self, corpus: Corpus) -> Postings:
        write = serializers(self.fields, self.format, self.rows)
        texts = ([serializer(table) for serializer in write] for table in corpus)
        workers = n_processors() if len(corpus) >= _MANY and n_processors() > 1 else 0
        how = (self._analyzer, self._formula(), workers)
        return Postings.of_texts(texts, *how, self._least_counts())

    def _least_counts(self) -> LeastCounts | None:
        if self._log is None:
            return None
        return partial(self._log.least_counts, terms_of=self._analyzer)

    def _tokens(self, corpus: Corpus) -> Iterator[list[list[str]]]:
        """Yield for each table the tokens of its fields."""
        write = serializers(self.fields, self.format, self.rows)
        return ([self._analyzer(serializer(table)) for serializer in write] for table in corpus)

    def _start(self, corpus: Corpus) -> None:
        self._ids = corpus.ids
        self._analyzer = self._analyzer_of(languages_in(corpus, self.language))

    def save(self, folder: Path) -> None:
        """Write the index; with rank-bm25, the tokens of all tables."""
        self._index.save(folder)

    def load(self, folder: Path, corpus: Corpus) -> None:
        """Read the files of ``save``; with bm25s the weights stay on disk until they are used."""
        self._start(corpus)
        index = _Bm25sIndex if self.backend == "bm25s" else _RankBM25Index
        self._index = index.load(self, folder)

    def retrieve(self, query: str, top_k: int) -> Ranking:
        """Return the tables that share a term with the query, best first."""
        return self.retrieve_batch([query], top_k)[0]

    def retrieve_batch(self, queries: Sequence[str], top_k: int) -> Sequence[Ranking]:
        """Return the rankings of several queries, computed together."""
        return self._index.rank(self, queries, top_k)

    def _terms(self, query: str) -> list[str]:
        tokens = self._analyzer(query)
        return distinct(tokens) if self.unique_terms else tokens

    def _formula(self) -> Weighing:
        method = self.method or "lucene"
        return Formula(method, self.k1, self.b, self.delta, self.field_weights())

    def field_weights(self) -> Sequence[float]:
        """Return one weight per field."""
        if self.weights is not None:
            return self.weights
        fields = tuple(s.fields for s in serializers(self.fields, self.format, self.rows))
        return (0.4, 0.6) if fields == TITLE_AND_ALL else [1.0] * len(fields)


class BM25F(BM25):
    """BM25 over fields whose term frequencies are added up before they saturate.

    A term that is in several fields counts as one term that is more frequent, where ``bm25`` adds
    up the fields' scores and so counts it several times. Weights, ``k1`` and ``b`` were chosen on
    the validation splits of FeTaQA and TabFact.

    Args:
        fields: one list of parts for one field, a list of lists for several.
        weights: one weight per field; default: (8, 4, 4, 1) for the default fields, else 1 each.
        k1: saturation of the weighted term frequency.
        b: strength of length normalisation: one for all fields, or one a field.

    Raises:
        ConfigError: weights or ``b`` do not fit the fields, or are out of range.
    """

    b: float | Sequence[float]  # type: ignore[assignment]  # BM25 has one for all fields

    def __init__(
        self,
        fields: Fields = EACH_PART,
        weights: Sequence[float] | None = None,
        rows: RowLimit = "auto",
        format: Format = "text",
        k1: float = 1.0,
        b: float | Sequence[float] = 0.75,
        tokens: str = WORDS,
        fold: bool = True,
        stopwords: StopWords = "en_plus",
        stemmer: Stemming = "english",
        language: AnyLanguage = "auto",
        unique_terms: bool = True,
    ) -> None:
        super().__init__(
            fields,
            weights,
            rows,
            format,
            k1=k1,
            tokens=tokens,
            fold=fold,
            stopwords=stopwords,
            stemmer=stemmer,
            language=language,
            unique_terms=unique_terms,
        )
        self.b = b
        n = len(self.field_weights())
        if len(self._field_b()) != n:
            raise ConfigError(f"b={b!r}: {n} fields need one number, or {n}")
        if not all(0 <= value <= 1 for value in self._field_b()):
            raise ConfigError(f"b={b!r}: b is from 0 to 1")

    def field_weights(self) -> Sequence[float]:
        """Return one weight per field."""
        if self.weights is not None:
            return self.weights
        fields = tuple(s.fields for s in serializers(self.fields, self.format, self.rows))
        return (8.0, 4.0, 4.0, 1.0) if fields == EACH_PART else [1.0] * len(fields)

    def _field_b(self) -> Sequence[float]:
        if isinstance(self.b, int | float):
            return [self.b] * len(self.field_weights())
        return self.b

    def _formula(self) -> Weighing:
        return FieldsCombined(self.k1, tuple(self._field_b()), tuple(self.field_weights()))

    def _postings(self, corpus: Corpus) -> Postings:
        return Postings.build(self._tokens(corpus), self._formula())

    def _tokens(self, corpus: Corpus) -> Iterator[list[list[str]]]:
        """Yield the tokens of the fields; as a last field each term of the table once.

        In how many tables that field has a term is in how many tables the term is.
        """
        weights = self.field_weights()
        for fields in super()._tokens(corpus):
            counted = (tokens for tokens, weight in zip(fields, weights, strict=True) if weight)
            yield [*fields, distinct(token for tokens in counted for token in tokens)]


class _Bm25sIndex:
    """Precomputed weights; scores are a sparse product."""

    def __init__(self, settings: BM25, postings: Postings) -> None:
        self._postings = postings
        self._numbers = TermNumbers(settings._analyzer, postings.vocabulary, fixed=True)

    def save(self, folder: Path) -> None:
        self._postings.save(folder)

    @classmethod
    def load(cls, settings: BM25, folder: Path) -> "_Bm25sIndex":
        return cls(settings, Postings.load(folder))

    def rank(self, settings: BM25, queries: Sequence[str], k: int) -> Ranked:
        numbers = [self._numbers.of_text(query) for query in queries]
        if settings.unique_terms:
            numbers = [list(dict.fromkeys(of_query)) for of_query in numbers]
        terms = self._postings.numbered(numbers)
        if not np.diff(terms.indptr).all():  # of some queries no term is known
            known, tokens = self._postings.vocabulary, map(settings._terms, queries)
            terms = self._postings.queries([known_or_alike(query, known) for query in tokens])
        absent = self._postings.absent
        offsets = terms @ absent if absent.any() else None
        return rank_product(terms, self._postings.shards, settings._ids, k, offsets)


class _RankBM25Index:
    """One rank-bm25 model a field, asked one query at a time."""

    def __init__(self, settings: BM25, tables: list[Sequence[list[str]]]) -> None:
        try:
            import rank_bm25
        except ImportError as error:
            raise MissingExtraError("rank-bm25", "rank-bm25", "bm25:backend=rank-bm25") from error
        method = settings.method or "okapi"
        model = getattr(rank_bm25, _RANK_BM25[method])
        parameters = {"k1": settings.k1, "b": settings.b}
        if method != "okapi":
            parameters["delta"] = settings.delta
        documents = list(map(list, zip(*tables, strict=True)))
        fields = zip(settings.field_weights(), documents, strict=True)
        self._models = [(w, model(field, **parameters)) for w, field in fields if any(field)]
        self._terms: list[set[str]] = [set().union(*table) for table in tables]
        self._tables = tables

    def save(self, folder: Path) -> None:
        write_json(folder / "tokens.json", self._tables)

    @classmethod
    def load(cls, settings: BM25, folder: Path) -> "_RankBM25Index":
        return cls(settings, read_json(folder / "tokens.json"))

    def rank(self, settings: BM25, queries: Sequence[str], k: int) -> Ranked:
        def scores(block: slice) -> NDArray[np.float64]:
            return np.stack([self._scores(settings._terms(q)) for q in queries[block]])

        return rank_scores(scores, len(queries), settings._ids, k)

    def _scores(self, query: list[str]) -> NDArray[np.float64]:
        """Return the weighted sum, 0 for tables that share no term (``plus`` scores those too)."""
        terms_of_query = set(query)
        shared = [not terms_of_query.isdisjoint(terms) for terms in self._terms]
        scores: NDArray[np.float64] = np.zeros(len(self._terms))
        for weight, model in self._models:
            scores += weight * model.get_scores(query)
        return scores * np.array(shared, dtype=np.float64)
