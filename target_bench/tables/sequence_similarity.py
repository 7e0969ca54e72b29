"""Similarity of two sequences of hashable items: edits, common subsequence, difflib's ratio.

rapidfuzz counts edits and common items; cydifflib is difflib's algorithm in C++, which the official
H-Score takes most of its time for.
"""

from collections.abc import Hashable, Sequence

from cydifflib import SequenceMatcher
from rapidfuzz.distance import LCSseq, Levenshtein

Items = Sequence[Hashable]


def edit_distance(one: Items, other: Items) -> int:
    """Count the insertions, deletions and substitutions that make one sequence the other."""
    return int(Levenshtein.distance(one, other))


def common_subsequence(one: Items, other: Items) -> int:
    """Return the length of the longest common subsequence."""
    return int(LCSseq.similarity(one, other))


def difflib_ratio(one: Items, other: Items) -> float:
    """Return ``difflib.SequenceMatcher(None, one, other).ratio()``, exactly.

    Not symmetric; from 200 items of ``other`` on, those that are more than a hundredth of it match
    only beside others (``autojunk``).
    """
    return float(SequenceMatcher(None, one, other).ratio())
