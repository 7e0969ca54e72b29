"""What the page of an entry shows of its runs: scores, slices, and the hardest queries by id."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from target_bench.core.metric_spec import MetricSpec
from target_bench.core.schema import Score
from target_bench.metrics.headlines import answer_metrics, headline, ranking_metrics
from target_bench.metrics.named import spec_of
from target_bench.reporting.leaderboard.entry import Entry, RunEntry
from target_bench.reporting.leaderboard.site.boards import DEFAULT_K
from target_bench.reporting.leaderboard.site.groups import (
    Data,
    Group,
    Groups,
    Member,
    Vector,
    data_of,
    is_mean,
    member_of,
)
from target_bench.reporting.web import shown
from target_bench.runs.slicing import Partition, partition
from target_bench.runs.times import left_out_note

HARDEST = 20
"""Queries that are named on a page."""

_MOST_VALUES = 12
_LONGEST_TEXT = 20_000


@dataclass(frozen=True, slots=True)
class Slice:
    """The queries of one value of a slice."""

    value: str
    n: int
    mean: float


@dataclass(frozen=True, slots=True)
class Sliced:
    """A metric by what queries can be divided.

    Attributes:
        name: what divides them.
        parts: its values, the most frequent first, or ascending where they are numbers.
        left_out: how many rarer values are not listed.
    """

    name: str
    parts: list[Slice]
    left_out: int


@dataclass(frozen=True, slots=True)
class Hard:
    """A query of which little was found.

    Attributes:
        id: of the query.
        value: of this run.
        others: mean of all others on the board, or None without any.
    """

    id: str
    value: float
    others: float | None


@dataclass(frozen=True, eq=False)
class RunView:
    """A run, as its entry's page shows it.

    Attributes:
        place: in the entry.
        data: what it is of.
        member: its row on the boards.
        title: corpus and split, with what was mixed in.
        about: the task whose queries were ranked, or None.
        basis: whether answers are built on it.
        n: how many queries.
        main: the metric of slices and hardest queries, or None.
        values: (n,) its value of each query.
        headlines: the metrics of the summary, with their scores.
        scores: all metrics with their scores.
        slices: of the main metric.
        times: what was timed, the unit (``s`` or ``ms``), and the number, as declared.
        times_note: why other times are not shown; empty if there are none.
        counts: denominators, as (name, number) pairs.
        summary: what the task sums up of the answers, in lines.
        declared: settings and environment, as JSON text.
        cutoffs: cutoffs of the retrieval metrics.
    """

    place: int
    data: Data
    member: Member
    title: str
    about: str | None
    basis: bool
    n: int
    main: str | None
    values: Vector | None
    headlines: list[tuple[str, Score]]
    scores: list[tuple[str, Score]]
    slices: list[Sliced]
    times: list[tuple[str, str, float]]
    times_note: str
    counts: list[tuple[str, float]]
    summary: list[str]
    declared: str
    cutoffs: tuple[int, ...]
    date: str

    @property
    def anchor(self) -> str:
        """The id of its part of the page."""
        return f"run-{self.place + 1}"

    @property
    def answers(self) -> bool:
        """Whether it is a run of answers."""
        return self.member.generator is not None

    def label(self, metric: str) -> str:
        """Print what a metric is called, with its cutoff."""
        cutoff = metric.rpartition("@")[2] if "@" in metric else None
        return shown(self.spec(metric).label_at(cutoff))

    def spec(self, metric: str) -> MetricSpec:
        """Find the declaration of a metric."""
        return spec_of(metric, dict(self.scores).get(metric))


@dataclass
class Slicer:
    """Slices of runs; what queries have in common is worked out once for all runs of it."""

    _known: dict[tuple[Data, str], tuple[Sequence[Any], Partition]] = field(default_factory=dict)

    def sliced(self, run: RunEntry, values: NDArray[np.float64]) -> list[Sliced]:
        """Average the values by each slice that puts queries together."""
        divided = ((name, self._partition(run, name)) for name in run.slices)
        return [_sliced(name, one, values) for name, one in divided if one.groups]

    def _partition(self, run: RunEntry, name: str) -> Partition:
        column, key = run.slices[name], (data_of(run), name)
        if key not in self._known or self._known[key][0] != column:
            self._known[key] = column, partition(column)
        return self._known[key][1]


def _sliced(name: str, divided: Partition, values: NDArray[np.float64]) -> Sliced:
    kept = divided.largest(_MOST_VALUES)
    means, sizes = divided.means(values), divided.sizes
    parts = [Slice(shown(str(divided.values[i])), int(sizes[i]), float(means[i])) for i in kept]
    return Sliced(shown(name), parts, len(divided.values) - len(kept))


def view(entry: Entry, place: int, slicer: Slicer) -> RunView:
    """Return what is shown of a run."""
    run = entry.runs[place]
    main = main_metric(run)
    names = [*answer_metrics(run.scores), *ranking_metrics(run.scores)]
    title = f"{run.corpus} {run.split}" + "".join(f" + {one}" for one in run.distractors)
    denominators = run.answers or run.counts
    return RunView(
        place=place,
        data=data_of(run),
        member=member_of(entry, run),
        title=shown(title),
        about=None if run.about is None else shown(run.about).replace("_", " "),
        basis=run.basis,
        n=len(run.query_ids),
        main=main,
        values=None if main is None else run.per_query[main].astype(np.float32),
        headlines=[(name, run.scores[name]) for name in names],
        scores=[(shown(name), score) for name, score in run.scores.items()],
        slices=[] if main is None else slicer.sliced(run, run.per_query[main]),
        times=_times(run),
        times_note=left_out_note([run.times.left_out]) or "",
        counts=[(name, n) for name, n in denominators.to_json().items() if n],
        summary=[shown(line) for line in run.summary],
        declared=_declared(run),
        cutoffs=run.cutoffs,
        date=run.date,
    )


def main_metric(run: RunEntry) -> str | None:
    """Return the metric of slices and hardest queries: a mean over queries."""
    if not run.ranks:
        found = [name for name in answer_metrics(run.scores) if is_mean(run, name)]
        return found[0] if found else None
    if not run.scores:
        return None
    names = ranking_metrics(run.scores)
    name = headline({n: run.scores[n] for n in names} or run.scores, DEFAULT_K)
    values = run.per_query.get(name)
    return None if values is None or np.isnan(values).all() else name


def hardest(run: RunView, groups: Groups, sums: "Sums") -> list[Hard]:
    """Find the queries of the worst values; of those alike, those that others are best at first."""
    group = groups.by_data[run.data]
    own = run.values
    if own is None or run.main is None:
        return []
    total, n = sums.of(group, run.main)
    shown_too = group.values.get(run.main, {}).get(run.member)
    if shown_too is not None:
        total, n = total - np.nan_to_num(shown_too), n - 1
    others = total / max(n, 1)
    found = run.spec(run.main)
    sign, perfect = (1, found.top) if found.higher_is_better else (-1, 0.0)
    worst = np.lexsort((-sign * others, sign * own))[:HARDEST]
    return [
        Hard(shown(group.query_ids[i]), float(own[i]), float(others[i]) if n else None)
        for i in worst
        if sign * own[i] < sign * perfect
    ]


@dataclass
class Sums:
    """Sums of the values of each query over all rows of a column, made once."""

    _known: dict[tuple[Data, str], tuple[Vector, int]] = field(default_factory=dict)

    def of(self, group: Group, metric: str) -> tuple[Vector, int]:
        """(n,) the sums, and how many rows they are over."""
        key = group.data, metric
        if key not in self._known:
            found = group.values.get(metric, {}).values()
            values = [vector for vector in found if not np.isnan(vector).all()]
            total: Vector = np.zeros(len(group.query_ids), dtype=np.float32)
            for vector in values:
                total += np.nan_to_num(vector)
            self._known[key] = total, len(values)
        return self._known[key]


def _times(run: RunEntry) -> list[tuple[str, str, float]]:
    """List (what, unit, number) of everything that was timed, as declared, if it may be shown."""
    found: list[tuple[str, str, float]] = []
    times = run.times
    if times.index is not None:
        found.append(("index all tables", "s", times.index))
    if times.retrieve is not None:
        found.append(("retrieval of a query, in a batch", "ms", times.retrieve))
    latency = times.latency or {}
    percentiles = [name for name in ("p50", "p95", "p99") if name in latency]
    found += [(f"single queries, {name}", "ms", float(latency[name])) for name in percentiles]
    if times.generate is not None:
        found.append(("an answer", "s", times.generate / 1000))
    return found


def _declared(run: RunEntry) -> str:
    found: Mapping[str, Any] = {
        **({"retriever": run.retriever_identity} if run.retriever else {}),
        **({"generator": run.generator_identity} if run.generator else {}),
        "environment": run.environment,
    }
    text = json.dumps(found, indent=1, ensure_ascii=True, sort_keys=True)
    return text if len(text) <= _LONGEST_TEXT else f"{text[:_LONGEST_TEXT]} … (cut)"
