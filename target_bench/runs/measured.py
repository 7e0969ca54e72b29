"""Scores of a finished run: ``scores.json``, and what every query contributes to them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from target_bench.core.errors import ConfigError, StoreError
from target_bench.core.files import DamageError, check_file, parse_json, unsealed
from target_bench.core.metric import (
    SYNTHETIC,
    AnswerCounts,
    Counts,
    Metric,
    MetricSpec,
    Score,
    mean,
    of_mean,
)
from target_bench.core.metric_parts import OnPart
from target_bench.metrics.run_scores import named, spec_of
from target_bench.metrics.significance import Value
from target_bench.runs.manifest import SLICE_PREFIX

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


@dataclass(frozen=True, slots=True, eq=False)
class Tables:
    """The tables of values of a run, sorted by query.

    Attributes:
        query_ids: the queries.
        slices: slice name -> the value of every query.
        metrics: the metrics that have values of every query.
    """

    query_ids: Sequence[str]
    slices: Mapping[str, Sequence[Any]]
    metrics: Sequence[str]
    _values: Any
    _statistics: Any

    def values(self, metric: str) -> Floats:
        """Return the (n,) values of each query alone, as it is stored."""
        found: Floats = self._values[metric].to_numpy().astype(np.float64)
        return found

    def statistics(self, metric: str) -> Floats:
        """Return the (n, m) statistics that each query contributes.

        Raises:
            ValueError, AttributeError: what is stored has another form.
        """
        if metric not in self._statistics.column_names:
            return of_mean(self.values(metric))
        rows = self._statistics[metric].combine_chunks().flatten().to_numpy()
        found: Floats = rows.astype(np.float64).reshape(len(self.query_ids), -1)
        return found

    def every(self, read: Callable[[str], Floats], path: Path) -> dict[str, Floats]:
        """Return the result of a function for every metric.

        Args:
            read: ``values`` or ``statistics``.
            path: the file that it reads, for messages.

        Raises:
            StoreError: what is stored are not numbers.
        """
        try:
            return {metric: read(metric) for metric in self.metrics}
        except (ValueError, TypeError, AttributeError, NotImplementedError) as error:
            raise StoreError(
                f"{path}: cannot be read ({error}); run the same command again"
            ) from error

    def measured(self, folder: Path, metric: str, score: Score) -> Measured:
        """Return the statistics of the queries for a metric.

        Args:
            folder: of the run, for messages.
            metric: its name, one of ``metrics``.
            score: as it is in ``scores.json``.

        Raises:
            MissingPluginError: the metric is more than a mean, and its plug-in is not installed.
            StoreError: what is stored does not give the score.
        """
        known = named(metric)
        if known is not None and "synthetic" in self.slices:
            known = OnPart(known, synthetic=metric.endswith(SYNTHETIC))
        summed = metric in self._statistics.column_names
        value = known.value if known is not None and summed else mean
        try:
            values, statistics = self.values(metric), self.statistics(metric)
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
        spec = spec_of(metric, score)
        return Measured(metric, _counted(values, statistics), statistics, value, known, spec)


def read_tables(folder: Path, n_queries: int) -> Tables:
    """Return the tables of values.

    Args:
        folder: of the run.
        n_queries: how many queries its scores are of.

    Raises:
        StoreError: a file cannot be read, or is of other queries.
    """
    values = _parquet(folder / "per_query.parquet").sort_by("query_id")
    if len(values) != n_queries:
        raise StoreError(
            f"{folder}: per_query.parquet is of {len(values)} queries and scores.json of "
            f"{n_queries}; run the same command again"
        )
    path = folder / "statistics.parquet"
    statistics = _parquet(path).sort_by("query_id") if path.exists() else values.select([])
    query_ids = values["query_id"].to_pylist()
    if path.exists() and statistics["query_id"].to_pylist() != query_ids:
        raise StoreError(f"{path}: is of other queries; run the same command again")
    names = [name for name in values.column_names if name != "query_id"]
    slices = {
        name.removeprefix(SLICE_PREFIX): values[name].to_pylist()
        for name in names
        if name.startswith(SLICE_PREFIX)
    }
    metrics = [name for name in names if not name.startswith(SLICE_PREFIX)]
    return Tables(query_ids, slices, metrics, values, statistics)


def check_tables(folder: Path, sha256s: Mapping[str, str]) -> None:
    """See that the tables of values are those that were written with the scores.

    Args:
        folder: the run folder.
        sha256s: name of a file -> its SHA-256, as the manifest has them.

    Raises:
        StoreError: they are not.
    """
    for name, sha256 in sha256s.items():
        path = folder / Path(name).name
        try:
            check_file(path, sha256)
        except (OSError, DamageError) as error:
            raise StoreError(
                f"{path}: damaged, or not of these scores ({error}); run the same command again"
            ) from error


def _equal(again: float, score: float) -> bool:
    if np.isnan(score):
        return bool(np.isnan(again))
    return abs(again - score) <= _ROUNDING * max(1.0, abs(score))


def _counted(values: Floats, statistics: Floats) -> Floats:
    """Return the values, NaN where a query contributes nothing to the score."""
    counted: Floats = np.where(statistics.any(axis=1), values, np.nan)
    return counted


def _parquet(path: Path) -> Any:
    from pyarrow import ArrowException, parquet

    try:
        table = parquet.read_table(path, partitioning=None)
        table.column("query_id")
    except (OSError, KeyError, ArrowException) as error:
        raise StoreError(f"{path}: cannot be read ({error}); run the same command again") from error
    return table


T = TypeVar("T", Counts, AnswerCounts)
_ADVICE = "remove it and run the same command again"


@dataclass(frozen=True, slots=True)
class StoredScores:
    """The scores of a finished run.

    Attributes:
        scores: metric name -> score, in the order in which they are recorded; empty where no query
            has a reference.
        counts: the denominators of the rankings.
        answers: the denominators of the answers; None for a run of rankings.
        report: what else the task says of the answers; empty where it says nothing.
    """

    scores: Mapping[str, Score]
    counts: Counts
    answers: AnswerCounts | None
    report: Mapping[str, Any]


def read_scores(folder: Path) -> StoredScores:
    """Return the scores of a run.

    Raises:
        StoreError: the run is not finished, or the file is damaged.
    """
    path = folder / "scores.json"
    if not path.exists():
        raise StoreError(
            f"{folder}: the run is not finished (no scores.json); run the same command again"
        )
    try:
        content = unsealed(parse_json(path.read_bytes()))
        if not all(isinstance(content.get(part), dict) for part in ("scores", "counts")):
            raise StoreError(f"{path}: holds no scores; {_ADVICE}")
        return _parse(content)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise StoreError(f"{path}: cannot be read ({error}); {_ADVICE}") from error


def _parse(content: Mapping[str, Any]) -> StoredScores:
    scores = {name: Score.from_json(found) for name, found in content["scores"].items()}
    for name, score in scores.items():
        if not all(isinstance(v, int | float) for v in (score.value, score.low, score.high)):
            raise TypeError(f"{name} is not a number")
    answers = content.get("answers")
    counts = _counts(Counts, content["counts"])
    answered = None if answers is None else _counts(AnswerCounts, answers)
    of_scores = counts if answered is None else answered
    if not scores and of_scores.unlabelled < of_scores.asked:
        raise ValueError("there are no scores")
    return StoredScores(scores, counts, answered, dict(content.get("report") or {}))


def _counts(kind: type[T], record: Mapping[str, Any]) -> T:
    """Return the denominators; entries that this version does not know are left out."""
    known = {one.name: record[one.name] for one in fields(kind) if one.name in record}
    for name, value in known.items():
        if not isinstance(value, int | float | None) or isinstance(value, bool):
            raise TypeError(f"{name} is {value!r:.40}, not a number")
    return kind(**known)
