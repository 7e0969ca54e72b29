"""Rank tables by their scores: higher is better, and ties are broken by a hash of the table's id.

Sums of floats differ in their last bits between batches and threads, which must not decide a
ranking. So the retrievers of this package round before they rank: ``top_k`` to a share of each
score, which is enough for sums of numbers that are not negative; ``round_scores`` to a share of
the largest possible score, for sums in which terms cancel, as in the products of vectors. Neither
depends on the scale of the scores.

Scores that a retriever returns are ranked as they are (``sort_by_score``): two tables tie if their
scores are equal. So every strictly increasing function of the scores gives the same ranking, as
long as floats tell its values apart.

Data sets list tables in the order of their questions, so that order would give answers away.
Retrievers get the tables in the order of ``tie_order``, which also breaks ties.
"""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from target_bench.core.schema import TableId

RULE = "as-given|ties:sha256"
"""The name of the rule by which scores rank; part of the identity of a run."""

SINGLE_DIGITS = 20
"""Binary digits, below the largest possible score, that are kept of products of float32 vectors.

Models compute in single precision (24 digits), and their last bits depend on the batch.
"""

DOUBLE_DIGITS = 30
"""Binary digits, below the largest possible score, that are kept of sums in double precision."""

_LOW_BITS = (1 << (53 - 32)) - 1  # of a score: ``top_k`` keeps 32 of its 53 binary digits
_MAGNITUDE_BITS = np.int64(2**63 - 1)  # all but the sign
_INFINITY_BITS = int(np.array(np.inf).view(np.int64))
_HUGE = 2.0**900  # above it, the arithmetic of ``round_scores`` would overflow
_CLEARLY_HIGHER = 1e-5  # share of the largest score
_BLOCK_CELLS = 250_000  # scores in memory at a time, however many queries there are

Floats = NDArray[np.float64]
Positions = NDArray[np.int64]
"""Positions of tables in the corpus."""

Ranking = Sequence[TableId] | Sequence[tuple[TableId, float]]
"""Tables best first, each alone or with its score: higher is better, on any scale."""


class Ranked(Sequence[Ranking]):
    """The rankings of a batch as arrays; reads as a list of rankings with scores.

    ```python
    import numpy as np

    from target_bench import Ranked, TableId

    ids = [TableId("0", "moons"), TableId("0", "rivers")]
    ranked = Ranked(ids, np.array([[1, 0, -1]]), np.array([[0.9, 0.2, 0.0]]))
    print([(table_id.label, float(score)) for table_id, score in ranked[0]])
    # [('rivers', 0.9), ('moons', 0.2)]
    ```

    Args:
        ids: the ids of the corpus that was embedded, in its order.
        rows: (n, k) positions in the corpus, best first; -1 after the last table of a ranking.
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


def tie_order(ids: Sequence[TableId]) -> Positions:
    """Return the positions of tables in the order that breaks ties: by the SHA-256 of their ids."""
    hashes = b"".join(
        hashlib.sha256("\0".join(table_id).encode("utf-8", "surrogatepass")).digest()[:16]
        for table_id in ids
    )
    halves = np.frombuffer(hashes, dtype=">u8").reshape(-1, 2)  # 128 bits: no two are equal
    return np.lexsort((halves[:, 1], halves[:, 0])).astype(np.int64)


def round_scores(scores: NDArray[np.floating], largest: ArrayLike, digits: int) -> Floats:
    """Round scores to ``digits`` binary digits below the largest possible score.

    Args:
        scores: of any shape.
        largest: the largest possible score, such as the product of the lengths of two vectors;
            broadcast to the scores. The nearest power of two is taken, so that its last bits do
            not count.
        digits: ``SINGLE_DIGITS`` or ``DOUBLE_DIGITS``.
    """
    size = np.asarray(largest, dtype=np.float64)
    if size.max(initial=0.0) > _HUGE:
        return round_scores(np.divide(scores, _HUGE), size / _HUGE, digits) * _HUGE
    step = np.exp2(np.rint(np.log2(np.where(size > 0, size, 1.0))) - digits)
    # Floats near this number are multiples of the step: adding it rounds.
    offset = 1.5 * 2.0**52 * step
    rounded: Floats = np.add(scores, offset, dtype=np.float64)
    rounded -= offset
    return rounded


def top_k(scores: NDArray[np.floating], k: int) -> tuple[NDArray[np.intp], Floats]:
    """Return the ``k`` best columns of each row, best first, and their rounded scores.

    Each score is rounded to 32 binary digits, a share of 1e-10: adding the same numbers in another
    order changes the 50th digit or so of a sum in which nothing cancels, so equal sums stay equal.

    Args:
        scores: (n, m) scores, higher is better; minus infinity ranks last.
        k: how many to return.

    Returns:
        (n, min(k, m)) column numbers and scores; equal scores are in the order of their columns.

    Raises:
        ValueError: a score is NaN or infinite.
    """
    n_columns = scores.shape[1]
    k = min(k, n_columns)
    keys = _to_keys(scores)
    if n_columns > _LOW_BITS:
        columns = np.argsort(-keys, axis=1, kind="stable")[:, :k]
        return columns, _to_scores(np.take_along_axis(keys, columns, axis=1))
    # The low bits, made 0 by rounding, hold the column: keys differ, so a partition is exact.
    keys += np.arange(n_columns - 1, -1, -1)
    if k < n_columns:
        keys.partition(n_columns - k, axis=1)
        keys = keys[:, n_columns - k :]
    best = np.sort(keys, axis=1)[:, ::-1]
    return n_columns - 1 - (best & _LOW_BITS), _to_scores(best & ~_LOW_BITS)


def best_cosines(scores: NDArray[np.floating], k: int) -> tuple[NDArray[np.intp], Floats]:
    """Return the ``k`` best columns of each row of cosines, and the rounded cosines.

    ```python
    import numpy as np

    from target_bench.plugin_tools import best_cosines

    columns, cosines = best_cosines(np.array([[0.1, 0.9, 0.5]], dtype=np.float32), k=2)
    print(columns, cosines.round(3))  # [[1 2]] [[0.9 0.5]]
    ```

    Products of float32 vectors depend in their last digits on the batch, which are rounded away.
    """
    return top_k(round_scores(scores, 1.0, SINGLE_DIGITS), k)


def _to_keys(scores: NDArray[np.floating]) -> NDArray[np.int64]:
    """Return whole numbers in the order of the rounded scores, whose ``_LOW_BITS`` are 0.

    They are the bits of the scores: read as whole numbers, those of floats above 0 are in order.
    """
    keys = np.array(scores, dtype=np.float64, order="C").view(np.int64)
    if not keys.size:
        return keys
    keys += (_LOW_BITS + 1) >> 1  # half a step, so that cutting the low bits off rounds
    keys &= ~_LOW_BITS
    lowest = keys.min()
    if lowest < 0:  # a float is sign and magnitude: those below 0 would be in reverse order
        negative = keys < 0
        np.bitwise_and(keys, _MAGNITUDE_BITS, out=keys, where=negative)
        np.negative(keys, out=keys, where=negative)
        lowest = keys.min()
    if keys.max() >= _INFINITY_BITS or lowest < -_INFINITY_BITS:
        raise ValueError("scores must be finite, or minus infinity, which ranks last")
    return keys


def _to_scores(keys: NDArray[np.int64]) -> Floats:
    return np.copysign(np.abs(keys).view(np.float64), keys)


@dataclass(frozen=True, slots=True)
class SortedRankings:
    """Rankings in the order of their scores.

    Attributes:
        rows: (n, w) positions in the corpus, best first; -1 after the last table of a ranking.
        scores: (n, w) scores.
        moved: (n,) whether the ranking came in another order than its scores say.
        tied: (n,) whether it has tables of equal score, which are in the order of the corpus.
    """

    rows: NDArray[np.int64]
    scores: Floats
    moved: NDArray[np.bool_]
    tied: NDArray[np.bool_]


def sort_by_score(rows: NDArray[np.int64], scores: NDArray[np.floating]) -> SortedRankings:
    """Sort rankings by the scores that a retriever gave, ties in the order of the corpus.

    Args:
        rows: (n, w) positions in ``Corpus.shuffled``; -1 after the last table of a ranking.
        scores: (n, w) scores, finite where there is a table.
    """
    filled = rows >= 0
    rows = np.where(filled, rows, -1)
    scores = np.where(filled, np.asarray(scores, dtype=np.float64), -np.inf) + 0.0  # no -0.0
    moved = ((scores[:, :-1] < scores[:, 1:]) & filled[:, 1:]).any(axis=1)
    equal = (scores[:, :-1] == scores[:, 1:]) & filled[:, 1:]
    if moved.any() or (equal & (rows[:, :-1] > rows[:, 1:])).any():
        order = np.lexsort((np.where(filled, rows, np.iinfo(np.int64).max), -scores))
        rows = np.take_along_axis(rows, order, axis=1)
        scores = np.take_along_axis(scores, order, axis=1)
        equal = (scores[:, :-1] == scores[:, 1:]) & filled[:, 1:]
    tied = equal.any(axis=1)
    return SortedRankings(rows, np.where(filled, scores, 0.0), np.asarray(moved), np.asarray(tied))


def is_rising(scores: NDArray[np.floating]) -> bool:
    """Return whether one of (m,) scores is clearly higher than the one before it.

    A difference of 1e-5 of the largest is none: services round, and compute in single precision.
    """
    values = np.asarray(scores, dtype=np.float64)
    return bool((np.diff(values) > _CLEARLY_HIGHER * np.abs(values).max(initial=0.0)).any())


def split_into_blocks(n_queries: int, n_tables: int, cells: int = _BLOCK_CELLS) -> list[slice]:
    """Return slices of the queries that have about this many scores each."""
    size = max(1, cells // max(1, n_tables))
    return [slice(start, min(start + size, n_queries)) for start in range(0, n_queries, size)]


def stack_rankings(blocks: Sequence[tuple[Positions, Floats]]) -> tuple[Positions, Floats]:
    """Return positions and scores of consecutive blocks of queries as one array each."""
    if not blocks:
        return np.empty((0, 0), dtype=np.int64), np.empty((0, 0))
    positions, scores = zip(*blocks, strict=True)
    return np.concatenate(positions), np.concatenate(scores)


def top_k_positive(
    scores: Floats, k: int, offsets: Floats | None = None
) -> tuple[Positions, Floats]:
    """Return positions and scores of the ``k`` best of each row; -1 and 0 if none is above 0.

    ``offsets`` are (n,) numbers to add to the scores of a row that are above 0.
    """
    if offsets is not None:
        scores = np.where(scores > 0, scores + offsets[:, None], 0.0)
    best, best_scores = top_k(scores, k)
    matches = best_scores > 0
    return np.where(matches, best, -1), np.where(matches, best_scores, 0.0)


def sort_arrays(answers: Ranked, top_k: int, ids: Sequence[TableId]) -> SortedRankings | None:
    """Return the rankings sorted by their scores; None if one breaks the retriever's contract.

    ``ids`` are those of the corpus, in its order: positions in another order say other tables.
    """
    if answers.ids is not ids and [*answers.ids] != [*ids]:
        return None
    rows, scores = np.asarray(answers.rows, dtype=np.int64), np.asarray(answers.scores)
    if rows.shape != scores.shape or rows.shape[1] > top_k or (rows >= len(ids)).any():
        return None
    filled = rows >= 0
    ordered = np.sort(rows, axis=1)
    repeated = (ordered[:, 1:] == ordered[:, :-1]) & (ordered[:, 1:] >= 0)
    gaps = filled[:, 1:] & ~filled[:, :-1]
    if repeated.any() or gaps.any() or not np.isfinite(scores[filled]).all():
        return None
    return sort_by_score(rows, scores)


class ListedRanking(NamedTuple):
    """One of ``SortedRankings``, as lists."""

    positions: list[int]
    scores: list[float]  # empty if the retriever gave none
    moved: bool = False
    tied: bool = False


def list_rankings(rankings: SortedRankings, lengths: Iterable[int]) -> list[ListedRanking]:
    """Return rankings one by one, each cut after its number of tables."""
    arrays = (rankings.rows, rankings.scores, rankings.moved, rankings.tied)
    lists = zip(lengths, *(array.tolist() for array in arrays), strict=True)
    return [
        ListedRanking(rows[:n], scores[:n], moved, tied) for n, rows, scores, moved, tied in lists
    ]
