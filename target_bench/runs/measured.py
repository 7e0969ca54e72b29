"""What every query contributes to a score: parts of the queries can be scored and tested."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from target_bench.core.errors import ConfigError, StoreError
from target_bench.core.metric import SYNTHETIC, Metric, MetricSpec, OnPart, Score, mean, of_mean
from target_bench.metrics.scores import named, spec_of
from target_bench.metrics.stats import Value

Floats = NDArray[np.float64]

_ROUNDING = 1e-9
_PARTS = 8


class MissingPluginError(ConfigError):
    """A metric of a plug-in that is not installed: only its score of all queries is known."""


@dataclass(frozen=True, slots=True)
class Measured:
    """One metric of a run.

    Attributes:
        name: as users write it.
        values: (n,) the value of each query alone; NaN where it is left out.
        statistics: (n, m) what each query contributes.
        value: (..., m) sums of statistics -> (...) scores.
        metric: the metric with its default settings; None for one of a plug-in that is not
            installed, which is taken for a mean.
        spec: its declaration.
    """

    name: str
    values: Floats
    statistics: Floats
    value: Value
    metric: Metric[Any] | None
    spec: MetricSpec

    def bounds(self, statistics: Floats) -> tuple[float, float]:
        """See ``Metric.bounds``."""
        if self.metric is not None:
            return self.metric.bounds(statistics)
        values = statistics[:, 0]
        return float(values.min(initial=0.0)), float(values.max(initial=self.spec.top))

    def weights(self, statistics: Floats) -> Floats:
        """See ``Metric.weights``."""
        weights: Floats = statistics[:, -1]
        return weights if self.metric is None else self.metric.weights(statistics)

    def without(self, total: Floats, rows: Floats) -> Floats:
        """See ``Metric.without``."""
        left = total - rows
        return self.value(left) if self.metric is None else self.metric.without(total, rows)

    @property
    def is_mean(self) -> bool:
        """Whether the metric is the mean of its values, seen on parts of the queries."""
        generator = np.random.default_rng(0)
        halves = [generator.random(len(self.values)) < 0.5 for _ in range(_PARTS)]
        return all(
            np.isclose(
                self.value(self.statistics[half].sum(axis=0)),
                mean(of_mean(self.values[half]).sum(axis=0)),
                rtol=_ROUNDING,
                atol=_ROUNDING,
            )
            for half in halves
            if not np.isnan(self.values[half]).all()
        )


def contributions(
    folder: Path,
    metric: str,
    score: Score,
    values: Floats,
    statistics: Floats,
    *,
    summed: bool,
    synthetic: bool,
) -> Measured:
    """Return the statistics of the queries for a metric, seen to give its score.

    Args:
        folder: of the run, for messages.
        metric: its name.
        score: as it is in ``scores.json``.
        values: (n,) the value of each query alone.
        statistics: (n, m) what each query contributes.
        summed: whether statistics are stored, which are more than the values.
        synthetic: whether the run has synthetic questions, which are scored apart.

    Raises:
        MissingPluginError: the metric is more than a mean, and its plug-in is not installed.
        StoreError: what is stored does not give the score.
    """
    known = named(metric)
    if known is not None and synthetic:
        known = OnPart(known, synthetic=metric.endswith(SYNTHETIC))
    value = known.value if known is not None and summed else mean
    try:
        again = float(value(statistics.sum(axis=0)))
    except (ValueError, TypeError, AttributeError, IndexError) as error:
        raise StoreError(
            f"{folder}: what is stored of {metric} does not give a score ({error}); "
            f"score it again with target-bench score {folder}"
        ) from error
    if known is None and summed and not _equal(again, score.value):
        raise MissingPluginError(
            f"{folder.name}: {metric} is a metric of a plug-in that is not installed here, and "
            "more than a mean of its values, so it cannot be computed for a part of the "
            "queries or tested; install the plug-in, or name other metrics with --metric"
        )
    if not _equal(again, score.value):
        raise StoreError(
            f"{folder}: {metric} is {score.value:.6f} in scores.json, but what is stored of a "
            f"query gives {again:.6f}. The scores were edited, or are older than the "
            f"statistics of such metrics: score it again with target-bench score {folder}"
        )
    counted = np.where(statistics.any(axis=1), values, np.nan)
    return Measured(metric, counted, statistics, value, known, spec_of(metric, score))


def _equal(again: float, score: float) -> bool:
    if np.isnan(score):
        return bool(np.isnan(again))
    return abs(again - score) <= _ROUNDING * max(1.0, abs(score))
