"""Similarity of two sequences: edit distance, common subsequence, and difflib's ratio.

All three work on any hashable items, and with bit operations on whole numbers as long as a sequence
(edit distance: Hyyrö 2003; common subsequence: Hyyrö 2004; difflib's blocks by doubling runs).
"""

from collections import Counter
from collections.abc import Hashable, Sequence
from difflib import SequenceMatcher

Items = Sequence[Hashable]

_LARGE = 1 << 26
"""Products of lengths above which the rows of bits would take too much memory."""
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
    start, end, other_end = 0, len(one), len(other)
    while start < end and start < other_end and one[start] == other[start]:
        start += 1
    while start < end and start < other_end and one[end - 1] == other[other_end - 1]:
        end, other_end = end - 1, other_end - 1
    if start in (end, other_end):
        return end + other_end - 2 * start
    return _edits(one[start:end], other[start:other_end])


def _edits(one: Items, other: Items) -> int:
    """Return the edit distance of two sequences that are not empty."""
    full, last = (1 << len(one)) - 1, 1 << (len(one) - 1)
    places = _places(one)
    up, down, distance = full, 0, len(one)
    for item in other:
        same = places.get(item, 0)
        level = (((same & up) + up) ^ up) | same | down
        right, left = down | (full & ~(level | up)), up & level
        if right & last:
            distance += 1
        elif left & last:
            distance -= 1
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
    if not one and not other:
        return 1.0
    if len(one) * len(other) > _LARGE:
        return SequenceMatcher(None, one, other).ratio()
    return 2.0 * _matched(one, other) / (len(one) + len(other))


def _matched(one: Items, other: Items) -> int:
    """Count the items in difflib's matching blocks."""
    places = _places(other)
    if len(other) >= _POPULAR_FROM:
        most = len(other) // 100 + 1
        places |= {item: 0 for item, n in Counter(other).items() if n > most}
    rows = [places.get(item, 0) for item in one]
    open_parts, found = [(0, len(one), 0, len(other))], 0
    while open_parts:
        low, high, other_low, other_high = open_parts.pop()
        start, other_start, length = _longest(rows[low:high], other_low, other_high)
        start += low
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


def _longest(rows: Sequence[int], low: int, high: int) -> tuple[int, int, int]:
    """Return row, column and length of the longest run down a diagonal, the earliest of several.

    Args:
        rows: a bit for each column in which a row matches.
        low: the first column.
        high: the column after the last.
    """
    window = (1 << high) - (1 << low)
    rows = [row & window for row in rows]
    if not any(rows):
        return 0, low, 0
    ends = {1: rows}  # length -> where runs of that length end, from the row length - 1 on
    length = 1
    while any(doubled := _longer(ends[length], ends[length], length)):
        length *= 2
        ends[length] = doubled
    step, runs = length, ends[length]
    while step > 1:
        step //= 2
        if any(longer := _longer(ends[step], runs, step)):
            length, runs = length + step, longer
    row = next(place for place, bits in enumerate(runs) if bits)
    column = (runs[row] & -runs[row]).bit_length() - length
    return row, column, length


def _longer(ends: Sequence[int], runs: Sequence[int], length: int) -> list[int]:
    """Return where a run of ``length`` ends that directly follows one of ``runs``."""
    after = ends[len(ends) - len(runs) + length :]
    return [end & (run << length) for end, run in zip(after, runs, strict=False)]
