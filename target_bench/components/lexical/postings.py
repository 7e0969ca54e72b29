"""BM25 term weights of all fields of all tables, as sparse matrices.

Tables stream by and leave their term counts, four bytes each. Document frequencies and average
lengths are of the whole corpus, so weights are worked out at the end, with bm25s' formulas, a shard
of tables at a time. Within a memory limit, the counts of the tables seen so far move to a temporary
folder, and their weights lie there too, to be mapped when they are asked for.
"""

import os
import shutil
import tempfile
import weakref
from array import array
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import chain, count, islice
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from target_bench.core import array_files
from target_bench.core.errors import StoreError

Floats = NDArray[np.float64]

_PIECE_TOKENS = 200_000
_PIECE_TABLES = 1024
_SHARD_PIECES = 32
"""The most pieces of a shard in memory: small ones are quick to build and to search."""
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
        tokens: those that wait to be counted.
        lengths: of the tables they are of.
        pieces: (tables, terms) counts.
        frequencies: in how many tables each term is.
        n_tokens: of all tables.
    """

    tokens: "array[int]" = field(default_factory=lambda: array("i"))
    lengths: "array[int]" = field(default_factory=lambda: array("i"))
    pieces: list[Any] = field(default_factory=list)
    frequencies: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    n_tokens: int = 0


class _Scratch:
    """A temporary folder, removed with this object or with the process that made it."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="target-bench-"))
        weakref.finalize(self, _remove, self.folder, os.getpid())


@contextmanager
def _storing() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise StoreError(
            f"{tempfile.gettempdir()}: what is over the memory limit cannot be written there "
            f"({error}). Make room, or name another folder with $TMPDIR."
        ) from error


def _remove(folder: Path, owner: int) -> None:
    if os.getpid() == owner:  # not in a forked child
        shutil.rmtree(folder, ignore_errors=True)


class Postings:
    """(terms, tables) weights, summed over the fields, in shards of consecutive tables.

    Attributes:
        vocabulary: the row of each term.
        shards: the weights, as CSR matrices.
        absent: for each term what bm25l and bm25+ give it in a table that does not have it.
    """

    def __init__(
        self,
        vocabulary: dict[str, int],
        shards: Sequence[Any],
        absent: Floats,
        scratch: _Scratch | None = None,
    ) -> None:
        self.vocabulary = vocabulary
        self.shards = shards
        self.absent = absent
        self._scratch = scratch

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
        counter = _Counter(formula.n_fields, memory)
        for fields in tables:
            counter.add(fields)
        return counter.postings(formula)

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
        vocabulary = {term: row for row, term in enumerate(content["vocabulary"])}
        absent = np.array(array_files.read_array(folder / "absent.npy"))
        return cls(vocabulary, list(stored) if memory is None else stored, absent)

    def queries(self, queries: Sequence[Sequence[str]]) -> Any:
        """Build the (queries, terms) CSR matrix of the known terms, in the order of each query."""
        from scipy.sparse import csr_matrix

        number = self.vocabulary.get
        known = [[n for n in map(number, query) if n is not None] for query in queries]
        indptr = np.cumsum([0, *map(len, known)])
        indices = np.fromiter(chain.from_iterable(known), dtype=np.int32, count=indptr[-1])
        shape = (len(queries), len(self.vocabulary))
        return csr_matrix((np.ones(len(indices)), indices, indptr), shape=shape)


class _Counter:
    """Counts tables as they come, in memory or in shards on disk."""

    def __init__(self, n_fields: int, memory: int | None) -> None:
        self._vocabulary: dict[str, int] = defaultdict(count().__next__)
        self._fields = [Counted() for _ in range(n_fields)]
        self._n_tables = 0
        self._limit = None if memory is None else memory // _COUNTS_SHARE
        self._bytes = 0
        self._scratch: _Scratch | None = None
        self._spilled: list[int] = []

    def add(self, fields: Sequence[Sequence[str]]) -> None:
        """Count a table, given the tokens of its fields."""
        number = self._vocabulary.__getitem__
        for counted, tokens in zip(self._fields, fields, strict=True):
            counted.tokens.extend(map(number, tokens))
            counted.lengths.append(len(tokens))
        self._n_tables += 1
        n_tokens = max(len(counted.tokens) for counted in self._fields)
        if n_tokens > _PIECE_TOKENS or len(self._fields[0].lengths) == _PIECE_TABLES:
            self._close_piece()

    def postings(self, formula: Weighing) -> Postings:
        """Return the weights of all tables that were added."""
        if self._fields[0].lengths or not self._n_tables:
            self._close_piece()
        vocabulary = dict(self._vocabulary)
        weigher = formula.weigher(self._fields, self._n_tables, len(vocabulary))
        if not self._spilled:
            shards = []
            while self._fields[0].pieces:
                shards.append(_shard(weigher, islice(self._taken(), _SHARD_PIECES)))
            return Postings(vocabulary, shards, weigher.absent)
        if self._fields[0].pieces:
            self._spill()
        assert self._scratch is not None
        folder = self._scratch.folder
        for number in range(len(self._spilled)):
            shard = _shard(weigher, self._read_back(number))
            with _storing():
                array_files.write_sparse(folder, array_files.shard_name(number), shard)
            shutil.rmtree(self._counts_folder(number))
        stored = array_files.StoredShards(folder, len(self._spilled))
        return Postings(vocabulary, stored, weigher.absent, self._scratch)

    def _close_piece(self) -> None:
        """Turn the tokens that wait into counts."""
        n_terms = len(self._vocabulary)
        for counted in self._fields:
            piece = _counts(counted.tokens, counted.lengths, n_terms)
            counted.n_tokens += len(counted.tokens)
            frequencies = np.bincount(piece.indices, minlength=n_terms)
            frequencies[: len(counted.frequencies)] += counted.frequencies
            counted.frequencies = frequencies
            counted.pieces.append(piece)
            counted.tokens, counted.lengths = array("i"), array("i")
            self._bytes += piece.data.nbytes + piece.indices.nbytes
        if self._limit is not None and self._bytes > self._limit:
            self._spill()

    def _spill(self) -> None:
        """Move the counts of the tables seen so far to disk."""
        with _storing():
            self._scratch = self._scratch or _Scratch()
            folder = self._counts_folder(len(self._spilled))
            folder.mkdir()
            self._spilled.append(len(self._fields[0].pieces))
            for number, pieces in enumerate(self._taken()):
                for name, piece in enumerate(pieces):
                    array_files.write_sparse(folder, f"{number}-{name}", piece)
        self._bytes = 0

    def _counts_folder(self, shard: int) -> Path:
        assert self._scratch is not None
        return self._scratch.folder / f"counts-{shard}"

    def _taken(self) -> Iterator[list[Any]]:
        """Yield the pieces of all fields, one after the other; each is let go."""
        while self._fields[0].pieces:
            yield [counted.pieces.pop(0) for counted in self._fields]

    def _read_back(self, shard: int) -> Iterator[list[Any]]:
        folder = self._counts_folder(shard)
        for number in range(self._spilled[shard]):
            names = (f"{number}-{name}" for name in range(len(self._fields)))
            yield [array_files.read_sparse(folder, name) for name in names]


def _counts(tokens: "array[int]", lengths: "array[int]", n_terms: int) -> Any:
    """Build the (tables, terms) CSR matrix of term counts."""
    from scipy.sparse import csr_matrix

    indices = np.array(tokens, dtype=np.int32)
    indptr = np.concatenate([[0], np.cumsum(lengths, dtype=np.int32)])
    ones = np.ones(len(indices), dtype=np.int32)
    counts = csr_matrix((ones, indices, indptr), shape=(len(lengths), n_terms))
    counts.sum_duplicates()
    return counts


def _shard(weigher: Weigher, pieces: Iterable[Sequence[Any]]) -> Any:
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

    def _idf_of(self, frequencies: NDArray[np.int64]) -> Floats:
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
                total += self._formula.field_weights[number] * self._weights(number, counts)
        return total

    def _weights(self, number: int, counts: Any) -> Any:
        """Return the (tables, terms) weights of one field."""
        from scipy.sparse import csr_matrix

        lengths = np.repeat(np.asarray(counts.sum(axis=1)).ravel(), np.diff(counts.indptr))
        component = self._component(counts.data.astype(np.float64), lengths, self._average[number])
        data = self._idf[number][counts.indices] * component
        absent = self._field_absent[number][counts.indices]
        data -= absent
        data[np.abs(data) <= _CANCELLED * np.abs(absent)] = 0.0
        shape = (counts.shape[0], self._n_terms)
        return csr_matrix((data, counts.indices, counts.indptr), shape=shape)
