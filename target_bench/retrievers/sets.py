"""The set of tables that a question over databases needs, by logistic regressions."""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from target_bench.core.errors import ConfigError
from target_bench.core.ranking import SINGLE, Ranked, Ranking, blocks, graded, stacked, top_k
from target_bench.core.schema import Corpus, RowLimit, Table
from target_bench.models.encoders.retriever_encoding import Encoding
from target_bench.models.set_sizes import by_share
from target_bench.search.join_keys import join_weights
from target_bench.search.lexical.schema_evidence import (
    Evidence,
    Floats,
    SchemaVectors,
    SchemaWords,
    TablesByDatabase,
    columns_of,
    name_of,
    phrases_of,
)
from target_bench.search.nested import BatchRetriever

WEIGHTS_FILE = "sets_weights.json"
"""The learned weights, beside this file; ``benchmarks/sets_weights.py`` writes it."""

WEIGHTS = ("spider+bird", "bird", "spider")
"""What weights were learned from, in the order of preference."""

_CELLS = 2_000_000
"""Numbers of evidence held at a time, and of cosines of phrases with columns."""
_LARGEST = 64.0
"""Of the logarithm of a probability, for the rounding of scores."""
_UNJOINED = -12.0
"""The evidence of the best joined table, where a table joins none."""


@dataclass(eq=False, repr=False)
class Sets(BatchRetriever):
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
            from.
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
    weights: str = "auto"
    rows: RowLimit = "auto"
    cache: bool = True

    def __post_init__(self) -> None:
        if self.share is not None and not 0 <= self.share <= 1:
            raise ConfigError(f"share={self.share}: a share of the first probability, from 0 to 1")
        if self.weights not in ("auto", *WEIGHTS):
            raise ConfigError(f"weights={self.weights}: expected auto, {', '.join(WEIGHTS)}")
        self._encoding = (
            None if self.encoder in ("none", None) else Encoding(self.encoder, self.cache)
        )

    def parts(self) -> Mapping[str, object]:
        """Return the encoder, if there is one."""
        return {"encoder": self._encoding.encoder} if self._encoding else {}

    def config(self) -> Mapping[str, Any]:
        """Return the settings that can change a ranking."""
        return {name: value for name, value in super().config().items() if name != "cache"}

    def notes(self) -> Sequence[str]:
        """Return what the weights were learned from, and the notes of the encoder."""
        return [self.learned_from, *(self._encoding.notes() if self._encoding else ())]

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
        self._encoding.fit(tables)
        flat = [text for of_table in columns for text in of_table]
        starts = np.cumsum([0, *map(len, columns)])[:-1]
        self._index = self._encoding.tables(tables), self._encoding.tables(flat), starts

    def _read(self, corpus: Corpus) -> None:
        self._ids = corpus.ids
        self.databases = TablesByDatabase(corpus)
        self._words = SchemaWords(corpus, self.databases, self.rows)
        self.joined = Joined(corpus)
        self.choose_weights(corpus)

    def choose_weights(self, corpus: Corpus) -> None:
        """Take the weights for these tables."""
        named, self.learned_from = _chosen(corpus, self.weights)
        values = learned_weights()["weights"][named]["minilm" if self._encoding else "none"]
        arrays = (np.array(values[name]) for name in Regressions._fields[1:])
        self.model = Regressions(values["share"], *arrays)

    def retrieve_batch(self, queries: Sequence[str], top_k: int) -> Sequence[Ranking]:
        """Return the sets of several queries, each with its ``top_k`` best tables at most."""
        if not len(self._ids) or not queries or top_k < 1:
            return [[] for _ in queries]
        return Ranked(self._ids, *stacked([self._best(e, top_k) for e in self.evidence(queries)]))

    def _best(self, evidence: "QueryEvidence", k: int) -> tuple[NDArray[np.int64], Floats]:
        """Return the best tables of some queries, -1 after the last, and their probabilities."""
        logs = self.model.log_probabilities(evidence, self.databases, self.joined)
        rows, values = top_k(graded(logs, _LARGEST, SINGLE), k)
        speaks = np.any([kind.any(axis=1) for kind in evidence.tables.values()], axis=0)
        probabilities = np.where(speaks[:, None], np.exp(values), 0.0)
        filled = np.repeat(speaks[:, None], rows.shape[1], axis=1)
        share = self.model.share if self.share is None else self.share
        kept = np.arange(rows.shape[1]) < by_share(probabilities, filled, share)[:, None]
        return np.where(kept, rows, -1), np.where(kept, probabilities, 0.0)

    def evidence(self, queries: Sequence[str]) -> Iterator["QueryEvidence"]:
        """Yield the evidence of some of the queries after the other, for tables and databases."""
        width = 60 * len(self._ids)
        for block in blocks(len(queries), width, _CELLS):
            tables, databases = self._words.evidence(queries[block])
            if self._encoding is not None:
                for own, more in zip(
                    (tables, databases), self._vectors(queries[block]), strict=True
                ):
                    own.update(more)
            yield QueryEvidence(tables, databases)

    def _vectors(self, queries: Sequence[str]) -> tuple[Evidence, Evidence]:
        assert self._encoding is not None
        index = SchemaVectors(self.databases, *self._index)
        phrases = list(map(phrases_of, queries))
        places = {text: n for n, text in enumerate(dict.fromkeys(t for p in phrases for t in p))}
        d = self._index[0].shape[1]
        vectors = self._encoding.queries([*queries, *places], d)
        numbers = [[places[text] for text in of_query] for of_query in phrases]
        return index.evidence(vectors[: len(queries)], numbers, vectors[len(queries) :])


class QueryEvidence(NamedTuple):
    """Evidence of some queries: for each kind (n, tables), and for each kind (n, databases)."""

    tables: Evidence
    databases: Evidence


class Joined:
    """Which tables each table joins."""

    def __init__(self, corpus: Corpus) -> None:
        joins = join_weights(corpus, "auto")
        self._having = np.flatnonzero(np.diff(joins.indptr))
        self._starts, self._joined = joins.indptr[self._having], joins.indices

    def best(self, values: Floats, otherwise: float) -> Floats:
        """(n, tables) -> (n, tables) the largest value of the tables that each one joins."""
        best = np.full(values.shape, otherwise)
        if len(self._having):
            best[:, self._having] = np.maximum.reduceat(values[:, self._joined], self._starts, 1)
        return best


class Regressions(NamedTuple):
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
        self, evidence: QueryEvidence, databases: TablesByDatabase, joined: Joined
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


def database_inputs(scores: Floats, evidence: Evidence, databases: TablesByDatabase) -> Floats:
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
    scores: Floats, tables: Evidence, databases: TablesByDatabase, joined: Joined
) -> Floats:
    """Return (n, tables, k): what speaks for a table if its database is the right one.

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
    return json.loads(files(__package__).joinpath(WEIGHTS_FILE).read_text(encoding="ascii"))


def _chosen(corpus: Corpus, named: str) -> tuple[str, str]:
    """Return the name of the weights for a corpus, and a note on what they were learned from."""
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
