"""Evidence that a table answers a query: words, numbers, phrases, whole cells, and the best row.

Each kind of evidence is the summed weight of the terms of the query that it finds in the table, as
a share of the weight of all words of the query that any table has. The weight of a term is BM25's
idf, ln(1 + (N - n + 0.5) / (n + 0.5)).
"""

import re
from array import array
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from target_bench.core.schema import Corpus, RowLimit, Table
from target_bench.data.highlights import cell_text
from target_bench.data.languages import Language, match_known_tokens
from target_bench.data.table_text import (
    WORDS,
    Analyzer,
    Serializer,
    deduplicate,
    first_rows,
)
from target_bench.search.lexical.postings import Formula, Postings

Floats = NDArray[np.float64]
Terms = frozenset[int]

KINDS = ("title", "all", "numbers", "title_phrases", "phrases", "cells", "row")
"""The kinds of evidence.

``title`` and ``all`` are BM25 scores, of the words of title, section and header, and of all words.
``numbers`` are numbers by their value, in title or cells. ``title_phrases`` are pairs of words that
stand together in title or section, ``phrases`` those that only stand together in a cell. ``cells``
are cells that the query names in full. ``row`` is the row with the largest sum: of its words that
title and header do not have, of its numbers that the title does not have, of its phrases and cells.
"""

_MATRICES = ("numbers", "title_phrases", "phrases", "cells")
_LONGEST_CELL = 6
_NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)*")
_CARDINALS = "zero one two three four five six seven eight nine ten eleven twelve"
_ORDINALS = "first second third fourth fifth sixth seventh eighth ninth tenth"
_SPELLED = {
    word: f"#{value}"
    for start, words in ((0, _CARDINALS), (1, _ORDINALS))
    for value, word in enumerate(words.split(), start)
}


class Texts:
    """Text -> the terms of each kind.

    Args:
        languages: whose stop words and stemmers are used.
    """

    def __init__(self, languages: Sequence[Language] = ("en",)) -> None:
        self._content = Analyzer(WORDS, True, "en_plus", "english", languages)
        self._every = Analyzer(WORDS, True, "none", "english", languages)

    def words(self, text: str) -> list[str]:
        """Return the stems without stop words."""
        return self._content(text)

    def phrases(self, text: str) -> list[str]:
        """Return pairs of neighbouring stems, with stop words and without them."""
        return [*_join_pairs(self._every(text)), *_join_pairs(self._content(text))]

    def cell(self, text: str) -> list[str]:
        """Return the cell as one term, if it is short."""
        stems = self._every(text)
        return [_join_cell(stems)] if 0 < len(stems) <= _LONGEST_CELL else []

    def possible_cells(self, query: str) -> list[str]:
        """Return all spans of a query that could be a short cell."""
        stems = self._every(query)
        spans = range(1, _LONGEST_CELL + 1)
        starts = range(len(stems))
        return [_join_cell(stems[i : i + n]) for n in spans for i in starts if i + n <= len(stems)]


def _join_pairs(stems: Sequence[str]) -> list[str]:
    return [f"{first} {second}" for first, second in pairwise(stems)]


def _join_cell(stems: Sequence[str]) -> str:
    return f"={' '.join(stems)}"


def table_numbers(text: str) -> list[str]:
    """Return numbers without thousands separators and leading zeros; decimals also undotted."""
    numbers = list(map(_normalise_number, _NUMBER.findall(text)))
    return [f"#{form}" for n in numbers for form in dict.fromkeys((n, n.replace(".", "")))]


def query_numbers(text: str) -> list[str]:
    """Return the numbers as in a table, and those up to twelve that are spelled out."""
    digits = [f"#{_normalise_number(number)}" for number in _NUMBER.findall(text)]
    return digits + [_SPELLED[w] for w in re.findall("[a-z]+", text.lower()) if w in _SPELLED]


def _normalise_number(number: str) -> str:
    return number.replace(",", "").lstrip("0") or "0"


class Evidence:
    """The terms of all tables and of all rows, as sparse matrices.

    Args:
        corpus: the tables.
        rows: how many rows of each are read.
        languages: whose stop words and stemmers are used.
    """

    def __init__(
        self, corpus: Corpus, rows: RowLimit, languages: Sequence[Language] = ("en",)
    ) -> None:
        self._texts = Texts(languages)
        self._names = self._index_words(corpus, Serializer(("title", "section", "header")))
        self._all = self._index_words(
            corpus, Serializer(("title", "section", "header", "rows"), rows=rows)
        )
        tables = _TableTerms(self._texts)
        for table in corpus:
            tables.add(table, rows)
        self._vocabulary = tables.vocabulary
        n, n_tables = len(tables.vocabulary), len(tables.starts)
        # Matrices of ones: (terms, tables), and (terms, rows) with at least one row a table.
        self._matrices = [tables.columns[name].matrix(n) for name in _MATRICES]
        self._rows = tables.columns["rows"].matrix(n)
        self._starts = np.array(tables.starts, dtype=np.int64)
        n_with_term = np.bincount(np.array(tables.columns["any"].terms, np.int64), minlength=n)
        self._weights = _weigh_rarity(n_with_term, n_tables)
        shards = self._all.shards
        n_with_word = sum((np.diff(shard.indptr) for shard in shards), np.zeros(1, dtype=np.int64))
        self._word_weights = _weigh_rarity(n_with_word, n_tables)

    def _index_words(self, corpus: Corpus, write: Serializer) -> Postings:
        formula = Formula("lucene", k1=0.5, b=0.75, delta=0.5, field_weights=(1.0,))
        return Postings.build(([self._texts.words(write(table))] for table in corpus), formula)

    @property
    def n_rows(self) -> int:
        """Rows of all tables."""
        return int(self._rows.shape[1])

    def features(self, queries: Sequence[str]) -> list[Floats]:
        """Return the (queries, tables) evidence of each of ``KINDS``."""
        words = list(map(self._words, queries))
        by_kind = []
        for postings in (self._names, self._all):
            terms = postings.build_query_matrix(words)
            by_kind.append(np.hstack([(terms @ shard).toarray() for shard in postings.shards]))
        weighted = self._weigh_terms(queries, words)
        by_kind += [(weighted @ matrix).toarray() for matrix in self._matrices]
        rows = (weighted @ self._rows).toarray()
        by_kind.append(np.maximum.reduceat(rows, self._starts, axis=1))
        query_weights = self.weigh_queries(words)[:, None]
        unit = np.where(query_weights > 0, query_weights, 1.0)
        return [kind / unit for kind in by_kind]

    def weigh_queries(self, words: Sequence[Sequence[str]]) -> Floats:
        """Return the summed weight of each query's words that any table has."""
        weights: Floats = self._all.build_query_matrix(words) @ self._word_weights
        return weights

    def _words(self, query: str) -> Sequence[str]:
        """Return the distinct stems; where no table has any, those of ``match_known_tokens``."""
        return match_known_tokens(deduplicate(self._texts.words(query)), self._all.vocabulary)

    def _weigh_terms(self, queries: Sequence[str], words: Sequence[Sequence[str]]) -> Any:
        """Build the (queries, terms) CSR matrix of the weights of the queries' terms."""
        from scipy.sparse import csr_matrix

        columns, ends = array("i"), array("i", [0])
        texts, vocabulary = self._texts, self._vocabulary
        for query, stems in zip(queries, words, strict=True):
            terms = [*stems, *texts.words(query), *query_numbers(query)]
            terms += [*texts.phrases(query), *texts.possible_cells(query)]
            columns.extend(sorted({vocabulary[term] for term in terms if term in vocabulary}))
            ends.append(len(columns))
        indices = np.array(columns, dtype=np.int32)
        shape = len(queries), len(self._weights)
        return csr_matrix((self._weights[indices], indices, np.array(ends)), shape=shape)


def _weigh_rarity(n_with: NDArray[np.int64], n_tables: int) -> Floats:
    weights: Floats = np.log1p((n_tables - n_with + 0.5) / (n_with + 0.5))
    return weights


class _TableTerms:
    """The terms of the tables so far: of each kind, of each row, and of all together."""

    def __init__(self, texts: Texts) -> None:
        self._texts = texts
        self.vocabulary: dict[str, int] = {}
        self.columns = {name: _Columns() for name in (*_MATRICES, "rows", "any")}
        self.starts = array("q")  # the first row of each table
        self._cell = lru_cache(maxsize=100_000)(self._read_cell)

    def add(self, table: Table, limit: RowLimit) -> None:
        """Read one table."""
        texts, numbers, columns = self._texts, self._numbers, self.columns
        title = [str(table.context.get(key) or "") for key in ("title", "section_title")]
        title_words = numbers(word for text in title for word in texts.words(text))
        title_numbers = numbers(n for text in title for n in table_numbers(text))
        title_phrases = numbers(pair for text in title for pair in texts.phrases(text))
        above = (
            title_words | title_numbers | numbers(w for h in table.header for w in texts.words(h))
        )
        self.starts.append(len(columns["rows"]))
        in_table: list[set[int]] = [set(), set(), set(), set()]
        words, cell_numbers, phrases, cells = in_table
        rows = first_rows(table, limit)
        for row in rows:
            in_row: set[int] = set()
            for text in map(cell_text, row):
                for found, in_cell in zip(in_table, self._cell(text), strict=True):
                    found |= in_cell
                    in_row |= in_cell
            columns["rows"].add(in_row - above)
        if not rows:
            columns["rows"].add(())
        columns["numbers"].add(cell_numbers | title_numbers)
        columns["title_phrases"].add(title_phrases)
        columns["phrases"].add(phrases - title_phrases)
        columns["cells"].add(cells)
        columns["any"].add(above | title_phrases | words | cell_numbers | phrases | cells)

    def _read_cell(self, text: str) -> tuple[Terms, Terms, Terms, Terms]:
        """Return words, numbers, phrases, and the cell itself."""
        texts, numbers = self._texts, self._numbers
        return (
            numbers(texts.words(text)),
            numbers(table_numbers(text)),
            numbers(texts.phrases(text)),
            numbers(texts.cell(text)),
        )

    def _numbers(self, terms: Iterable[str]) -> Terms:
        vocabulary = self.vocabulary
        return frozenset(vocabulary.setdefault(term, len(vocabulary)) for term in terms)


class _Columns:
    """Sets of terms, as the columns of a matrix of ones."""

    def __init__(self) -> None:
        self.terms = array("i")
        self._ends = array("q", [0])

    def __len__(self) -> int:
        return len(self._ends) - 1

    def add(self, terms: Iterable[int]) -> None:
        self.terms.extend(sorted(terms))
        self._ends.append(len(self.terms))

    def matrix(self, n_terms: int) -> Any:
        """Build the (terms, columns) CSR matrix."""
        from scipy.sparse import csr_matrix

        indices = np.array(self.terms, dtype=np.int32)
        rows = (np.ones(len(indices)), indices, np.array(self._ends))
        return csr_matrix(rows, shape=(len(self), n_terms)).T.tocsr()
