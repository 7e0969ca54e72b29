"""Scores of the parts of a set of queries: every metric, from what each query contributes to it."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from target_bench.core.metric import Metric, Score
from target_bench.core.schema import Query
from target_bench.metrics import run_scores
from target_bench.metrics.run_scores import of_mean
from target_bench.runs.measured import Measured, MissingPluginError
from target_bench.runs.slices import by_property
from target_bench.runs.slicing import Mask, by_name, has

Floats = NDArray[np.float64]


class Sliceable(Protocol):
    """A stored run, as far as its slices are concerned."""

    @property
    def scores(self) -> Mapping[str, Score]:
        """Metric name -> score."""

    @property
    def slices(self) -> Mapping[str, Sequence[Any]]:
        """Name of a property -> its value of every query."""

    def measured(self, metric: str, /) -> Measured:
        """Return what the queries contribute to a metric."""


def scores_by(
    run: Sliceable, name: str, metrics: Iterable[str] | None = None
) -> dict[str, dict[str, Score]]:
    """Score every part that a property makes of the queries of a run.

    A score is that of the queries of the part alone: corpus BLEU by difficulty is the corpus BLEU
    of the easy queries, and so on.

    Args:
        run: a stored run.
        name: the property, as ``difficulty``; see ``runs.slices``.
        metrics: which metrics; default: all, but for those of plug-ins that are not installed and
            are more than a mean.

    Returns:
        Value of the property as text -> metric -> score; ``(none)`` for queries without one.

    Raises:
        ConfigError: there is no such property or metric; the message lists those there are.
        StoreError: what is stored does not give the score.
    """
    masks = by_name(run.slices, name).masks()
    found = _all_measured(run) if metrics is None else {m: run.measured(m) for m in metrics}
    return {
        value: {
            metric: part_score(measured, mask, run.scores[metric])
            for metric, measured in found.items()
        }
        for value, mask in masks.items()
    }


def _all_measured(run: Sliceable) -> dict[str, Measured]:
    """Return every metric that can be computed for a part: not those whose plug-in is missing."""
    found = {}
    for metric in run.scores:
        with suppress(MissingPluginError):
            found[metric] = run.measured(metric)
    return found


def part_score(measured: Measured, mask: Mask, whole: Score) -> Score:
    """Score the queries of a part.

    Args:
        measured: what every query contributes to the metric.
        mask: (n,) which queries are in the part.
        whole: the score of all queries, for what the metric is.
    """
    statistics = measured.statistics[mask]
    value = float(measured.value(statistics.sum(axis=0)))
    low, high = run_scores.interval(measured, statistics)
    return Score(
        value=value,
        low=low,
        high=high,
        n=0 if np.isnan(value) else _counted(measured, mask),
        signature=f"{run_scores.definition(whole.signature)}|{run_scores.SIGNATURE}",
        spec=whole.spec,
    )


def _counted(measured: Measured, mask: Mask) -> int:
    """Count the queries of a part that the metric is over."""
    if measured.metric is None:
        return int((~np.isnan(measured.values[mask])).sum())
    return measured.metric.counted(measured.statistics[mask])


def report_by(
    queries: Sequence[Query],
    names: Sequence[str],
    metrics: Sequence[Metric[Any]],
    per_query: Mapping[str, Floats],
    statistics: Mapping[str, Floats],
) -> dict[str, dict[str, dict[str, Any]]]:
    """Score the parts that a task reports, before its run is stored.

    Args:
        queries: the queries, in the order of the values.
        names: the properties; those that these queries do not have are left out.
        metrics: the metrics.
        per_query: metric -> (n,) the value of each query alone.
        statistics: metric -> (n, m) what each contributes, where that is more.

    Returns:
        Property -> value -> ``queries``, ``runnable`` (the queries that have a score), and the
        value of each metric, None over no query.
    """
    columns = by_property(queries)
    measured = [
        Measured(
            metric.name,
            per_query[metric.name],
            statistics.get(metric.name, of_mean(per_query[metric.name])),
            metric.value,
            metric,
            metric.spec,
        )
        for metric in metrics
    ]
    found = {}
    for name in names:
        if has(columns, name):
            masks = by_name(columns, name).masks(none=False)
            found[name] = {value: _values(measured, mask) for value, mask in masks.items()}
    return {name: parts for name, parts in found.items() if parts}


def _values(measured: Sequence[Measured], mask: Mask) -> dict[str, Any]:
    values = {one.name: float(one.value(one.statistics[mask].sum(axis=0))) for one in measured}
    return {
        "queries": int(mask.sum()),
        "runnable": _counted(measured[0], mask),
        **{name: None if np.isnan(value) else value for name, value in values.items()},
    }
