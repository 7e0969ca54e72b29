"""BM25 term weights of all fields of all tables, as sparse matrices.

Tables stream by and leave their term counts (``counts``). Document frequencies and average lengths
are of the whole corpus, so weights are worked out at the end, with bm25s' formulas, a shard of
tables at a time.
"""

from array import array
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, count
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from target_bench.core import array_files
from target_bench.data.table_text import Analyzer, Piece, TermNumbers
from target_bench.search.lexical.counts import (
    CorpusStatistics,
    Counter,
    Ints,
    TermCounts,
)
from target_bench.search.lexical.products import in_threads

Floats = NDArray[np.float64]

_PIECE_TABLES, _PIECE_TOKENS, _PIECE_CHARACTERS = 1024, 200_000, 1_000_000
_AT_ONCE = 2**16
"""Terms of tables that a thread weighs at a time."""
_CANCELLED = 1e-12
"""Share of a weight that remains when all but its last bits cancel."""


@dataclass(frozen=True, slots=True)
class Formula:
    """A BM25 variant with its parameters, and the weight of each field."""

    method: str
    k1: float
    b: float
    delta: float
    field_weights: Sequence[float]

    @property
    def n_fields(self) -> int:
        """Number of fields of a table."""
        return len(self.field_weights)

    def weigher(self, corpus: CorpusStatistics) -> "Weigher":
        """Return the function that turns the counts of a corpus into weights."""
        return _Bm25sWeigher(self, corpus)


LeastCounts = Callable[[Mapping[str, int], int], Ints]
"""(vocabulary, number of tables) -> in how many tables each term is taken to be, at least."""


class Weigher(Protocol):
    """Turns counts into weights.

    Attributes:
        absent: as in ``Postings``.
    """

    absent: Floats

    def weights(self, terms: Ints, counts: Sequence[Ints], lengths: Sequence[Ints]) -> Floats:
        """Return (n,) weights of terms in tables.

        Args:
            terms: (n,) the numbers of the terms.
            counts: for each field (n,) how often it has the term.
            lengths: for each field (n,) how many tokens it has.
        """


class Weighing(Protocol):
    """Weighting of terms in tables."""

    @property
    def n_fields(self) -> int:
        """Number of fields of a table."""

    def weigher(self, corpus: CorpusStatistics) -> Weigher:
        """Return the function that turns the counts of a corpus into weights."""


class Postings:
    """(terms, tables) weights, summed over the fields, in shards of consecutive tables.

    Attributes:
        vocabulary: the row of each term.
        shards: the weights.
        absent: for each term what bm25l and bm25+ give it in a table that does not have it.
    """

    def __init__(self, vocabulary: dict[str, int], shards: Sequence[Any], absent: Floats) -> None:
        self.vocabulary = vocabulary
        self.shards = shards
        self.absent = absent

    @classmethod
    def build(
        cls,
        tables: Iterable[Sequence[Sequence[str]]],
        formula: Weighing,
        least_counts: LeastCounts | None = None,
    ) -> "Postings":
        """Index tables.

        Args:
            tables: for each table the tokens of its fields.
            formula: how to weigh them.
            least_counts: corrects in how many tables terms are; default: nothing is corrected.
        """
        vocabulary: dict[str, int] = defaultdict(count().__next__)
        number = vocabulary.__getitem__
        counter = Counter(formula.n_fields)
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
        return cls._weighed(dict(vocabulary), counter, formula, least_counts)

    @classmethod
    def of_texts(
        cls,
        tables: Iterable[Sequence[str]],
        analyzer: Analyzer,
        formula: Weighing,
        workers: int = 0,
        least_counts: LeastCounts | None = None,
    ) -> "Postings":
        """Index tables, as ``build`` does.

        Args:
            tables: for each table the texts of its fields.
            analyzer: what makes their tokens.
            formula: how to weigh them.
            workers: how many processes read the texts; 0 reads them in this one. The index is the
                same.
            least_counts: as for ``build``.

        Raises:
            StoreError: a process has ended.
        """
        vocabulary: dict[str, int] = {}
        counter = Counter(formula.n_fields)
        for terms, lengths in _read(_pieces(tables), analyzer, vocabulary, workers):
            counter.add(terms, lengths, len(vocabulary))
        return cls._weighed(vocabulary, counter, formula, least_counts)

    @classmethod
    def _weighed(
        cls,
        vocabulary: dict[str, int],
        counter: Counter,
        formula: Weighing,
        least_counts: LeastCounts | None,
    ) -> "Postings":
        corpus = counter.statistics(len(vocabulary))
        if least_counts is not None:
            least = least_counts(vocabulary, corpus.n_tables)
            frequencies = [np.maximum(of_field, least) for of_field in corpus.frequencies]
            corpus = replace(corpus, frequencies=frequencies)
        weigher = formula.weigher(corpus)
        shards = [_weights(weigher, shard) for shard in counter.shards(len(vocabulary))]
        return cls(vocabulary, shards, weigher.absent)

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

    def queries(self, queries: Sequence[Sequence[str]]) -> Any:
        """Build the (queries, terms) CSR matrix of the known terms, in the order of each query."""
        return self.numbered([[self.vocabulary.get(t, -1) for t in query] for query in queries])

    def numbered(self, queries: Sequence[Iterable[int]]) -> Any:
        """Build the same matrix from the numbers of terms; -1 is none."""
        from scipy.sparse import csr_matrix

        known = [[n for n in query if n >= 0] for query in queries]
        indptr = np.cumsum([0, *map(len, known)], dtype=np.int32)
        indices = np.fromiter(chain.from_iterable(known), dtype=np.int32, count=indptr[-1])
        shape = len(queries), len(self.vocabulary)
        return csr_matrix((np.ones(len(indices)), indices, indptr), shape=shape)


def _pieces(tables: Iterable[Sequence[str]]) -> Iterator[list[str]]:
    """Yield the texts of consecutive tables, a piece at a time."""
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


def _read(
    pieces: Iterable[list[str]], analyzer: Analyzer, terms: dict[str, int], workers: int
) -> Iterator[Piece]:
    """Yield the tokens of each piece."""
    if not workers:
        return map(TermNumbers(analyzer, terms), pieces)
    from target_bench.search.lexical.large_corpora import read_beside

    return read_beside(pieces, analyzer, terms, workers)


def _weights(weigher: Weigher, shard: TermCounts) -> Any:
    """Return the (terms, tables) weights of a shard."""
    from scipy.sparse import csr_matrix

    data = np.empty(len(shard.tables))

    def weigh(places: slice) -> None:
        first = np.searchsorted(shard.ends, places.start, side="right") - 1
        last = np.searchsorted(shard.ends, places.stop)
        ends = np.clip(shard.ends[first : last + 1], places.start, places.stop)
        tables = shard.tables[places]
        data[places] = weigher.weights(
            np.repeat(np.arange(first, last), np.diff(ends)),
            [of_field[places] for of_field in shard.counts],
            [of_field[tables] for of_field in shard.lengths],
        )

    starts = range(0, len(data), _AT_ONCE)
    in_threads(weigh, [slice(n, min(n + _AT_ONCE, len(data))) for n in starts])
    shape = len(shard.ends) - 1, len(shard.lengths[0])
    matrix = csr_matrix((data, shard.tables, shard.ends), shape=shape)
    if not data.all():
        matrix.eliminate_zeros()
    return matrix


class _Bm25sWeigher:
    """Counts -> weights, by the formulas of bm25s."""

    def __init__(self, formula: Formula, corpus: CorpusStatistics) -> None:
        from bm25s import scoring

        self._formula = formula
        self._tfc = scoring._select_tfc_scorer(formula.method)
        self._idf_of_one = scoring._select_idf_scorer(formula.method)
        self._n_tables = corpus.n_tables
        self._average = corpus.average_lengths
        self._idf = list(map(self._idf_of, corpus.frequencies))
        self._field_absent = list(map(self._absent_of, range(formula.n_fields)))
        self.absent = np.zeros(corpus.n_terms)
        for weight, absent in zip(formula.field_weights, self._field_absent, strict=True):
            self.absent += weight * absent

    def _idf_of(self, frequencies: Ints) -> Floats:
        values, places = np.unique(frequencies, return_inverse=True)
        n = self._n_tables
        idf = np.array([self._idf_of_one(df, N=n) if df else 0.0 for df in values.tolist()])
        return idf[places]

    def _absent_of(self, number: int) -> Floats:
        average = self._average[number]
        if self._formula.method not in ("bm25l", "bm25+") or not average:
            return np.zeros_like(self._idf[number])
        with np.errstate(invalid="ignore"):
            component = self._component(np.float64(0), average, average)
        if np.isnan(component):  # 0 / 0, with k1=0: nothing but the bound is left
            component = self._formula.delta
        absent: Floats = self._idf[number] * component
        return absent

    def _component(self, tf: Any, length: Any, average: float) -> Any:
        """Return the part of the weight that term frequency and table length decide."""
        f = self._formula
        return self._tfc(tf_array=tf, l_d=length, l_avg=average, k1=f.k1, b=f.b, delta=f.delta)

    def weights(self, terms: Ints, counts: Sequence[Ints], lengths: Sequence[Ints]) -> Floats:
        """Return the weights, summed over the fields."""
        total = np.zeros(len(terms))
        for field, weight in enumerate(self._formula.field_weights):
            has = np.flatnonzero(counts[field])
            if len(has):
                of_field = terms[has], counts[field][has], lengths[field][has]
                total[has] += weight * self._of_field(field, *of_field)
        return total

    def _of_field(self, field: int, terms: Ints, counts: Ints, lengths: Ints) -> Floats:
        """Return the weights of terms that a field has."""
        component = self._component(counts.astype(np.float64), lengths, self._average[field])
        weights: Floats = self._idf[field][terms] * component
        if self.absent.any():
            absent = self._field_absent[field][terms]
            weights -= absent
            weights[np.abs(weights) <= _CANCELLED * np.abs(absent)] = 0.0
        return weights


@dataclass(frozen=True, slots=True)
class FieldsCombined:
    """The parameters of BM25F, whose fields count together before a term's frequency saturates.

    Robertson, Zaragoza and Taylor, CIKM 2004 (weights on term frequencies), with length
    normalisation in each field as in Zaragoza et al., TREC-13; both in Robertson and Zaragoza 2009,
    section 3.6:

        tf(t, d) = sum over fields f of  w_f * tf(t, d, f) / (1 - b_f + b_f * |d_f| / average |f|)
        score(q, d) = sum over terms t of q of  idf(t) * tf(t, d) / (k1 + tf(t, d))

    with idf(t) = ln(1 + (N - n + 0.5) / (n + 0.5)), n of N tables having the term in any field.

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

    def weigher(self, corpus: CorpusStatistics) -> "_CombinedWeigher":
        """Return the function that turns the counts of a corpus into weights."""
        return _CombinedWeigher(self, corpus)


class _CombinedWeigher:
    """Counts -> weights of BM25F."""

    def __init__(self, formula: FieldsCombined, corpus: CorpusStatistics) -> None:
        self._formula = formula
        self._average = corpus.average_lengths
        n, n_tables = corpus.frequencies[-1], corpus.n_tables
        self._idf = np.log1p((n_tables - n + 0.5) / (n + 0.5))
        self.absent = np.zeros(corpus.n_terms)

    def weights(self, terms: Ints, counts: Sequence[Ints], lengths: Sequence[Ints]) -> Floats:
        """Return the weights."""
        total = np.zeros(len(terms))
        for field, weight in enumerate(self._formula.field_weights):
            has = np.flatnonzero(counts[field])
            if len(has):
                b = self._formula.b[field]
                length = 1 - b + b * (lengths[field][has] / self._average[field])
                total[has] += weight * (counts[field][has] / length)
        weights = np.zeros(len(terms))
        denominator = self._formula.k1 + total
        return np.divide(self._idf[terms] * total, denominator, out=weights, where=total > 0)
