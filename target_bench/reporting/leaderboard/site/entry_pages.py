"""Content of an entry's page: scores, slices, and the ids of the hardest queries."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256
from typing import Any

import numpy as np
from numpy.typing import NDArray

from target_bench.core.metric import MetricSpec, Score
from target_bench.metrics.run_scores import answer_metrics, headline, ranking_metrics, spec_of
from target_bench.reporting.leaderboard.entry import Entry, RunEntry
from target_bench.reporting.leaderboard.site.boards import DEFAULT_K
from target_bench.reporting.leaderboard.site.groups import (
    Data,
    Group,
    Groups,
    Member,
    Vector,
    data_name,
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
_SAFE = re.compile(r"[a-z0-9][a-z0-9_-]{0,59}")


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
        parts: its values in their natural order.
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
        recorded: the run, without queries.
        data: what it is of.
        member: its row on the boards.
        n: how many queries.
        main: the metric of slices and hardest queries, or None.
        values: (n,) its value of each query.
        slices: of the main metric.
    """

    place: int
    recorded: RunEntry
    data: Data
    member: Member
    n: int
    main: str | None
    values: Vector | None
    slices: list[Sliced]

    @property
    def anchor(self) -> str:
        """The id of its part of the page."""
        return f"run-{self.place + 1}"

    @property
    def answers(self) -> bool:
        """Whether it is a run of answers."""
        return not self.recorded.ranks

    @property
    def title(self) -> str:
        """Corpus and split, with what was mixed in."""
        return shown(data_name(self.data.corpus, self.data.split, self.data.distractors))

    @property
    def about(self) -> str | None:
        """The task whose queries were ranked, or None."""
        about = self.recorded.about
        return None if about is None else shown(about).replace("_", " ")

    @property
    def headlines(self) -> list[tuple[str, Score]]:
        """The metrics of the summary, with their scores."""
        scores = self.recorded.scores
        return [
            (name, scores[name]) for name in (*answer_metrics(scores), *ranking_metrics(scores))
        ]

    @cached_property
    def scores(self) -> list[tuple[str, Score]]:
        """All metrics with their scores."""
        return [(shown(name), score) for name, score in self.recorded.scores.items()]

    @property
    def times(self) -> list[tuple[str, str, float]]:
        """The shown times: name, unit (``s`` or ``ms``) and number."""
        return _times(self.recorded)

    @property
    def times_note(self) -> str:
        """The reason why other times are not shown; empty if there are none."""
        return left_out_note([self.recorded.times.left_out]) or ""

    @property
    def counts(self) -> list[tuple[str, float]]:
        """Denominators, as (name, number) pairs."""
        denominators = self.recorded.answers or self.recorded.counts
        return [(name, n) for name, n in denominators.to_json().items() if n]

    @property
    def summary(self) -> list[str]:
        """The task's summary of the answers, in lines."""
        return [shown(line) for line in self.recorded.summary]

    @property
    def declared(self) -> str:
        """Settings and environment, as JSON text."""
        return _declared(self.recorded)

    def label(self, metric: str) -> str:
        """Print the label of a metric, with its cutoff."""
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
    """Return the data of a run that are shown."""
    run = entry.runs[place]
    main = main_metric(run)
    return RunView(
        place=place,
        recorded=run.without_queries,
        data=data_of(run),
        member=member_of(entry, run),
        n=len(run.query_ids),
        main=main,
        values=None if main is None else run.per_query[main].astype(np.float32),
        slices=[] if main is None else slicer.sliced(run, run.per_query[main]),
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


def page_names(found: Mapping[str, Entry]) -> dict[str, str]:
    """Return id -> a file name that every file system and address can have, each once."""
    names: dict[str, str] = {}
    for id_ in found:
        name = id_ if _SAFE.fullmatch(id_) else _hashed(id_)
        names[id_] = name if name not in names.values() else _hashed(id_)
    return {id_: f"{name}.html" for id_, name in names.items()}


def _hashed(id_: str) -> str:
    words = re.sub(r"[^a-z0-9]+", "-", id_.casefold()).strip("-")[:40] or "entry"
    return f"{words}-{sha256(id_.encode('utf-8', 'surrogatepass')).hexdigest()[:12]}"


def task_page(task: str) -> str:
    """Return the file name of a task's page."""
    return f"{task if _SAFE.fullmatch(task) else _hashed(task)}.html"
