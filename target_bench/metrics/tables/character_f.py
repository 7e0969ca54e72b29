"""Sentence chrF of short texts, many of which repeat (Popović 2015, as sacreBLEU computes it)."""

from collections import Counter
from functools import lru_cache

_ORDER = 6
_BETA_SQUARED = 4.0
_TINY = 1e-16

NGrams = tuple[tuple[Counter[str], int], ...]


@lru_cache(maxsize=1 << 16)
def _ngrams(text: str) -> NGrams:
    squeezed = "".join(text.split())
    counts = []
    for order in range(1, _ORDER + 1):
        found = Counter(squeezed[i : i + order] for i in range(len(squeezed) - order + 1))
        counts.append((found, found.total()))
    return tuple(counts)


@lru_cache(maxsize=1 << 20)
def character_f(answer: str, gold: str) -> float:
    """Return sentence chrF from 0 to 1: order 6, beta 2, white space left out; 0 for an empty text.

    Orders for which a text is too short do not count.
    """
    precision = recall = 0.0
    orders = 0
    for (left, n_left), (right, n_right) in zip(_ngrams(answer), _ngrams(gold), strict=True):
        if not n_left or not n_right:
            break
        orders += 1
        small, large = (left, right) if len(left) < len(right) else (right, left)
        shared = sum(min(n, large[gram]) for gram, n in small.items() if gram in large)
        precision += shared / n_left
        recall += shared / n_right
    if not orders:
        return 0.0
    precision, recall = precision / orders, recall / orders
    if precision + recall == 0:
        return 0.0
    return (1 + _BETA_SQUARED) * precision * recall / (_BETA_SQUARED * precision + recall + _TINY)
