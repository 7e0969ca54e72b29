"""How far the rankings of runs agree, query by query: what there is to see without gold tables."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np

from target_bench.core.schema import TableId


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
        """Count a query; one for which both found no table says nothing."""
        longest = max(len(one), len(other))
        if not longest:
            return
        shares = [len({*one[:k]} & {*other[:k]}) / min(k, longest) for k in self.cutoffs]
        self._rows.append([float(one[:1] == other[:1]), *shares, overlap])

    @property
    def means(self) -> list[float]:
        """Same first table, common tables at each cutoff, rank-biased overlap: means.

        Tables are common as a share of the k first, or of the longer ranking where it is shorter.
        NaN where no query counts.
        """
        if not self._rows:
            return [float("nan")] * (2 + len(self.cutoffs))
        return [float(mean) for mean in np.mean(self._rows, axis=0)]


MOST_IN_PAIRS = 6
"""Runs of which each pair is compared; of more, each is compared with the first."""


class RankingAgreement:
    """Agreement of pairs of runs, and their mean agreement on each query.

    Args:
        labels: what the runs with rankings are called.
        cutoffs: the cutoffs that all of them have; common tables are counted at those above 1.
        depth: how many tables of each ranking are compared.
    """

    def __init__(self, labels: Sequence[str], cutoffs: Sequence[int], depth: int) -> None:
        self.depth = depth
        self.cutoffs = [k for k in cutoffs if 1 < k <= depth]
        n = len(labels)
        compared = (
            combinations(range(n), 2) if n <= MOST_IN_PAIRS else ((0, i) for i in range(1, n))
        )
        self._compared = list(compared)
        self.pairs = [Pair((labels[i], labels[j]), self.cutoffs) for i, j in self._compared]
        self.overlaps: list[float] = []
        self.same_first: list[bool] = []

    def add(self, rankings: Sequence[Sequence[TableId]]) -> None:
        """Compare the rankings of a query, in the order of the labels."""
        if not self.pairs:
            return
        overlaps = []
        for pair, (i, j) in zip(self.pairs, self._compared, strict=True):
            one, other = rankings[i], rankings[j]
            overlaps.append(extrapolated_overlap(one[: self.depth], other[: self.depth]))
            pair.add(one, other, overlaps[-1])
        self.overlaps.append(sum(overlaps) / len(overlaps))
        self.same_first.append(len({tuple(ranking[:1]) for ranking in rankings}) == 1)


def extrapolated_overlap(
    one: Sequence[Hashable], other: Sequence[Hashable], persistence: float = 0.9
) -> float:
    """Return the extrapolated rank-biased overlap of two rankings that may hold different items.

    It is RBO_ext of Webber, Moffat & Zobel 2010, equation 23: 1 for equal rankings, 0 for rankings
    without a common item. The places that a shorter ranking lacks count as not shared.

    Args:
        one: items, best first.
        other: items, best first.
        persistence: the weight of a depth as a share of that of the depth before.
    """
    depth = max(len(one), len(other))
    if not depth:
        return 1.0
    seen_one, seen_other = set[Hashable](), set[Hashable]()
    share = total = 0.0
    for d in range(1, depth + 1):
        seen_one.update(one[d - 1 : d])
        seen_other.update(other[d - 1 : d])
        share = len(seen_one & seen_other) / d
        total += persistence ** (d - 1) * share
    return (1 - persistence) * total + persistence**depth * share
