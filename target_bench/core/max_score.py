"""The best tables of a query among many, without adding up all weights of its terms.

MaxScore (Turtle and Flood 1995, Information Processing & Management 31): the terms of a query are
added up from the rarest to the most frequent. As soon as ``k`` tables are known to score more than
all terms that are left can give together, a table that has none of the terms so far cannot be among
the best: the long lists that are left are then not read but searched, for the few tables that may
still be among the best.

The ranking is that of the full product, bit for bit: bounds leave room for rounding, and the sums
of the tables that remain are made again in the order of the query's terms.
"""

from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Tables = NDArray[np.int32]

_SLACK = 2.0**-30
"""More than rounding moves a score, as a share of it."""

_SHORT = 2000
"""Entries of lists that are read without asking whether that is needed."""

_SEARCHING = 10
"""Entries of a list that are read in the time in which one table is searched in it."""

_GROWTH = 4
"""How many times as many entries are read until that is asked again."""


class _List(NamedTuple):
    """A term of a query: the tables that have it, in corpus order, and what it gives them.

    Attributes:
        tables: places in the corpus.
        weights: of the term, one a table.
        factor: of the query.
        bound: the most that it gives a table.
    """

    tables: Tables
    weights: Floats
    factor: float
    bound: float

    def add_to(self, sums: Floats) -> None:
        """Add what the term gives to the sums of all tables."""
        weights = self.weights if self.factor == 1 else self.factor * self.weights
        np.add.at(sums, self.tables, weights)

    def given(self, tables: Tables) -> Floats:
        """Return the scores that the term gives to some tables."""
        at = self.tables.searchsorted(tables)
        np.minimum(at, len(self.tables) - 1, out=at)
        found: Floats = self.factor * self.weights.take(at)
        found *= self.tables.take(at) == tables
        return found


class MaxScore:
    """Finds the tables that may be among the best of a query.

    Args:
        weights: (terms, tables) CSR matrix, all that it holds above 0, indices sorted.
        largest: (terms,) the largest weight of each term.
    """

    def __init__(self, weights: Any, largest: Floats) -> None:
        self._starts = weights.indptr
        self._tables = np.asarray(weights.indices)
        self._weights = np.asarray(weights.data)
        self._largest = largest
        self._sums = np.zeros(weights.shape[1])

    def best(
        self, terms: Sequence[int], factors: Sequence[float], k: int, offset: float = 0.0
    ) -> tuple[Tables, Floats]:
        """Return the best tables and more, in corpus order, and their scores in the full product.

        Of the tables that score more than 0, all that no ``k`` others are better than are there.

        Args:
            terms: of the query; one that it repeats counts each time.
            factors: what the query multiplies the weights by, one a term, not negative.
            k: how many are wanted.
            offset: up to how much is added to scores before they are rounded.
        """
        lists = [self._list(*pair) for pair in zip(terms, factors, strict=True)]
        lists = [one for one in lists if len(one.tables)]
        tables = _Search(lists, self._sums, k, offset).may_be_best()
        scores = np.zeros(len(tables))
        for one in lists:
            scores += one.given(tables)
        return tables, scores

    def _list(self, term: int, factor: float) -> _List:
        entries = slice(int(self._starts[term]), int(self._starts[term + 1]))
        bound = factor * float(self._largest[term])
        return _List(self._tables[entries], self._weights[entries], factor, bound)


class _Search:
    """The search for the best tables of one query.

    Args:
        lists: of its terms.
        sums: zeros, one a table of the shard; they are zeros again when the search is done.
        k: how many tables are wanted.
        offset: up to how much is added to scores before they are rounded.
    """

    def __init__(self, lists: Iterable[_List], sums: Floats, k: int, offset: float) -> None:
        self._lists = sorted(lists, key=lambda one: len(one.tables))
        bounds = (one.bound for one in reversed(self._lists))
        self._left = list(accumulate(bounds, initial=0.0))[::-1]  # what lists from here on can give
        self._sums = sums
        self._k = k
        self._offset = offset
        self._n_read = 0  # lists
        self._by_sums = 0.0  # what k tables or more reach with the lists read
        self._by_all = 0.0  # and with all lists

    def may_be_best(self) -> Tables:
        """Return the tables that may be among the best, in corpus order."""
        entries = self._read()
        tables, sums = self._with_sum(self._by_all - self._left[self._n_read], *entries)
        n_entries = len(entries[0])
        for left, one in zip(self._left[self._n_read :], self._lists[self._n_read :], strict=False):
            kept = sums + left >= self._by_all
            tables, sums = tables[kept], sums[kept]
            if len(tables) * _SEARCHING < len(one.tables):
                sums += one.given(tables)
            else:
                before = self._sums.take(tables)
                one.add_to(self._sums)
                sums += self._sums.take(tables) - before
                n_entries = len(self._sums)
        self._clear(n_entries)
        return tables[sums >= self._by_all]

    def _read(self) -> tuple[Tables, Floats]:
        """Add up lists until the others alone cannot make a table one of the best.

        Returns:
            The tables of these lists, one list after the other, and the sum of each.
        """
        n_entries, asked, entries = 0, _SHORT, None
        while self._n_read < len(self._lists) and self._left[self._n_read] >= self._by_all:
            following = self._lists[self._n_read]
            if n_entries + len(following.tables) > asked and n_entries >= self._k:
                asked = _GROWTH * (n_entries + len(following.tables))
                entries = self._entries()
                continue
            following.add_to(self._sums)
            n_entries += len(following.tables)
            self._n_read += 1
            entries = None
        return entries or self._entries()

    def _entries(self) -> tuple[Tables, Floats]:
        """Return the tables and sums of the lists that are read, and raise the bounds by them."""
        none = np.empty(0, dtype=np.int32)
        tables = np.concatenate([none, *(one.tables for one in self._lists[: self._n_read])])
        sums = self._sums.take(tables)
        self._raise_bounds(tables, sums)
        return tables, sums

    def _raise_bounds(self, tables: Tables, sums: Floats) -> None:
        """Find scores that ``k`` tables reach, by completing those that are the best so far."""
        high = sums[sums >= self._by_sums]
        most = self._k * self._n_read  # a table is in each list once at most
        if len(high) > most:
            least = float(np.partition(high, len(high) - most)[len(high) - most])
        else:
            least = self._by_sums
        tables, sums = self._with_sum(least, tables, sums)
        if len(tables) < self._k:
            return
        best = sums.argpartition(len(tables) - self._k)[len(tables) - self._k :]
        tables, sums = tables[best], sums[best]
        self._by_sums = float(sums.min())
        for one in self._lists[self._n_read :]:
            sums += one.given(tables)
        score = float(sums.min())
        self._by_all = max(self._by_all, score - _SLACK * (score + self._offset))

    def _with_sum(self, least: float, tables: Tables, sums: Floats) -> tuple[Tables, Floats]:
        """Return the tables with such a sum or more, each once, in corpus order, and their sums."""
        tables = np.sort(tables[sums >= least])
        tables = tables[np.diff(tables, prepend=np.int32(-1)) > 0]
        return tables, self._sums.take(tables)

    def _clear(self, n_entries: int) -> None:
        if n_entries > len(self._sums) // 12:  # from here on this is faster
            self._sums.fill(0.0)
            return
        for one in self._lists[: self._n_read]:
            self._sums[one.tables] = 0.0


def largest_weights(weights: Any) -> Floats:
    """Return the largest of each row of a CSR matrix, 0 for an empty one."""
    found: Floats = np.zeros(weights.shape[0])
    filled = np.flatnonzero(np.diff(weights.indptr))
    if len(filled):
        found[filled] = np.maximum.reduceat(weights.data, weights.indptr[filled])
    return found
