"""Main effects: how a score changes with one setting, averaged over all others.

The scores of a level are averaged over the same combinations of the other settings as those of
every other level, so that nothing else differs between them. The averages of two levels are
compared on the same queries, as two runs are: by the paired randomisation test and the interval of
a paired difference.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import gcd, lcm

import numpy as np
from numpy.typing import NDArray

from target_bench.core.metric import mean, of_mean
from target_bench.metrics import stats
from target_bench.metrics.stats import estimate
from target_bench.reporting.conclusions.factors import NONE, Factor
from target_bench.runs.measured import Measured

Floats = NDArray[np.float64]
Combination = tuple[str, ...]
"""Levels of the factors that an effect is averaged over."""


@dataclass(frozen=True, slots=True)
class Averaged:
    """A metric averaged over runs, as a metric of the same queries (``stats.Bounded``).

    Attributes:
        parts: the metric of each run.
        statistics: (n, m) their sufficient statistics beside each other.
    """

    parts: Sequence[Measured]
    statistics: Floats

    def value(self, totals: Floats) -> Floats:
        """(..., m) sums of statistics -> (...) averages of scores."""
        split = self._split(totals)
        pairs = zip(self.parts, split, strict=True)
        found: Floats = np.mean([part.value(one) for part, one in pairs], axis=0)
        return found

    def bounds(self, statistics: Floats) -> tuple[float, float]:
        """See ``Metric.bounds``."""
        pairs = zip(self.parts, self._split(statistics), strict=True)
        found = [part.bounds(one) for part, one in pairs]
        return float(np.mean([low for low, _ in found])), float(
            np.mean([high for _, high in found])
        )

    def weights(self, statistics: Floats) -> Floats:
        """See ``Metric.weights``."""
        pairs = zip(self.parts, self._split(statistics), strict=True)
        found: Floats = np.mean([part.weights(one) for part, one in pairs], axis=0)
        return found

    def without(self, total: Floats, rows: Floats) -> Floats:
        """See ``Metric.without``."""
        split = zip(self.parts, self._split(total), self._split(rows), strict=True)
        found: Floats = np.mean([part.without(one, left) for part, one, left in split], axis=0)
        return found

    def _split(self, columns: Floats) -> list[Floats]:
        return np.split(columns, len(self.parts), axis=-1)


Scored = Measured | Averaged
"""The metric of one run, or its average over several."""


def averages(
    cells: Mapping[Combination, Sequence[int]], scores: Sequence[Measured]
) -> dict[Combination, Scored]:
    """Average a metric over the runs of each cell, so that any two averages can be compared.

    The average of means over the same queries is again a mean over these queries, which takes less
    memory. So it is one if that holds in every cell; else scores are averaged.

    Args:
        cells: what ``matched`` returns: each cell with as many runs.
        scores: a metric of each run.
    """
    parts = {levels: [scores[i] for i in places] for levels, places in cells.items()}
    average = _mean_of if all(map(_are_means, parts.values())) else _beside_each_other
    return {levels: one[0] if len(one) == 1 else average(one) for levels, one in parts.items()}


def _are_means(parts: Sequence[Measured]) -> bool:
    known = [~np.isnan(part.values) for part in parts]
    same = all(np.array_equal(known[0], other) for other in known[1:])
    return same and all(part.is_mean for part in {id(part): part for part in parts}.values())


def _mean_of(parts: Sequence[Measured]) -> Measured:
    values = np.mean([part.values for part in parts], axis=0)
    return Measured(parts[0].name, values, of_mean(values), mean, None, parts[0].spec)


def _beside_each_other(parts: Sequence[Measured]) -> Averaged:
    return Averaged(parts, np.hstack([part.statistics for part in parts]))


@dataclass(frozen=True, slots=True)
class Tested:
    """The difference of two scores on the same queries.

    Attributes:
        value: first less second.
        low: lower bound of its 95% interval.
        high: upper bound.
        p: of the paired randomisation test; corrected (Holm) once all tests are known.
    """

    value: float
    low: float
    high: float
    p: float


def paired_difference(first: Scored, second: Scored) -> Tested:
    """Compare two scores of the same queries."""
    paired = stats.compare(first.statistics, second.statistics, first.value)
    low, high = stats.interval_of_difference(first, first.statistics, second.statistics)
    return Tested(paired.difference, low, high, paired.p)


def corrected(found: Sequence[Tested | None]) -> list[Tested | None]:
    """Return tests with their p-values corrected for each other; None stays None."""
    family = [one.p for one in found if one is not None]
    p_values = iter(stats.holm(family))
    return [None if one is None else replace(one, p=next(p_values)) for one in found]


@dataclass(frozen=True, slots=True)
class Level:
    """One level of a factor.

    Attributes:
        name: the level, as text.
        score: average over the combinations of the other settings.
        low: lower bound of its 95% interval.
        high: upper bound.
        difference: from the best level; None for the best one.
    """

    name: str
    score: float
    low: float
    high: float
    difference: Tested | None = None


@dataclass(frozen=True, slots=True)
class Effect:
    """How a score changes with a factor.

    Attributes:
        factor: its name.
        levels: in their order.
        combinations: how many combinations of the other settings they are averaged over.
    """

    factor: str
    levels: tuple[Level, ...]
    combinations: int

    @property
    def range(self) -> float:
        """The difference of the highest and the lowest average."""
        scores = [level.score for level in self.levels]
        return max(scores) - min(scores)

    @property
    def is_shown(self) -> bool:
        """Whether a level differs significantly from the best one."""
        return any(one.difference is not None and one.difference.p < 0.05 for one in self.levels)


def effects(found: Sequence[Factor], scores: Sequence[Measured]) -> tuple[list[Effect], list[str]]:
    """Return the main effects, largest first; and the factors whose effect is not known.

    Args:
        found: the factors.
        scores: a metric of each run.
    """
    known, unclear = [], []
    for factor in found:
        one = _effect(factor, [other for other in found if other is not factor], scores)
        if one is None:
            unclear.append(factor.name)
        else:
            known.append(one)
    tests = corrected([level.difference for one in known for level in one.levels])
    left = iter(tests)
    known = [
        replace(one, levels=tuple(replace(level, difference=next(left)) for level in one.levels))
        for one in known
    ]
    return sorted(known, key=lambda one: -one.range), unclear


def _effect(factor: Factor, others: Sequence[Factor], scores: Sequence[Measured]) -> Effect | None:
    cells = matched([factor], others)
    if len(cells) < 2:
        return None
    found = {levels[0]: one for levels, one in averages(cells, scores).items()}
    ordered = [level for level in factor.levels if level in found]
    values = {level: _score(found[level]) for level in ordered}
    spec = scores[0].spec
    best = max(ordered, key=lambda level: spec.merit(values[level][0]))
    levels = tuple(
        Level(
            level,
            *values[level],
            difference=None if level == best else paired_difference(found[level], found[best]),
        )
        for level in ordered
    )
    return Effect(factor.name, levels, len(_combinations([factor], others)))


def _score(one: Scored) -> tuple[float, float, float]:
    found = estimate(one, one.statistics)
    return found.value, found.low, found.high


def matched(chosen: Sequence[Factor], others: Sequence[Factor]) -> dict[Combination, list[int]]:
    """Return the runs of each combination of levels of the chosen factors, made comparable.

    They have the same combinations of the other factors in common, each as often. A factor that
    only some levels have, as the settings of one of two retrievers, is averaged over in these.

    Args:
        chosen: the factors whose levels are compared.
        others: the factors that are averaged over.

    Returns:
        levels -> places of runs, each as often as it counts, as many for every level; empty if no
        combination of the others has all levels.
    """
    kept = _combinations(chosen, others)
    if not kept:
        return {}
    times = lcm(*(len(places) for cells in kept.values() for places in cells.values()))
    found: dict[Combination, list[int]] = defaultdict(list)
    for cells in kept.values():
        for levels, places in cells.items():
            found[levels] += places * (times // len(places))
    fewest = zip(*_fewest(list(zip(*found.values(), strict=True))), strict=True)
    return {levels: list(places) for levels, places in zip(found, fewest, strict=True)}


def _fewest(rows: Sequence[tuple[int, ...]]) -> list[tuple[int, ...]]:
    """Return the rows in the same shares, each as few times as that takes."""
    times = Counter(rows)
    return list(Counter({row: n // gcd(*times.values()) for row, n in times.items()}).elements())


def _combinations(
    chosen: Sequence[Factor], others: Sequence[Factor]
) -> Mapping[Combination, Mapping[Combination, list[int]]]:
    """Return combination of the others -> levels -> places of runs, where all levels are there."""
    runs = range(len(chosen[0].of_run))
    places = [i for i in runs if all(factor.of_run[i] != NONE for factor in chosen)]
    crossed = [one for one in others if all(one.of_run[i] != NONE for i in places)]
    found: dict[Combination, dict[Combination, list[int]]] = defaultdict(lambda: defaultdict(list))
    for i in places:
        combination = tuple(factor.of_run[i] for factor in crossed)
        found[combination][tuple(factor.of_run[i] for factor in chosen)].append(i)
    wanted = {levels for cells in found.values() for levels in cells}
    return {key: cells for key, cells in found.items() if cells.keys() == wanted}
