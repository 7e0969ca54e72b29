"""Fuse several rankings of the same query: by reciprocal ranks, or by weighted sums of scores.

``rrf`` is reciprocal rank fusion (Cormack, Clarke and Büttcher, SIGIR 2009). ``weighted`` adds
normalised scores (CombSUM of Fox and Shaw, TREC-2, with weights).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from target_bench.core.errors import ConfigError, check_at_least_one
from target_bench.core.ranking import DOUBLE_DIGITS, round_scores
from target_bench.core.ranking import top_k as best_columns
from target_bench.search.nested import Candidates

Method = Literal["weighted", "rrf"]
Scale = Literal["max", "minmax", "zscore", "none"]
Floats = NDArray[np.float64]
Positions = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Fusion:
    """Method of fusing rankings.

    ```python
    from target_bench import load
    from target_bench.plugin_tools import Fusion, InnerRetriever

    corpus, rankings = load("mini").corpus, []
    for name in ("bm25", "tfidf"):
        inner = InnerRetriever(name)
        inner.embed_corpus(corpus)
        rankings.append(inner.candidates(["Which moons has Uranus?"], k=10))
    positions, scores = Fusion("rrf").fuse(rankings, [1, 1], depth=10, n_tables=len(corpus), k=3)
    print(positions, scores.round(4))  # [[59 60 61]] [[0.0328 0.032  0.032 ]]
    ```

    With ``weighted`` a table's score is the weighted sum of its normalised scores. A ranking of
    full length was truncated: a table that is missing from it gets the score of its last table, the
    most that it can have. A table that is missing from a shorter ranking does not match: it gets 0,
    or the score of the last table if that is below 0.

    With ``rrf`` the score is the sum of weight / (constant + rank), ranks from 1; a ranking adds
    nothing to a table that is missing from it.

    Args:
        method: ``weighted`` or ``rrf``.
        normalise: with ``weighted``, the scale of the scores of one ranking: ``max`` divides by
            the largest absolute score; ``minmax`` maps lowest and highest to 0 and 1; ``zscore``
            subtracts the mean and divides by the standard deviation; ``none`` leaves them as they
            are. The score of missing tables counts as one more score, if there are any.
        constant: with ``rrf``, its constant k: the larger, the less the first ranks count.

    Raises:
        ConfigError: an unknown method or scale, or a constant below 1.
    """

    method: Method = "weighted"
    normalise: Scale = "max"
    constant: int = 60

    def __post_init__(self) -> None:
        for name, known in (("method", get_args(Method)), ("normalise", get_args(Scale))):
            if getattr(self, name) not in known:
                raise ConfigError(
                    f"{name}={getattr(self, name)!r}: expected one of {', '.join(known)}"
                )
        check_at_least_one(constant=self.constant)

    def fuse(
        self,
        rankings: Sequence[Candidates],
        weights: Sequence[float] | Sequence[Floats],
        depth: int,
        n_tables: int,
        k: int,
    ) -> tuple[Positions, Floats]:
        """Return the best tables of each query, and their scores.

        Args:
            rankings: those of each retriever, for the same n queries.
            weights: the weight of each retriever: a number, or (n, 1) numbers, one a query.
            depth: how many tables each retriever was asked for.
            n_tables: the size of the corpus.
            k: the most tables to return.

        Returns:
            (n, k) positions in the corpus, -1 after the last table, and scores.

        Raises:
            ConfigError: a ranking has no scores, and the method is ``weighted``.
        """
        # a table's sum is what a table that is missing everywhere gets, the floor, plus a gain from
        # each ranking that it is in
        rows, gains, floor = [], [], np.zeros((len(rankings[0].rows), 1))
        for ranking, factor in zip(rankings, weights, strict=True):
            weight = np.asarray(factor, dtype=np.float64)
            scores, missing = self._normalise(ranking, depth, n_tables)
            rows.append(ranking.rows)
            gains.append(weight * (scores - missing))
            floor += weight * missing
        positions, sums = _find_best(
            np.concatenate(rows, axis=1), np.concatenate(gains, axis=1), floor, len(rankings), k
        )
        wide = ((0, 0), (0, k - positions.shape[1]))
        return np.pad(positions, wide, constant_values=-1), np.pad(sums, wide)

    def _normalise(self, ranking: Candidates, depth: int, n_tables: int) -> tuple[Floats, Floats]:
        """Return the scores of the tables in a ranking, and (n, 1) that of missing tables."""
        if self.method == "weighted":
            return _scale_scores(ranking, self.normalise, depth, n_tables)
        ranks = np.arange(1, ranking.rows.shape[1] + 1)
        gains = np.broadcast_to(1.0 / (self.constant + ranks), ranking.rows.shape)
        return gains, np.zeros((len(gains), 1))


def _scale_scores(
    ranking: Candidates, scale: Scale, depth: int, n_tables: int
) -> tuple[Floats, Floats]:
    """Return normalised scores, and (n, 1) that of missing tables."""
    if ranking.scores is None:
        raise ConfigError(
            f"{ranking.label} ranks without scores, which weighted fusion needs; use method=rrf"
        )
    scores, filled = ranking.scores, ranking.rows >= 0
    n = filled.sum(axis=1, keepdims=True)
    lowest = np.min(scores, axis=1, keepdims=True, where=filled, initial=np.inf)
    missing = np.where(n >= depth, lowest, np.minimum(lowest, 0.0))
    missing = np.where(n, missing, 0.0)
    if scale == "none":
        return scores, missing
    with_missing = n < n_tables
    values = np.concatenate([scores, missing], axis=1)
    counted = np.concatenate([filled, with_missing], axis=1)
    if scale == "max":
        offset, unit = 0.0, np.max(np.abs(values), axis=1, keepdims=True, where=counted, initial=0)
    elif scale == "minmax":
        offset = np.min(values, axis=1, keepdims=True, where=counted, initial=np.inf)
        highest = np.max(values, axis=1, keepdims=True, where=counted, initial=-np.inf)
        unit = highest - offset
    else:
        offset = np.mean(values, axis=1, keepdims=True, where=counted)
        unit = np.std(values, axis=1, keepdims=True, where=counted)
    unit = np.where(unit > 0, unit, 1.0)
    return (scores - offset) / unit, (missing - offset) / unit


def _find_best(
    rows: Positions, gains: Floats, floor: Any, n_lists: int, k: int
) -> tuple[Positions, Floats]:
    """Return the best tables of each query, by the floor of the query plus all gains of the table.

    Args:
        rows: (n, m) positions of tables, -1 for none, each at most ``n_lists`` times.
        gains: (n, m) what each entry adds.
        floor: (n, 1) what every table has.
        n_lists: how many rankings there are.
        k: the most tables to return.
    """
    rows, order = _sort_rows(rows)  # the entries of a table are neighbours now
    gains = np.take_along_axis(gains, order, axis=1)
    first = rows >= 0
    first[:, 1:] &= rows[:, 1:] != rows[:, :-1]
    sums = gains.copy()
    for apart in range(1, n_lists):
        again = rows[:, apart:] == rows[:, :-apart]
        sums[:, :-apart] += np.where(again, gains[:, apart:], 0.0)
    sums += floor
    largest = np.max(np.abs(sums), axis=1, keepdims=True, where=first, initial=0.0)
    sums = np.where(first, round_scores(sums, largest, DOUBLE_DIGITS), -np.inf)
    best, best_scores = best_columns(sums, k)
    there = np.isfinite(best_scores)
    positions = np.where(there, np.take_along_axis(rows, best, axis=1), -1)
    return positions, np.where(there, best_scores, 0.0)


def _sort_rows(rows: Positions) -> tuple[Positions, Positions]:
    """Sort each row in ascending order, stably; return it and the columns it comes from."""
    bits = rows.shape[1].bit_length()
    packed = np.sort((rows << bits) + np.arange(rows.shape[1]), axis=1)
    return packed >> bits, packed & ((1 << bits) - 1)
