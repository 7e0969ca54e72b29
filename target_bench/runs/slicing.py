"""Parts of a set of queries (``difficulty=hard``, or one part per value), and their scores."""

import operator
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from target_bench.core.errors import ConfigError, StoreError
from target_bench.core.metric import (
    Metric,
    MetricSpec,
    OnPart,
    Score,
    marks_of,
    mean,
    of_mean,
    score_of,
)
from target_bench.core.schema import NO_DATABASE, Query
from target_bench.core.text_tables import first_of
from target_bench.metrics import stats
from target_bench.metrics.scores import definition, named, spec_of

Columns = Mapping[str, Sequence[Any]]
"""Property of the queries -> its value of every query, None for one without it."""

Mask = NDArray[np.bool_]
Floats = NDArray[np.float64]

SLICE_PREFIX = "slice."
"""How the columns of ``per_query.parquet`` begin that hold no metric."""

_LONGEST = 64  # characters of a text that is a property
_ROUNDING = 1e-9
_PARTS = 8
_SHOWN = 12


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
            columns.setdefault(name, values)
    return columns


def slice_columns(queries: Sequence[Query]) -> dict[str, list[Any]]:
    """Return ``by_property`` with the names that they have in ``per_query.parquet``."""
    return {SLICE_PREFIX + name: values for name, values in by_property(queries).items()}


class Slice(NamedTuple):
    """A condition, as ``difficulty=hard``; or a name alone: one part per value."""

    name: str
    compared: str = ""
    value: str = ""

    def __str__(self) -> str:
        return "".join(self)


_SLICE = re.compile(r"\s*(?:slice\.)?([^=<>!]+?)\s*(?:(!=|>=|<=|=|>|<)\s*(.*?)\s*)?")
_COMPARED: dict[str, Callable[[Any, Any], bool]] = {
    "!=": operator.ne,
    ">=": operator.ge,
    "<=": operator.le,
    "=": operator.eq,
    ">": operator.gt,
    "<": operator.lt,
}


def parse(text: str) -> Slice:
    """Read a slice.

    Raises:
        ConfigError: it is none.
    """
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

    Raises:
        ConfigError: an unknown name, a value that no number can be, or a condition that no query
            meets.
    """
    masks = {"": np.ones(n, dtype=np.bool_)}
    for condition in slices:
        options = _options(columns, condition)
        masks = {
            ", ".join(filter(None, (name, more))): mask & kept
            for (name, mask), (more, kept) in product(masks.items(), options.items())
        }
    kept = {name: mask for name, mask in masks.items() if mask.any()}
    if not kept:
        raise ConfigError(f"no query is in the slice {', '.join(map(str, slices))}")
    return kept


def _options(columns: Columns, condition: Slice) -> dict[str, Mask]:
    values = columns[_known(columns, condition.name)]
    masks = partition(values).masks()
    if not condition.compared:
        return {f"{condition.name}={value}": mask for value, mask in masks.items()}
    compared, bound = _COMPARED[condition.compared], _bound(condition, values)
    holds = np.array([value is not None and compared(value, bound) for value in values], np.bool_)
    if not holds.any():
        there = first_of([*masks], _SHOWN)
        raise ConfigError(f"no query is in the slice {condition}; {condition.name} is {there}")
    return {str(condition): holds}


def _bound(condition: Slice, values: Sequence[Any]) -> Any:
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


@dataclass(frozen=True, eq=False, slots=True)
class Partition:
    """The parts that the values of one property make of n queries.

    Attributes:
        values: the values in their natural order: numbers ascending, words of difficulty from easy
            to hard, other texts by alphabet and number (``<5``, ``5-9``, ``10+``); without None.
        codes: (n,) the place of each query's value among them, -1 for a query without one.
    """

    values: Sequence[Any]
    codes: NDArray[np.intp]

    @property
    def sizes(self) -> NDArray[np.intp]:
        """(values,) how many queries have each."""
        counts: NDArray[np.intp] = np.bincount(
            self.codes[self.codes >= 0], minlength=len(self.values)
        ).astype(np.intp)
        return counts

    @property
    def groups(self) -> bool:
        """Whether it puts queries together: several values, and not nearly one a query.

        An index of the queries, or an id, says nothing about which of them are hard.
        """
        known = int((self.codes >= 0).sum())
        return 1 < len(self.values) <= max(known // 2, 2)

    def masks(self, none: bool = True) -> dict[str, Mask]:
        """Return value as text -> (n,) which queries have it; ``(none)`` for those without one."""
        by_value = {_shown(value): self.codes == i for i, value in enumerate(self.values)}
        if none and (self.codes < 0).any():
            by_value[_shown(None)] = self.codes < 0
        return by_value

    def largest(self, most: int) -> list[int]:
        """Choose at most this many values, the most frequent, and return them in their order."""
        return sorted(np.argsort(-self.sizes, kind="stable")[:most].tolist())


def partition(column: Sequence[Any]) -> Partition:
    """Divide queries by the values of a property; ``1``, ``1.0`` and ``True`` are three values."""
    typed = [(type(value).__name__, value) for value in column]
    known = sorted({each for each in typed if each[1] is not None}, key=_rank)
    place = {typed_value: i for i, typed_value in enumerate(known)}
    codes = np.array([place.get(typed_value, -1) for typed_value in typed], dtype=np.intp)
    return Partition([value for _, value in known], codes)


def by_name(columns: Columns, name: str) -> Partition:
    """Divide queries by a property.

    Args:
        columns: name of a property -> its value of each query.
        name: one of them; ``database`` is another name of ``db_id``.

    Raises:
        ConfigError: there is no such property; the message lists those there are.
    """
    return partition(columns[_known(columns, name)])


def check_names(columns: Columns, names: Sequence[str]) -> None:
    """See that queries can be divided by each of these properties; errors as for ``by_name``."""
    for name in names:
        _known(columns, name)


_OTHER_NAMES = {"database": "db_id"}
_DIFFICULTIES = ("easy", "simple", "medium", "moderate", "hard", "challenging", "extra")


def _rank(typed_value: tuple[str, Any]) -> tuple[Any, ...]:
    kind, value = typed_value
    if value in _DIFFICULTIES:
        return kind, 0, _DIFFICULTIES.index(value)
    return kind, 1, _natural(value) if isinstance(value, str) else value, value


_NUMBER = re.compile(r"(\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?)")


def _natural(text: str) -> tuple[Any, ...]:
    """Return the key that orders texts: their numbers count by size, ``<5`` just before ``5``."""
    parts = _NUMBER.split(text.casefold().lstrip("<>=≤≥([ "))
    numbers = (float(part.replace(",", "")) for part in [*parts[1::2], "0"])
    side = text.startswith((">", "≥")) - text.startswith(("<", "≤"))
    return [*zip(parts[::2], numbers, strict=True)], side


def _known(columns: Columns, name: str) -> str:
    plain = name.strip().removeprefix("slice.")
    plain = plain if plain in columns else _OTHER_NAMES.get(plain, plain)
    if plain not in columns:
        known = ", ".join(columns) or "none"
        raise ConfigError(f"unknown slice {name!r}; the queries have: {known}")
    return plain


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return "(none)" if value is None else str(value)


class MissingPluginError(ConfigError):
    """A metric of a plug-in that is not installed: only its score of all queries is known."""


@dataclass(frozen=True, slots=True)
class Measured:
    """One metric of a run.

    Attributes:
        name: as users write it.
        values: (n,) the value of each query alone; NaN where it is left out.
        statistics: (n, m) what each query contributes.
        value: (..., m) sums of statistics -> (...) scores; or of rows, as ``Metric.value``.
        metric: the metric with its default settings; None for one of a plug-in that is not
            installed, which is taken for a mean.
        spec: its declaration.
    """

    name: str
    values: Floats
    statistics: Floats
    value: stats.Value
    metric: Metric[Any] | None
    spec: MetricSpec

    @property
    def of_rows(self) -> bool:
        """See ``Metric.of_rows``."""
        return self.metric is not None and self.metric.of_rows

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
        return not self.of_rows and all(
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
    in_parts: bool,
) -> Measured:
    """Return the statistics of the queries for a metric, seen to give its score.

    Args:
        folder: of the run, for messages.
        metric: its name.
        score: as it is in ``scores.json``.
        values: (n,) the value of each query alone.
        statistics: (n, m) what each query contributes.
        summed: whether statistics are stored, which are more than the values.
        in_parts: whether some queries are in some metrics alone: synthetic or unanswerable ones.

    Raises:
        MissingPluginError: the metric is more than a mean, and its plug-in is not installed.
        StoreError: what is stored does not give the score.
    """
    known = named(metric)
    if known is not None and (in_parts or marks_of(metric)):
        known = OnPart(known, mark=marks_of(metric))
    value = known.value if known is not None and summed else mean
    measured = Measured(metric, values, statistics, value, known, spec_of(metric, score))
    try:
        again = score_of(measured, statistics)
    except (ValueError, TypeError, AttributeError, IndexError) as error:
        raise StoreError(
            f"{folder}: what is stored of {metric} does not give a score ({error}); "
            f"score it again with target-bench score {folder}"
        ) from error
    if known is None and summed and not _equal(again, score.value):
        raise MissingPluginError(
            f"{folder.name}: {metric} is a metric of a plug-in that is not installed here, or of a "
            "file, and more than a mean of its values, so it cannot be computed for a part of the "
            "queries or tested. Install the plug-in (of a file: docs/plugins.md, Publish a "
            "plug-in), or name other metrics with --metric."
        )
    if not _equal(again, score.value):
        raise StoreError(
            f"{folder}: {metric} is {score.value:.6f} in scores.json, but what is stored of a "
            f"query gives {again:.6f}. The scores were edited, or are older than the "
            f"statistics of such metrics: score it again with target-bench score {folder}"
        )
    counted = np.where(statistics.any(axis=1), values, np.nan)
    return replace(measured, values=counted)


def _equal(again: float, score: float) -> bool:
    if np.isnan(score):
        return bool(np.isnan(again))
    return abs(again - score) <= _ROUNDING * max(1.0, abs(score))


def part_score(measured: Measured, mask: Mask, whole: Score | None) -> Score:
    """Score the queries of a part.

    Args:
        measured: what every query contributes to the metric.
        mask: (n,) which queries are in the part.
        whole: the score of all queries, for what the metric is, where one is known.
    """
    statistics = measured.statistics[mask]
    value = score_of(measured, statistics)
    low, high = stats.interval(measured, statistics)
    return Score(
        value=value,
        low=low,
        high=high,
        n=0 if np.isnan(value) else _counted(measured, mask),
        signature=f"{definition(whole.signature)}|{stats.SIGNATURE}" if whole else "",
        spec=whole.spec if whole else measured.spec,
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
    tables = {}
    for name in names:
        with suppress(ConfigError):  # these queries have no such property
            masks = by_name(columns, name).masks(none=False)
            tables[name] = {value: _values(measured, mask) for value, mask in masks.items()}
    return {name: parts for name, parts in tables.items() if parts}


def _values(measured: Sequence[Measured], mask: Mask) -> dict[str, Any]:
    values = {metric.name: score_of(metric, metric.statistics[mask]) for metric in measured}
    return {
        "queries": int(mask.sum()),
        "runnable": _counted(measured[0], mask),
        **{name: None if np.isnan(value) else value for name, value in values.items()},
    }
