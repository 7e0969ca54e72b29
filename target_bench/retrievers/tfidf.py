"""TF-IDF with cosine similarity."""

from collections.abc import Sequence
from dataclasses import dataclass

from target_bench.core.ranking import Ranking
from target_bench.core.schema import Corpus, Field, Format, RowLimit
from target_bench.data.languages import AnyLanguage, Language, Stemming, StopWords
from target_bench.data.table_text import WORDS, Analyzer, Serializer, list_languages
from target_bench.search.lexical.products import rank_product
from target_bench.search.lexical.tfidf_vectors import NGrams
from target_bench.search.nested import BatchRetriever

_PACKAGES: tuple[str, ...] = ("bm25s", "PyStemmer", "py3langid", "numpy", "scipy")


@dataclass(eq=False, repr=False)
class TfIdf(BatchRetriever):
    """Cosine of TF-IDF vectors over words and word n-grams.

    Args:
        fields: the parts of a table to index, as one text.
        rows: how many rows of each table to index: a number, ``all``, or ``auto``, which is all of
            a web table and the first 1,000 of a table in a database.
        format: how header and rows are written before they are split into tokens.
        ngram: the longest word n-gram; all shorter ones are counted too.
        sublinear: 1 + ln(tf) in place of tf.
        smooth_idf: ln((1 + N) / (1 + df)) + 1 in place of ln(N / df) + 1.
        hashed: hash n-grams into 2^24 buckets (DrQA, Chen et al. 2017, section 3.1) in place of
            keeping a vocabulary.
        tokens: the regular expression of a token.
        fold: remove accents.
        stopwords: bm25s' list of stop words to leave out: ``en_plus``, ``en`` or ``none``.
        stemmer: the Snowball stemmer, ``english`` or ``none``.
        language: of stop words and stemmer, unless they are ``none``; ``auto`` detects it.
    """

    packages = _PACKAGES  # without an annotation, so that it is no setting

    fields: Sequence[Field] = ("title", "section", "header", "rows")
    rows: RowLimit = "auto"
    format: Format = "text"
    ngram: int = 1
    sublinear: bool = True
    smooth_idf: bool = True
    hashed: bool = False
    tokens: str = WORDS
    fold: bool = False
    stopwords: StopWords = "en"
    stemmer: Stemming = "none"
    language: AnyLanguage = "auto"

    def __post_init__(self) -> None:
        if self.hashed:
            self.packages = ("scikit-learn", *self.packages)
        Serializer(tuple(self.fields), self.format, self.rows)
        self._ngrams = NGrams(
            self._analyzer(("en",)), self.ngram, self.sublinear, self.smooth_idf, self.hashed
        )

    def _analyzer(self, languages: Sequence[Language]) -> Analyzer:
        return Analyzer(self.tokens, self.fold, self.stopwords, self.stemmer, languages)

    def _start(self, corpus: Corpus) -> None:
        self._ids = corpus.ids
        self._ngrams.analyzer = self._analyzer(list_languages(corpus, self.language))

    def embed_corpus(self, corpus: Corpus) -> None:
        """Fit the weights on the tables and keep their vectors."""
        self._start(corpus)
        vectors = self._ngrams.fit(self._texts(corpus))
        self._tables = None if vectors is None else vectors.T.tocsr()

    def _texts(self, corpus: Corpus) -> list[str]:
        write = Serializer(tuple(self.fields), self.format, self.rows)
        return [write(table) for table in corpus]

    def retrieve_batch(self, queries: Sequence[str], top_k: int) -> Sequence[Ranking]:
        """Return the rankings of several queries, computed together."""
        if self._tables is None or not queries:
            return [[] for _ in queries]
        return rank_product(self._ngrams.vectors(queries), [self._tables], self._ids, top_k)
