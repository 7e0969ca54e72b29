"""Sentence chrF of short texts, many of which repeat (Popović 2015, as sacreBLEU computes it)."""

from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

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


def character_f_of_all(answers: Sequence[str], golds: Sequence[str]) -> NDArray[np.float64]:
    """Return (gold, answer) values of ``character_f`` for many texts: the same, but sooner."""
    left, right = list(map(_ngrams, answers)), list(map(_ngrams, golds))
    precision, recall, orders = (np.zeros((len(golds), len(answers))) for _ in range(3))
    for order in range(_ORDER):
        n_left, n_right = (np.array([one[order][1] for one in side]) for side in (left, right))
        columns: dict[tuple[str, int], int] = {}
        of_answers, of_golds = (
            _occurrences([one[order][0] for one in side], columns) for side in (left, right)
        )
        of_answers.resize(len(answers), len(columns))
        shared = (of_golds @ of_answers.T).toarray()
        precision += shared / np.maximum(n_left, 1)
        recall += shared / np.maximum(n_right, 1)[:, None]
        orders += (n_left > 0) & (n_right > 0)[:, None]
    precision, recall = precision / np.maximum(orders, 1), recall / np.maximum(orders, 1)
    weighted = _BETA_SQUARED * precision + recall + _TINY
    found: NDArray[np.float64] = (1 + _BETA_SQUARED) * precision * recall / weighted
    return found


def _occurrences(texts: Sequence[Counter[str]], columns: dict[tuple[str, int], int]) -> Any:
    """Return a sparse matrix of 0 and 1: text by the nth occurrence of an n-gram.

    Args:
        texts: the n-grams of each.
        columns: (n-gram, n) -> its column; new ones are added.
    """
    from scipy.sparse import csr_array

    starts, found = [0], []
    for counts in texts:
        found += [
            columns.setdefault((gram, n), len(columns))
            for gram, count in counts.items()
            for n in range(count)
        ]
        starts.append(len(found))
    return csr_array((np.ones(len(found)), found, starts), shape=(len(texts), len(columns)))
