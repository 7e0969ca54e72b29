"""The figures at the top of a report: scores, denominators, times, recall over k, slices."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from target_bench.core.interfaces import Dataset
from target_bench.evaluation.results import PERCENT
from target_bench.metrics.headlines import answer_metrics
from target_bench.reporting.report.query_outcomes import Ranked, main_metric
from target_bench.reporting.report.report_runs import ReportRun
from target_bench.runs import slices
from target_bench.runs.times import left_out_note

_LARGEST_SLICES = 12
_SLICE_FIELDS = 6


def digits(metric: str) -> int:
    """Decimals of a metric."""
    return 2 if metric in PERCENT else 3


def shown_metrics(runs: Sequence[ReportRun]) -> list[str]:
    """The metrics of the summary: recall at each cutoff, MRR, the main figures of answers."""
    names = list(dict.fromkeys(name for run in runs for name in run.scores))
    recalls = [name for name in names if name.startswith("recall@")]
    by_depth = sorted(recalls, key=lambda name: int(name.rpartition("@")[2]))
    return [*by_depth, *(n for n in names if n == "mrr"), *answer_metrics(names, every=True)]


def all_metrics(runs: Sequence[ReportRun]) -> list[str]:
    """Every metric that any run has, in the order they are recorded."""
    return list(dict.fromkeys(name for run in runs for name in run.scores))


def best(runs: Sequence[ReportRun], metric: str) -> float | None:
    """The highest value of a metric, if several runs have it and they differ."""
    found = [run.scores[metric]["value"] for run in runs if metric in run.scores]
    values = [value for value in found if value is not None]  # None is a score over no query
    return max(values) if len(values) > 1 and max(values) > min(values) else None


def main_metrics(runs: Sequence[ReportRun]) -> list[str]:
    """The metric that stands for each run: one for all of them, where there is one.

    That of their answers if all are of answers and have the same, else the recall at the largest
    cutoff they share; without any, each run's own deepest recall.
    """
    own = {main_metric(list(run.values)) if run.answers is not None else None for run in runs}
    shared = own.pop() if len(own) == 1 else None
    if shared is None:
        cutoffs = set.intersection(*(set(run.cutoffs) for run in runs))
        shared = f"recall@{max(cutoffs)}" if cutoffs else None
    return [shared or f"recall@{run.depth}" for run in runs]


@dataclass
class RecallCurve:
    """Mean recall of a run at every k, gathered query by query.

    Attributes:
        depth: the largest k.
    """

    depth: int
    _found: NDArray[np.float64] = field(init=False)
    _n: int = 0

    def __post_init__(self) -> None:
        self._found = np.zeros(self.depth + 1)

    def add(self, where: Ranked, n_gold: int) -> None:
        """Count a query."""
        self._n += 1
        for rank in where.ranks:
            self._found[min(rank, self.depth)] += 1 / n_gold

    @property
    def values(self) -> NDArray[np.float64]:
        """(depth,) recall at 1, 2, ..., over all queries."""
        shares: NDArray[np.float64] = np.cumsum(self._found[1:]) / max(self._n, 1)
        return shares


@dataclass(frozen=True, slots=True)
class Sliced:
    """A metric over the queries of each value of a slice.

    Attributes:
        name: what the queries are told apart by.
        values: the values, the most frequent first, or ascending where they are numbers.
        n: how many queries have each.
        means: one list a run: the mean over each; NaN where it has none.
        left_out: how many rarer values are not listed.
    """

    name: str
    values: list[str]
    n: list[int]
    means: list[list[float]]
    left_out: int


def sliced(runs: Sequence[ReportRun], metrics: Sequence[str], dataset: Dataset) -> list[Sliced]:
    """A metric of each run by each of the first slices that put queries together."""
    columns = slices.columns(dataset.queries)
    values = [run.values[metric] for run, metric in zip(runs, metrics, strict=True)]
    shown = [name for name, column in columns.items() if slices.groups(column)]
    return [_sliced(name, columns[name], values) for name in shown[:_SLICE_FIELDS]]


def _sliced(name: str, column: Sequence[Any], values: Sequence[NDArray[np.float64]]) -> Sliced:
    rows: dict[Any, list[int]] = {}
    for i, value in enumerate(column):
        if value is not None:
            rows.setdefault(value, []).append(i)
    frequent = sorted(rows, key=lambda value: -len(rows[value]))
    kept = frequent[:_LARGEST_SLICES]
    if all(isinstance(value, int | float) for value in kept):
        kept.sort()
    means = [[_mean(of_run, rows[value]) for value in kept] for of_run in values]
    return Sliced(
        name.removeprefix(slices.PREFIX),
        [str(value) for value in kept],
        [len(rows[value]) for value in kept],
        means,
        len(rows) - len(kept),
    )


def _mean(values: NDArray[np.float64], rows: Sequence[int]) -> float:
    chosen = values[rows]
    known = chosen[~np.isnan(chosen)]
    return float(known.mean()) if len(known) else float("nan")


def timings(run: ReportRun) -> Mapping[str, float | None]:
    """Seconds of the index, milliseconds a query of retrieval and generation, and latency."""
    times, latency = run.times, run.times.latency or {}
    return {
        "index": times.index,
        "retrieve": times.retrieve,
        "generate": times.generate,
        "p50": latency.get("p50"),
        "p95": latency.get("p95"),
    }


def times_note(runs: Sequence[ReportRun]) -> str:
    """Which times are not shown, and why; empty if all are."""
    return left_out_note(run.times.left_out for run in runs) or ""
