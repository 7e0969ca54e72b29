"""BM25 term weights of all fields of all tables, as sparse matrices.

Tables are counted in one pass (``counts``). Document frequencies and average lengths are of the
whole corpus, so weights are computed at the end, a shard of tables at a time. The variants are
those that Kamphuis et al. (2020) compare, and bm25s has; a test holds them to it.
"""

from array import array
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain, count
from math import log
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from target_bench.core import array_files
from target_bench.data.table_text import Analyzer, Piece, TermNumbers
from target_bench.search.lexical.counts import CorpusStatistics, Ints, TableCounter, TermCounts
from target_bench.search.lexical.products import in_threads

Floats = NDArray[np.float64]

_PIECE_TABLES, _PIECE_TOKENS, _PIECE_CHARACTERS = 1024, 200_000, 1_000_000
_AT_ONCE = 2**16  # entries that a thread weighs at a time
_CANCELLED = 1e-12  # share of a weight below which a difference is a rounding error


@dataclass(frozen=True, slots=True)
class Formula:
    """A BM25 variant with its parameters, and the weight of each field.

    ```python
    from target_bench.plugin_tools import Formula

    print(Formula("lucene", k1=1.5, b=0.75, delta=0.5, field_weights=[2, 1]).n_fields)  # 2
    ```
    """

    method: str
    k1: float
    b: float
    delta: float
    field_weights: Sequence[float]

    @property
    def n_fields(self) -> int:
        """Number of fields of a table."""
        return len(self.field_weights)

    def idf(self, df: int, n: int) -> float:
        """Return the weight of a term that is in ``df`` of ``n`` tables."""
        match self.method:
            case "atire":
                return log(n / df)
            case "bm25l":
                return log((n + 1) / (df + 0.5))
            case "bm25+":
                return log((n + 1) / df)
        odds = (n - df + 0.5) / (df + 0.5)
        return log(max(1.0, odds)) if self.method == "robertson" else log(1 + odds)

    def saturate(self, counts: Any, lengths: Any, average: float) -> Any:
        """Return the factor of a term's weight in a field that has it so many times."""
        norm = 1 - self.b + self.b * lengths / average
        match self.method:
            case "atire":
                return counts * (self.k1 + 1) / (counts + self.k1 * norm)
            case "bm25l":
                scaled = counts / norm
                return (self.k1 + 1) * (scaled + self.delta) / (self.k1 + scaled + self.delta)
            case "bm25+":
                return (self.k1 + 1) * counts / (self.k1 * norm + counts) + self.delta
        return counts / (self.k1 * norm + counts)


class TermWeights:
    """The weights of terms in a corpus, by a formula.

    bm25l and bm25+ give a term a weight even in tables without it, ``absent``. The other weights
    are what a term adds to that, so that they stay sparse.

    Attributes:
        absent: (terms,) the weight of a term in a table without it.
    """

    def __init__(self, formula: Formula, corpus: CorpusStatistics) -> None:
        self._formula = formula
        self._averages = corpus.average_lengths
        self._idfs = [self._compute_idf(df, corpus.n_tables) for df in corpus.frequencies]
        self._absents = list(map(self._weigh_absent, self._idfs, self._averages))
        self.absent: Floats = np.zeros(corpus.n_terms)
        for weight, absent in zip(formula.field_weights, self._absents, strict=True):
            self.absent += weight * absent

    def _compute_idf(self, frequencies: Ints, n_tables: int) -> Floats:
        values, inverse = np.unique(frequencies, return_inverse=True)
        idf = [self._formula.idf(df, n_tables) if df else 0.0 for df in values.tolist()]
        return np.array(idf)[inverse]

    def _weigh_absent(self, idf: Floats, average: float) -> Floats:
        if self._formula.method not in ("bm25l", "bm25+") or not average:
            return np.zeros_like(idf)
        with np.errstate(invalid="ignore"):
            factor = self._formula.saturate(np.float64(0), average, average)
        if np.isnan(factor):  # 0 / 0, with k1=0: only the lower bound is left
            factor = self._formula.delta
        absent: Floats = idf * factor
        return absent

    def weigh(self, terms: Ints, counts: Sequence[Ints], lengths: Sequence[Ints]) -> Floats:
        """Return the (n,) weights of terms in tables, summed over fields.

        Args:
            terms: (n,) the terms.
            counts: for each field (n,) how often it has the term.
            lengths: for each field (n,) its number of tokens.
        """
        total = np.zeros(len(terms))
        for field, weight in enumerate(self._formula.field_weights):
            has = np.flatnonzero(counts[field])
            if len(has):
                total[has] += weight * self._weigh_field(
                    field, terms[has], counts[field][has], lengths[field][has]
                )
        return total

    def _weigh_field(self, field: int, terms: Ints, counts: Ints, lengths: Ints) -> Floats:
        average = self._averages[field]
        factors = self._formula.saturate(counts.astype(np.float64), lengths, average)
        weights: Floats = self._idfs[field][terms] * factors
        if self.absent.any():
            absent = self._absents[field][terms]
            weights -= absent
            weights[np.abs(weights) <= _CANCELLED * np.abs(absent)] = 0.0
        return weights


class Postings:
    """(terms, tables) weights, summed over the fields, in shards of consecutive tables.

    ```python
    from target_bench.plugin_tools import Formula, Postings

    formula = Formula("lucene", k1=1.5, b=0.75, delta=0.5, field_weights=[1])
    postings = Postings.build([[["mars", "moons"]], [["paris"]]], formula)
    print(postings.vocabulary)  # {'mars': 0, 'moons': 1, 'paris': 2}
    ```

    Attributes:
        vocabulary: the row of each term.
        shards: the weights.
        absent: (terms,) the weight of a term in a table without it; not 0 for bm25l and bm25+.
    """

    def __init__(self, vocabulary: dict[str, int], shards: Sequence[Any], absent: Floats) -> None:
        self.vocabulary = vocabulary
        self.shards = shards
        self.absent = absent

    @classmethod
    def build(cls, tables: Iterable[Sequence[Sequence[str]]], formula: Formula) -> "Postings":
        """Index tables, given as the tokens of each field."""
        vocabulary: dict[str, int] = defaultdict(count().__next__)
        number = vocabulary.__getitem__
        counter = TableCounter(formula.n_fields)
        terms, lengths = array("i"), array("i")
        for fields in tables:
            for tokens in fields:
                terms.extend(map(number, tokens))
                lengths.append(len(tokens))
            if len(lengths) >= _PIECE_TABLES * formula.n_fields or len(terms) > _PIECE_TOKENS:
                counter.add(np.array(terms), np.array(lengths), len(vocabulary))
                terms, lengths = array("i"), array("i")
        if lengths:
            counter.add(np.array(terms), np.array(lengths), len(vocabulary))
        return cls._weigh(dict(vocabulary), counter, formula)

    @classmethod
    def build_from_texts(
        cls,
        tables: Iterable[Sequence[str]],
        analyzer: Analyzer,
        formula: Formula,
        workers: int = 0,
    ) -> "Postings":
        """Index tables, as ``build`` does, from the texts of their fields.

        Args:
            tables: for each table the texts of its fields.
            analyzer: tokenizes them.
            formula: weighs terms.
            workers: how many processes tokenize; 0 for this one alone. The index is the same.
        """
        vocabulary: dict[str, int] = {}
        counter = TableCounter(formula.n_fields)
        for terms, lengths in _read_pieces(_split(tables), analyzer, vocabulary, workers):
            counter.add(terms, lengths, len(vocabulary))
        return cls._weigh(vocabulary, counter, formula)

    @classmethod
    def _weigh(
        cls, vocabulary: dict[str, int], counter: TableCounter, formula: Formula
    ) -> "Postings":
        corpus = counter.statistics(len(vocabulary))
        weights = TermWeights(formula, corpus)
        # A comprehension would keep the counts of a shard while the next one is sorted.
        shards = list(map(partial(_weigh_shard, weights), counter.shards(len(vocabulary))))
        return cls(vocabulary, shards, weights.absent)

    def save(self, folder: Path) -> None:
        """Write everything into a folder."""
        for number, shard in enumerate(self.shards):
            array_files.write_sparse(folder, f"shard-{number}", shard)
        array_files.write_array(folder / "absent.npy", self.absent)
        content = {"vocabulary": list(self.vocabulary), "n_shards": len(self.shards)}
        array_files.write_json(folder / "postings.json", content)

    @classmethod
    def load(cls, folder: Path) -> "Postings":
        """Read the files that ``save`` wrote; the weights stay on disk until they are used."""
        content = array_files.read_json(folder / "postings.json")
        numbers = range(content["n_shards"])
        shards = [array_files.read_sparse(folder, f"shard-{number}") for number in numbers]
        vocabulary = {term: number for number, term in enumerate(content["vocabulary"])}
        return cls(vocabulary, shards, array_files.read_array(folder / "absent.npy"))

    def build_query_matrix(self, queries: Sequence[Sequence[str]]) -> Any:
        """Build the (queries, terms) CSR matrix of the tokens of queries."""
        get = self.vocabulary.get
        return self.build_numbered_matrix([[get(t, -1) for t in query] for query in queries])

    def build_numbered_matrix(self, queries: Sequence[Iterable[int]]) -> Any:
        """Build the same matrix from the numbers of terms; -1 for a term that is not indexed."""
        from scipy.sparse import csr_matrix

        terms = [[n for n in query if n >= 0] for query in queries]
        indptr = np.cumsum([0, *map(len, terms)], dtype=np.int32)
        indices = np.fromiter(chain.from_iterable(terms), dtype=np.int32, count=indptr[-1])
        shape = len(queries), len(self.vocabulary)
        return csr_matrix((np.ones(len(indices)), indices, indptr), shape=shape)


def _split(tables: Iterable[Sequence[str]]) -> Iterator[list[str]]:
    """Yield the texts of consecutive tables in pieces."""
    texts: list[str] = []
    n_tables = n_characters = 0
    for fields in tables:
        texts += fields
        n_tables += 1
        n_characters += sum(map(len, fields))
        if n_tables == _PIECE_TABLES or n_characters > _PIECE_CHARACTERS:
            yield texts
            texts, n_tables, n_characters = [], 0, 0
    if texts:
        yield texts


def _read_pieces(
    pieces: Iterable[list[str]], analyzer: Analyzer, terms: dict[str, int], workers: int
) -> Iterator[Piece]:
    if not workers:
        return map(TermNumbers(analyzer, terms), pieces)
    from target_bench.search.lexical.reader_processes import tokenize_in_processes

    return tokenize_in_processes(pieces, analyzer, terms, workers)


def _weigh_shard(weights: TermWeights, shard: TermCounts) -> Any:
    """Return the (terms, tables) weights of a shard."""
    from scipy.sparse import csr_matrix

    data, indptr = np.empty(len(shard.tables)), shard.indptr

    def weigh(some: slice) -> None:
        first = np.searchsorted(indptr, some.start, side="right") - 1
        last = np.searchsorted(indptr, some.stop)
        bounds = np.clip(indptr[first : last + 1], some.start, some.stop)
        tables = shard.tables[some]
        data[some] = weights.weigh(
            np.repeat(np.arange(first, last), np.diff(bounds)),
            [counts[some] for counts in shard.counts],
            [lengths[tables] for lengths in shard.lengths],
        )

    starts = range(0, len(data), _AT_ONCE)
    in_threads(weigh, [slice(n, min(n + _AT_ONCE, len(data))) for n in starts])
    shape = len(indptr) - 1, len(shard.lengths[0])
    matrix = csr_matrix((data, shard.tables, indptr), shape=shape)
    if not data.all():
        matrix.eliminate_zeros()
    return matrix
