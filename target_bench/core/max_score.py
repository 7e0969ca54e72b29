"""The best tables of a query among many, without adding up all weights of its terms.

MaxScore (Turtle and Flood 1995, Information Processing & Management 31): the terms of a query are
added up from the rarest to the most frequent. As soon as ``k`` tables are known to score more than
all terms that are left can give together, a table that has none of the terms so far cannot be among
the best: the long lists that are left are then not read but searched, for the few tables that may
still be among the best.

The ranking is that of the full product, bit for bit: bounds leave room for rounding, and the sums
of the tables that remain are made again in the order of the query's terms.
"""

from collections.abc import Sequence
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
        """Return what the term gives to some tables."""
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
        tables = self._may_be_best(sorted(lists, key=lambda one: len(one.tables)), k, offset)
        scores = np.zeros(len(tables))
        for one in lists:
            scores += one.given(tables)
        return tables, scores

    def _list(self, term: int, factor: float) -> _List:
        entries = slice(int(self._starts[term]), int(self._starts[term + 1]))
        bound = factor * float(self._largest[term])
        return _List(self._tables[entries], self._weights[entries], factor, bound)

    def _may_be_best(self, lists: Sequence[_List], k: int, offset: float) -> Tables:
        """Return the tables, in corpus order, from lists that grow longer."""
        left = list(accumulate((one.bound for one in reversed(lists)), initial=0.0))[::-1]
        read, n_read, looked = 0, 0, _SHORT
        reached = _Reached(0.0, 0.0)
        while True:
            following = len(lists[read].tables) if read < len(lists) else looked
            if n_read >= k and n_read + following > looked:
                reached = self._reached(lists, read, reached, k, offset)
                looked = _GROWTH * (n_read + following)
            if read == len(lists) or left[read] < reached.by_all:
                break
            lists[read].add_to(self._sums)
            n_read += following
            read += 1
        tables, sums = self._above(lists[:read], reached.by_all - left[read])
        self._clear(lists[:read], n_read)
        for bound, one in zip(left[read:], lists[read:], strict=False):
            kept = sums + bound >= reached.by_all
            tables, sums = tables[kept], sums[kept]
            sums += one.given(tables)
        return tables[sums >= reached.by_all]

    def _above(self, lists: Sequence[_List], least: float) -> tuple[Tables, Floats]:
        """Return the tables of some lists whose sums are not less, in corpus order, and the sums."""
        if not lists:
            return np.empty(0, dtype=np.int32), np.empty(0)
        tables = np.concatenate([one.tables for one in lists])
        return self._summed(tables[self._sums.take(tables) >= least])

    def _summed(self, tables: Tables) -> tuple[Tables, Floats]:
        """Return the tables, in corpus order and each once, and their sums."""
        tables = np.sort(tables)
        tables = tables[np.diff(tables, prepend=np.int32(-1)) > 0]
        return tables, self._sums.take(tables)

    def _reached(
        self, lists: Sequence[_List], read: int, before: "_Reached", k: int, offset: float
    ) -> "_Reached":
        """Return scores that ``k`` tables of the lists read so far reach."""
        tables = np.concatenate([one.tables for one in lists[:read]])
        sums = self._sums.take(tables)
        least, most = before.by_read, k * read  # a table is in each list once at most
        if len(sums) > most:
            least = max(least, float(np.partition(sums, len(sums) - most)[len(sums) - most]))
        tables, sums = self._summed(tables[sums >= least])
        if len(tables) < k:
            return before
        best = sums.argpartition(len(tables) - k)[len(tables) - k :]
        tables, sums = tables[best], sums[best]
        by_read = float(sums.min())
        for one in lists[read:]:
            sums += one.given(tables)
        score = float(sums.min())
        return _Reached(by_read, max(before.by_all, score - _SLACK * (score + offset)))

    def _clear(self, lists: Sequence[_List], n_read: int) -> None:
        if n_read > len(self._sums) // 12:  # from here on it is faster
            self._sums.fill(0.0)
            return
        for one in lists:
            self._sums[one.tables] = 0.0


class _Reached(NamedTuple):
    """Scores that as many tables as are wanted reach: by the lists read, and by all lists."""

    by_read: float
    by_all: float


def largest_weights(weights: Any) -> Floats:
    """Return the largest of each row of a CSR matrix, 0 for an empty one."""
    found: Floats = np.zeros(weights.shape[0])
    filled = np.flatnonzero(np.diff(weights.indptr))
    if len(filled):
        found[filled] = np.maximum.reduceat(weights.data, weights.indptr[filled])
    return found
