"""BM25F: the fields of a table count together before a term's frequency saturates.

Robertson, Zaragoza and Taylor, CIKM 2004 (weights on term frequencies), with length normalisation
in each field as in Zaragoza et al., TREC-13; both in Robertson and Zaragoza 2009, section 3.6:

    tf(t, d) = sum over fields f of  w_f * tf(t, d, f) / (1 - b_f + b_f * |d_f| / average |f|)
    score(q, d) = sum over terms t of q of  idf(t) * tf(t, d) / (k1 + tf(t, d))

with idf(t) = ln(1 + (N - n + 0.5) / (n + 0.5)), n of N tables having the term in any field.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from target_bench.core.errors import ConfigError
from target_bench.core.schema import Corpus, Format, RowLimit
from target_bench.data.languages import AnyLanguage, Stemming, StopWords
from target_bench.data.table_text import WORDS, distinct, serializers
from target_bench.retrievers.bm25 import BM25, Fields
from target_bench.search.lexical.postings import Counted, Postings, Weighing

EACH_PART: Fields = (("title",), ("section",), ("header",), ("rows",))
"""The default fields: each part of a table by itself."""


class BM25F(BM25):
    """BM25 over fields whose term frequencies are added up before they saturate.

    A term that is in several fields counts as one term that is more frequent, where ``bm25`` adds
    up the fields' scores and so counts it several times. Weights, ``k1`` and ``b`` were chosen on
    the validation splits of FeTaQA and TabFact.

    Args:
        fields: one list of parts for one field, a list of lists for several.
        weights: one weight per field; default: (8, 4, 4, 1) for the default fields, else 1 each.
        rows: how many rows of each table to index: a number, ``all``, or ``auto``, which is all of
            a web table and the first 1,000 of a table in a database.
        format: how header and rows are written before they are split into tokens.
        k1: saturation of the weighted term frequency.
        b: strength of length normalisation: one for all fields, or one a field.
        tokens: the regular expression of a token.
        fold: leave accents off.
        stopwords: bm25s' list of stop words to leave out: ``en_plus``, ``en`` or ``none``.
        stemmer: the Snowball stemmer, ``english`` or ``none``.
        language: of the words: what is not ``none`` of the two before is then of this language;
            ``auto`` tells it from the tables.
        unique_terms: count each query term once, however often the query repeats it.

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
        language: AnyLanguage = "en",
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
        return Combined(self.k1, tuple(self._field_b()), tuple(self.field_weights()))

    def _postings(self, corpus: Corpus) -> Postings:
        return Postings.build(self._tokens(corpus), self._formula(), self._memory)

    def _tokens(self, corpus: Corpus) -> Iterator[list[list[str]]]:
        """Yield the tokens of the fields; as a last field each term of the table once.

        In how many tables that field has a term is in how many tables the term is.
        """
        weights = self.field_weights()
        for fields in super()._tokens(corpus):
            counted = (tokens for tokens, weight in zip(fields, weights, strict=True) if weight)
            yield [*fields, distinct(token for tokens in counted for token in tokens)]


@dataclass(frozen=True, slots=True)
class Combined:
    """The parameters of BM25F.

    Attributes:
        k1: saturation.
        b: of each field.
        field_weights: of each field.
    """

    k1: float
    b: tuple[float, ...]
    field_weights: tuple[float, ...]

    @property
    def n_fields(self) -> int:
        """The fields, and one for the terms of all of them."""
        return len(self.field_weights) + 1

    def weigher(self, fields: Sequence[Counted], n_tables: int, n_terms: int) -> "_Weigher":
        """Return the function that turns the counts of a corpus into weights."""
        return _Weigher(self, fields, n_tables, n_terms)


class _Weigher:
    """Counts -> weights, by the formula of this module."""

    def __init__(
        self, formula: Combined, fields: Sequence[Counted], n_tables: int, n_terms: int
    ) -> None:
        self._formula = formula
        self._n_terms = n_terms
        self._average = [counted.n_tokens / max(1, n_tables) for counted in fields]
        found = fields[-1].frequencies
        self._idf = np.log1p((n_tables - found + 0.5) / (found + 0.5))
        self.absent = np.zeros(n_terms)

    def piece(self, fields: Sequence[Any]) -> Any:
        """Return (tables, terms) weights of consecutive tables from the counts of their fields."""
        from scipy.sparse import csr_matrix

        shape = fields[0].shape[0], self._n_terms
        total = csr_matrix(shape)
        for number, weight in enumerate(self._formula.field_weights):
            if self._average[number] and weight:  # else no table has such a field
                total += weight * self._normalised(number, fields[number], shape)
        k1 = self._formula.k1
        total.data = self._idf[total.indices] * total.data / (k1 + total.data)
        return total

    def _normalised(self, number: int, counts: Any, shape: tuple[int, int]) -> Any:
        """Return the term frequencies of one field, over its length relative to the average."""
        from scipy.sparse import csr_matrix

        b = self._formula.b[number]
        lengths = np.asarray(counts.sum(axis=1)).ravel() / self._average[number]
        with np.errstate(divide="ignore"):  # an empty field, with b=1: it has no term to divide
            data = counts.data / np.repeat(1 - b + b * lengths, np.diff(counts.indptr))
        return csr_matrix((data, counts.indices, counts.indptr), shape=shape)
