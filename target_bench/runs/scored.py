"""A finished run as it is read back: scores, and what every query alone contributes to them."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from target_bench.core.errors import ConfigError, StoreError
from target_bench.core.metric import Metric
from target_bench.core.schema import Score
from target_bench.core.seals import DamageError, check_file, unsealed, wholly_sealed
from target_bench.metrics.named import named
from target_bench.metrics.significance import Value, mean, of_mean
from target_bench.runs.slices import PREFIX
from target_bench.runs.store import read_run

Floats = NDArray[np.float64]

_ROUNDING = 1e-9
_PARTS = 8


@dataclass(frozen=True, slots=True)
class Measured:
    """One metric of a run.

    Attributes:
        name: as users write it.
        values: (n,) the value of each query alone; NaN where it is left out.
        statistics: (n, m) what each query contributes.
        value: (..., m) sums of statistics -> (...) scores.
        metric: the metric with its default settings; None for one of a plug-in's own, which is
            taken for a mean between 0 and 1, or the values that lie outside.
    """

    name: str
    values: Floats
    statistics: Floats
    value: Value
    metric: Metric[Any] | None

    def bounds(self, statistics: Floats) -> tuple[float, float]:
        """As ``Metric.bounds``."""
        if self.metric is not None:
            return self.metric.bounds(statistics)
        values = statistics[:, 0]
        return float(values.min(initial=0.0)), float(values.max(initial=1.0))

    def weights(self, statistics: Floats) -> Floats:
        """As ``Metric.weights``."""
        weights: Floats = statistics[:, -1]
        return weights if self.metric is None else self.metric.weights(statistics)

    def without(self, total: Floats, rows: Floats) -> Floats:
        """As ``Metric.without``."""
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


@dataclass(frozen=True)
class ScoredRun:
    """A finished run.

    Attributes:
        folder: its folder.
        manifest: what was run on what.
        scores: metric name -> score.
        counts: the denominators: of rankings, or of answers where there are any.
        query_ids: the queries, sorted.
        slices: slice name -> the value of every query.
    """

    folder: Path
    manifest: Mapping[str, Any]
    scores: Mapping[str, Score]
    counts: Mapping[str, Any]
    query_ids: Sequence[str]
    slices: Mapping[str, Sequence[Any]]
    _values: Any
    _statistics: Any

    @property
    def identity(self) -> Mapping[str, Any]:
        """All that can change its result."""
        found: Mapping[str, Any] = self.manifest["identity"]
        return found

    @property
    def label(self) -> str:
        """What ranked, and what answered if anything did."""
        asked = self.manifest["asked"]
        names = (asked["retriever"], asked.get("generator"))
        return " + ".join(str(name) for name in names if name)

    def measured(self, metric: str) -> Measured:
        """What the queries contribute to a metric.

        Raises:
            ConfigError: the run has no such metric.
            StoreError: what is stored does not give the score.
        """
        if metric not in self.scores or metric not in self._values.column_names:
            raise ConfigError(
                f"{self.folder.name}: no metric {metric!r}; there are {', '.join(self.scores)}"
                + self._elsewhere()
            )
        known = named(metric)
        summed = known is not None and metric in self._statistics.column_names
        value = known.value if known is not None and summed else mean
        score = self.scores[metric].value
        try:
            values, statistics = self._stored(metric)
            again = float(value(statistics.sum(axis=0)))
        except (ValueError, TypeError, AttributeError, IndexError) as error:
            raise StoreError(
                f"{self.folder}: what is stored of {metric} does not give a score ({error}); "
                f"score it again with target-bench score {self.folder}"
            ) from error
        if not _equal(again, score):
            raise StoreError(
                f"{self.folder}: {metric} is {score:.6f} in scores.json, but what is stored of a "
                f"query gives {again:.6f}. The scores were edited, or are older than the "
                f"statistics of such metrics: score it again with target-bench score {self.folder}"
            )
        return Measured(metric, _counted(values, statistics), statistics, value, known)

    def _stored(self, metric: str) -> tuple[Floats, Floats]:
        """The values and the statistics of every query."""
        values = self._values[metric].to_numpy().astype(np.float64)
        if metric not in self._statistics.column_names:
            return values, of_mean(values)
        rows = self._statistics[metric].combine_chunks().flatten().to_numpy()
        return values, rows.astype(np.float64).reshape(len(values), -1)

    def _elsewhere(self) -> str:
        retrieval = self.manifest["asked"].get("retrieval_run")
        return f". Its rankings were scored in {retrieval}" if retrieval else ""


def read_scored(folder: Path) -> ScoredRun:
    """A finished run.

    Raises:
        StoreError: it is not finished, or a file is damaged.
    """
    manifest = read_run(folder)
    scores, counts = read_scores(folder)
    check_tables(folder, manifest)
    values = _parquet(folder / "per_query.parquet").sort_by("query_id")
    if len(values) != counts["asked"]:
        raise StoreError(
            f"{folder}: per_query.parquet is of {len(values)} queries and scores.json of "
            f"{counts['asked']}; run the same command again"
        )
    path = folder / "statistics.parquet"
    statistics = _parquet(path).sort_by("query_id") if path.exists() else values.select([])
    query_ids = values["query_id"].to_pylist()
    if path.exists() and statistics["query_id"].to_pylist() != query_ids:
        raise StoreError(f"{path}: is of other queries; run the same command again")
    slices = {
        name.removeprefix(PREFIX): values[name].to_pylist()
        for name in values.column_names
        if name.startswith(PREFIX)
    }
    return ScoredRun(folder, manifest, scores, counts, query_ids, slices, values, statistics)


def read_scores(folder: Path) -> tuple[dict[str, Score], dict[str, Any]]:
    """Metric name -> score, and the denominators.

    Raises:
        StoreError: the run is not finished, or the file is damaged.
    """
    content = scores_file(folder)
    try:
        counts = {**content["counts"], **content.get("answers", {})}
        scores = {name: Score.from_json(found) for name, found in content["scores"].items()}
        counts |= {name: int(counts[name]) for name in ("asked", "failed")}
        if not scores:
            raise ValueError("there are no scores")
        for name, score in scores.items():
            if not all(isinstance(v, int | float) for v in (score.value, score.low, score.high)):
                raise TypeError(f"{name} is not a number")
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise _unreadable(folder, error) from error
    return scores, counts


def scores_file(folder: Path) -> dict[str, Any]:
    """What ``scores.json`` holds.

    Raises:
        StoreError: the run is not finished, or the file is damaged.
    """
    path = folder / "scores.json"
    if not path.exists():
        raise StoreError(
            f"{folder}: the run is not finished (no scores.json); run the same command again"
        )
    try:
        return unsealed(json.loads(path.read_bytes()), required=wholly_sealed(folder))
    except (OSError, ValueError, RecursionError) as error:
        raise _unreadable(folder, error) from error


def _unreadable(folder: Path, error: Exception) -> StoreError:
    return StoreError(
        f"{folder / 'scores.json'}: cannot be read ({error}); remove it and run the same command "
        "again"
    )


def check_tables(folder: Path, manifest: Mapping[str, Any]) -> None:
    """See that the tables of values are those that were written with the scores.

    Raises:
        StoreError: they are not.
    """
    for name, sha256 in manifest.get("tables", {}).items():
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
    """The values, NaN where a query contributes nothing to the score."""
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
