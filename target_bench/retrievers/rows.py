"""Retrieval by lexical evidence of a table and its best row, without and with an encoder."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from target_bench.core.errors import ConfigError, check_at_least_one
from target_bench.core.ranking import (
    SINGLE_DIGITS,
    Ranked,
    Ranking,
    round_scores,
    split_into_blocks,
    stack_rankings,
    top_k_positive,
)
from target_bench.core.ranking import top_k as best_columns
from target_bench.core.schema import Corpus, RowLimit, Table
from target_bench.data.languages import AnyLanguage
from target_bench.data.table_text import Serializer, first_rows, list_languages
from target_bench.models.encoders.encoding import Encoding
from target_bench.search.lexical.table_evidence import KINDS, Evidence
from target_bench.search.nested import BatchRetriever

Floats = NDArray[np.float64]

WEIGHTS: Mapping[str, float] = {
    "title": 0.69,
    "all": 1.01,
    "numbers": 0.74,
    "title_phrases": 0.41,
    "phrases": 0.22,
    "cells": 0.13,
    "row": 0.29,
}
"""How much each kind of evidence counts, the cosine counting 1."""

_CELLS = 4_000_000  # scores of rows held at a time


@dataclass(eq=False, repr=False, kw_only=True)
class Rows(BatchRetriever):
    """A weighted sum of lexical evidence, including that of the best row of a table.

    Kinds of evidence: ``title`` and ``all`` (BM25 of title, section and header, and of all words),
    ``numbers`` by their value, ``title_phrases`` and ``phrases`` (pairs of words that stand
    together in the title, or in a cell alone), ``cells`` that the query names in full, and ``row``,
    the row with the largest sum of these. The weights are learned: they give the gold tables of the
    validation splits of FeTaQA and TabFact the largest likelihood (a softmax over the candidates of
    each query, together with the cosine of ``best``, both corpora counting the same), without the
    67 tables of FeTaQA that its test split has, too. ``benchmarks/best_offline.py --fit`` learns
    them again.

    Args:
        weights: kind -> weight, for those to change; a kind of weight 0 is not used.
        rows: how many rows of each table: a number, ``all``, or ``auto``, which is all of a web
            table and the first 1,000 of a table in a database.
        language: whose stop words and stemmer are used; ``auto`` tells it from the tables. Numbers
            are spelled out in English alone.

    Raises:
        ConfigError: an unknown kind, or a weight that is not a number from 0.
    """

    packages = ("bm25s", "PyStemmer", "py3langid", "numpy", "scipy")
    queries_at_once = 2048

    weights: Mapping[str, float] | None = None
    rows: RowLimit = "auto"
    language: AnyLanguage = "auto"

    def __post_init__(self) -> None:
        Serializer(("rows",), rows=self.rows)
        for kind, weight in (self.weights or {}).items():
            if kind not in KINDS:
                raise ConfigError(
                    f"weights={self.weights!r}: {kind!r} is none of {', '.join(KINDS)}"
                )
            if not 0 <= weight < float("inf"):
                raise ConfigError(f"weights={self.weights!r}: a weight is a number from 0")

    def embed_corpus(self, corpus: Corpus) -> None:
        """Index all tables and their rows."""
        self._ids = corpus.ids
        languages = list_languages(corpus, self.language)
        self._evidence = Evidence(corpus, self.rows, languages)

    def retrieve_batch(self, queries: Sequence[str], top_k: int) -> Sequence[Ranking]:
        """Return the rankings of several queries, computed together."""
        if not len(self._ids):
            return [[] for _ in queries]
        parts = [
            top_k_positive(self._scores(queries[b]), top_k) for b in self._blocks(len(queries))
        ]
        return Ranked(self._ids, *stack_rankings(parts))

    def _blocks(self, n_queries: int) -> list[slice]:
        return split_into_blocks(n_queries, self._evidence.n_rows, _CELLS)

    def _scores(self, queries: Sequence[str]) -> Floats:
        """Return the (queries, tables) sums of evidence."""
        weights = {**WEIGHTS, **(self.weights or {})}
        total: Floats = np.zeros((len(queries), len(self._ids)))
        for kind, values in zip(KINDS, self._evidence.features(queries), strict=True):
            total += weights[kind] * values
        return total


@dataclass(eq=False, repr=False)
class Best(Rows):
    """The retriever with the highest recall of those that need no network.

    Needs: extra dense; MiniLM (download).

    The score is that of ``rows`` plus the cosine of the query's vector with the table's. Evidence
    is a share of the query's words, so the cosine counts as much for long queries as for short
    ones. All tables are scored.

    Trained on: the weights on the validation splits of FeTaQA and TabFact, see ``rows``.

    Args:
        encoder: turns texts into vectors: as written on the command line, or an object. The
            default reads 128 tokens of a table, with which the weights were learned.
        weights: kind -> weight, for those to change; a kind of weight 0 is not used.
        cosine: the weight of the cosine.
        chunk: how many rows have a vector of their own, with title, section and header; the best
            of a table's vectors counts. Default: one vector per table.
        rows: as for ``rows``; of the text that is encoded, too.
        cache: keep embeddings on disk, and look there first.
        language: as for ``rows``.

    Raises:
        ConfigError: the encoder cannot be built, or a setting is invalid.
    """

    encoder: Any = "minilm:max_tokens=128"
    cosine: float = 1.0
    cache: bool = True
    chunk: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        check_at_least_one(chunk=self.chunk)
        if not 0 <= self.cosine < float("inf"):
            raise ConfigError(f"cosine={self.cosine}: a weight is a number from 0")
        self._write = Serializer(rows=self.rows)
        self._encoding = Encoding(self.encoder, self.cache)

    def parts(self) -> Mapping[str, object]:
        """Return the encoder."""
        return {"encoder": self._encoding.encoder}

    def config(self) -> Mapping[str, Any]:
        """Return the settings that can change a ranking."""
        return {name: value for name, value in super().config().items() if name != "cache"}

    def notes(self) -> Sequence[str]:
        """Return the notes of the encoder."""
        return self._encoding.notes()

    def embed_corpus(self, corpus: Corpus) -> None:
        """Index all tables and their rows, and encode the tables."""
        super().embed_corpus(corpus)
        texts: list[str] = []
        starts: list[int] = []
        for table in corpus:
            starts.append(len(texts))
            texts += map(self._write, self._chunks(table))
        self._starts = np.array(starts, dtype=np.int64)
        self._encoding.begin_corpus()
        self._vectors = self._encoding.tables(texts)

    def _chunks(self, table: Table) -> Iterator[Table]:
        """Yield a table, or the tables of ``chunk`` rows each that it is divided into."""
        if self.chunk is None:
            yield table
            return
        rows = first_rows(table, self.rows)
        for start in range(0, max(1, len(rows)), self.chunk):
            yield replace(table, rows=rows[start : start + self.chunk], grid=None)

    def retrieve_batch(self, queries: Sequence[str], top_k: int) -> Sequence[Ranking]:
        """Return the rankings of several queries, computed together."""
        if not len(self._ids) or not queries:
            return [[] for _ in queries]
        vectors = self._encoding.queries(queries, self._vectors.shape[1])
        tables = np.asarray(self._vectors, dtype=np.float64).T
        parts = []
        # cosines take as much memory as there are vectors, evidence as there are rows
        for block in split_into_blocks(len(queries), len(self._vectors), _CELLS):
            cosines = vectors[block].astype(np.float64) @ tables
            if self.chunk is not None:
                cosines = np.maximum.reduceat(cosines, self._starts, axis=1)
            in_block = queries[block]
            for inner in self._blocks(len(in_block)):
                scores = self._scores(in_block[inner])
                scores += self.cosine * cosines[inner]
                if self.cosine:  # single precision, as a model computes it
                    scores = round_scores(scores, self.cosine, SINGLE_DIGITS)
                parts.append(best_columns(scores, top_k))
        return Ranked(self._ids, *stack_rankings(parts))
