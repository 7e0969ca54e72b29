"""Metrics over a part of the queries: synthetic questions are scored apart from those of people."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import nan
from typing import Any

import numpy as np
from numpy.typing import NDArray

from target_bench.core.metric import SYNTHETIC, Metric, Score
from target_bench.core.schema import Query

Floats = NDArray[np.float64]


class OnPart(Metric[Any]):
    """A metric over a part of the queries; the statistics of the others are zeros.

    Args:
        metric: the metric.
        part: (n,) which of the queries of the examples are in the part; None where statistics are
            at hand already, in which the others are zeros.
        synthetic: whether these are the synthetic questions.
    """

    def __init__(
        self, metric: Metric[Any], part: NDArray[np.bool_] | None = None, synthetic: bool = False
    ) -> None:
        self.spec = metric.spec.over(SYNTHETIC) if synthetic else metric.spec
        self.reads_outputs = metric.reads_outputs
        self._metric = metric
        self._part = part
        self._mark = SYNTHETIC * synthetic

    @property
    def name(self) -> str:
        """As users write it, e.g. ``recall@10[synthetic]``."""
        return self._metric.name + self._mark

    @property
    def highest(self) -> float:
        """That of the metric."""
        return self._metric.highest

    @property
    def signature(self) -> str:
        """That of the metric, and whether it is over synthetic questions."""
        return (
            f"{self._metric.signature}|queries:synthetic" if self._mark else self._metric.signature
        )

    def statistics(self, examples: Any) -> Floats:
        """Return (n, m) statistics, zeros for queries that are not in the part."""
        found = self._metric.statistics(examples)
        return found if self._part is None else np.where(self._part[:, None], found, 0.0)

    def value(self, totals: Floats) -> Floats:
        """Return the metric of sums of statistics."""
        return self._metric.value(totals)

    def counted(self, statistics: Floats) -> int:
        """Return the number of queries of the part that the metric is over."""
        return self._metric.counted(statistics[_in_part(statistics)])

    def per_query(self, statistics: Floats) -> Floats:
        """Return (n,) values; NaN for queries that are not in the part."""
        return np.where(_in_part(statistics), self._metric.per_query(statistics), np.nan)

    def bounds(self, statistics: Floats) -> tuple[float, float]:
        """Return the lowest and the highest value that the score can have."""
        return self._metric.bounds(statistics[_in_part(statistics)])

    def weights(self, statistics: Floats) -> Floats:
        """Return (n,) weights; 0 for queries that are not in the part."""
        return self._metric.weights(statistics) * _in_part(statistics)

    def without(self, total: Floats, rows: Floats) -> Floats:
        """Return (n,) the metric of sums without each of some rows."""
        return self._metric.without(total, rows)


def _in_part(statistics: Floats) -> NDArray[np.bool_]:
    found: NDArray[np.bool_] = np.asarray(statistics.any(axis=1), dtype=np.bool_)
    return found


def of_each_origin(
    metrics: Sequence[Metric[Any]], queries: Sequence[Query]
) -> Sequence[Metric[Any]]:
    """Return each metric over the questions of people, and over the synthetic ones.

    Where all are of one origin, only metrics over these are returned.
    """
    synthetic = np.array([query.synthetic for query in queries], dtype=np.bool_)
    others = np.logical_not(synthetic)
    people = [OnPart(metric, others) for metric in metrics] if others.any() else []
    return [*people, *(OnPart(metric, synthetic, synthetic=True) for metric in metrics)]


def over_no_query(
    scores: Mapping[str, Score], per_query: Mapping[str, Floats]
) -> tuple[dict[str, Score], dict[str, Floats]]:
    """Scores and values of rankings that answers are not built on: over no query, so NaN.

    As a result of its own, a run that retrieves nothing scores 0, the lower bound.
    """
    none = {
        name: replace(score, value=nan, low=nan, high=nan, n=0) for name, score in scores.items()
    }
    return none, {name: np.full_like(found, nan) for name, found in per_query.items()}
