"""Term counts of each field of each table, in shards of consecutive tables.

A shard is counted table by table and then sorted by term. A term of a table takes four bytes, and
one more for each field. Arrays are those of sparse matrices: entries from ``indptr[i]`` to
``indptr[i + 1]`` belong to row i.
"""

from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.integer]

MOST_IN_A_SHARD = 2**26
"""Terms of tables, whose weights are 768 MiB; every further shard costs each query a little."""

_AT_ONCE = 2**22


@dataclass(frozen=True, slots=True)
class CorpusStatistics:
    """What the weights of a corpus depend on; lists have an entry for each field."""

    n_tables: int
    n_terms: int  # size of the vocabulary
    average_lengths: Sequence[float]  # tokens of a table
    frequencies: Sequence[Ints]  # (n_terms,) document frequencies


@dataclass(frozen=True, slots=True)
class TableCounts:
    """Counts of m consecutive tables, table by table."""

    indptr: Ints  # (m + 1,)
    terms: Ints  # (n,) the terms of each table, ascending
    counts: Sequence[Ints]  # for each field (n,) how often it has the term in this table
    lengths: Sequence[Ints]  # for each field (m,) its number of tokens


@dataclass(frozen=True, slots=True)
class TermCounts:
    """The same counts, term by term."""

    indptr: Ints  # (terms + 1,)
    tables: Ints  # (n,) the tables of each term, ascending, from 0
    counts: Sequence[Ints]
    lengths: Sequence[Ints]


class TableCounter:
    """Counts the terms of tables, each of ``n_fields`` fields, in one pass over the corpus."""

    def __init__(self, n_fields: int) -> None:
        self._growing = _ShardBuilder(n_fields)
        self._shards: list[TableCounts] = []
        self._n_tables, self._n_tokens = 0, [0] * n_fields
        self._frequencies: list[Ints] = [np.zeros(0, dtype=np.int64) for _ in range(n_fields)]

    def add(self, terms: Ints, lengths: Ints, n_terms: int) -> None:
        """Count consecutive tables.

        Args:
            terms: the number of the term of each token.
            lengths: the number of tokens of each field, all fields of a table before the next one.
            n_terms: the size of the vocabulary so far.
        """
        self._growing.add(terms, lengths, n_terms)
        if len(self._growing.terms) > MOST_IN_A_SHARD:
            self._close_shard(n_terms)

    def _close_shard(self, n_terms: int) -> None:
        shard, self._growing = self._growing.finish(), _ShardBuilder(len(self._n_tokens))
        self._n_tables += len(shard.indptr) - 1
        for field, lengths in enumerate(shard.lengths):
            self._n_tokens[field] += int(lengths.sum())
            self._frequencies[field] = _pad(self._frequencies[field], n_terms)
            for start in range(0, len(shard.terms), _AT_ONCE):
                some = slice(start, start + _AT_ONCE)
                terms = shard.terms[some][shard.counts[field][some] > 0]
                self._frequencies[field] += np.bincount(terms, minlength=n_terms)
        self._shards.append(shard)

    def statistics(self, n_terms: int) -> CorpusStatistics:
        """End counting, and return the statistics of all tables."""
        if len(self._growing.indptr) > 1 or not self._n_tables:
            self._close_shard(n_terms)
        frequencies = [_pad(counts, n_terms) for counts in self._frequencies]
        averages = [n / max(1, self._n_tables) for n in self._n_tokens]
        return CorpusStatistics(self._n_tables, n_terms, averages, frequencies)

    def shards(self, n_terms: int) -> Iterator[TermCounts]:
        """Yield all shards; each one is freed after use."""
        while self._shards:
            yield _sort_by_term(self._shards.pop(0), n_terms)


def _pad(frequencies: Ints, n_terms: int) -> Ints:
    return np.pad(frequencies, (0, n_terms - len(frequencies)))


def _sort_by_term(shard: TableCounts, n_terms: int) -> TermCounts:
    from scipy.sparse import csr_matrix

    shape, counts = (len(shard.indptr) - 1, n_terms), []
    for field in shard.counts:
        ordered = csr_matrix((field, shard.terms, shard.indptr), shape=shape).tocsc()
        counts.append(ordered.data)
    return TermCounts(ordered.indptr, ordered.indices, counts, shard.lengths)


class _ShardBuilder:
    """Counts of the tables so far."""

    # Arrays that grow in place, where the system can move large ones without copying them: small
    # ones that are joined later would leave holes in the memory of the process.

    def __init__(self, n_fields: int) -> None:
        self.indptr = array("i", [0])
        self.terms = array("i")
        self._counts: list[array[int]] = [array("B") for _ in range(n_fields)]
        self._lengths: list[array[int]] = [array("i") for _ in range(n_fields)]

    def finish(self) -> TableCounts:
        """Return the counts; nothing may be added from then on."""
        return TableCounts(
            _to_numpy(self.indptr),
            _to_numpy(self.terms),
            list(map(_to_numpy, self._counts)),
            list(map(_to_numpy, self._lengths)),
        )

    def add(self, terms: Ints, lengths: Ints, n_terms: int) -> None:
        """Count tables, as ``TableCounter.add`` does."""
        n_fields = len(self._counts)
        n_tables = len(lengths) // n_fields
        # A token as one number that sorts by table, then term, then field.
        smallest = np.arange(n_tables)[:, None] * (n_terms * n_fields) + np.arange(n_fields)
        tokens = np.repeat(smallest.ravel(), lengths) + terms.astype(np.int64) * n_fields
        tokens.sort()
        starts = np.flatnonzero(np.diff(tokens, prepend=-1))  # equal tokens are neighbours
        counts = np.diff(starts, append=len(tokens)).astype(np.int32)
        tables_and_terms, fields = np.divmod(tokens[starts], n_fields)
        is_first = np.diff(tables_and_terms, prepend=-1) != 0
        rows = np.cumsum(is_first) - 1
        tables, terms = np.divmod(tables_and_terms[is_first], max(1, n_terms))
        for field in range(n_fields):
            in_field = fields == field
            column = np.zeros(len(terms), dtype=np.int32)
            column[rows[in_field]] = counts[in_field]
            self._counts[field] = _extend(self._counts[field], column)
            self._lengths[field].frombytes(lengths[field::n_fields].astype(np.int32).tobytes())
        ends = len(self.terms) + np.cumsum(np.bincount(tables, minlength=n_tables))
        self.indptr.frombytes(ends.astype(np.int32).tobytes())
        self.terms.frombytes(terms.astype(np.int32).tobytes())


def _to_numpy(values: "array[int]") -> Ints:
    return np.frombuffer(values, values.typecode)


def _extend(numbers: "array[int]", more: Ints) -> "array[int]":
    """Append to an array, or to a copy of a wider type where that is needed."""
    largest = int(more.max(initial=0))
    code = "B" if largest < 2**8 else "H" if largest < 2**16 else "i"
    if array(code).itemsize > numbers.itemsize:
        numbers = array(code, np.frombuffer(numbers, numbers.typecode).astype(code).tobytes())
    numbers.frombytes(more.astype(numbers.typecode).tobytes())
    return numbers
