"""BM25 term weights of all fields of all tables, as sparse matrices.

Tables stream by and leave their term counts, six bytes each. Document frequencies and average
lengths are of the whole corpus, so weights are worked out at the end, with bm25s' formulas, a shard
of tables at a time. What is over a memory limit lies in a temporary folder (``spilled_counts``).
"""

from array import array
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain, count, islice
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from target_bench.core import array_files
from target_bench.core.processors import in_threads
from target_bench.data.table_text import Analyzer, Piece, TermNumbers
from target_bench.search.lexical.spilled_counts import Spilled

Ints = NDArray[np.integer]
Floats = NDArray[np.float64]

_PIECE_TABLES, _PIECE_TOKENS, _PIECE_CHARACTERS = 1024, 200_000, 1_000_000
_PIECES_AT_ONCE = 96
"""Pieces weighed together. Their arrays exceed 32 MiB, so the system gets them back when freed."""
_CANCELLED = 1e-12
"""Share of a weight that remains when all but its last bits cancel."""
_COUNTS_SHARE = 8
"""Counts may take one part in this many of a memory limit: weights take several times as much."""


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

    def weigher(self, fields: Sequence["Counted"], n_tables: int, n_terms: int) -> "Weigher":
        """Return the function that turns the counts of a corpus into weights."""
        return _Bm25sWeigher(self, fields, n_tables, n_terms)


class Weigher(Protocol):
    """Turns counts into weights.

    Attributes:
        absent: as in ``Postings``.
    """

    absent: Floats

    def piece(self, fields: Sequence[Any]) -> Any:
        """Return (tables, terms) weights of consecutive tables from the counts of their fields."""


class Weighing(Protocol):
    """Weighting of terms in tables."""

    @property
    def n_fields(self) -> int:
        """Number of fields of a table."""

    def weigher(self, fields: Sequence["Counted"], n_tables: int, n_terms: int) -> Weigher:
        """Return the function that turns the counts of a corpus into weights."""


@dataclass(slots=True)
class Counted:
    """Counts of one field.

    Attributes:
        pieces: (tables, terms) counts of consecutive tables.
        frequencies: in how many tables each term is.
        n_tokens: of all tables.
    """

    pieces: list[Any] = field(default_factory=list)
    frequencies: Ints = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    n_tokens: int = 0


class Postings:
    """(terms, tables) weights, summed over the fields, in shards of consecutive tables.

    Attributes:
        vocabulary: the row of each term.
        shards: the weights.
        absent: for each term what bm25l and bm25+ give it in a table that does not have it.
    """

    def __init__(
        self,
        vocabulary: dict[str, int],
        shards: Sequence[Any],
        absent: Floats,
        spilled: Spilled | None = None,
    ) -> None:
        self.vocabulary = vocabulary
        self.shards = shards
        self.absent = absent
        self._spilled = spilled  # holds the folder of the shards

    @classmethod
    def build(
        cls,
        tables: Iterable[Sequence[Sequence[str]]],
        formula: Weighing,
        memory: int | None = None,
    ) -> "Postings":
        """Index tables.

        Args:
            tables: for each table the tokens of its fields.
            formula: how to weigh them.
            memory: bytes to stay within, or None.

        Raises:
            StoreError: the folder for temporary files cannot be written, or has no room.
        """
        vocabulary: dict[str, int] = defaultdict(count().__next__)
        number = vocabulary.__getitem__
        counter = _Counter(formula.n_fields, memory)
        tokens = [array("i") for _ in range(formula.n_fields)]
        lengths = [array("i") for _ in range(formula.n_fields)]
        for fields in tables:
            for of_field, n, found in zip(tokens, lengths, fields, strict=True):
                of_field.extend(map(number, found))
                n.append(len(found))
            if len(lengths[0]) == _PIECE_TABLES or max(map(len, tokens)) > _PIECE_TOKENS:
                counter.add(_taken(tokens), _taken(lengths), len(vocabulary))
        if len(lengths[0]):
            counter.add(_taken(tokens), _taken(lengths), len(vocabulary))
        return counter.postings(dict(vocabulary), formula)

    @classmethod
    def of_texts(
        cls,
        tables: Iterable[Sequence[str]],
        analyzer: Analyzer,
        formula: Weighing,
        memory: int | None = None,
        workers: int = 0,
    ) -> "Postings":
        """Index tables, as ``build`` does.

        Args:
            tables: for each table the texts of its fields.
            analyzer: what makes their tokens.
            formula: how to weigh them.
            memory: bytes to stay within, or None.
            workers: how many processes read the texts; 0 reads them in this one. The index is the
                same.

        Raises:
            StoreError: as for ``build``, or a process has ended.
        """
        vocabulary: dict[str, int] = {}
        counter, fields = _Counter(formula.n_fields, memory), range(formula.n_fields)
        for numbers, lengths in _read(_pieces(tables), analyzer, vocabulary, workers):
            of_tokens = np.repeat(np.arange(len(lengths)) % len(fields), lengths)
            tokens = [numbers[of_tokens == field] for field in fields]
            counter.add(tokens, [lengths[i :: len(fields)] for i in fields], len(vocabulary))
        return counter.postings(vocabulary, formula)

    def save(self, folder: Path) -> None:
        """Write everything into a folder."""
        array_files.write_shards(folder, self.shards)
        array_files.write_array(folder / "absent.npy", self.absent)
        content = {"vocabulary": list(self.vocabulary), "n_shards": len(self.shards)}
        array_files.write_json(folder / "postings.json", content)

    @classmethod
    def load(cls, folder: Path, memory: int | None = None) -> "Postings":
        """Read the files that ``save`` wrote; with a memory limit, shards are opened one by one."""
        content = array_files.read_json(folder / "postings.json")
        stored = array_files.StoredShards(folder, content["n_shards"])
        vocabulary = {term: number for number, term in enumerate(content["vocabulary"])}
        shards = list(stored) if memory is None else stored
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


def _taken(numbers: "list[array[int]]") -> list[Ints]:
    """Return the numbers of each field; new ones are put into their place."""
    taken, numbers[:] = numbers[:], [array("i") for _ in numbers]
    return [np.array(of_field, dtype=np.int64) for of_field in taken]


class _Counter:
    """Counts tables as they come, in memory or in shards on disk."""

    def __init__(self, n_fields: int, memory: int | None) -> None:
        self._fields = [Counted() for _ in range(n_fields)]
        self._n_tables = 0
        self._limit = None if memory is None else memory // _COUNTS_SHARE
        self._bytes = 0
        self._spilled: Spilled | None = None

    def add(self, tokens: Sequence[Ints], lengths: Sequence[Ints], n_terms: int) -> None:
        """Count a piece: of each field the tokens of all tables, and how many each table has."""
        self._n_tables += len(lengths[0])
        for counted, numbers, n in zip(self._fields, tokens, lengths, strict=True):
            piece = _counts(numbers, n, n_terms)
            counted.n_tokens += len(numbers)
            counted.frequencies = _grown(counted.frequencies, n_terms)
            np.add.at(counted.frequencies, piece.indices, 1)
            counted.pieces.append(piece)
            self._bytes += piece.data.nbytes + piece.indices.nbytes
        if self._limit is not None and self._bytes > self._limit:
            self._spill()

    def _spill(self) -> None:
        """Move the counts of the tables seen so far to disk."""
        self._spilled = self._spilled or Spilled()
        self._spilled.add(self._pieces())
        self._bytes = 0

    def _pieces(self) -> Iterator[list[Any]]:
        """Yield the pieces of all fields, one after the other; each is let go."""
        while self._fields[0].pieces:
            yield [counted.pieces.pop(0) for counted in self._fields]

    def postings(self, vocabulary: dict[str, int], formula: Weighing) -> Postings:
        """Return the weights of all tables that were added."""
        if not self._n_tables:
            none = [np.zeros(0, dtype=np.int64) for _ in self._fields]
            self.add(none, none, 0)
        for counted in self._fields:
            counted.frequencies = _grown(counted.frequencies, len(vocabulary))[: len(vocabulary)]
        weigher = formula.weigher(self._fields, self._n_tables, len(vocabulary))
        if self._spilled is None:
            return Postings(vocabulary, _in_memory(weigher, self._pieces()), weigher.absent)
        if self._fields[0].pieces:
            self._spill()
        counts = self._spilled.counts(len(self._fields))
        shards = self._spilled.weighed(_weighed(weigher, pieces) for pieces in counts)
        return Postings(vocabulary, shards, weigher.absent, self._spilled)


def _grown(frequencies: Ints, n: int) -> Ints:
    """Return the frequencies with room for ``n`` terms or more."""
    if n <= len(frequencies):
        return frequencies
    return np.concatenate([frequencies, np.zeros(n, dtype=np.int64)])


def _counts(tokens: Ints, lengths: Ints, n_terms: int) -> Any:
    """Build the (tables, terms) CSR matrix of term counts."""
    from scipy.sparse import csr_matrix

    first = np.repeat(np.arange(len(lengths)) * n_terms, lengths)  # the number of a table's term 0
    found = np.sort(first + tokens)
    starts = np.flatnonzero(np.diff(found, prepend=-1))
    counts = np.diff(starts, append=len(found))
    counts = counts.astype(np.uint16 if counts.max(initial=0) < 2**16 else np.int32)
    indptr = np.searchsorted(starts, np.concatenate([[0], np.cumsum(lengths)])).astype(np.int32)
    parts = counts, (found - first)[starts].astype(np.int32), indptr
    return csr_matrix(parts, shape=(len(lengths), n_terms))


def _in_memory(weigher: Weigher, pieces: Iterator[Sequence[Any]]) -> list[Any]:
    """Weigh pieces, a few at a time, and return them in as few shards as can be."""
    batches = list(iter(lambda: list(islice(pieces, _PIECES_AT_ONCE)), []))
    if len(batches) == 1:
        return [_weighed(weigher, batches.pop())]
    from target_bench.search.lexical.large_corpora import side_by_side

    return list(side_by_side(in_threads(partial(_weighed, weigher), batches)))


def _weighed(weigher: Weigher, pieces: Iterable[Sequence[Any]]) -> Any:
    """Return the (terms, tables) weights of consecutive pieces of all fields."""
    from scipy.sparse import vstack

    return vstack([weigher.piece(fields) for fields in pieces], format="csr").T.tocsr()


class _Bm25sWeigher:
    """Counts -> weights, by the formulas of bm25s."""

    def __init__(
        self, formula: Formula, fields: Sequence[Counted], n_tables: int, n_terms: int
    ) -> None:
        from bm25s import scoring

        self._formula = formula
        self._tfc = scoring._select_tfc_scorer(formula.method)
        self._idf_of_one = scoring._select_idf_scorer(formula.method)
        self._n_tables = n_tables
        self._n_terms = n_terms
        self._average = [counted.n_tokens / max(1, n_tables) for counted in fields]
        self._idf = [self._idf_of(counted.frequencies) for counted in fields]
        self._field_absent = [self._absent_of(number) for number in range(len(fields))]
        self.absent = np.zeros(n_terms)
        for weight, absent in zip(formula.field_weights, self._field_absent, strict=True):
            self.absent += weight * absent

    def _idf_of(self, frequencies: Ints) -> Floats:
        values, places = np.unique(frequencies, return_inverse=True)
        n = self._n_tables
        idf = np.array([self._idf_of_one(df, N=n) if df else 0.0 for df in values.tolist()])
        return np.concatenate([idf[places], np.zeros(self._n_terms - len(frequencies))])

    def _absent_of(self, number: int) -> Floats:
        average = self._average[number]
        if self._formula.method not in ("bm25l", "bm25+") or not average:
            return np.zeros(self._n_terms)
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

    def piece(self, fields: Sequence[Any]) -> Any:
        """Return (tables, terms) weights of consecutive tables from the counts of their fields."""
        from scipy.sparse import csr_matrix

        total = csr_matrix((fields[0].shape[0], self._n_terms))
        for number, counts in enumerate(fields):
            if self._average[number]:  # else no table has such a field: it matches nothing
                weights = self._weights(number, counts)
                total = total + weights if total.nnz else weights
        if not total.data.all():
            total = total.copy()  # the numbers of its terms are those of the counts
            total.eliminate_zeros()
        return total

    def _weights(self, number: int, counts: Any) -> Any:
        """Return the (tables, terms) weights of one field, times its weight."""
        from scipy.sparse import csr_matrix

        lengths = np.repeat(np.asarray(counts.sum(axis=1)).ravel(), np.diff(counts.indptr))
        component = self._component(counts.data.astype(np.float64), lengths, self._average[number])
        data = self._idf[number][counts.indices] * component
        if self.absent.any():
            absent = self._field_absent[number][counts.indices]
            data -= absent
            data[np.abs(data) <= _CANCELLED * np.abs(absent)] = 0.0
        data *= self._formula.field_weights[number]
        shape = (counts.shape[0], self._n_terms)
        return csr_matrix((data, counts.indices, counts.indptr), shape=shape)


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

    def weigher(self, fields: Sequence[Counted], n_tables: int, n_terms: int) -> "_CombinedWeigher":
        """Return the function that turns the counts of a corpus into weights."""
        return _CombinedWeigher(self, fields, n_tables, n_terms)


class _CombinedWeigher:
    """Counts -> weights of BM25F."""

    def __init__(
        self, formula: FieldsCombined, fields: Sequence[Counted], n_tables: int, n_terms: int
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
