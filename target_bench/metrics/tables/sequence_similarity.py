"""Similarity of two sequences: edit distance, common subsequence, and difflib's ratio.

All three work on any hashable items. The first two take one pass of bit operations on whole
numbers as long as a sequence (Hyyrö 2003, 2004), the third finds difflib's blocks in one matrix.
"""

from collections import Counter
from collections.abc import Hashable, Sequence
from difflib import SequenceMatcher

import numpy as np
from numpy.typing import NDArray

Items = Sequence[Hashable]

_SMALL = 1_500
"""Products of lengths up to which difflib itself is faster."""
_LARGE = 1 << 24
"""Products of lengths above which the matrix would take too much memory."""
_POPULAR_FROM = 200
"""Length from which difflib leaves out items that are more than a hundredth of a sequence."""


def _places(items: Items) -> dict[Hashable, int]:
    """Item -> a number with one bit for each place where it stands."""
    found: dict[Hashable, int] = {}
    for place, item in enumerate(items):
        found[item] = found.get(item, 0) | 1 << place
    return found


def edit_distance(one: Items, other: Items) -> int:
    """Count the insertions, deletions and substitutions that make one sequence the other."""
    if not one or not other:
        return len(one) + len(other)
    full, last = (1 << len(one)) - 1, 1 << (len(one) - 1)
    places = _places(one)
    up, down, distance = full, 0, len(one)
    for item in other:
        same = places.get(item, 0)
        level = (((same & up) + up) ^ up) | same | down
        right, left = down | (full & ~(level | up)), up & level
        distance += bool(right & last) - bool(left & last)
        right = (right << 1) | 1
        up, down = ((left << 1) | (~(level | right))) & full, right & level & full
    return distance


def common_subsequence(one: Items, other: Items) -> int:
    """Return the length of the longest common subsequence."""
    full = (1 << len(one)) - 1
    places = _places(one)
    state = full
    for item in other:
        same = state & places.get(item, 0)
        state = ((state + same) | (state - same)) & full
    return len(one) - state.bit_count()


def difflib_ratio(one: Items, other: Items) -> float:
    """Return ``difflib.SequenceMatcher(None, one, other).ratio()``, exactly.

    Not symmetric; from 200 items of ``other`` on, those that are more than a hundredth of it match
    only beside others (``autojunk``).
    """
    size = len(one) * len(other)
    if size <= _SMALL or size > _LARGE:
        return SequenceMatcher(None, one, other).ratio()
    return 2.0 * _matched(one, other) / (len(one) + len(other))


def _matched(one: Items, other: Items) -> int:
    """Count the items in difflib's matching blocks."""
    runs = _runs(one, other)
    open_parts, found = [(0, len(one), 0, len(other))], 0
    while open_parts:
        low, high, other_low, other_high = open_parts.pop()
        start, other_start, length = _longest(runs, low, high, other_low, other_high)
        while start > low and other_start > other_low and one[start - 1] == other[other_start - 1]:
            start, other_start, length = start - 1, other_start - 1, length + 1
        end, other_end = start + length, other_start + length
        while end < high and other_end < other_high and one[end] == other[other_end]:
            end, other_end = end + 1, other_end + 1
        if end == start:
            continue
        found += end - start
        if low < start and other_low < other_start:
            open_parts.append((low, start, other_low, other_start))
        if end < high and other_end < other_high:
            open_parts.append((end, high, other_end, other_high))
    return found


def _runs(one: Items, other: Items) -> NDArray[np.int32]:
    """Return the length of the common run that ends at each pair of places."""
    numbers: dict[Hashable, int] = {}
    codes, other_codes = (
        np.array([numbers.setdefault(item, len(numbers)) for item in items], dtype=np.int64)
        for items in (one, other)
    )
    if len(other) >= _POPULAR_FROM:
        most = len(other) // 100 + 1
        popular = [numbers[item] for item, n in Counter(other).items() if n > most]
        other_codes[np.isin(other_codes, popular)] = -1
    runs: NDArray[np.int32] = (codes[:, None] == other_codes[None, :]).astype(np.int32)
    for row in range(1, len(runs)):
        runs[row, 1:] += runs[row - 1, :-1] * runs[row, 1:]
    return runs


def _longest(
    runs: NDArray[np.int32], low: int, high: int, other_low: int, other_high: int
) -> tuple[int, int, int]:
    """Return where the longest run of a part begins in both, the earliest first; and its length."""
    part = runs[low:high, other_low:other_high]
    rows = np.arange(1, high - low + 1, dtype=np.int32)[:, None]
    columns = np.arange(1, other_high - other_low + 1, dtype=np.int32)[None, :]
    inside = np.minimum(part, np.minimum(rows, columns))
    place = int(inside.argmax())
    row, column = divmod(place, other_high - other_low)
    length = int(inside[row, column])
    if length == 0:
        return low, other_low, 0
    return low + row - length + 1, other_low + column - length + 1, length
