"""The rules that turn scores into a ranking: higher is better, equal scores keep corpus order.

Who adds up scores knows how far their last bits can be off, and rounds there: ``significant`` for
sums of what is not negative, ``graded`` for sums in which terms cancel. Both round to a share of
the scores themselves, so a ranking depends neither on their scale nor on batches and threads.

What a retriever returns is ranked as it is (``settled``): two scores tie where they are equal, or
differ by no more than the last bits of the precision they were computed in. So any strictly
increasing function of the scores ranks alike, as long as floats can tell its values apart.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

RULE = "last-bits-4"
"""Names the rule by which scores rank; part of the identity of a run."""

LAST_BITS = 4
"""Scores of one ranking that span no more units in the last place tie."""

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

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]


def significant(scores: NDArray[np.floating]) -> Floats:
    """Scores rounded to 32 binary digits each, a share of 1e-10 of the score; a new array.

    Additions of the same numbers in another order change the 50th digit or so of a sum in which
    nothing cancels, so that equal sums stay equal.
    """
    return _values(_keys(scores))


def graded(scores: NDArray[np.floating], unit: ArrayLike, digits: int) -> Floats:
    """Scores as multiples of a step that is so many binary digits below a unit; a new array.

    Args:
        scores: of any shape.
        unit: the largest score that is possible, such as the product of the lengths of two
            vectors; broadcast to the scores. The nearest power of two is taken, so that the last
            bits of the unit do not count.
        digits: ``SINGLE`` or ``DOUBLE``.
    """
    size = np.asarray(unit, dtype=np.float64)
    if size.max(initial=0.0) > _HUGE:
        return graded(np.divide(scores, _HUGE), size / _HUGE, digits) * _HUGE
    step = np.exp2(np.rint(np.log2(np.where(size > 0, size, 1.0))) - digits)
    one_and_a_half = 1.5 * 2.0**52 * step  # floats next to it are multiples of the step
    found: Floats = np.add(scores, one_and_a_half, dtype=np.float64)
    found -= one_and_a_half
    return found


def top_k(scores: NDArray[np.floating], k: int) -> tuple[NDArray[np.intp], Floats]:
    """The ``k`` best columns of each row, best first, and their scores as ``significant`` rounds.

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


def _keys(scores: NDArray[np.floating]) -> NDArray[np.int64]:
    """Whole numbers in the order of the rounded scores, multiples of ``_LOW + 1``."""
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
class Settled:
    """Rankings in the order of their scores.

    Attributes:
        rows: (n, w) places in the corpus, best first; -1 after the last table of a ranking.
        scores: (n, w) scores; those that tie by their last bits are the largest of them.
        moved: (n,) whether the ranking came in another order than its scores say.
        tied: (n,) whether tables with the same score were put in the order of the corpus.
        near: (n,) whether some of them had scores that differ in their last bits.
    """

    rows: NDArray[np.int64]
    scores: Floats
    moved: Flags
    tied: Flags
    near: Flags


def settled(rows: NDArray[np.int64], scores: NDArray[np.floating]) -> Settled:
    """Rank tables by the scores that a retriever gave them.

    Scores of a ranking that follow one another within four units in the last place, and span no
    more than that in all, tie. A longer run of such scores is a scale that has run out of digits,
    and ranks as it is; so do whole numbers, which no rounding has touched. The unit is that of
    float32 where every score of the ranking is a float32, else that of float64.

    Args:
        rows: (n, w) places in the corpus, -1 after the last table of a ranking.
        scores: (n, w) scores, finite where there is a table.
    """
    filled = rows >= 0
    given = np.where(filled, np.asarray(scores, dtype=np.float64), -np.inf) + 0.0
    digits = _digits(given, filled)
    rows, ranked = np.where(filled, rows, -1), given
    order = None
    if not _in_order(rows, ranked, filled):
        order = np.lexsort((np.where(filled, rows, np.iinfo(np.int64).max), -given))
        rows = np.take_along_axis(rows, order, axis=1)
        ranked = np.take_along_axis(given, order, axis=1)
    starts, near = _class_starts(ranked, filled, digits)
    tied: Flags = np.logical_or.reduce(~starts & filled, axis=1)
    if near.any() or order is not None:
        classes = np.cumsum(starts, axis=1, dtype=np.int64)
        moved = _fall(classes, filled, order)
        if near.any():
            again = np.lexsort((rows, classes))
            rows = np.take_along_axis(rows, again, axis=1)
            first = np.maximum.accumulate(np.where(starts, np.arange(starts.shape[1]), 0), axis=1)
            ranked = np.take_along_axis(ranked, first, axis=1)
    else:
        moved = np.zeros(len(rows), dtype=bool)
    return Settled(rows, np.where(filled, ranked, 0.0), moved, tied, near)


def rises(scores: NDArray[np.floating]) -> bool:
    """Whether a later one of (m,) scores is higher than an earlier one, by more than last bits."""
    return bool(settled(np.arange(len(scores))[None, :], scores[None, :]).moved[0])


def _digits(scores: Floats, filled: Flags) -> NDArray[np.int64]:
    """(n, 1) binary digits that the scores of each ranking have; 0: they are whole numbers."""
    with np.errstate(over="ignore"):
        single = (scores.astype(np.float32) == scores) | ~filled
    whole = ((scores == np.rint(scores)) & (np.abs(scores) <= 2.0**24)) | ~filled
    digits = np.where(single.all(axis=1), 24, 53)
    return np.where(whole.all(axis=1), 0, digits)[:, None]


def _in_order(rows: NDArray[np.int64], scores: Floats, filled: Flags) -> bool:
    falls = scores[:, :-1] > scores[:, 1:]
    tied = (scores[:, :-1] == scores[:, 1:]) & (rows[:, :-1] < rows[:, 1:])
    return bool((falls | tied | ~filled[:, 1:]).all())


def _class_starts(ranked: Floats, filled: Flags, digits: NDArray[np.int64]) -> tuple[Flags, Flags]:
    """Where classes of tied scores begin in (n, w) falling ones; which rows have unequal ones."""
    n, width = ranked.shape
    starts = np.ones((n, width), dtype=bool)
    if width < 2:
        return starts, np.zeros(n, dtype=bool)
    with np.errstate(over="ignore", invalid="ignore"):
        gaps = ranked[:, :-1] - ranked[:, 1:]
        linked = (gaps <= _tolerance(ranked[:, :-1], ranked[:, 1:], digits)) & filled[:, 1:]
    starts[:, 1:] = ~linked
    if not (linked & (gaps > 0)).any():
        return starts, np.zeros(n, dtype=bool)
    firsts = np.flatnonzero(starts)
    lasts = np.append(firsts[1:], starts.size) - 1
    flat, of_row = ranked.ravel(), np.repeat(digits.ravel(), width)[firsts]
    with np.errstate(over="ignore", invalid="ignore"):
        spans = flat[firsts] - flat[lasts]
        wide = spans > _tolerance(flat[firsts], flat[lasts], of_row)
    numbers = (np.cumsum(starts) - 1).reshape(n, width)
    starts[:, 1:] |= wide[numbers[:, 1:]] & (gaps > 0)
    unequal: Flags = np.logical_or.reduce(~starts[:, 1:] & (gaps > 0), axis=1)
    return starts, unequal


def _tolerance(one: Floats, other: Floats, digits: NDArray[np.int64]) -> Floats:
    """How far two scores may lie apart and tie."""
    largest = np.maximum(np.abs(one), np.abs(other))
    exponents = np.frexp(np.where(np.isfinite(largest), largest, 0.0))[1]
    tolerance: Floats = LAST_BITS * np.ldexp(1.0, exponents - digits)
    return np.where((digits > 0) & (largest > 0), tolerance, 0.0)


def _fall(classes: NDArray[np.int64], filled: Flags, order: NDArray[np.intp] | None) -> Flags:
    """Whether a class number is followed by a lower one, in the order in which scores came."""
    given = classes
    if order is not None:
        given = np.empty_like(classes)
        np.put_along_axis(given, order, classes, axis=1)
    falls: Flags = np.logical_or.reduce((given[:, :-1] > given[:, 1:]) & filled[:, 1:], axis=1)
    return falls
