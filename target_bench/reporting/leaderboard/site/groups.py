"""Runs that may stand in one column: of the same queries, over the same tables; their tests."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from shlex import quote
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from target_bench.core import registry
from target_bench.core.errors import ConfigError, DataError
from target_bench.core.metric import MetricSpec, Score
from target_bench.data.select import task_class
from target_bench.metrics import run_scores
from target_bench.metrics.run_scores import spec_of
from target_bench.metrics.significance import holm, randomization_tests
from target_bench.reporting.leaderboard.entry import Entry, RunEntry

Vector = NDArray[np.float32]

_LIKE_A_MEAN = 1e-4


class Data(NamedTuple):
    """Common properties of runs that can be compared.

    Attributes:
        task: short name of the task.
        corpus: lower-case name of the corpus.
        split: full name of the split.
        distractors: what was mixed in.
        tables: fingerprint of the tables.
        queries: fingerprint of queries and gold.
    """

    task: str
    corpus: str
    split: str
    distractors: tuple[str, ...]
    tables: str
    queries: str


class System(NamedTuple):
    """A retriever of an entry, or an entry without one: what has a row in the overview.

    Attributes:
        entry: id of the entry.
        retriever: its label; empty where nothing was retrieved.
        identity: its class, settings and versions, as one text.
    """

    entry: str
    retriever: str
    identity: str


class Member(NamedTuple):
    """A row of a column group: a system, and what it answers with."""

    system: System
    generator: str | None


@dataclass(eq=False)
class Group:
    """All runs on the same data.

    Attributes:
        data: what they have in common.
        query_ids: the n queries.
        ranks: whether these are runs of rankings.
        members: row -> its run, without queries.
        ranked_on: row -> the data of the retrieval, of answers to retrieved tables.
        values: metric -> row -> (n,) value of each query, of the metrics that are tested.
    """

    data: Data
    query_ids: Sequence[str]
    ranks: bool = False
    members: dict[Member, RunEntry] = field(default_factory=dict)
    ranked_on: dict[Member, Data] = field(default_factory=dict)
    values: dict[str, dict[Member, Vector]] = field(default_factory=dict)

    @property
    def about(self) -> str | None:
        """The task whose queries these are, if that is all that they were ranked for."""
        found = {run.about for run in self.members.values()}
        return found.pop() if len(found) == 1 else None

    @property
    def cutoffs(self) -> list[int]:
        """Every cutoff that a run has."""
        return sorted({k for run in self.members.values() for k in run.cutoffs})

    @property
    def name(self) -> str:
        """Corpus, as its authors write it, split, and what was mixed in."""
        return data_name(self.data.corpus, self.data.split, self.data.distractors)

    def add(self, member: Member, run: RunEntry, ranked_on: Data | None) -> None:
        """Take a run; of two by the same system that with the more cutoffs stays."""
        there = self.members.get(member)
        if there is not None and len(there.cutoffs) >= len(run.cutoffs):
            return
        for values in self.values.values():
            values.pop(member, None)
        self.members[member] = run.without_queries
        self.ranked_on.pop(member, None)
        if ranked_on is not None:
            self.ranked_on[member] = ranked_on
        for name in _tested(run):
            self.values.setdefault(name, {})[member] = run.per_query[name].astype(np.float32)


@dataclass(eq=False)
class Groups:
    """All column groups, those with the same corpus beside each other."""

    by_data: dict[Data, Group] = field(default_factory=dict)
    _titles: dict[str, str] = field(default_factory=dict)

    def add(self, entry: Entry, path: Path) -> None:
        """Sort the runs of an entry in, which was read from a file.

        Raises:
            DataError: a run has the fingerprints of another, but other queries.
        """
        for place, run in enumerate(entry.runs):
            data = data_of(run)
            group = self.by_data.setdefault(data, Group(data, run.query_ids, run.ranks))
            if run.title:
                self._titles.setdefault(run.task, run.title)
            if group.query_ids != run.query_ids:
                raise DataError(
                    f"{path}: runs.{place}.query_ids: other queries than those of another "
                    f"entry with the queries_fingerprint {run.queries_fingerprint}; "
                    "write the entries again with target-bench leaderboard verify"
                )
            on = None if run.retrieval is None else data_of(entry.runs[run.retrieval])
            group.add(member_of(entry, run), run, on)

    def arrange(self) -> None:
        """Have the rows in the order of their ids, for any names of files."""
        for group in self.by_data.values():
            group.members = dict(sorted(group.members.items(), key=_order))
            group.values = {
                name: dict(sorted(values.items(), key=_order))
                for name, values in sorted(group.values.items())
            }

    def __iter__(self) -> Iterator[Group]:
        """By task, corpus, split; the data that most entries have first."""
        return iter(
            sorted(
                self.by_data.values(),
                key=lambda g: (g.data[:4], g.about or "", -len(g.members), g.data),
            )
        )

    def rankings(self) -> list[Group]:
        """Those of rankings."""
        return [group for group in self if group.ranks]

    def answers(self, task: str | None = None) -> list[Group]:
        """Those of answers, of one task or all."""
        return [g for g in self if not g.ranks and task in (None, g.data.task)]

    def tasks(self) -> list[str]:
        """Short names of the tasks, those about rankings first."""
        return [name for _, name in sorted({(not g.ranks, g.data.task) for g in self})]

    def title(self, task: str) -> str:
        """Return the title of a task: of a registered one its own, else as the entries have it."""
        if task in registry.names("task"):
            return task_class(task).title
        return self._titles.get(task) or task.replace("_", " ").capitalize()

    @property
    def heading(self) -> str:
        """The heading of a board: that of the task, if there is one only."""
        tasks = self.tasks()
        return f"{self.title(tasks[0]) if len(tasks) == 1 else 'target-bench'} leaderboard"

    def commands(self, cutoffs: Sequence[int]) -> str:
        """Return the commands that make and verify a submission of the data of these rankings."""
        corpora = dict.fromkeys(g.data.corpus for g in self.rankings() if not g.data.distractors)
        asked = " ".join(f"--corpus {quote(name)}" for name in corpora) or "--corpus ottqa"
        return "\n".join(
            [
                f"target-bench run --task retrieval {asked} \\",
                f"    --retriever my_file.py:Mine --top-k {','.join(map(str, cutoffs)) or 10}",
                "target-bench leaderboard submit runs/retrieval-* -o team.tbs.zip",
                "target-bench leaderboard verify team.tbs.zip",
            ]
        )


def corpus_title(name: str) -> str:
    """Return the name of a corpus as its authors write it, if it is registered."""
    if name not in registry.names("corpus"):
        return name
    title: str = registry.resolve("corpus", name).info.title
    return title


def data_name(corpus: str, split: str, distractors: Sequence[str]) -> str:
    """Return the name of data, as on the pages: ``OTT-QA validation + gittables:n=1000``."""
    return " + ".join([f"{corpus_title(corpus)} {split}", *distractors])


def data_of(run: RunEntry) -> Data:
    """Return the data of a run."""
    distractors = tuple(run.distractors)
    fingerprints = run.corpus_fingerprint, run.queries_fingerprint
    return Data(run.task, run.corpus, run.split, distractors, *fingerprints)


def member_of(entry: Entry, run: RunEntry) -> Member:
    """Return the row of a run."""
    identity = json.dumps(run.retriever_identity, sort_keys=True)
    return Member(System(entry.id, run.retriever or "", identity), run.generator)


_BASELINE = "bm25"


def chosen_baseline(found: Mapping[str, Entry], wanted: str | None) -> System | None:
    """Return the system of an entry; default: of the entry ``bm25``, else of a retriever ``bm25``.

    Raises:
        ConfigError: there is no such entry.
    """
    if wanted is not None and wanted not in found:
        raise ConfigError(
            f"--baseline {wanted}: no entry that is shown has this id; there are "
            f"{', '.join(list(found)[:10]) or 'none'}"
        )
    if wanted is not None or _BASELINE in found:
        entry = found[wanted or _BASELINE]
        return member_of(entry, entry.runs[0]).system
    named = (
        member_of(entry, run).system
        for entry in found.values()
        for run in entry.runs
        if run.retriever == _BASELINE
    )
    return next(named, None)


def versions(groups: Iterable[Group]) -> dict[Data, str]:
    """For data that stand in several columns, though they have the same name or queries: whose.

    Returns:
        data -> ``tables 6b47241e`` and, if need be, ``queries e2ee717a``; only where needed.
    """
    listed = list(groups)
    found = {}
    for group in listed:
        alike = [other.data for other in listed if _alike(group, other)]
        if len(alike) == 1:
            continue
        data = group.data
        parts = []
        if len({other.tables for other in alike}) > 1:
            parts.append(f"tables {data.tables[:8]}")
        if len({other.queries for other in alike if other.tables == data.tables}) > 1:
            parts.append(f"queries {data.queries[:8]}")
        found[data] = ", ".join(parts)
    return found


def headline(group: Group) -> str | None:
    """Choose the metric that stands for a group of answers: the first main one that any has."""
    return next(iter(run_scores.answer_metrics(scores_of(group))), None)


def scores_of(group: Group) -> dict[str, Score]:
    """Metric -> a score of it, of every metric that a run of the group has."""
    found: dict[str, Score] = {}
    for run in group.members.values():
        found |= {name: score for name, score in run.scores.items() if name not in found}
    return found


def spec(group: Group, metric: str) -> MetricSpec:
    """Find the declaration of a metric of a group."""
    scores = (run.scores[metric] for run in group.members.values() if metric in run.scores)
    return spec_of(metric, next(scores, None))


def _order(row: tuple[Member, object]) -> tuple[str, ...]:
    return (*row[0].system, row[0].generator or "")


def _alike(one: Group, other: Group) -> bool:
    """Whether two columns have the same name, or are of the same queries, or are one."""
    if one.data[:4] != other.data[:4]:
        return False
    return one.about == other.about or one.query_ids == other.query_ids


FIRST_DATABASE = "recall[db]@1"
"""The share of queries whose first table is of the gold database."""


def _tested(run: RunEntry) -> list[str]:
    """Recall at each cutoff, and of the database; of answers the main means of queries."""
    if run.ranks:
        wanted = [*(f"recall@{k}" for k in run.cutoffs), FIRST_DATABASE]
    else:
        main = run_scores.answer_metrics(run.scores)
        wanted = [name for name in main if is_mean(run, name)]
    return [name for name in wanted if name in run.per_query and name in run.scores]


def is_mean(run: RunEntry, name: str) -> bool:
    """Whether a score is the mean of the values of the queries, as corpus BLEU is not."""
    if name not in run.scores or name not in run.per_query:
        return False
    values = run.per_query[name]
    known = values[~np.isnan(values)]
    score = run.scores[name]
    near = spec_of(name, score).top * _LIKE_A_MEAN
    return bool(len(known)) and abs(known.mean() - score.value) <= near


LEVEL = 0.05

RESAMPLES = 5_000
"""The fewest; there are more where there are more than 200 systems, so that a p-value that is
corrected for all of them can be below the level."""

_SMALLEST = 0.04


class PValues(NamedTuple):
    """Two-sided p-values of a system, corrected for all systems of its column (Holm).

    Attributes:
        best: against the best of the column; None for itself, and where nothing could be tested.
        baseline: against the baseline, likewise.
    """

    best: float | None
    baseline: float | None


def resamples(systems: int) -> int:
    """Return the number of random swaps for this number of systems."""
    return max(RESAMPLES, round(systems / _SMALLEST))


def p_values(group: Group, baseline: Member | None) -> dict[str, dict[Member, PValues]]:
    """Metric -> row -> p-values, by the paired randomisation test, of every metric with values.

    Args:
        group: the column group.
        baseline: the row that is the baseline, if the group has it.
    """
    found = {}
    for name, rows_of in group.values.items():
        values = {m: row for m, row in rows_of.items() if not np.isnan(row).all()}
        if not values:
            continue
        members = list(values)
        matrix = np.stack([values[member] for member in members])
        missing = np.isnan(matrix)
        if (missing != missing[0]).any():
            continue  # the runs leave out different queries
        scores = [group.members[member].scores[name].value for member in members]
        best = int(np.argmax([spec(group, name).merit(score) for score in scores]))
        to = members.index(baseline) if baseline in values else None
        found[name] = dict(zip(members, _against(matrix[:, ~missing[0]], best, to), strict=True))
    return found


def _against(matrix: Vector, best: int, baseline: int | None) -> list[PValues]:
    """Return the rows of a matrix against two of them; each is a family of tests of its own."""
    targets = [best] if baseline is None else [best, baseline]
    families = [[(i, target) for i in range(len(matrix)) if i != target] for target in targets]
    pairs = [pair for family in families for pair in family]
    if not pairs:
        return [PValues(None, None)] * len(matrix)
    ps = iter(randomization_tests(matrix, pairs, resamples(len(matrix))))
    columns = []
    for family in families:
        corrected = holm([next(ps) for _ in family])
        of_row = dict(zip((i for i, _ in family), corrected, strict=True))
        columns.append([of_row.get(i) for i in range(len(matrix))])
    if baseline is None:
        columns.append([None] * len(matrix))
    return [PValues(*both) for both in zip(*columns, strict=True)]
