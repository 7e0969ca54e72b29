"""What speaks for each table of a database: words of its schema, its cells, vectors of its columns.

``SchemaWords`` and ``SchemaVectors`` give a matrix of questions and tables for each kind of
evidence, and one of questions and databases for each kind of evidence that a whole database gives.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from target_bench.core.schema import Corpus, RowLimit, Table
from target_bench.core.vectors import Vectors
from target_bench.data.table_text import (
    WORDS,
    Analyzer,
    distinct,
    first_rows,
    stop_words,
)
from target_bench.search.lexical.postings import Formula, Postings

Floats = NDArray[np.float64]
Evidence = dict[str, Floats]

WORD_KINDS = (
    *("bm25", "words", "rare_words", "columns", "long_columns", "name", "name_words"),
    *("cells", "cell_words", "descriptions"),
)
"""Kinds of evidence of words; all but ``bm25``, ``columns`` and ``cells`` are shares from 0 to 1.

``bm25`` is of name, columns and database as three fields. ``words`` is the share of the question's
words, weighed by how few tables have them, that the schema of the table has, ``rare_words`` the
same divided by how many tables of the database have the word, ``name_words``, ``cell_words`` and
``descriptions`` that of the name, of all cells, and of the descriptions of columns. ``columns`` are
those whose every word is in the question, each divided by how many tables have that column;
``long_columns`` counts one of n words as sqrt(n). ``name`` is the share of the words of the name
that the question has, ``cells`` sums up the weight of spans of one to six words that are cells.
"""

VECTOR_KINDS = ("table_cosine", "column_cosine", "phrases", "strong_phrases", "own_phrases")
"""Kinds of evidence of vectors.

``table_cosine`` is the cosine of question with name and columns, ``column_cosine`` with the best
column. A phrase is one to three words of the question; its cosine with a table is that with the
best column. ``phrases`` is its mean, ``strong_phrases`` the sum of squares above 0.4,
``own_phrases`` a sum of squares that are smaller where another table is nearer.
"""

_FORMULA = Formula("lucene", k1=1.2, b=0.75, delta=0.5, field_weights=(3.0, 1.0, 1.0))
_LONGEST_CELL = 6
_LONGEST_TEXT = 100
"""Characters of a cell that is read: longer ones are texts, whose words say little."""

_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")


def readable(name: str) -> str:
    """Return a name in lower case with spaces between its words: ``BuildingId`` -> building id."""
    return " ".join(re.sub(r"[\W_]+", " ", _CAMEL.sub(" ", name)).lower().split())


def name_of(table: Table) -> str:
    """Return the name of a table as people say it."""
    return readable(str(table.context.get("title") or table.id.table_id))


def columns_of(table: Table) -> list[str]:
    """Return the names of its columns as people say them."""
    return [readable(str(name)) for name in table.context.get("columns") or table.header]


def phrases_of(text: str) -> list[str]:
    """Return the phrases of one to three words that neither begin nor end with a stop word."""
    words, stop = _WORD.findall(text.lower()), stop_words("en")
    spans = (words[i : i + n] for n in (1, 2, 3) for i in range(len(words) - n + 1))
    return distinct(" ".join(s) for s in spans if s[0] not in stop and s[-1] not in stop)


class TablesByDatabase:
    """Which tables are in which database.

    Args:
        corpus: the tables.

    Attributes:
        names: of the databases, in the order of the corpus.
        of_tables: (tables,) the place of the database of each table.
    """

    def __init__(self, corpus: Corpus) -> None:
        names = [table_id.database_id for table_id in corpus.ids]
        self.names = distinct(names)
        places = {name: place for place, name in enumerate(self.names)}
        self.of_tables = np.array([places[name] for name in names], dtype=np.int64)
        self._order = np.argsort(self.of_tables, kind="stable")
        self._starts = np.searchsorted(self.of_tables[self._order], np.arange(len(self.names)))

    def best(self, values: Floats) -> Floats:
        """(n, tables) -> (n, databases) the largest value of each database."""
        best: Floats = np.maximum.reduceat(values[:, self._order], self._starts, axis=1)
        return best


class SchemaWords:
    """Evidence of words.

    Args:
        corpus: the tables.
        databases: of the corpus.
        rows: how many rows of each table are read for cells.
    """

    def __init__(self, corpus: Corpus, databases: TablesByDatabase, rows: RowLimit) -> None:
        from scipy.sparse import csr_matrix, diags

        self._content = Analyzer(WORDS, True, "en_plus", "english")
        self._every = Analyzer(WORDS, True, "none", "english")
        self._numbers: dict[str, int] = {}
        words = self._content
        names, columns, cells, cell_words, described = [], [], [], [], []
        for table in corpus:
            names.append(words(name_of(table)) + words(readable(table.id.table_id)))
            texts = dict.fromkeys([*columns_of(table), *map(readable, map(str, table.header))])
            columns.append([distinct(words(text)) for text in texts])
            described.append(words(" ".join(_descriptions(table))))
            of_table = self._cells(table, rows)
            cells.append(of_table[0])
            cell_words.append(of_table[1])
        in_columns = [[word for column in of_table for word in column] for of_table in columns]
        database_words = [words(readable(name)) for name in databases.names]
        of_databases = (database_words[place] for place in databases.of_tables)
        self._bm25 = Postings.build(zip(names, in_columns, of_databases, strict=True), _FORMULA)
        documents: list[list[list[str]]] = [[[], [], own] for own in database_words]
        for place, name, column in zip(databases.of_tables, names, in_columns, strict=True):
            documents[place][0].extend(name)
            documents[place][1].extend(column)
        self._database_bm25 = Postings.build(documents, _FORMULA)
        n, n_databases = len(names), len(databases.names)
        known = [[*a, *b] for a, b in zip(names, in_columns, strict=True)]
        signatures: dict[tuple[str, ...], int] = {}
        having = [
            (signatures.setdefault(column, len(signatures)), place)
            for place, of_table in enumerate(columns)
            for column in {tuple(sorted(words)): None for words in of_table if words}
        ]
        parts = [self._rows(texts) for texts in (known, names, cells, cell_words, described)]
        parts.append(self._rows(signatures))
        schema, name, cell, cell_word, description, signature = (self._matrix(p) for p in parts)
        in_database = csr_matrix(
            (np.ones(n), (databases.of_tables, np.arange(n))), shape=(n_databases, n)
        )
        counts = (in_database @ schema).tocsr()
        rare = schema.multiply(counts.power(-1)[databases.of_tables])
        has_any = (schema + cell + cell_word + description) > 0
        frequency = np.asarray(has_any.sum(axis=0), dtype=np.float64).ravel()
        self._weights = diags(np.log1p((n - frequency + 0.5) / (frequency + 0.5)))
        by_signature, places = np.array(having, dtype=np.int64).reshape(-1, 2).T
        shape = len(signatures), n
        has_column = csr_matrix((np.ones(len(places)), (by_signature, places)), shape=shape)
        self._lengths = np.diff(signature.indptr)
        shared = diags(1 / np.maximum(np.asarray(has_column.sum(axis=1)).ravel(), 1)) @ has_column
        self._columns = shared.tocsr(), (diags(np.sqrt(self._lengths)) @ shared).tocsr()
        self._name_lengths = np.maximum(np.diff(name.indptr), 1)
        by_term = {
            "schema": schema,
            "rare": rare,
            "names": name,
            "cells": cell,
            "cell_words": cell_word,
            "descriptions": description,
            "signatures": signature,
            "databases": counts > 0,
        }
        self._by_term = {
            kind: matrix.astype(np.float64).T.tocsr() for kind, matrix in by_term.items()
        }

    def _cells(self, table: Table, rows: RowLimit) -> tuple[list[str], list[str]]:
        """Return the texts of a table that are cells, each as one term, and their words."""
        texts = {cell for row in first_rows(table, rows) for cell in row if isinstance(cell, str)}
        cells, words = [], set()
        for text in texts:
            if len(text) < _LONGEST_TEXT:
                stems = self._every(text)
                if 0 < len(stems) <= _LONGEST_CELL and not text.replace(".", "").isdigit():
                    cells.append(_cell(stems))
                words.update(self._content(text))
        return cells, list(words)

    def _rows(self, texts: Iterable[Iterable[str]]) -> list[set[int]]:
        numbers = self._numbers
        return [{numbers.setdefault(term, len(numbers)) for term in terms} for terms in texts]

    def _matrix(self, rows: Sequence[Iterable[int]]) -> Any:
        """Build the (rows, terms) matrix of ones."""
        from scipy.sparse import csr_matrix

        ends = np.cumsum([0, *(len(list(row)) for row in rows)])
        terms = np.fromiter((n for row in rows for n in sorted(row)), np.int32, count=ends[-1])
        return csr_matrix((np.ones(len(terms)), terms, ends), shape=(len(rows), len(self._numbers)))

    def evidence(self, queries: Sequence[str]) -> tuple[Evidence, Evidence]:
        """Return the evidence of ``WORD_KINDS`` for tables, and that for databases."""
        words = [distinct(self._content(query)) for query in queries]
        query_words = self._matrix(list(map(self._known, words)))
        spans = self._matrix([self._known(self._spans(query)) for query in queries])
        weighed = query_words @ self._weights
        mass = np.maximum(np.asarray(weighed.sum(axis=1)), 1e-9)
        inside = (query_words @ self._by_term["signatures"]).tocoo()
        whole = inside.data > self._lengths[inside.col] - 0.5
        inside.data = whole.astype(np.float64)
        named = inside.tocsr()

        def summed(terms: Any, kind: str) -> Floats:
            matrix: Floats = (terms @ self._by_term[kind]).toarray()
            return matrix

        tables = {
            "bm25": _scores(self._bm25, words) / 10,
            "words": summed(weighed, "schema") / mass,
            "rare_words": summed(weighed, "rare") / mass,
            "columns": (named @ self._columns[0]).toarray(),
            "long_columns": (named @ self._columns[1]).toarray(),
            "name": summed(query_words, "names") / self._name_lengths,
            "name_words": summed(weighed, "names") / mass,
            "cells": summed(spans @ self._weights, "cells") / 10,
            "cell_words": summed(weighed, "cell_words") / mass,
            "descriptions": summed(weighed, "descriptions") / mass,
        }
        databases = {
            "bm25": _scores(self._database_bm25, words) / 10,
            "words": summed(weighed, "databases") / mass,
        }
        return tables, databases

    def _known(self, terms: Iterable[str]) -> set[int]:
        return {self._numbers[term] for term in terms if term in self._numbers}

    def _spans(self, query: str) -> set[str]:
        stems = self._every(query)
        starts, lengths = range(len(stems)), range(1, _LONGEST_CELL + 1)
        return {_cell(stems[i : i + n]) for n in lengths for i in starts if i + n <= len(stems)}


class SchemaVectors:
    """Evidence of vectors.

    Args:
        databases: of the corpus.
        tables: (tables, d) vectors of length 1 of name and columns.
        columns: (c, d) vectors of length 1 of all columns with the names of their tables.
        starts: (tables,) the place of the first column of each table; each has at least one.
    """

    def __init__(
        self,
        databases: TablesByDatabase,
        tables: Vectors,
        columns: Vectors,
        starts: NDArray[np.int64],
    ) -> None:
        self._databases = databases
        self._tables = tables
        self._columns = columns
        self._starts = starts

    def evidence(
        self, queries: Vectors, phrases: Sequence[Sequence[int]], vectors: Vectors
    ) -> tuple[Evidence, Evidence]:
        """Return the evidence of ``VECTOR_KINDS`` for tables, and that for databases.

        Args:
            queries: (n, d) vectors of length 1.
            phrases: for each query the places of its phrases.
            vectors: (p, d) vectors of length 1 of phrases.
        """
        from scipy.sparse import csr_matrix

        ends = np.cumsum([0, *map(len, phrases)])
        places = np.fromiter((p for of_query in phrases for p in of_query), np.int32, ends[-1])
        shape = len(queries), len(vectors)
        summed = csr_matrix((np.ones(len(places)), places, ends), shape=shape)
        mean = csr_matrix(
            (np.repeat(1 / np.maximum(np.diff(ends), 1), np.diff(ends)), places, ends), shape=shape
        )
        near = self._nearest(vectors)
        closeness = np.exp(20 * (near - near.max(axis=1, keepdims=True, initial=-1.0)))
        tables = {
            "table_cosine": queries @ self._tables.T,
            "column_cosine": self._nearest(queries),
            "phrases": mean @ near,
            "strong_phrases": summed @ np.maximum(near - 0.4, 0) ** 2,
            "own_phrases": summed @ (closeness * np.maximum(near, 0) ** 2) / 5,
        }
        return tables, {"phrases": mean @ self._databases.best(near)}

    def _nearest(self, vectors: Vectors) -> Floats:
        """Return the (n, tables) cosines with the best column of each table."""
        best: Floats = np.maximum.reduceat(vectors @ self._columns.T, self._starts, axis=1)
        return best


def _descriptions(table: Table) -> Iterable[str]:
    described: Mapping[str, object] = table.context.get("column_descriptions") or {}
    return map(str, described.values())


def _cell(stems: Sequence[str]) -> str:
    return f"={' '.join(stems)}"


def _scores(postings: Postings, words: Sequence[Sequence[str]]) -> Floats:
    terms = postings.queries(words)
    return np.hstack([(terms @ shard).toarray() for shard in postings.shards])
