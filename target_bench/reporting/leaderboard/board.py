"""The board of a task as plain data: a row for each system, a column for each metric and corpus.

``boards(entries, papers)`` returns one dict a task, which ``site`` writes as JSON and as a page.
"""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
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
Record = dict[str, Any]

DEFAULT_K = 10
LEVEL = 0.05
"""A score with a corrected p-value from here on is not told apart from the best."""

FIRST_DATABASE = "recall[db]@1"
"""The share of queries whose first table is of the gold database: the one cutoff that is shown."""

RECALLS = ("recall",)
"""Metrics of which the page shows one cutoff at a time."""

OF_SETS = ("complete_recall", "set_precision", "set_f1", "set_size")
"""Metrics of retrievers that choose how many tables they return."""


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
        """Corpus, split and what was mixed in."""
        name = " + ".join([f"{corpus_title(self.corpus)} {self.split}", *self.distractors])
        return f"{name}, {self.about.replace('_', ' ')}" if self.about else name


class System(NamedTuple):
    """What has a row: a retriever of an entry, and what answers with its tables."""

    entry: str
    retriever: str
    identity: str
    generator: str


Runs = dict[System, RunEntry]


def boards(entries: Iterable[Entry], papers: Sequence[Reported] = ()) -> list[Record]:
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
    tasks: dict[tuple[bool, str], dict[Data, Runs]] = {}
    by_id = {entry.id: entry for entry in sorted(entries, key=lambda entry: entry.id)}
    for entry in by_id.values():
        for run in entry.runs:
            if run.basis and run.about is not None:
                continue  # rankings for another task's queries: their recall stands on its page
            _add(tasks.setdefault((not run.ranks, run.task), {}), entry, run)
    return [
        _board(name, runs, by_id, papers, ranks=not answers)
        for (answers, name), runs in sorted(tasks.items(), key=lambda item: item[0])
    ]


def for_boards(entry: Entry) -> Entry:
    """Return an entry with the values of the metrics that boards test, in half their precision."""
    runs = []
    for run in entry.runs:
        tested = {*ranking_metrics(run.scores), *answer_metrics(run.scores), *OF_SETS}
        values = {n: x.astype(np.float32) for n, x in run.per_query.items() if n in tested}
        runs.append(run.model_copy(update={"per_query": values}))
    return entry.model_copy(update={"runs": runs})


def corpus_title(name: str) -> str:
    """Return the name of a corpus as its authors write it, if it is registered."""
    if name not in registry.names("corpus"):
        return name
    title: str = registry.resolve("corpus", name).info.title
    return title


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


def column_tests(
    order: Sequence[Any], values: Mapping[Any, Vector]
) -> tuple[dict[Any, float], dict[Any, tuple[int, int]]]:
    """Test each system against the first, and every two systems for their ranks.

    Two families of paired randomisation tests, each corrected by itself (Holm); systems are told
    apart at p < ``LEVEL``. What cannot be tested, because a score is no mean over queries or over
    other ones than the first, has neither; a first that cannot be tested leaves nothing to test
    against.

    Args:
        order: the systems, best first.
        values: system -> (n,) values of the queries, NaN where a metric is not over one.

    Returns:
        System -> p-value against the first one, corrected for all that were tested; and system ->
        the best and the worst rank that it may have among those tested: below all that are told
        apart as better, above all that are told apart as worse.
    """
    first = next((system for system in order if system in values), None)
    tested = [
        system
        for system in order
        if system in values and (np.isnan(values[system]) == np.isnan(values[first])).all()
    ]
    m = len(tested)
    if m < 2:
        return {}, {}
    matrix = np.stack([values[system] for system in tested])
    matrix = matrix[:, ~np.isnan(matrix[0])]
    pairs = list(combinations(range(m), 2))  # better, worse
    p_values = randomization_tests(matrix, pairs)
    apart = [pair for pair, p in zip(pairs, holm(p_values), strict=True) if p < LEVEL]
    better, worse = Counter(worse for _, worse in apart), Counter(better for better, _ in apart)
    ranks = {system: (1 + better[i], m - worse[i]) for i, system in enumerate(tested)}
    against_first = holm(p_values[: m - 1]) if tested[0] == order[0] else []
    return dict(zip(tested[1:], against_first, strict=False)), ranks


def _add(runs: dict[Data, Runs], entry: Entry, run: RunEntry) -> None:
    """Add a run to those on the same data; of two of a system the one with the more cutoffs."""
    fingerprints = run.corpus_fingerprint, run.queries_fingerprint
    about = (run.ranks and run.about) or ""
    data = Data(run.corpus, run.split, tuple(run.distractors), about, *fingerprints)
    identity = json.dumps(run.retriever_identity, sort_keys=True)
    system = System(entry.id, run.retriever or "", identity, run.generator or "")
    if entry.card.predictions:  # one system; what a run has of it is the name of a file
        system = System(entry.id, "", "", "")
    systems = runs.setdefault(data, {})
    if systems and next(iter(systems.values())).query_ids != run.query_ids:
        raise DataError(
            f"entry {entry.id}: its queries of {data.name} are others than those of an entry with "
            f"the same queries_fingerprint {run.queries_fingerprint}; write the entries again with "
            "target-bench leaderboard verify"
        )
    if system not in systems or len(systems[system].cutoffs) < len(run.cutoffs):
        systems[system] = run


def _board(
    task: str,
    runs: Mapping[Data, Runs],
    entries: Mapping[str, Entry],
    papers: Sequence[Reported],
    ranks: bool,
) -> Record:
    n_systems = {data: len(systems) for data, systems in runs.items()}
    order = sorted(runs, key=lambda data: (data[:4], -n_systems[data], data))
    if not ranks:  # no mean leads, so ranks are those of the data with the most systems
        order.sort(key=lambda data: -n_systems[data])
    names = Counter(data.name for data in order)
    columns = []
    for data in order:
        n = len(next(iter(runs[data].values())).query_ids)
        note = f"{n:,} {'query' if n == 1 else 'queries'}"
        if names[data.name] > 1:  # other tables or gold under the same name: not compared
            note += f", tables {data.tables[:8]}, queries {data.queries[:8]}"
        head = {"corpus": data.corpus, "split": data.split, "data": data.name, "note": note}
        columns += [*_score_columns(runs[data], head, n, ranks)]
        columns += [*_plain_columns(runs[data], head, ranks)]
    over, means = _mean_columns(runs) if ranks else ([], [])
    columns = means + columns
    cutoffs = sorted({column["k"] for column in columns if column["k"]})
    k = DEFAULT_K if DEFAULT_K in cutoffs or not cutoffs else cutoffs[-1]
    every = list(dict.fromkeys(system for systems in runs.values() for system in systems))
    rows = [_row(system, entries[system.entry], runs, columns) for system in every]
    for system, row in zip(every, rows, strict=True):
        # retrievers of one label in an entry, as of edited code, are told apart by a number
        alike = list(dict.fromkeys(other.identity for other in every if other[:2] == system[:2]))
        if len(alike) > 1:
            row["retriever"] += f" ({alike.index(system.identity) + 1})"
    _rank(rows, columns, k, over)
    title = next((run.title for s in runs.values() for run in s.values() if run.title), "")
    if task in registry.names("task"):
        title = task_class(task).title
    return {
        "task": task,
        "title": title or task.replace("_", " ").capitalize(),
        "cutoffs": cutoffs,
        "k": k,
        "mean_of": [corpus_title(corpus) for corpus in over],
        "columns": [{n: v for n, v in c.items() if n != "cells"} for c in columns],
        "rows": rows + _reported(papers, columns, ranks),
    }


def _score_columns(runs: Runs, head: Record, n: int, ranks: bool) -> Iterator[Record]:
    """Yield a column of each metric, of runs on the same n queries."""
    scores: dict[str, Score] = {}
    for run in runs.values():
        scores |= run.scores
    ranking = ranking_metrics(scores)
    metrics = [name for name in ranking if name.partition("@")[0] in RECALLS]
    if ranks:
        metrics += [name for name in (FIRST_DATABASE, *OF_SETS) if name in scores]
        metrics += [name for name in ranking if not name.startswith("recall")]
    else:
        metrics = [*answer_metrics(scores), *metrics]
    for metric in metrics:
        known = {s: run.scores[metric] for s, run in runs.items() if metric in run.scores}
        values = {s: _vector(runs[s], metric) for s in known if _is_mean(runs[s], metric)}
        counted = {score.n for score in known.values() if isfinite(score.value)}
        note = head["note"]
        if len(counted) == 1 and max(counted) < n:
            note = f"{max(counted):,} of {note}"
        yield from _column(metric, {**head, "note": note}, known, values)


def _column(
    metric: str, head: Record, scores: Mapping[System, Score], values: Mapping[System, Vector]
) -> Iterator[Record]:
    """Yield the column of a metric, if any score is known; ``values`` of queries are tested."""
    spec = spec_of(metric, next(iter(scores.values()), None))
    family, _, cutoff = metric.partition("@")
    known = {system: score for system, score in scores.items() if isfinite(score.value)}
    order = sorted(known, key=lambda system: -spec.merit(known[system].value))
    against_best, ranks = column_tests(order, {s: values[s] for s in order if s in values})
    cells: dict[System, Record] = {}
    for system, score in known.items():
        cell = cells[system] = {"value": score.value}
        if isfinite(score.high - score.low):
            cell |= {"low": score.low, "high": score.high}
        merits = spec.merit(score.value), spec.merit(known[order[0]].value)
        cell["best"] = len(known) > 1 and merits[0] == merits[1]
        if system in ranks:
            cell["ranks"] = ranks[system]
        if system in against_best:
            cell["p"] = against_best[system]
    if cells:
        yield {
            **head, "metric": metric, "label": spec.label_at(cutoff or None), "kind": "score",
            "k": int(cutoff) if family in RECALLS and cutoff else None, "digits": spec.digits,
            "lower": not spec.higher_is_better, "cells": cells,
        }  # fmt: skip


def _plain_columns(runs: Runs, head: Record, ranks: bool) -> Iterator[Record]:
    """Yield what has no interval: declared times, and failed answers."""
    failed = {
        s: run.answers.failed + run.answers.unparsed for s, run in runs.items() if run.answers
    }
    for metric, label, kind, figures in (
        (MILLISECONDS, "ms/query", "time", {s: run.retrieve_ms for s, run in runs.items()}),
        ("failed", "failed", "count", {s: float(n) for s, n in failed.items()}),
        ("ms/answer", "ms/answer", "time", {s: run.answer_ms for s, run in runs.items()}),
    ):
        cells = {s: {"value": x, "best": False} for s, x in figures.items() if x is not None}
        if (metric == MILLISECONDS) == ranks and (cells or ranks):
            yield {
                **head, "metric": metric, "label": label, "kind": kind, "k": None,
                "digits": 0 if kind == "count" else 2, "lower": True, "cells": cells,
            }  # fmt: skip


def _mean_columns(runs: Mapping[Data, Runs]) -> tuple[list[str], list[Record]]:
    """Return the corpora of the mean recall and its columns, a cutoff each; none for no mean.

    It is over the corpora that at least half of all systems have, so that one submission on a
    further corpus leaves the others complete. Each corpus counts once and the same: of its
    data those without distractors that most systems have.
    """
    n_systems = len({system for systems in runs.values() for system in systems})
    chosen: dict[str, Data] = {}
    for data in sorted(runs, key=lambda d: (bool(d.distractors), -len(runs[d]), bool(d.about), d)):
        if 2 * len(runs[data]) >= n_systems:
            chosen.setdefault(data.corpus, data)
    if len(chosen) < 2:
        return [], []
    groups = [runs[data] for data in sorted(chosen.values())]
    names = {name for systems in groups for run in systems.values() for name in run.scores}
    cutoffs = sorted(int(n.partition("@")[2]) for n in names if n.partition("@")[0] == "recall")
    title = f"Mean of {len(chosen)} corpora"
    columns = []
    for metric in (f"recall@{k}" for k in cutoffs):
        means: dict[System, Score] = {}
        values: dict[System, Vector] = {}
        for system in groups[0]:
            own = [systems[system] for systems in groups if system in systems]
            scores = [run.scores[metric] for run in own if metric in run.scores]
            if len(scores) == len(groups) and all(isfinite(score.value) for score in scores):
                means[system] = mean_score(scores)
                parts = [_vector(run, metric) for run in own]  # the sum of each is its score
                weighted = [part / max(int((~np.isnan(part)).sum()), 1) for part in parts]
                values[system] = np.concatenate(weighted).astype(np.float32)
        head = {"corpus": "", "split": "", "data": title, "note": ""}
        columns += [*_column(metric, head, means, values)]
    return (sorted(chosen) if columns else []), columns


def _vector(run: RunEntry, metric: str) -> Vector:
    return np.asarray(run.per_query[metric], dtype=np.float32)


def _is_mean(run: RunEntry, metric: str) -> bool:
    """Return whether a score is the mean of its queries' values, as corpus BLEU is not."""
    values = run.per_query.get(metric)
    if values is None or np.isnan(values).all():
        return False
    score = run.scores[metric]
    return bool(abs(np.nanmean(values) - score.value) <= 1e-4 * spec_of(metric, score).top)


def _row(
    system: System, entry: Entry, runs: Mapping[Data, Runs], columns: Sequence[Record]
) -> Record:
    corpora = sorted({data.corpus for data, systems in runs.items() if system in systems})
    card = entry.card
    return {
        "name": card.name, "entry": entry.id, "url": card.predictions, "note": card.note,
        "source": "published predictions" if card.predictions else "submitted",
        "retriever": system.retriever, "generator": system.generator,
        "authors": list(card.authors), "kind": card.retriever_kind,
        "parameters": card.parameters, "open": card.open_weights,
        "trained": {c: card.training_data.get(c, "unknown") for c in corpora},
        "verdict": entry.verdict, "date": max((run.date for run in entry.runs), default=""),
        "cells": [_rounded(column["cells"].get(system)) for column in columns],
    }  # fmt: skip


def _rounded(cell: Record | None) -> Record | None:
    return cell and {n: round(x, 5) if isinstance(x, float) else x for n, x in cell.items()}


def _rank(rows: list[Record], columns: Sequence[Record], k: int, over: Sequence[str]) -> None:
    """Sort rows by their columns, and give each its rank in the first; equal scores share one."""
    scored = [i for i, c in enumerate(columns) if c["kind"] == "score" and c["k"] in (None, k)]

    def losses(row: Record) -> list[float]:
        """Return the scores of a row, the less the better; infinity where it has none."""
        cells = [(row["cells"][i], 1 if columns[i]["lower"] else -1) for i in scored]
        return [sign * cell["value"] if cell else inf for cell, sign in cells] or [inf]

    first = sorted(losses(row)[0] for row in rows)
    for row in rows:
        loss = losses(row)[0]
        row["rank"] = None if loss == inf else first.index(loss) + 1
        has = len({*over} & {*row["trained"]})
        row["part"] = f"{has} of {len(over)}" if over and loss == inf else None
    rows.sort(key=lambda row: (*losses(row), row["name"].casefold(), row["entry"]))


def _reported(papers: Sequence[Reported], columns: Sequence[Record], ranks: bool) -> list[Record]:
    """Return a row for each method of a paper that has a figure in any column.

    A figure of another split than any on the board stands in the column of its corpus, with its
    split below it.
    """
    rows: list[Record] = []
    for paper, system in [(each, system) for each in papers for system in each.systems]:
        cells: list[Record | None] = [None] * len(columns)
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
                note = f"{score.split} split" if other else None
                cells[i] = {"value": score.value, "best": False, "note": note}
        if any(cells):
            rows.append({
                "name": system.name, "entry": None, "url": paper.url, "note": system.note,
                "source": "reported", "retriever": paper.source, "generator": "", "authors": [],
                "kind": system.kind, "parameters": None, "open": None, "trained": {},
                "verdict": None, "date": paper.date, "rank": None, "part": None, "cells": cells,
            })  # fmt: skip
    return rows
