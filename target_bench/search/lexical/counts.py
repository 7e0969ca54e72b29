"""How often each term is in each field of each table, in shards of consecutive tables.

A shard is counted table by table and then ordered by term. A term of a table takes four bytes and
one for each field.
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
    n_terms: int  # different ones
    average_lengths: Sequence[float]  # tokens of a table
    frequencies: Sequence[Ints]  # for each term in how many tables it is


@dataclass(frozen=True, slots=True)
class TableCounts:
    """Counts of m consecutive tables, table by table."""

    ends: Ints  # (m + 1,) where each table begins in the next two
    terms: Ints  # (n,) the terms of each table, ascending
    counts: Sequence[Ints]  # for each field (n,) how often its text in this table has the term
    lengths: Sequence[Ints]  # for each field (m,) how many tokens it has


@dataclass(frozen=True, slots=True)
class TermCounts:
    """The same counts, term by term."""

    ends: Ints  # (terms + 1,) where each term begins in the next two
    tables: Ints  # (n,) the tables of each term, ascending, from 0
    counts: Sequence[Ints]
    lengths: Sequence[Ints]


class Counter:
    """Counts tables as they come, each of ``n_fields`` fields."""

    def __init__(self, n_fields: int) -> None:
        self._growing = _Growing(n_fields)
        self._shards: list[TableCounts] = []
        self._n_tables, self._n_tokens = 0, [0] * n_fields
        self._frequencies: list[Ints] = [np.zeros(0, dtype=np.int64) for _ in range(n_fields)]

    def add(self, terms: Ints, lengths: Ints, n_terms: int) -> None:
        """Count consecutive tables.

        Args:
            terms: the numbers of their tokens.
            lengths: how many each field has, all fields of the first table before the second's.
            n_terms: how many terms there are so far.
        """
        self._growing.add(terms, lengths, n_terms)
        if len(self._growing.terms) > MOST_IN_A_SHARD:
            self._close_shard(n_terms)

    def _close_shard(self, n_terms: int) -> None:
        shard, self._growing = self._growing.finish(), _Growing(len(self._n_tokens))
        self._n_tables += len(shard.ends) - 1
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
        if len(self._growing.ends) > 1 or not self._n_tables:
            self._close_shard(n_terms)
        frequencies = [_pad(counts, n_terms) for counts in self._frequencies]
        averages = [n / max(1, self._n_tables) for n in self._n_tokens]
        return CorpusStatistics(self._n_tables, n_terms, averages, frequencies)

    def shards(self, n_terms: int) -> Iterator[TermCounts]:
        """Yield all shards; each is let go."""
        while self._shards:
            yield _sort_by_term(self._shards.pop(0), n_terms)


def _pad(frequencies: Ints, n_terms: int) -> Ints:
    return np.pad(frequencies, (0, n_terms - len(frequencies)))


def _sort_by_term(shard: TableCounts, n_terms: int) -> TermCounts:
    from scipy.sparse import csr_matrix

    shape, counts = (len(shard.ends) - 1, n_terms), []
    for field in shard.counts:
        ordered = csr_matrix((field, shard.terms, shard.ends), shape=shape).tocsc()
        counts.append(ordered.data)
    return TermCounts(ordered.indptr, ordered.indices, counts, shard.lengths)


class _Growing:
    """Counts of the tables so far."""

    # Arrays that grow in place, where the system can move large ones without copying them: small
    # ones that are joined later would leave holes in the memory of the process.

    def __init__(self, n_fields: int) -> None:
        self.ends = array("i", [0])
        self.terms = array("i")
        self._counts: list[array[int]] = [array("B") for _ in range(n_fields)]
        self._lengths: list[array[int]] = [array("i") for _ in range(n_fields)]

    def finish(self) -> TableCounts:
        """Return the counts; nothing may be added from then on."""
        ends, terms, *others = (
            np.frombuffer(values, values.typecode)
            for values in (self.ends, self.terms, *self._counts, *self._lengths)
        )
        n_fields = len(self._counts)
        return TableCounts(ends, terms, others[:n_fields], others[n_fields:])

    def add(self, terms: Ints, lengths: Ints, n_terms: int) -> None:
        """Count tables, as ``Counter.add`` does."""
        n_fields = len(self._counts)
        n_tables = len(lengths) // n_fields
        # A token as one number, by table, then term, then field.
        least = np.arange(n_tables)[:, None] * (n_terms * n_fields) + np.arange(n_fields)
        tokens = np.repeat(least.ravel(), lengths) + terms.astype(np.int64) * n_fields
        tokens.sort()
        starts = np.flatnonzero(np.diff(tokens, prepend=-1))
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
        self.ends.frombytes(ends.astype(np.int32).tobytes())
        self.terms.frombytes(terms.astype(np.int32).tobytes())


def _extend(numbers: "array[int]", more: Ints) -> "array[int]":
    """Return the numbers and some more, in the narrowest type that holds all."""
    largest = int(more.max(initial=0))
    code = "B" if largest < 2**8 else "H" if largest < 2**16 else "i"
    if array(code).itemsize > numbers.itemsize:
        numbers = array(code, np.frombuffer(numbers, numbers.typecode).astype(code).tobytes())
    numbers.frombytes(more.astype(numbers.typecode).tobytes())
    return numbers
