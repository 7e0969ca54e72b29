"""Parts of a set of queries (``difficulty=hard``, or one part per value), and their scores."""

import operator
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import product
from math import isclose, isnan
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from target_bench.core.errors import ConfigError, StoreError, did_you_mean
from target_bench.core.metric import (
    Metric,
    MetricSpec,
    RatioMetric,
    Score,
    compute_score,
    to_mean_statistics,
)
from target_bench.core.schema import NO_DATABASE, Query
from target_bench.core.text_tables import list_first
from target_bench.metrics import stats
from target_bench.metrics.scores import definition, find_spec, make_default_metric
from target_bench.runs.score_files import SLICE_PREFIX, Floats

if TYPE_CHECKING:
    from target_bench.runs.result import Result

Columns = Mapping[str, Sequence[Any]]
"""Property of the queries -> its value of every query, None for one without it."""

Mask = NDArray[np.bool_]

_LONGEST = 64  # characters of a text that is a property
_SHOWN = 12  # values that a message lists


# Properties of queries


def by_property(queries: Sequence[Query]) -> dict[str, list[Any]]:
    """Return property -> its value of every query, as users name them in ``--by difficulty``.

    ``gold_tables`` is how many tables answer the query, ``db_id`` its database if it is about one;
    the rest is metadata that is a number, a truth value or a short text in every query that has it.
    """
    columns: dict[str, list[Any]] = {"gold_tables": [len(query.gold) for query in queries]}
    databases = [query.database_id for query in queries]
    if set(databases) - {NO_DATABASE}:
        columns["db_id"] = [None if name == NO_DATABASE else name for name in databases]
    for name in sorted({name for query in queries for name in query.metadata}):
        values = [query.metadata.get(name) for query in queries]
        kinds = {type(value) for value in values if value is not None}
        longest = max((len(value) for value in values if isinstance(value, str)), default=0)
        if len(kinds) == 1 and kinds <= {str, int, float, bool} and longest <= _LONGEST:
            columns.setdefault(name, values)  # metadata never hides a property of ours
    return columns


@dataclass(frozen=True, eq=False, slots=True)
class Partition:
    """The parts that the values of one property make of n queries."""

    # the values without None: numbers ascending, words of difficulty from easy to hard, other
    # texts by alphabet and number (``<5``, ``5-9``, ``10+``)
    values: Sequence[Any]
    codes: NDArray[np.intp]  # (n,) the index of each query's value, -1 for a query without one

    @property
    def groups(self) -> bool:
        """Whether it puts queries together: several values, and not nearly one a query.

        An index of the queries, or an id, says nothing about which of them are hard.
        """
        n_queries = int((self.codes >= 0).sum())
        return 1 < len(self.values) <= max(n_queries // 2, 2)

    def masks(self, none: bool = True) -> dict[str, Mask]:
        """Return value as text -> (n,) which queries have it; ``(none)`` for those without one."""
        masks = {
            str(value).lower() if isinstance(value, bool) else str(value): self.codes == i
            for i, value in enumerate(self.values)
        }
        if none and (self.codes < 0).any():
            name = "(none)" if "(none)" not in masks else "(no value)"
            masks[name] = self.codes < 0
        return masks

    def largest(self, most: int) -> list[int]:
        """Return the indices of the most frequent values, at most this many, in their order."""
        sizes = np.bincount(self.codes[self.codes >= 0], minlength=len(self.values))
        return sorted(np.argsort(-sizes, kind="stable")[:most].tolist())


def partition(column: Sequence[Any]) -> Partition:
    """Divide queries by the values of a property; ``1``, ``1.0`` and ``True`` are three values."""
    typed = [(type(value).__name__, value) for value in column]
    values = sorted({each for each in typed if each[1] is not None}, key=_sort_key)
    index = {typed_value: i for i, typed_value in enumerate(values)}
    codes = np.array([index.get(typed_value, -1) for typed_value in typed], dtype=np.intp)
    return Partition([value for _, value in values], codes)


def by_name(columns: Columns, name: str) -> Partition:
    """Divide queries by a property; ``ConfigError`` with those there are if it is none."""
    return partition(_find_column(columns, name))


def _find_column(columns: Columns, name: str) -> Sequence[Any]:
    plain = name.strip().removeprefix(SLICE_PREFIX)
    if plain == "database" and plain not in columns:
        plain = "db_id"
    if plain not in columns:
        names = ", ".join(columns) or "none"
        raise ConfigError(f"unknown slice {name!r}; the queries have: {names}")
    return columns[plain]


_DIFFICULTIES = ("easy", "simple", "medium", "moderate", "hard", "challenging", "extra")
_NUMBER = re.compile(r"(\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?)")


def _sort_key(typed_value: tuple[str, Any]) -> tuple[Any, ...]:
    kind, value = typed_value
    if value in _DIFFICULTIES:
        return kind, 0, _DIFFICULTIES.index(value)
    return kind, 1, _natural_key(value) if isinstance(value, str) else value, value


def _natural_key(text: str) -> tuple[Any, ...]:
    """Order texts with their numbers by size, ``<5`` just before ``5``."""
    pieces = _NUMBER.split(text.casefold().lstrip("<>=≤≥([ "))
    numbers = (float(piece.replace(",", "")) for piece in [*pieces[1::2], "0"])
    side = text.startswith((">", "≥")) - text.startswith(("<", "≤"))
    return [*zip(pieces[::2], numbers, strict=True)], side


# Conditions


class Slice(NamedTuple):
    """A condition, as ``difficulty=hard``; or a name alone: one part per value."""

    name: str
    compared: str = ""
    value: str = ""

    def __str__(self) -> str:
        return "".join(self)


_SLICE = re.compile(r"\s*(?:slice\.)?([^=<>!]+?)\s*(?:(!=|>=|<=|=|>|<)\s*(.*?)\s*)?")
_OPERATORS: dict[str, Callable[[Any, Any], bool]] = {
    "!=": operator.ne,
    ">=": operator.ge,
    "<=": operator.le,
    "=": operator.eq,
    ">": operator.gt,
    "<": operator.lt,
}


def parse(text: str) -> Slice:
    """Read a slice."""
    match = _SLICE.fullmatch(text)
    if match is None or (match[2] and not match[3]):
        raise ConfigError(
            f"--slice {text!r}: expected a name alone or with a value, as in difficulty=hard, "
            "gold_tables>1 or db_id"
        )
    return Slice(match[1], match[2] or "", match[3] or "")


def parts(columns: Columns, slices: Sequence[Slice], n: int) -> dict[str, Mask]:
    """Return the parts that slices together make of n queries: description -> (n,) which are in it.

    Conditions hold together; a name alone makes a part of each of its values. Without slices there
    is one part, described by an empty text.
    """
    masks = {"": np.ones(n, dtype=np.bool_)}
    for condition in slices:
        options = _apply(condition, columns)
        masks = {
            ", ".join(filter(None, (name, more))): mask & kept
            for (name, mask), (more, kept) in product(masks.items(), options.items())
        }
    kept = {name: mask for name, mask in masks.items() if mask.any()}
    if not kept:
        raise ConfigError(f"no query is in the slice {', '.join(map(str, slices))}")
    return kept


def _apply(condition: Slice, columns: Columns) -> dict[str, Mask]:
    values = _find_column(columns, condition.name)
    masks = partition(values).masks()
    if not condition.compared:
        return {f"{condition.name}={value}": mask for value, mask in masks.items()}
    compare, bound = _OPERATORS[condition.compared], _read_bound(condition, values)
    holds = np.array([value is not None and compare(value, bound) for value in values], np.bool_)
    if not holds.any():
        there = list_first([*masks], _SHOWN)
        raise ConfigError(f"no query is in the slice {condition}; {condition.name} is {there}")
    return {str(condition): holds}


def _read_bound(condition: Slice, values: Sequence[Any]) -> Any:
    """Return the value of a condition, in the type that the queries have."""
    kinds = {type(value) for value in values if value is not None}
    by_order = condition.compared not in ("=", "!=")
    try:
        if kinds == {bool}:
            return {"true": True, "false": False}["" if by_order else condition.value.lower()]
        if kinds <= {int, float}:
            return float(condition.value)
    except (KeyError, ValueError):
        kind = "true or false" if kinds == {bool} else "a number"
        raise ConfigError(f"--slice {condition}: {condition.name} is {kind}") from None
    if by_order:
        raise ConfigError(f"--slice {condition}: {condition.name} is text; compare it with = or !=")
    return condition.value


# Scores of parts


class MissingPluginError(ConfigError):
    """A metric of a plug-in that is not installed: only its score of all queries is there."""


class StoredMean(RatioMetric[Any]):
    """The mean of stored values: of a metric that cannot be computed again."""

    signature = ""

    def __init__(self, spec: MetricSpec) -> None:
        self.spec = spec

    def statistics(self, examples: Any) -> Floats:
        """Return (n, 2): each value and 1; two zeros for NaN."""
        return to_mean_statistics(np.asarray(examples, dtype=np.float64))


class Measured(NamedTuple):
    """One metric of a run."""

    name: str  # as users write it
    values: Floats  # (n,) the value of each query alone; NaN where it is left out
    statistics: Floats  # (n, m) what each query contributes
    metric: Metric[Any]  # the metric with its default settings
    spec: MetricSpec  # its declaration

    @property
    def is_mean(self) -> bool:
        """Whether the metric is the mean of its values, seen on eight halves of the queries."""
        generator = np.random.default_rng(0)
        halves = [generator.random(len(self.values)) < 0.5 for _ in range(8)]
        return all(
            isclose(
                compute_score(self.metric, self.statistics[half]),
                np.nanmean(self.values[half]),
                rel_tol=1e-9,
                abs_tol=1e-9,
            )
            for half in halves
            if not np.isnan(self.values[half]).all()
        )


def measure(result: "Result", metric: str) -> Measured:
    """Return the contributions of the queries of a run to a metric.

    Raises:
        ConfigError: the run has no such metric, or it is more than a mean and its plug-in is not
            installed.
        StoreError: the stored statistics do not give the score.
    """
    scores, folder = result.stored.scores, result.folder
    if metric not in scores or metric not in result.queries.values:
        rankings = result.command.retrieval_run
        elsewhere = f". Its rankings were scored in {rankings}" if rankings else ""
        raise ConfigError(unknown_metric(folder, metric, scores) + elsewhere)
    score, statistics = scores[metric], result.queries.statistics[metric]
    spec, installed = find_spec(metric, score), make_default_metric(metric)
    # A ratio of nothing may be 0 by itself, and is no score of a run over no query.
    summary = StoredMean(spec) if installed is None or isnan(score.value) else installed
    again = f"score it again with target-bench score {folder}"
    try:
        value = compute_score(summary, statistics)
    except (ValueError, TypeError, AttributeError, IndexError) as error:
        raise StoreError(
            f"{folder}: what is stored of {metric} gives no score ({error}); {again}"
        ) from error
    if not np.isclose(value, score.value, rtol=1e-9, atol=1e-9, equal_nan=True):
        if installed is None and metric in result.queries.summed:
            raise MissingPluginError(
                f"{folder.name}: {metric} is a metric of a plug-in that is not installed here, or "
                "of a file, and more than a mean of its values, so it cannot be computed for a "
                "part of the queries or tested. Install the plug-in (of a file: docs/plugins.md, "
                "Publish a plug-in), or name other metrics with --metric."
            )
        raise StoreError(
            f"{folder}: {metric} is {score.value:.6f} in scores.json, but what is stored of a "
            f"query gives {value:.6f}. The scores were edited, or are older than the statistics of "
            f"such metrics: {again}"
        )
    values = np.where(statistics.any(axis=1), result.queries.values[metric], np.nan)
    return Measured(metric, values, statistics, summary, spec)


def unknown_metric(folder: Path, metric: str, metrics: Iterable[str]) -> str:
    """Write the message on a metric that a run does not have."""
    names = list(metrics)
    hint, there = did_you_mean(metric, names), list_first(names, _SHOWN)
    return f"{folder.name}: no metric {metric!r}.{hint} There are {there}"


def make_mean(name: str, values: Floats, spec: MetricSpec) -> Measured:
    """Return a metric that is the mean of (n,) values, over those that are not NaN."""
    return Measured(name, values, to_mean_statistics(values), StoredMean(spec), spec)


def part_score(measured: Measured, mask: Mask, whole: Score | None) -> Score:
    """Score the queries of a part."""
    metric, statistics = measured.metric, measured.statistics[mask]
    value = compute_score(metric, statistics)
    low, high = stats.interval(metric, statistics)
    return Score(
        value=value,
        low=low,
        high=high,
        n=0 if np.isnan(value) else metric.counted(statistics),
        signature=f"{definition(whole.signature)}|{stats.SIGNATURE}" if whole else "",
        spec=whole.spec if whole else measured.spec,
    )


def report_by(
    columns: Columns,
    names: Sequence[str],
    metrics: Sequence[Metric[Any]],
    per_query: Mapping[str, Floats],
    statistics: Mapping[str, Floats],
) -> dict[str, dict[str, dict[str, Any]]]:
    """Score the parts that a task reports, before its run is stored."""
    means = {name: to_mean_statistics(values) for name, values in per_query.items()}
    contributions = means | {**statistics}
    tables: dict[str, dict[str, dict[str, Any]]] = {}
    for name in names:
        with suppress(ConfigError):  # these queries have no such property
            for value, mask in by_name(columns, name).masks(none=False).items():
                rows = {metric.name: contributions[metric.name][mask] for metric in metrics}
                scores = {
                    metric.name: compute_score(metric, rows[metric.name]) for metric in metrics
                }
                tables.setdefault(name, {})[value] = {
                    "queries": int(mask.sum()),
                    "runnable": metrics[0].counted(rows[metrics[0].name]),
                    **{n: None if np.isnan(score) else score for n, score in scores.items()},
                }
    return tables
