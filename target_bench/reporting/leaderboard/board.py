"""The board of a task as plain data: a row for each system, a column for each metric and corpus.

``boards(entries, papers)`` returns one dict a task, which ``site`` writes as JSON and as a page.
"""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from math import inf, isfinite, sqrt
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from target_bench.core import registry
from target_bench.core.errors import DataError
from target_bench.core.metric import Score
from target_bench.core.task_names import task_class
from target_bench.metrics.scores import answer_metrics, ranking_metrics, spec_of
from target_bench.metrics.stats import holm, randomization_tests
from target_bench.reporting.leaderboard.documents import MILLISECONDS, Reported
from target_bench.reporting.leaderboard.entry import Entry, RunEntry

Vector = NDArray[np.float32]
Cell = dict[str, Any]

DEFAULT_K = 10
LEVEL = 0.05
"""A score with a corrected p-value from here on is not told apart from the best."""

FIRST_DATABASE = "recall[db]@1"
"""The share of queries whose first table is of the gold database: the one cutoff that is shown."""

RECALLS = ("recall[both]", "recall")
"""Metrics of which the page shows one cutoff at a time."""

OF_SETS = ("complete_recall", "set_precision", "set_f1", "set_size")
"""Metrics of retrievers that choose how many tables they return."""


def boards(entries: Iterable[Entry], papers: Sequence[Reported] = ()) -> list[dict[str, Any]]:
    """Return a board for each task, those about rankings first.

    A board is JSON: ``task``, ``title``, ``cutoffs``, ``k`` (the cutoff to begin with), ``mean_of``
    (titles of the corpora of the mean), ``columns`` and ``rows``. ``rows[i]["cells"][j]`` is None
    or ``{"value", "low", "high", "p", "best", "ranks", "note"}`` of column j, as far as known;
    ``p`` and ``ranks`` are those of ``column_tests``.

    Args:
        entries: without rejected ones.
        papers: figures that papers report, shown and never ranked.

    Raises:
        DataError: two runs have the same fingerprints and other queries.
    """
    tasks: dict[tuple[bool, str], _Task] = {}
    for entry in sorted(entries, key=lambda entry: entry.id):
        for run in entry.runs:
            if run.basis and run.about is not None:
                continue  # rankings for another task's queries: their recall stands on its page
            task = tasks.setdefault((not run.ranks, run.task), _Task(run.task, run.ranks))
            task.add(entry, run)
    return [task.board(papers) for _, task in sorted(tasks.items())]


def for_boards(entry: Entry, ids: dict[str, list[str]]) -> Entry:
    """Return an entry with no more than boards need, so that hundreds fit into memory.

    Args:
        entry: as it was read.
        ids: query ids by their fingerprint, so that equal ones are in memory once.
    """
    runs = []
    for run in entry.runs:
        key = f"{run.corpus_fingerprint} {run.queries_fingerprint}"
        shared = ids.setdefault(key, run.query_ids)
        tested = {*ranking_metrics(run.scores), *answer_metrics(run.scores), *OF_SETS}
        values = {n: x.astype(np.float32) for n, x in run.per_query.items() if n in tested}
        query_ids = shared if shared == run.query_ids else run.query_ids
        runs.append(run.model_copy(update={"query_ids": query_ids, "per_query": values}))
    return entry.model_copy(update={"runs": runs})


def task_title(name: str, stored: str = "") -> str:
    """Return the title of a task: of a registered one its own, else the one that is stored."""
    if name in registry.names("task"):
        return task_class(name).title
    return stored or name.replace("_", " ").capitalize()


def corpus_title(name: str) -> str:
    """Return the name of a corpus as its authors write it, if it is registered."""
    if name not in registry.names("corpus"):
        return name
    title: str = registry.resolve("corpus", name).info.title
    return title


class Data(NamedTuple):
    """What runs have in common that stand in one column; fingerprints of tables and queries."""

    corpus: str
    split: str
    distractors: tuple[str, ...]
    about: str
    tables: str
    queries: str

    @property
    def name(self) -> str:
        """Print corpus, split and what was mixed in."""
        name = " + ".join([f"{corpus_title(self.corpus)} {self.split}", *self.distractors])
        return f"{name}, {self.about.replace('_', ' ')}" if self.about else name


class System(NamedTuple):
    """What has a row: a retriever of an entry, and what answers with its tables."""

    entry: str
    retriever: str
    identity: str
    generator: str


@dataclass
class _Task:
    """The runs of a task: data -> system -> run."""

    name: str
    ranks: bool
    entries: dict[str, Entry] = field(default_factory=dict)
    runs: dict[Data, dict[System, RunEntry]] = field(default_factory=dict)
    columns: list[dict[str, Any]] = field(default_factory=list)

    def add(self, entry: Entry, run: RunEntry) -> None:
        fingerprints = run.corpus_fingerprint, run.queries_fingerprint
        answer_task = (run.ranks and run.about) or ""
        data = Data(run.corpus, run.split, tuple(run.distractors), answer_task, *fingerprints)
        identity = json.dumps(run.retriever_identity, sort_keys=True)
        system = System(entry.id, run.retriever or "", identity, run.generator or "")
        if entry.card.predictions:  # one system; what a run has of it is the name of a file
            system = System(entry.id, "", "", "")
        runs = self.runs.setdefault(data, {})
        for other in list(runs.values())[:1]:
            if other.query_ids != run.query_ids:
                raise DataError(
                    f"entry {entry.id}: its queries of {data.name} are others than those of an "
                    f"entry with the same queries_fingerprint {run.queries_fingerprint}; write "
                    "the entries again with target-bench leaderboard verify"
                )
        if system not in runs or len(runs[system].cutoffs) < len(run.cutoffs):
            runs[system] = run
        self.entries[entry.id] = entry

    def board(self, papers: Sequence[Reported]) -> dict[str, Any]:
        runs_of = {data: len(runs) for data, runs in self.runs.items()}
        order = sorted(runs_of, key=lambda data: (data[:4], -runs_of[data], data))
        if not self.ranks:  # no mean leads, so ranks are those of the data with the most systems
            order.sort(key=lambda data: -runs_of[data])
        names = Counter(data.name for data in order)
        for data in order:
            runs = self.runs[data]
            n = len(next(iter(runs.values())).query_ids)
            head = {"corpus": data.corpus, "split": data.split, "data": data.name}
            head["note"] = f"{n:,} {'query' if n == 1 else 'queries'}"
            if names[data.name] > 1:  # other tables or gold under the same name: not compared
                head["note"] += f", tables {data.tables[:8]}, queries {data.queries[:8]}"
            for metric in self._metrics(runs.values()):
                self._add_scores(metric, head, runs)
            self._add_plain(head, runs)
        cutoffs = sorted({column["k"] for column in self.columns if column["k"]})
        k = DEFAULT_K if DEFAULT_K in cutoffs or not cutoffs else cutoffs[-1]
        over = self._add_mean() if self.ranks else []
        systems = list(dict.fromkeys(system for runs in self.runs.values() for system in runs))
        rows = [self._row(system, systems) for system in systems]
        _rank(rows, self.columns, k, [data.corpus for data in over])
        rows += _reported(papers, self.columns, self.ranks)
        titles = (run.title for runs in self.runs.values() for run in runs.values() if run.title)
        return {
            "task": self.name,
            "title": task_title(self.name, next(titles, "")),
            "cutoffs": cutoffs,
            "k": k,
            "mean_of": [corpus_title(data.corpus) for data in over],
            "columns": [{n: v for n, v in c.items() if n != "cells"} for c in self.columns],
            "rows": rows,
        }

    def _metrics(self, runs: Iterable[RunEntry]) -> list[str]:
        """List the metrics with a column, of runs on the same data."""
        scores: dict[str, Score] = {}
        for run in runs:
            scores |= run.scores
        recall = [n for n in ranking_metrics(scores) if n.partition("@")[0] in RECALLS]
        if not self.ranks:
            return [*answer_metrics(scores), *recall]
        others = [n for n in ranking_metrics(scores) if not n.startswith("recall")]
        return [*recall, *(n for n in (FIRST_DATABASE, *OF_SETS) if n in scores), *others]

    def _add_scores(
        self, metric: str, head: Mapping[str, str], runs: Mapping[System, RunEntry]
    ) -> None:
        known = {s: run.scores[metric] for s, run in runs.items() if metric in run.scores}
        values = {
            system: np.asarray(run.per_query[metric], dtype=np.float32)
            for system, run in runs.items()
            if system in known and _is_mean(run, metric)
        }
        counted = {score.n for score in known.values() if isfinite(score.value)}
        if len(counted) == 1 and max(counted) < len(next(iter(runs.values())).query_ids):
            head = {**head, "note": f"{max(counted):,} of {head['note']}"}
        self._add_column(metric, head, known, values)

    def _add_column(
        self,
        metric: str,
        head: Mapping[str, str],
        scores: Mapping[System, Score],
        values: Mapping[System, Vector],
        place: int | None = None,
    ) -> None:
        """Add the column of a metric; ``values`` are those of queries, to be tested."""
        spec = spec_of(metric, next(iter(scores.values()), None))
        family, _, cutoff = metric.partition("@")
        cells: dict[System, Cell] = {
            system: {"value": score.value}
            | ({"low": score.low, "high": score.high} if isfinite(score.high - score.low) else {})
            for system, score in scores.items()
            if isfinite(score.value)
        }
        if not cells:
            return
        order = sorted(cells, key=lambda system: -spec.merit(cells[system]["value"]))
        tests = column_tests(order, {s: values[s] for s in order if s in values})
        best = spec.merit(cells[order[0]]["value"])
        for system, cell in cells.items():
            cell["best"] = len(cells) > 1 and spec.merit(cell["value"]) == best
            if system in tests.ranks:
                cell["ranks"] = tests.ranks[system]
            if system in tests.against_best:
                cell["p"] = tests.against_best[system]
        column = {
            **head, "metric": metric, "label": spec.label_at(cutoff or None), "kind": "score",
            "k": int(cutoff) if family in RECALLS and cutoff else None, "digits": spec.digits,
            "lower": not spec.higher_is_better, "cells": cells,
        }  # fmt: skip
        self.columns.insert(len(self.columns) if place is None else place, column)

    def _add_plain(self, head: Mapping[str, str], runs: Mapping[System, RunEntry]) -> None:
        """Add what has no interval: declared times, and failed answers."""
        if self.ranks:
            times = {system: run.retrieve_ms for system, run in runs.items()}
            plain = [(MILLISECONDS, "ms/query", "time", times)]
        else:
            plain = [
                ("failed", "failed", "count",
                 {s: float(r.answers.failed + r.answers.unparsed) if r.answers else None
                  for s, r in runs.items()}),
                ("ms/answer", "ms/answer", "time", {s: r.answer_ms for s, r in runs.items()}),
            ]  # fmt: skip
        for metric, label, kind, figures in plain:
            cells = {s: {"value": x, "best": False} for s, x in figures.items() if x is not None}
            if cells or metric == MILLISECONDS:
                self.columns.append(
                    {**head, "metric": metric, "label": label, "kind": kind, "k": None,
                     "digits": 0 if kind == "count" else 2, "lower": True, "cells": cells}
                )  # fmt: skip

    def _add_mean(self) -> list[Data]:
        """Put the mean recall over corpora in front; return the data it is over, none for no mean.

        It is over the corpora that at least half of all systems have, so that one submission on a
        further corpus leaves the others complete. Each corpus counts once and the same: of its
        data those without distractors that most systems have.
        """
        systems = {system for runs in self.runs.values() for system in runs}
        chosen: dict[str, Data] = {}
        for data in sorted(
            self.runs, key=lambda d: (bool(d.distractors), -len(self.runs[d]), bool(d.about), d)
        ):
            if 2 * len(self.runs[data]) >= len(systems):
                chosen.setdefault(data.corpus, data)
        over = sorted(chosen.values())
        if len(over) < 2:
            return []
        groups = [self.runs[data] for data in over]
        names = {name for runs in groups for run in runs.values() for name in run.scores}
        recalls = {int(n.partition("@")[2]): n for n in names if n.partition("@")[0] == "recall"}
        title = f"Mean of {len(over)} corpora"
        head = {"corpus": "", "split": "", "data": title, "note": ""}
        n_means = 0
        for _, metric in sorted(recalls.items()):
            complete = [s for s in groups[0] if all(_is_known(runs, s, metric) for runs in groups)]
            runs_of = {s: [runs[s] for runs in groups] for s in complete}
            if complete:
                means = {s: mean_score([r.scores[metric] for r in rs]) for s, rs in runs_of.items()}
                values = {s: _side_by_side(rs, metric) for s, rs in runs_of.items()}
                self._add_column(metric, head, means, values, place=n_means)
                n_means += 1
        return over if n_means else []

    def _row(self, system: System, systems: Sequence[System]) -> dict[str, Any]:
        entry = self.entries[system.entry]
        alike = list(dict.fromkeys(s.identity for s in systems if s[:2] == system[:2]))
        number = f" ({alike.index(system.identity) + 1})" if len(alike) > 1 else ""
        corpora = sorted({data.corpus for data, runs in self.runs.items() if system in runs})
        card = entry.card
        return {
            "name": card.name, "entry": entry.id, "url": card.predictions, "note": card.note,
            "source": "published predictions" if card.predictions else "submitted",
            "retriever": system.retriever + number, "generator": system.generator,
            "authors": list(card.authors), "kind": card.retriever_kind,
            "parameters": card.parameters, "open": card.open_weights,
            "trained": {c: card.training_data.get(c, "unknown") for c in corpora},
            "verdict": entry.verdict, "date": max((run.date for run in entry.runs), default=""),
            "cells": [_rounded(column["cells"].get(system)) for column in self.columns],
        }  # fmt: skip


def mean_score(scores: Sequence[Score]) -> Score:
    """Return the mean of independent scores, its interval from theirs.

    The bounds are those of Zou & Donner 2008, "Construction of confidence limits about effect
    measures: a general approach": distances of the bounds from their scores add up as squares.
    """
    n = len(scores)
    value = sum(score.value for score in scores) / n
    low = value - sqrt(sum((score.value - score.low) ** 2 for score in scores)) / n
    high = value + sqrt(sum((score.high - score.value) ** 2 for score in scores)) / n
    return Score(value, low, high, sum(score.n for score in scores), scores[0].signature)


def _is_known(runs: Mapping[System, RunEntry], system: System, metric: str) -> bool:
    score = runs[system].scores.get(metric) if system in runs else None
    return score is not None and isfinite(score.value)


def _side_by_side(runs: Sequence[RunEntry], metric: str) -> Vector:
    """Return the values of all queries, the sum of each corpus being its score."""
    parts = [np.asarray(run.per_query[metric], dtype=np.float32) for run in runs]
    return np.concatenate([part / max(int((~np.isnan(part)).sum()), 1) for part in parts])


def _is_mean(run: RunEntry, metric: str) -> bool:
    """Return whether a score is the mean of its queries' values, as corpus BLEU is not."""
    values = run.per_query.get(metric)
    if values is None or np.isnan(values).all():
        return False
    score = run.scores[metric]
    return bool(abs(np.nanmean(values) - score.value) <= 1e-4 * spec_of(metric, score).top)


class ColumnTests(NamedTuple):
    """Paired tests of the means of a column.

    Attributes:
        against_best: system -> p-value against the first one, corrected for all that were tested.
        ranks: system -> the best and the worst rank that it may have among those tested: below
            all that are told apart as better, above all that are told apart as worse.
    """

    against_best: dict[Any, float]
    ranks: dict[Any, tuple[int, int]]


def column_tests(order: Sequence[Any], values: Mapping[Any, Vector]) -> ColumnTests:
    """Test each system against the first, and every two systems for their ranks.

    Two families of paired randomisation tests, each corrected by itself (Holm); systems are told
    apart at p < ``LEVEL``. What cannot be tested, because a score is no mean over queries or over
    other ones than the first, has neither; a first that cannot be tested leaves nothing to test
    against.

    Args:
        order: the systems, best first.
        values: system -> (n,) values of the queries, NaN where a metric is not over one.
    """
    first = next((system for system in order if system in values), None)
    tested = [
        system
        for system in order
        if system in values and (np.isnan(values[system]) == np.isnan(values[first])).all()
    ]
    m = len(tested)
    if m < 2:
        return ColumnTests({}, {})
    matrix = np.stack([values[system] for system in tested])
    matrix = matrix[:, ~np.isnan(matrix[0])]
    pairs = list(combinations(range(m), 2))  # better, worse
    p_values = randomization_tests(matrix, pairs)
    apart = [pair for pair, p in zip(pairs, holm(p_values), strict=True) if p < LEVEL]
    better, worse = Counter(worse for _, worse in apart), Counter(better for better, _ in apart)
    ranks = {system: (1 + better[i], m - worse[i]) for i, system in enumerate(tested)}
    against_first = holm(p_values[: m - 1]) if tested[0] == order[0] else []
    return ColumnTests(dict(zip(tested[1:], against_first, strict=False)), ranks)


def _rounded(cell: Cell | None) -> Cell | None:
    if cell is None:
        return None
    return {n: round(x, 5) if isinstance(x, float) else x for n, x in cell.items()}


def _rank(
    rows: list[dict[str, Any]], columns: Sequence[Mapping[str, Any]], k: int, over: Sequence[str]
) -> None:
    """Sort rows by their columns, and give each its rank in the first; equal scores share one."""
    scored = [i for i, c in enumerate(columns) if c["kind"] == "score" and c["k"] in (None, k)]

    def losses(row: Mapping[str, Any]) -> list[float]:
        """Return the scores of a row, the less the better; infinity where it has none."""
        signs = [1 if column["lower"] else -1 for column in columns]
        cells = row["cells"]
        return [signs[i] * cells[i]["value"] if cells[i] else inf for i in scored] or [inf]

    first = sorted(losses(row)[0] for row in rows)
    for row in rows:
        loss = losses(row)[0]
        row["rank"] = None if loss == inf else first.index(loss) + 1
        has = len(set(over) & set(row["trained"]))
        row["part"] = f"{has} of {len(over)}" if over and loss == inf else None
    rows.sort(key=lambda row: (*losses(row), row["name"].casefold(), row["entry"]))


def _reported(
    papers: Sequence[Reported], columns: Sequence[Mapping[str, Any]], ranks: bool
) -> list[dict[str, Any]]:
    """Return a row for each method of a paper that has a figure in any column.

    A figure of another split than any on the board stands in the column of its corpus, with its
    split below it.
    """
    rows: list[dict[str, Any]] = []
    for paper in papers:
        for system in paper.systems:
            cells: list[Cell | None] = [None] * len(columns)
            for score in system.scores:
                places = [
                    (column["split"] != score.split, i)
                    for i, column in enumerate(columns)
                    if (column["corpus"], column["metric"]) == (score.corpus, score.metric)
                    and " + " not in column["data"]
                    and (ranks or "@" not in score.metric)  # its answers may have other rankings
                ]
                if places:
                    other, i = min(places)
                    cells[i] = {"value": score.value, "best": False}
                    cells[i]["note"] = f"{score.split} split" if other else None  # type: ignore[index]  # just made
            if any(cells):
                rows.append({
                    "name": system.name, "entry": None, "url": paper.url, "note": system.note,
                    "source": "reported", "retriever": paper.source, "generator": "", "authors": [],
                    "kind": system.kind, "parameters": None, "open": None, "trained": {},
                    "verdict": None, "date": paper.date, "rank": None, "part": None, "cells": cells,
                })  # fmt: skip
    return rows
