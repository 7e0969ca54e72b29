"""Parts of the queries of a run (``difficulty=hard``, or one per value), and their scores."""

import operator
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
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
from target_bench.runs.score_files import Floats

if TYPE_CHECKING:
    from target_bench.runs.result import Result

Properties = Mapping[str, Sequence[Any]]
"""Property of queries -> its value for each query; None or NaN for a query without one."""

Mask = NDArray[np.bool_]

_LONGEST = 64  # characters of a text that is a property
_SHOWN = 12  # values that a message lists


def read_properties(queries: Sequence[Query]) -> dict[str, list[Any]]:
    """Return property -> its value for each query, as users name them in ``--by difficulty``.

    ``gold_tables`` is the number of gold tables, ``db_id`` the database. The rest is metadata: that
    which is of one type in all queries, and is a number, a truth value or a short text.
    """
    properties: dict[str, list[Any]] = {"gold_tables": [len(query.gold) for query in queries]}
    databases = [query.database_id for query in queries]
    if set(databases) - {NO_DATABASE}:
        properties["db_id"] = [None if name == NO_DATABASE else name for name in databases]
    for name in sorted({name for query in queries for name in query.metadata}):
        values = [query.metadata.get(name) for query in queries]
        kinds = {type(value) for value in values if value is not None}
        longest = max((len(value) for value in values if isinstance(value, str)), default=0)
        if len(kinds) == 1 and kinds <= {str, int, float, bool} and longest <= _LONGEST:
            properties.setdefault(name, values)  # metadata never hides a property of ours
    return properties


# Parts by value


@dataclass(frozen=True, eq=False, slots=True)
class Partition:
    """The parts that the values of one property make of n queries."""

    # the values without None and NaN: numbers ascending, words of difficulty from easy to hard,
    # other texts by alphabet and number (``<5``, ``5-9``, ``10+``)
    values: Sequence[Any]
    codes: NDArray[np.intp]  # (n,) the index of each query's value, -1 for a query without one

    @property
    def is_informative(self) -> bool:
        """Whether scores by it say anything: several values, each of two queries on average.

        An index of the queries, or an id, says nothing about which of them are hard.
        """
        n_queries = int((self.codes >= 0).sum())
        return 1 < len(self.values) <= max(n_queries // 2, 2)

    def masks(self, include_none: bool = True) -> dict[str, Mask]:
        """Return value as text -> (n,) which queries have it; ``(none)`` for those without one."""
        masks = {
            str(value).lower() if isinstance(value, bool) else str(value): self.codes == i
            for i, value in enumerate(self.values)
        }
        if include_none and (self.codes < 0).any():
            name = "(none)" if "(none)" not in masks else "(no value)"
            masks[name] = self.codes < 0
        return masks

    def find_frequent(self, n: int) -> list[int]:
        """Return the indices of the ``n`` most frequent values, ascending."""
        sizes = np.bincount(self.codes[self.codes >= 0], minlength=len(self.values))
        return sorted(np.argsort(-sizes, kind="stable")[:n].tolist())


def divide(values: Sequence[Any]) -> Partition:
    """Divide queries by the values of a property; ``1``, ``1.0`` and ``True`` are three values."""
    typed = [(type(value).__name__, value) for value in values]
    distinct = sorted({pair for pair in typed if _is_value(pair[1])}, key=_sort_key)
    index = {pair: i for i, pair in enumerate(distinct)}
    codes = np.array([index.get(pair, -1) for pair in typed], dtype=np.intp)
    return Partition([value for _, value in distinct], codes)


def _is_value(value: Any) -> bool:
    """Return whether a query has a value: neither None nor NaN, which no value is equal to."""
    return value is not None and not (isinstance(value, float) and isnan(value))


def divide_by(properties: Properties, name: str) -> Partition:
    """Divide queries by a property.

    Raises:
        ConfigError: there is no such property; the message lists those there are.
    """
    return divide(_find_values(properties, name))


def _find_values(properties: Properties, name: str) -> Sequence[Any]:
    name = name.strip()
    if name == "database" and name not in properties:
        name = "db_id"
    if name not in properties:
        names = ", ".join(properties) or "none"
        raise ConfigError(f"the queries have no property {name!r}; they have: {names}")
    return properties[name]


_DIFFICULTIES = ("easy", "simple", "medium", "moderate", "hard", "challenging", "extra")
_NUMBER = re.compile(r"(\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?)")


def _sort_key(typed_value: tuple[str, Any]) -> tuple[Any, ...]:
    kind, value = typed_value
    if value in _DIFFICULTIES:
        return kind, 0, _DIFFICULTIES.index(value)
    if isinstance(value, str):
        return kind, 1, _natural_key(value), value
    return kind, 1, value


def _natural_key(text: str) -> tuple[Any, ...]:
    """Return a key that sorts numbers in texts by size: ``<5``, ``5``, ``>5``, ``10``."""
    pieces = _NUMBER.split(text.casefold().lstrip("<>=≤≥([ "))
    words, numbers = pieces[::2], [float(number.replace(",", "")) for number in pieces[1::2]]
    # There is a text before each number and one, perhaps empty, after the last.
    pairs = [*zip(words, [*numbers, 0.0], strict=True)]
    return pairs, text.startswith((">", "≥")) - text.startswith(("<", "≤"))


# Conditions


class Condition(NamedTuple):
    """A condition on a property, as ``difficulty=hard``; or its name, for a part of each value."""

    name: str
    operator: str = ""
    value: str = ""

    def __str__(self) -> str:
        return "".join(self)


_CONDITION = re.compile(r"\s*([^=<>!]+?)\s*(?:(!=|>=|<=|=|>|<)\s*(.*?)\s*)?")
_OPERATORS: dict[str, Callable[[Any, Any], bool]] = {
    "!=": operator.ne,
    ">=": operator.ge,
    "<=": operator.le,
    "=": operator.eq,
    ">": operator.gt,
    "<": operator.lt,
}


def parse_condition(text: str) -> Condition:
    """Read a condition of ``--slice``."""
    match = _CONDITION.fullmatch(text)
    if match is None or (match[2] and not match[3]):
        raise ConfigError(
            f"--slice {text!r}: expected a name alone or with a value, as in difficulty=hard, "
            "gold_tables>1 or db_id"
        )
    return Condition(match[1], match[2] or "", match[3] or "")


def select_parts(
    properties: Properties, conditions: Sequence[Condition], n: int
) -> dict[str, Mask]:
    """Return description -> (n,) which queries are in this part.

    All conditions hold in a part; the bare name of a property makes a part of each of its values.
    Without conditions there is one part of all queries, whose description is empty.
    """
    parts = {"": np.ones(n, dtype=np.bool_)}
    for condition in conditions:
        added = _apply(condition, properties)
        parts = {
            f"{name}, {more}" if name else more: mask & added[more]
            for name, mask in parts.items()
            for more in added
        }
    parts = {name: mask for name, mask in parts.items() if mask.any()}
    if not parts:
        raise ConfigError(f"no query is in the slice {', '.join(map(str, conditions))}")
    return parts


def _apply(condition: Condition, properties: Properties) -> dict[str, Mask]:
    values = _find_values(properties, condition.name)
    masks = divide(values).masks()
    if not condition.operator:
        return {f"{condition.name}={value}": mask for value, mask in masks.items()}
    none_labels = masks.keys() - divide(values).masks(include_none=False).keys()
    if condition.value in none_labels and condition.operator in ("=", "!="):
        holds = masks[condition.value] ^ (condition.operator == "!=")
    else:
        compare, bound = _OPERATORS[condition.operator], _read_bound(condition, values)
        found = [_is_value(value) and compare(value, bound) for value in values]
        holds = np.array(found, np.bool_)
    if not holds.any():
        listed = list_first([*masks], _SHOWN)
        raise ConfigError(
            f"no query is in the slice {condition}; {condition.name} has the values {listed}"
        )
    return {str(condition): holds}


def _read_bound(condition: Condition, values: Sequence[Any]) -> Any:
    """Return the value of a condition, in the type that the queries have."""
    kinds = {type(value) for value in values if value is not None}  # none: no query has a value
    text, is_order = condition.value, condition.operator not in ("=", "!=")
    if kinds == {bool}:
        if is_order or text.lower() not in ("true", "false"):
            raise ConfigError(f"--slice {condition}: {condition.name} is true or false")
        return text.lower() == "true"
    if kinds and kinds <= {int, float}:
        with suppress(ValueError):
            return int(text)  # exact, where a float is not above 2^53
        try:
            return float(text)
        except ValueError:
            raise ConfigError(f"--slice {condition}: {condition.name} is a number") from None
    if kinds and is_order:
        raise ConfigError(f"--slice {condition}: {condition.name} is text; compare it with = or !=")
    return text


# Scores of parts


class MissingPluginError(ConfigError):
    """A metric of a plug-in that is not installed: it cannot be computed for a part."""


class StoredMean(RatioMetric[Any]):
    """The mean of stored values, for a metric whose code is not installed."""

    signature = ""

    def __init__(self, spec: MetricSpec) -> None:
        self.spec = spec

    def statistics(self, examples: Any) -> Floats:
        """Return (n, 2): each value and 1; two zeros for NaN."""
        return to_mean_statistics(np.asarray(examples, dtype=np.float64))


class MetricValues(NamedTuple):
    """The values of one metric for the queries of a run."""

    name: str  # as users write it
    values: Floats  # (n,) the value of each query by itself; NaN where the metric leaves it out
    statistics: Floats  # (n, m) the sufficient statistics of each query
    metric: Metric[Any]  # computes a score from the statistics of any part
    spec: MetricSpec  # its declaration

    @property
    def is_mean(self) -> bool:
        """Whether the score is the mean of the values, on any part of the queries.

        No metric declares that; one that is the mean on eight random halves is taken for it.
        """
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


def read_metric(result: "Result", metric: str) -> MetricValues:
    """Read the stored values of a metric, and check that they give its score.

    Raises:
        ConfigError: the run has no such metric, or it is more than a mean and its plug-in is not
            installed.
        StoreError: the stored statistics do not give the score.
    """
    scores, folder = result.stored.scores, result.folder
    if metric not in scores or metric not in result.per_query.values:
        rankings = result.command.retrieval_run
        elsewhere = f". Its rankings were scored in {rankings}" if rankings else ""
        raise ConfigError(describe_unknown_metric(folder, metric, scores) + elsewhere)
    score, statistics = scores[metric], result.per_query.statistics[metric]
    spec, installed = find_spec(metric, score), make_default_metric(metric)
    computing = installed or StoredMean(spec)
    again = f"score it again with target-bench score {folder}"
    try:
        value = compute_score(computing, statistics)
        computing.bounds(statistics)  # raises for statistics of another version, too
    except (ValueError, TypeError, AttributeError, IndexError) as error:
        raise StoreError(
            f"{folder}: the stored statistics of {metric} give no score ({error}); {again}"
        ) from error
    if not np.isclose(value, score.value, rtol=1e-9, atol=1e-9, equal_nan=True):
        if installed is None and metric in result.per_query.not_means:
            raise MissingPluginError(
                f"{folder.name}: {metric} comes from a file, or from a plug-in that is not "
                "installed here, and is not a mean of its values, so it can be neither computed "
                "for a slice nor tested. Install the plug-in (for a file see docs/plugins.md, "
                "Publish a plug-in), or name other metrics with --metric."
            )
        raise StoreError(
            f"{folder}: {metric} is {score.value:.6f} in scores.json, but the stored statistics "
            f"give {value:.6f}. The scores were edited, or are older than the "
            f"statistics of such metrics: {again}"
        )
    # A row of zeros is a query that the metric leaves out; of one that is no mean, the stored value
    # may be 0.
    values = np.where(statistics.any(axis=1), result.per_query.values[metric], np.nan)
    return MetricValues(metric, values, statistics, computing, spec)


def describe_unknown_metric(folder: Path, metric: str, metrics: Iterable[str]) -> str:
    """Return the message on a metric that a run does not have."""
    names = list(metrics)
    hint, listed = did_you_mean(metric, names), list_first(names, _SHOWN)
    return f"{folder.name}: unknown metric {metric!r}.{hint} Known: {listed}"


def make_mean(name: str, values: Floats, spec: MetricSpec) -> MetricValues:
    """Return a metric that is the mean of (n,) values, over those that are not NaN."""
    return MetricValues(name, values, to_mean_statistics(values), StoredMean(spec), spec)


def score_part(values: MetricValues, mask: Mask, whole: Score | None) -> Score:
    """Score the queries of a part; ``whole`` is the stored score of all queries."""
    metric, statistics = values.metric, values.statistics[mask]
    value = compute_score(metric, statistics)
    low, high = stats.interval(metric, statistics)
    return Score(
        value=value,
        low=low,
        high=high,
        n=0 if np.isnan(value) else metric.count_queries(statistics),
        signature=f"{definition(whole.signature)}|{stats.SIGNATURE}" if whole else "",
        spec=whole.spec if whole else values.spec,
    )


def report_parts(
    properties: Properties,
    names: Sequence[str],
    metrics: Sequence[Metric[Any]],
    per_query: Mapping[str, Floats],
    statistics: Mapping[str, Floats],
) -> dict[str, dict[str, dict[str, Any]]]:
    """Return property -> value -> counts and scores, for the report of a task.

    ``runnable`` is the number of queries that the first metric is over. ``statistics`` has no entry
    of a metric that is the mean of its values in ``per_query``.
    """
    means = {name: to_mean_statistics(values) for name, values in per_query.items()}
    all_statistics = {**means, **statistics}
    tables: dict[str, dict[str, dict[str, Any]]] = {}
    for name in names:
        with suppress(ConfigError):  # these queries have no such property
            for value, mask in divide_by(properties, name).masks(include_none=False).items():
                n_counted = metrics[0].count_queries(all_statistics[metrics[0].name][mask])
                part: dict[str, Any] = {"queries": int(mask.sum()), "runnable": n_counted}
                for metric in metrics:
                    score = compute_score(metric, all_statistics[metric.name][mask])
                    part[metric.name] = None if np.isnan(score) else score
                tables.setdefault(name, {})[value] = part
    return tables
