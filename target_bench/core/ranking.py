"""Scores -> rankings: higher is better; equal scores rank in an order that no question knows.

Who adds up scores knows how far their last bits can be off, and rounds there: ``top_k`` sums of
what is not negative, ``round_to_grade`` sums in which terms cancel. Both round to a share of the
scores themselves, so a ranking depends neither on their scale nor on batches and threads.

What a retriever returns is ranked as it is (``sort_by_score``): two scores tie where they are
equal. So any strictly increasing function of the scores ranks alike, as long as floats tell its
values apart.

Releases list tables in the order of their questions, so their order would give answers away.
Retrievers therefore get the tables in the order of ``tie_order``, which also decides ties.
"""

import hashlib
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from target_bench.core.schema import TableId

RULE = "as-given|ties:sha256"
"""Names the rule by which scores rank; part of the identity of a run."""

SINGLE = 20
"""Binary digits, below the largest possible score, that products of float32 vectors are good for.

Models compute in single precision (24 digits), and their last bits depend on the batch.
"""

DOUBLE = 30
"""Binary digits, below the largest possible score, that sums in double precision are good for."""

_KEPT = 32
_FREE = 53 - _KEPT
_LOW = (1 << _FREE) - 1
_MAGNITUDE = np.int64(2**63 - 1)
_HUGE = 2.0**900
_INFINITE = int(np.array(np.inf).view(np.int64))
_CLEARLY = 1e-5

BLOCK_CELLS = 250_000
"""Scores held at a time, so that memory does not grow with the number of queries."""

Floats = NDArray[np.float64]
Places = NDArray[np.int64]

Ranking = Sequence[TableId] | Sequence[tuple[TableId, float]]
"""Tables best first, each alone or with its score. Fewer than asked is fine.

Higher is better, on any scale; equal scores leave the order to ``tie_order``.
"""


Listed = tuple[list[int], list[float], bool, bool]
"""Places in the corpus, scores if there are any, and what ``SortedRankings`` says of a ranking."""


class Ranked(Sequence[Ranking]):
    """Rankings of a batch as arrays, straight from an index; reads as a list of scored rankings.

    ```python
    import numpy as np

    from target_bench import Ranked, TableId

    ids = [TableId("0", "moons"), TableId("0", "rivers")]
    ranked = Ranked(ids, np.array([[1, 0, -1]]), np.array([[0.9, 0.2, 0.0]]))
    print([(table_id.label, float(score)) for table_id, score in ranked[0]])
    # [('rivers', 0.9), ('moons', 0.2)]
    ```

    Args:
        ids: the tables' ids, in the order of the corpus that was embedded.
        rows: (n, k) places in the corpus, best first; -1 after the last table of a ranking.
        scores: (n, k) scores, higher is better.

    Raises:
        ValueError: rows and scores are not two-dimensional, or not of the same shape.
    """

    def __init__(
        self, ids: Sequence[TableId], rows: NDArray[np.integer], scores: NDArray[np.floating]
    ) -> None:
        if np.ndim(rows) != 2 or np.shape(rows) != np.shape(scores):
            raise ValueError(f"rows {np.shape(rows)} and scores {np.shape(scores)} must be (n, k)")
        self.ids = ids
        self.rows = rows
        self.scores = scores

    def __len__(self) -> int:
        return len(self.rows)

    @overload
    def __getitem__(self, index: int) -> Ranking: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Ranking]: ...
    def __getitem__(self, index: int | slice) -> Ranking | Sequence[Ranking]:
        if isinstance(index, slice):
            return Ranked(self.ids, self.rows[index], self.scores[index])
        pairs = zip(self.rows[index].tolist(), self.scores[index].tolist(), strict=True)
        return [(self.ids[row], score) for row, score in pairs if row >= 0]


def tie_order(ids: Sequence[TableId]) -> Places:
    """Return the places of tables in the order that breaks ties: by the SHA-256 of their ids."""
    whole = b"".join(
        hashlib.sha256("\0".join(table_id).encode("utf-8", "surrogatepass")).digest()[:16]
        for table_id in ids
    )
    halves = np.frombuffer(whole, dtype=">u8").reshape(-1, 2)  # 128 bits: no two are equal
    return np.lexsort((halves[:, 1], halves[:, 0])).astype(np.int64)


def round_to_grade(scores: NDArray[np.floating], unit: ArrayLike, digits: int) -> Floats:
    """Return the scores as multiples of a step that is ``digits`` binary digits below a unit.

    Args:
        scores: of any shape.
        unit: the largest score that is possible, such as the product of the lengths of two
            vectors; broadcast to the scores. The nearest power of two is taken, so that the last
            bits of the unit do not count.
        digits: ``SINGLE`` or ``DOUBLE``.
    """
    size = np.asarray(unit, dtype=np.float64)
    if size.max(initial=0.0) > _HUGE:
        return round_to_grade(np.divide(scores, _HUGE), size / _HUGE, digits) * _HUGE
    step = np.exp2(np.rint(np.log2(np.where(size > 0, size, 1.0))) - digits)
    one_and_a_half = 1.5 * 2.0**52 * step  # floats next to it are multiples of the step
    rounded: Floats = np.add(scores, one_and_a_half, dtype=np.float64)
    rounded -= one_and_a_half
    return rounded


def top_k(scores: NDArray[np.floating], k: int) -> tuple[NDArray[np.intp], Floats]:
    """Return the ``k`` best columns of each row, best first, and their rounded scores.

    Scores are rounded to 32 binary digits each, a share of 1e-10 of the score: additions of the
    same numbers in another order change the 50th digit or so of a sum in which nothing cancels, so
    that equal sums stay equal.

    The column is packed into the bits of the score that rounding frees, so that every key is
    unique and a partition is exact.

    Args:
        scores: (n, m) scores, higher is better; minus infinity ranks last.
        k: how many to return; no more than ``m`` come back.

    Returns:
        (n, min(k, m)) column numbers and scores; equal scores are in the order of their columns.

    Raises:
        ValueError: a score is NaN or infinite.
    """
    n_columns = scores.shape[1]
    k = min(k, n_columns)
    keys = _keys(scores)
    if n_columns > _LOW:  # no room for the column
        columns = np.argsort(-keys, axis=1, kind="stable")[:, :k]
        return columns, _values(np.take_along_axis(keys, columns, axis=1))
    keys += np.arange(n_columns - 1, -1, -1)
    if k < n_columns:
        keys.partition(n_columns - k, axis=1)
        keys = keys[:, n_columns - k :]
    best = np.sort(keys, axis=1)[:, ::-1]
    return n_columns - 1 - (best & _LOW), _values(best & ~_LOW)


def best_cosines(scores: NDArray[np.floating], k: int) -> tuple[NDArray[np.intp], Floats]:
    """Return what ``top_k`` does, of products of vectors of length 1 in single precision.

    ```python
    import numpy as np

    from target_bench.plugin_tools import best_cosines

    places, scores = best_cosines(np.array([[0.1, 0.9, 0.5]], dtype=np.float32), k=2)
    print(places, scores.round(3))  # [[1 2]] [[0.9 0.5]]
    ```

    Their last digits depend on how many were computed at once, and do not rank.
    """
    return top_k(round_to_grade(scores, 1.0, SINGLE), k)


def _keys(scores: NDArray[np.floating]) -> NDArray[np.int64]:
    """Return whole numbers in the order of the rounded scores, multiples of ``_LOW + 1``."""
    keys = np.array(scores, dtype=np.float64, order="C").view(np.int64)
    if not keys.size:
        return keys
    keys += (_LOW + 1) >> 1
    keys &= ~_LOW
    lowest = keys.min()
    if lowest < 0:  # floats are sign and magnitude
        negative = keys < 0
        np.bitwise_and(keys, _MAGNITUDE, out=keys, where=negative)
        np.negative(keys, out=keys, where=negative)
        lowest = keys.min()
    if keys.max() >= _INFINITE or lowest < -_INFINITE:
        raise ValueError("scores must be finite; minus infinity alone is allowed, and ranks last")
    return keys


def _values(keys: NDArray[np.int64]) -> Floats:
    return np.copysign(np.abs(keys).view(np.float64), keys)


@dataclass(frozen=True, slots=True)
class SortedRankings:
    """Rankings in the order of their scores.

    Attributes:
        rows: (n, w) places in the corpus, best first; -1 after the last table of a ranking.
        scores: (n, w) scores.
        moved: (n,) whether the ranking came in another order than its scores say.
        tied: (n,) whether tables with the same score were put in the order of their rows.
    """

    rows: NDArray[np.int64]
    scores: Floats
    moved: NDArray[np.bool_]
    tied: NDArray[np.bool_]


def sort_by_score(rows: NDArray[np.int64], scores: NDArray[np.floating]) -> SortedRankings:
    """Rank tables by the scores that a retriever gave them, equal ones in the order of their rows.

    Args:
        rows: (n, w) places in ``Corpus.shuffled``, -1 after the last table of a ranking.
        scores: (n, w) scores, finite where there is a table.
    """
    filled = rows >= 0
    numbers = np.where(filled, np.asarray(scores, dtype=np.float64), -np.inf) + 0.0
    rows, ranked = np.where(filled, rows, -1), numbers
    moved = ((numbers[:, :-1] < numbers[:, 1:]) & filled[:, 1:]).any(axis=1)
    equal = (numbers[:, :-1] == numbers[:, 1:]) & filled[:, 1:]
    if moved.any() or (equal & (rows[:, :-1] > rows[:, 1:])).any():
        order = np.lexsort((np.where(filled, rows, np.iinfo(np.int64).max), -numbers))
        rows = np.take_along_axis(rows, order, axis=1)
        ranked = np.take_along_axis(numbers, order, axis=1)
        equal = (ranked[:, :-1] == ranked[:, 1:]) & filled[:, 1:]
    return SortedRankings(
        rows, np.where(filled, ranked, 0.0), np.asarray(moved), np.asarray(equal.any(axis=1))
    )


def is_rising(scores: NDArray[np.floating]) -> bool:
    """Return whether a later one of (m,) scores is clearly higher than an earlier one.

    Clearly is by more than 1e-5 of the largest: services round, and compute in single precision.
    """
    values = np.asarray(scores, dtype=np.float64)
    return bool((np.diff(values) > _CLEARLY * np.abs(values).max(initial=0.0)).any())


def split_into_blocks(n_queries: int, n_tables: int, cells: int = BLOCK_CELLS) -> list[slice]:
    """Yield slices of the queries that have about this many scores each."""
    size = max(1, cells // max(1, n_tables))
    return [slice(start, min(start + size, n_queries)) for start in range(0, n_queries, size)]


def stack_rankings(parts: Sequence[tuple[Places, Floats]]) -> tuple[Places, Floats]:
    """Return the places and scores of consecutive blocks of queries, as one."""
    if not parts:
        return np.empty((0, 0), dtype=np.int64), np.empty((0, 0))
    places, values = zip(*parts, strict=True)
    return np.concatenate(places), np.concatenate(values)


def top_k_positive(scores: Floats, k: int, offsets: Floats | None = None) -> tuple[Places, Floats]:
    """Return places and scores of the ``k`` best of each row; -1 and 0 where none is above 0."""
    if offsets is not None:
        scores = np.where(scores > 0, scores + offsets[:, None], 0.0)
    best, best_scores = top_k(scores, k)
    matches = best_scores > 0
    return np.where(matches, best, -1), np.where(matches, best_scores, 0.0)


def sort_arrays(answers: Ranked, top_k: int, n_tables: int) -> SortedRankings | None:
    """Return rankings given as arrays, sorted by their scores; None if one is invalid."""
    rows, scores = np.asarray(answers.rows, dtype=np.int64), np.asarray(answers.scores)
    if rows.shape != scores.shape or rows.shape[1] > top_k or (rows >= n_tables).any():
        return None
    filled = rows >= 0
    places = np.sort(rows, axis=1)
    repeated = (places[:, 1:] == places[:, :-1]) & (places[:, 1:] >= 0)
    gaps = filled[:, 1:] & ~filled[:, :-1]
    if repeated.any() or gaps.any() or not np.isfinite(scores[filled]).all():
        return None
    return sort_by_score(rows, scores)


def to_lists(rankings: SortedRankings, lengths: Iterable[int]) -> list[Listed]:
    """Return rankings one by one, each of its length."""
    arrays = (rankings.rows, rankings.scores, rankings.moved, rankings.tied)
    lists = zip(lengths, *(array.tolist() for array in arrays), strict=True)
    return [(rows[:n], scores[:n], moved, tied) for n, rows, scores, moved, tied in lists]


def count_processors() -> int:
    """Return how many processors this process may use, ``$OMP_NUM_THREADS`` at most."""
    n = os.cpu_count() or 1
    if hasattr(os, "sched_getaffinity"):
        n = len(os.sched_getaffinity(0))
    allowed = os.environ.get("OMP_NUM_THREADS", "")
    return max(1, min(n, int(allowed))) if allowed.isdigit() else n
