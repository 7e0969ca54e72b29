"""How far the rankings of runs agree, query by query: what there is to see without gold tables."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np

from target_bench.core.schema import TableId
from target_bench.metrics.rank_agreement import extrapolated_overlap


@dataclass
class Pair:
    """Two runs, and their agreement gathered over the queries.

    Attributes:
        labels: what they are called.
        cutoffs: at which k the shares of common tables are taken.
    """

    labels: tuple[str, str]
    cutoffs: Sequence[int]
    _rows: list[list[float]] = field(default_factory=list)

    def add(self, one: Sequence[TableId], other: Sequence[TableId], overlap: float) -> None:
        """Count a query."""
        shares = [len({*one[:k]} & {*other[:k]}) / k for k in self.cutoffs]
        self._rows.append([float(one[:1] == other[:1]), *shares, overlap])

    @property
    def means(self) -> list[float]:
        """Same first table, common tables at each cutoff, rank-biased overlap: means."""
        return [float(mean) for mean in np.mean(self._rows, axis=0)] if self._rows else []


class RankingAgreement:
    """Agreement of each pair of runs, and of all of them on each query.

    Args:
        labels: what the runs with rankings are called.
        cutoffs: the cutoffs that all of them have; common tables are counted at those above 1.
        depth: how many tables of each ranking are compared.
    """

    def __init__(self, labels: Sequence[str], cutoffs: Sequence[int], depth: int) -> None:
        self.depth = depth
        self.cutoffs = [k for k in cutoffs if 1 < k <= depth]
        self.pairs = [Pair(pair, self.cutoffs) for pair in combinations(labels, 2)]
        self.overlaps: list[float] = []
        self.same_first: list[bool] = []

    def add(self, rankings: Sequence[Sequence[TableId]]) -> None:
        """Compare the rankings of a query, in the order of the labels."""
        if not self.pairs:
            return
        overlaps = []
        for pair, (one, other) in zip(self.pairs, combinations(rankings, 2), strict=True):
            overlaps.append(extrapolated_overlap(one[: self.depth], other[: self.depth]))
            pair.add(one, other, overlaps[-1])
        self.overlaps.append(sum(overlaps) / len(overlaps))
        self.same_first.append(len({tuple(ranking[:1]) for ranking in rankings}) == 1)
