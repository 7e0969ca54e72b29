# SPDX-License-Identifier: Apache-2.0
"""The set of tables that a question over databases needs, by logistic regressions.

What speaks for a table are words of its schema, its cells, and vectors of its columns; tables are
joined by declared foreign keys, or else by names of columns.
"""

import hashlib
import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain, combinations
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from target_bench import ConfigError, Corpus, Ranked, Retriever, Table, Vectors
from target_bench.plugin_tools import (
    WORDS,
    Analyzer,
    Encoding,
    Formula,
    Postings,
    Ranking,
    RowLimit,
    best_cosines,
    first_rows,
    stop_words,
)

Floats = NDArray[np.float64]
Evidence = dict[str, Floats]

WEIGHTS_FILE = "sets_weights.json"
"""The learned weights, beside this file; ``benchmarks/sets_weights.py`` writes it."""

WEIGHTS = ("spider+bird", "bird", "spider")
"""What weights were learned from, in the order of preference."""

_CELLS = 2_000_000
"""Numbers of evidence held at a time, and of cosines of phrases with columns."""
_LARGEST = 64.0
"""Of the logarithm of a probability: it is brought to the scale of cosines, a power of two."""
_UNJOINED = -12.0
"""The evidence of the best joined table, where a table joins none."""


_LARGE_POOL = 800
"""Tables above which the default share is said to give small sets: ten times those it is from."""

_NO_DATABASE = "0"
"""The database of tables that are in none."""

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

_FORMULA = Formula("lucene", k1=1.2, b=0.75, delta=0.5, field_weights=(3.0, 1.0, 1.0))
_LONGEST_CELL = 6
_LONGEST_TEXT = 100
"""Characters of a cell that is read: longer ones are texts, whose words say little."""

_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")
_MOST_TABLES = 100
"""Columns in more tables of a database than this join nothing: their weight is below 0.01."""

_KEY = re.compile(r"_(?:id|key|code|uuid|no|num|number|sk|guid|pk|fk)s?$")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


@dataclass(eq=False, repr=False)
class Sets(Retriever):
    """The tables that a question needs, as many as their probabilities speak for.

    Needs: extra dense and MiniLM (download), or `encoder=none`.

    Three regressions: evidence of words, cells and vectors -> a first score of each table; the best
    scores and the evidence of a whole database -> the probability of each database; evidence within
    the database and the tables that a table joins -> the probability that a table is needed if its
    database is. The score is the product of the two probabilities. No language model is asked.

    Trained on: questions of Spider and BIRD, see ``weights``. A run says which.

    Args:
        encoder: turns question, phrases, tables and columns into vectors: as written on the command
            line, or an object; ``none`` goes by words alone. Weights were learned with MiniLM.
        share: tables with at least this share of the first one's probability are returned; 0
            returns all. Default: that of the weights, with the best F2 on what they were learned
            from. Pools there had 75 to 80 tables: in a larger one it returns too few.
        size: return this many tables of each question in place of a share.
        weights: ``spider``, ``bird``, ``spider+bird``: the questions that they were learned from;
            ``auto`` takes the largest of which no table is in the corpus.
        rows: how many rows of each table are read: a number, ``all``, or ``auto``, which is all of
            a web table and the first 1,000 of a table in a database.
        cache: keep embeddings on disk, and look there first.

    Raises:
        ConfigError: the encoder cannot be built, or a setting is invalid.
    """

    packages = ("bm25s", "PyStemmer", "numpy", "scipy")
    queries_at_once: ClassVar[int] = 512

    encoder: Any = "minilm"
    share: float | None = None
    size: int | None = None
    weights: str = "auto"
    rows: RowLimit = "auto"
    cache: bool = True

    def __post_init__(self) -> None:
        if self.share is not None and not 0 <= self.share <= 1:
            raise ConfigError(f"share={self.share}: a share of the first probability, from 0 to 1")
        if self.size is not None and (self.size < 1 or self.share is not None):
            raise ConfigError(f"size={self.size}: a number of tables from 1, without share")
        if self.weights not in ("auto", *WEIGHTS):
            raise ConfigError(f"weights={self.weights}: expected auto, {', '.join(WEIGHTS)}")
        self.returns_sets = self.share != 0  # which ranks all tables
        self._encoding = (
            None if self.encoder in ("none", None) else Encoding(self.encoder, self.cache)
        )

    def parts(self) -> Mapping[str, object]:
        """Return the encoder, if there is one."""
        return {"encoder": self._encoding.encoder} if self._encoding else {}

    def config(self) -> Mapping[str, Any]:
        """Return the settings that can change a ranking, the learned weights among them."""
        settings = {name: value for name, value in super().config().items() if name != "cache"}
        content = (Path(__file__).parent / WEIGHTS_FILE).read_bytes()
        return {**settings, "learned": hashlib.sha256(content).hexdigest()[:16]}

    def notes(self) -> Sequence[str]:
        """List where the weights are from, why sets are small, and the notes of the encoder."""
        small = []
        n_tables, depth = len(self._ids), max(self._full, default=0)
        if self.share is None and self.size is None and n_tables > _LARGE_POOL:
            small.append(
                f"the default share, learned in pools of 75 to 80 tables, finds few of these "
                f"{n_tables:,}; size=20 returns 20"
            )
        if n_full := self._full.get(depth):
            small.append(
                f"as many tables as --top-k allows ({depth}) are returned for {n_full:,} queries: "
                "a larger cutoff, as in --top-k 1,50, gives larger sets"
            )
        return [self.learned_from, *small, *(self._encoding.notes() if self._encoding else ())]

    def embed_corpus(self, corpus: Corpus) -> None:
        """Read names, columns, cells and keys of all tables, and encode tables and columns."""
        self._read(corpus)
        if self._encoding is None or not len(corpus):
            return
        tables = [f"{name_of(table)}: {', '.join(columns_of(table))}" for table in corpus]
        columns = [
            [f"{name_of(table)} {column}" for column in columns_of(table) or [""]]
            for table in corpus
        ]
        self._encoding.begin_corpus()
        flat = [text for of_table in columns for text in of_table]
        starts = np.cumsum([0, *map(len, columns)])[:-1]
        self._index = self._encoding.tables(tables), self._encoding.tables(flat), starts

    def _read(self, corpus: Corpus) -> None:
        self._ids = corpus.ids
        self._full: dict[int, int] = {}  # cutoff -> sets that it may have cut
        self.databases = _TablesByDatabase(corpus)
        self._words = _SchemaWords(corpus, self.databases, self.rows)
        self.joined = _Joined(corpus)
        self.choose_weights(corpus)

    def choose_weights(self, corpus: Corpus) -> None:
        """Take the weights for these tables."""
        named, self.learned_from = _choose_weights(corpus, self.weights)
        values = learned_weights()["weights"][named]["minilm" if self._encoding else "none"]
        arrays = (np.array(values[name]) for name in _Regressions._fields[1:])
        self.model = _Regressions(values["share"], *arrays)

    def retrieve(self, query: str, top_k: int) -> Ranking:
        """Return the set of a question."""
        return self.retrieve_batch([query], top_k)[0]

    def retrieve_batch(self, queries: Sequence[str], top_k: int) -> Sequence[Ranking]:
        """Return the sets of several queries, each with its ``top_k`` best tables at most."""
        if not len(self._ids) or not queries or top_k < 1:
            return [[] for _ in queries]
        most = min(top_k, self.size or top_k)
        parts = zip(*(self._best(e, most) for e in self.evidence(queries)), strict=True)
        rows, probabilities = map(np.concatenate, parts)
        is_cut = self.returns_sets and top_k < min(self.size or len(self._ids), len(self._ids))
        n_full = int((rows >= 0).all(axis=1).sum()) if is_cut else 0
        self._full[top_k] = self._full.get(top_k, 0) + n_full
        return Ranked(self._ids, rows, probabilities)

    def _best(self, evidence: "_QueryEvidence", k: int) -> tuple[NDArray[np.int64], Floats]:
        """Return the best tables of some queries, -1 after the last, and their probabilities."""
        logs = self.model.log_probabilities(evidence, self.databases, self.joined)
        rows, values = best_cosines(logs / _LARGEST, k)
        speaks = np.any([kind.any(axis=1) for kind in evidence.tables.values()], axis=0)
        probabilities = np.where(speaks[:, None], np.exp(values * _LARGEST), 0.0)
        filled = np.repeat(speaks[:, None], rows.shape[1], axis=1)
        default = self.model.share if self.size is None else 0.0
        share = default if self.share is None else self.share
        kept = filled & (probabilities >= share * probabilities[:, :1])
        return np.where(kept, rows, -1), np.where(kept, probabilities, 0.0)

    def evidence(self, queries: Sequence[str]) -> Iterator["_QueryEvidence"]:
        """Yield the evidence of some of the queries after the other, for tables and databases."""
        size = max(1, _CELLS // (60 * len(self._ids)))
        for start in range(0, len(queries), size):
            block = queries[start : start + size]
            tables, databases = self._words.evidence(block)
            if self._encoding is not None:
                for own, more in zip((tables, databases), self._vectors(block), strict=True):
                    own.update(more)
            yield _QueryEvidence(tables, databases)

    def _vectors(self, queries: Sequence[str]) -> tuple[Evidence, Evidence]:
        assert self._encoding is not None
        index = _SchemaVectors(self.databases, *self._index)
        phrases = list(map(phrases_of, queries))
        places = {text: n for n, text in enumerate(dict.fromkeys(t for p in phrases for t in p))}
        d = self._index[0].shape[1]
        vectors = self._encoding.queries([*queries, *places], d)
        numbers = [[places[text] for text in of_query] for of_query in phrases]
        return index.evidence(vectors[: len(queries)], numbers, vectors[len(queries) :])


class _TablesByDatabase:
    """Which tables are in which database.

    Args:
        corpus: the tables.

    Attributes:
        names: of the databases, in the order of the corpus.
        of_tables: (tables,) the place of the database of each table.
    """

    def __init__(self, corpus: Corpus) -> None:
        names = [table_id.database_id for table_id in corpus.ids]
        self.names = _distinct(names)
        places = {name: place for place, name in enumerate(self.names)}
        self.of_tables = np.array([places[name] for name in names], dtype=np.int64)
        self._order = np.argsort(self.of_tables, kind="stable")
        self._starts = np.searchsorted(self.of_tables[self._order], np.arange(len(self.names)))

    def best(self, values: Floats) -> Floats:
        """(n, tables) -> (n, databases) the largest value of each database."""
        best: Floats = np.maximum.reduceat(values[:, self._order], self._starts, axis=1)
        return best


class _QueryEvidence(NamedTuple):
    """Evidence of some queries: for each kind (n, tables), and for each kind (n, databases)."""

    tables: Evidence
    databases: Evidence


class _Joined:
    """Which tables each table joins."""

    def __init__(self, corpus: Corpus) -> None:
        joins = join_weights(corpus)
        self._having = np.flatnonzero(np.diff(joins.indptr))
        self._starts, self._joined = joins.indptr[self._having], joins.indices

    def best(self, values: Floats, otherwise: float) -> Floats:
        """(n, tables) -> (n, tables) the largest value of the tables that each one joins."""
        best = np.full(values.shape, otherwise)
        if len(self._having):
            best[:, self._having] = np.maximum.reduceat(values[:, self._joined], self._starts, 1)
        return best


class _Regressions(NamedTuple):
    """The learned weights.

    Attributes:
        share: the default of ``Sets``.
        first: of ``first_inputs``, and as the last one the constant.
        database: of ``database_inputs``.
        table: of ``table_inputs``, and as the last one the constant.
    """

    share: float
    first: Floats
    database: Floats
    table: Floats

    def log_probabilities(
        self, evidence: _QueryEvidence, databases: _TablesByDatabase, joined: _Joined
    ) -> Floats:
        """Return (n, tables) logarithms of the probability that a table is needed."""
        from scipy.special import log_expit, log_softmax

        scores = linear(first_inputs(evidence.tables), self.first)
        inputs = database_inputs(scores, evidence.databases, databases)
        of_databases = log_softmax(inputs @ self.database, axis=1)
        inside = table_inputs(scores, evidence.tables, databases, joined)
        logs: Floats = of_databases[:, databases.of_tables] + log_expit(linear(inside, self.table))
        return logs


def linear(inputs: Floats, weights: Floats) -> Floats:
    """Return the weighted sums of (..., k) inputs, the last of the k + 1 weights added."""
    sums: Floats = inputs @ weights[:-1] + weights[-1]
    return sums


def first_inputs(tables: Evidence) -> Floats:
    """Return (n, tables, k): all evidence, and how it compares with the best table's."""
    inputs = []
    for kind, values in tables.items():
        best = values.max(axis=1, keepdims=True)
        inputs += [values, values / np.maximum(best, 1e-9)]
        if kind in _COMPARED_BY_DIFFERENCE:
            inputs.append(values - best)
    return np.stack(inputs, axis=-1)


_COMPARED_BY_DIFFERENCE = (
    *("bm25", "table_cosine", "column_cosine", "phrases", "strong_phrases", "own_phrases"),
)


def database_inputs(scores: Floats, evidence: Evidence, databases: _TablesByDatabase) -> Floats:
    """Return (n, databases, k): the best first score, the mean of the best two, the evidence."""
    best = databases.best(scores)
    others = np.where(scores < best[:, databases.of_tables], scores, -np.inf)
    second = databases.best(others)
    second = np.where(np.isfinite(second), second, best)
    inputs = [best, (best + second) / 2]
    for values in evidence.values():
        inputs += [values, values / np.maximum(values.max(axis=1, keepdims=True), 1e-9)]
    return np.stack(inputs, axis=-1)


def table_inputs(
    scores: Floats, tables: Evidence, databases: _TablesByDatabase, joined: _Joined
) -> Floats:
    """Return (n, tables, k): the evidence for a table if its database is the right one.

    The first score, how far it is below the best of the database, whether it is that or joins it,
    the best score of a table that it joins; and all evidence, and its share of the database's best.
    """
    below = scores - databases.best(scores)[:, databases.of_tables]
    first = (below > -1e-9).astype(np.float64)
    inputs = [scores, below, first, joined.best(first, 0.0), joined.best(scores, _UNJOINED)]
    for values in tables.values():
        best = databases.best(values)[:, databases.of_tables]
        inputs += [values, values / np.maximum(best, 1e-9)]
    return np.stack(inputs, axis=-1)


def schema_digest(table: Table) -> str:
    """Return a hash of name and columns, by which a table is known under any database."""
    text = json.dumps(
        [table.id.table_id.lower(), sorted(str(name).lower() for name in table.header)]
    )
    return hashlib.blake2b(text.encode(), digest_size=6).hexdigest()


@cache
def learned_weights() -> Any:
    """Return the file of weights: ``titles``, digests of ``tables``, and ``weights`` by name."""
    return json.loads((Path(__file__).parent / WEIGHTS_FILE).read_text(encoding="ascii"))


def _choose_weights(corpus: Corpus, named: str) -> tuple[str, str]:
    """Return the name of the weights for a corpus, and a note on their source."""
    digests, learned = set(map(schema_digest, corpus)), learned_weights()
    n_met = {
        name: sum(len(digests.intersection(learned["tables"][part])) for part in name.split("+"))
        for name in WEIGHTS
    }
    if named == "auto":
        named = next((name for name in WEIGHTS if not n_met[name]), "")
    if not named:
        raise ConfigError(
            "weights=auto: this corpus has tables of Spider and of BIRD, and all weights were "
            "learned from one of them; name one, as in weights=bird, and say so with the figures"
        )
    titles = " and ".join(learned["titles"][part] for part in named.split("+"))
    met = f", {n_met[named]:,} of whose tables are in this corpus" if n_met[named] else ""
    return named, f"weights learned from {titles}{met}"


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
    return _distinct(" ".join(s) for s in spans if s[0] not in stop and s[-1] not in stop)


class _SchemaWords:
    """Evidence of words.

    Args:
        corpus: the tables.
        databases: of the corpus.
        rows: how many rows of each table are read for cells.
    """

    def __init__(self, corpus: Corpus, databases: _TablesByDatabase, rows: RowLimit) -> None:
        from scipy.sparse import csr_matrix, diags

        self._content = Analyzer(WORDS, True, "en_plus", "english")
        self._every = Analyzer(WORDS, True, "none", "english")
        self._numbers: dict[str, int] = {}
        words = self._content
        names, columns, cells, cell_words, described = [], [], [], [], []
        for table in corpus:
            names.append(words(name_of(table)) + words(readable(table.id.table_id)))
            texts = dict.fromkeys([*columns_of(table), *map(readable, map(str, table.header))])
            columns.append([_distinct(words(text)) for text in texts])
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
        words = [_distinct(self._content(query)) for query in queries]
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


class _SchemaVectors:
    """Evidence of vectors.

    Args:
        databases: of the corpus.
        tables: (tables, d) vectors of length 1 of name and columns.
        columns: (c, d) vectors of length 1 of all columns with the names of their tables.
        starts: (tables,) the place of the first column of each table; each has at least one.
    """

    def __init__(
        self,
        databases: _TablesByDatabase,
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
        """Return the evidence for tables, by its kind, and that for databases.

        ``table_cosine`` is the cosine of question with name and columns, ``column_cosine`` with the
        best column. A phrase is one to three words of the question; its cosine with a table is that
        with the best column. ``phrases`` is its mean, ``strong_phrases`` the sum of squares above
        0.4, ``own_phrases`` a sum of squares that are smaller where another table is nearer.

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


def _distinct(texts: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(texts))


def _descriptions(table: Table) -> Iterable[str]:
    described: Mapping[str, object] = table.context.get("column_descriptions") or {}
    return map(str, described.values())


def _cell(stems: Sequence[str]) -> str:
    return f"={' '.join(stems)}"


def _scores(postings: Postings, words: Sequence[Sequence[str]]) -> Floats:
    terms = postings.build_query_matrix(words)
    return np.hstack([(terms @ shard).toarray() for shard in postings.shards])


@dataclass(frozen=True, slots=True)
class _Schema:
    """A table as joins see it: its row in the corpus, names, columns and foreign keys."""

    place: int
    names: tuple[str, str]
    columns: frozenset[str]
    foreign_keys: tuple[str, ...]


def join_weights(corpus: Corpus) -> Any:
    """Return how well each pair of tables can be joined.

    Foreign keys that a database declares weigh 1, in both directions. In a database that declares
    none, a column such as ``building_id`` joins the table ``buildings`` with the weight 1, and a
    column of one name in n tables joins these with 1 / (n - 1). Tables in no database join nothing.

    Returns:
        (n, n) symmetric CSR matrix of weights from 0 to 1, with an empty diagonal.
    """
    from scipy.sparse import csr_matrix

    weights: dict[tuple[int, int], float] = {}
    for left, right, weight in chain.from_iterable(map(_joins, _databases(corpus).values())):
        if left != right and weight > weights.get((left, right), 0):
            weights[left, right] = weights[right, left] = weight
    places = np.array(list(weights), dtype=np.int64).reshape(-1, 2)
    values = np.array(list(weights.values()))
    shape = (len(corpus), len(corpus))
    return csr_matrix((values, (places[:, 0], places[:, 1])), shape=shape)


def _databases(corpus: Corpus) -> dict[str, list[_Schema]]:
    by_database: dict[str, list[_Schema]] = defaultdict(list)
    for place, table in enumerate(corpus):
        if table.id.database_id != _NO_DATABASE:
            by_database[table.id.database_id].append(_schema(place, table))
    return by_database


def _schema(place: int, table: Table) -> _Schema:
    title = str(table.context.get("title") or table.id.table_id).rpartition(".")[2]
    declared = table.context.get("foreign_keys") or ()
    return _Schema(
        place,
        (table.id.table_id.lower(), title.lower()),
        frozenset(map(_words, table.header)),
        tuple(str(key[1]).lower() for key in declared if len(key) == 2),
    )


def _joins(schemas: Sequence[_Schema]) -> Iterator[tuple[int, int, float]]:
    """Yield the joins of a database; a pair may come again with another weight."""
    declared = list(_declared(schemas))
    yield from declared
    if not declared:
        yield from _referred(schemas)
        yield from _shared(schemas)


def _declared(schemas: Sequence[_Schema]) -> Iterator[tuple[int, int, float]]:
    places = {name: schema.place for schema in schemas for name in reversed(schema.names)}
    for schema in schemas:
        for key in schema.foreign_keys:
            place = places.get(key, places.get(key.rpartition(".")[0]))
            if place not in (None, schema.place):
                yield schema.place, place, 1.0


def _referred(schemas: Sequence[_Schema]) -> Iterator[tuple[int, int, float]]:
    """Yield joins of a column such as ``building_id`` with a table such as ``buildings``."""
    named: dict[str, list[int]] = defaultdict(list)
    for schema in schemas:
        named[_singular(_words(schema.names[1]))].append(schema.place)
    for schema in schemas:
        for column in schema.columns:
            key = _KEY.search(column)
            for place in named.get(_singular(column[: key.start()]), ()) if key else ():
                yield schema.place, place, 1.0


def _shared(schemas: Sequence[_Schema]) -> Iterator[tuple[int, int, float]]:
    """Yield joins of columns of one name: the fewer tables have it, the more it says."""
    having: dict[str, list[int]] = defaultdict(list)
    for schema in schemas:
        for column in schema.columns:
            having[column].append(schema.place)
    for places in having.values():
        if 1 < len(places) <= _MOST_TABLES:
            for left, right in combinations(places, 2):
                yield left, right, 1 / (len(places) - 1)


def _words(name: str) -> str:
    """Return a name in lower case, with ``_`` between its words: ``BuildingId`` -> building_id."""
    return re.sub(r"[\s\-]+", "_", _HUMP.sub("_", name.strip())).lower()


def _singular(name: str) -> str:
    """Return a name with each of its words in the singular, by the regular endings of English."""
    return "_".join(map(_singular_word, name.split("_")))


def _singular_word(word: str) -> str:
    if word.endswith("ies") and len(word) > 4:
        return f"{word[:-3]}y"
    return word[:-1] if word.endswith("s") and not word.endswith("ss") else word
