"""The board of a task as plain data: a row for each system, a column for each metric and corpus.

``boards(entries)`` returns one dict a task, which ``site`` writes as JSON and as a page.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import inf, isfinite
from typing import Any, NamedTuple

import numpy as np

from target_bench.core import registry
from target_bench.core.errors import DataError
from target_bench.core.metric import Score
from target_bench.core.task_names import task_class
from target_bench.metrics.scores import answer_metrics, ranking_metrics, spec_of
from target_bench.metrics.stats import holm, randomization_tests
from target_bench.reporting.leaderboard.documents import MILLISECONDS
from target_bench.reporting.leaderboard.entry import Entry, Floats, RunEntry

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


Runs = dict[str, RunEntry]
"""Id of an entry -> its run on some data."""


def boards(entries: Iterable[Entry]) -> list[Record]:
    """Return a board for each task, those about rankings first.

    A board is JSON: ``task``, ``title``, ``cutoffs``, ``k`` (the cutoff to begin with),
    ``columns`` and ``rows``. ``rows[i]["cells"][j]`` is None or ``{"value", "low", "high", "p",
    "best"}`` of column j, as far as known; ``p`` is that of ``compare_with_first``.

    Args:
        entries: without rejected ones.

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
        _board(name, runs, by_id, ranks=not answers)
        for (answers, name), runs in sorted(tasks.items(), key=lambda item: item[0])
    ]


def corpus_title(name: str) -> str:
    """Return the name of a corpus as its authors write it, if it is registered."""
    if name not in registry.names("corpus"):
        return name
    title: str = registry.resolve("corpus", name).info.title
    return title


def compare_with_first(order: Sequence[str], values: Mapping[str, Floats]) -> dict[str, float]:
    """Test each system of a column against the best one, and correct the p-values (Holm).

    What cannot be tested, because a score is no mean over queries or over other ones than the
    first, has none; a first that cannot be tested leaves nothing to test against.

    Args:
        order: the systems, best first.
        values: system -> (n,) values of the queries, NaN where a metric is not over one.

    Returns:
        System -> corrected p-value of the paired randomisation test.
    """
    if not order or order[0] not in values:
        return {}
    first = values[order[0]]
    others = [
        system
        for system in order[1:]
        if system in values and (np.isnan(values[system]) == np.isnan(first)).all()
    ]
    if not others:
        return {}
    matrix = np.stack([values[system] for system in (order[0], *others)])
    matrix = matrix[:, ~np.isnan(first)]
    p_values = randomization_tests(matrix, [(0, i + 1) for i in range(len(others))])
    return dict(zip(others, holm(p_values), strict=True))


def _add(runs: dict[Data, Runs], entry: Entry, run: RunEntry) -> None:
    """Add a run to those on the same data."""
    fingerprints = run.corpus_fingerprint, run.queries_fingerprint
    about = (run.ranks and run.about) or ""
    data = Data(run.corpus, run.split, tuple(run.distractors), about, *fingerprints)
    of_data = runs.setdefault(data, {})
    if of_data and next(iter(of_data.values())).query_ids != run.query_ids:
        raise DataError(
            f"entry {entry.id}: its queries of {data.name} are others than those of an entry with "
            f"the same queries_fingerprint {run.queries_fingerprint}"
        )
    of_data[entry.id] = run


def _board(
    task: str,
    runs: Mapping[Data, Runs],
    entries: Mapping[str, Entry],
    ranks: bool,
) -> Record:
    n_systems = {data: len(systems) for data, systems in runs.items()}
    # Ranks are those of the first column: that of the data with the most systems.
    order = sorted(runs, key=lambda data: (bool(data.distractors), -n_systems[data], data))
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
    cutoffs = sorted({column["k"] for column in columns if column["k"]})
    k = DEFAULT_K if DEFAULT_K in cutoffs or not cutoffs else cutoffs[-1]
    every = dict.fromkeys(name for of_data in runs.values() for name in of_data)
    rows = [_row(entries[name], runs, columns) for name in every]
    _rank(rows, columns, k)
    title = next((run.title for s in runs.values() for run in s.values() if run.title), "")
    if task in registry.names("task"):
        title = task_class(task).title
    return {
        "task": task,
        "title": title or task.replace("_", " ").capitalize(),
        "cutoffs": cutoffs,
        "k": k,
        "columns": [{n: v for n, v in c.items() if n != "cells"} for c in columns],
        "rows": rows,
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
        values = {s: runs[s].per_query[metric] for s in known if _is_mean(runs[s], metric)}
        counted = {score.n for score in known.values() if isfinite(score.value)}
        note = head["note"]
        if len(counted) == 1 and max(counted) < n:
            note = f"{max(counted):,} of {note}"
        yield from _column(metric, {**head, "note": note}, known, values)


def _column(
    metric: str, head: Record, scores: Mapping[str, Score], values: Mapping[str, Floats]
) -> Iterator[Record]:
    """Yield the column of a metric, if any score is known; ``values`` of queries are tested."""
    spec = spec_of(metric, next(iter(scores.values()), None))
    family, _, cutoff = metric.partition("@")
    known = {system: score for system, score in scores.items() if isfinite(score.value)}
    order = sorted(known, key=lambda system: -spec.merit(known[system].value))
    against_best = compare_with_first(order, values)
    cells: dict[str, Record] = {}
    for system, score in known.items():
        cell = cells[system] = {"value": score.value}
        if isfinite(score.high - score.low):
            cell |= {"low": score.low, "high": score.high}
        merits = spec.merit(score.value), spec.merit(known[order[0]].value)
        cell["best"] = len(known) > 1 and merits[0] == merits[1]
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


def _is_mean(run: RunEntry, metric: str) -> bool:
    """Return whether a score is the mean of its queries' values, as corpus BLEU is not."""
    values = run.per_query.get(metric)
    if values is None or np.isnan(values).all():
        return False
    score = run.scores[metric]
    return bool(abs(np.nanmean(values) - score.value) <= 1e-4 * spec_of(metric, score).top)


def _row(entry: Entry, runs: Mapping[Data, Runs], columns: Sequence[Record]) -> Record:
    own = {data: of_data[entry.id] for data, of_data in runs.items() if entry.id in of_data}
    corpora = sorted({data.corpus for data in own})
    card = entry.card
    labels = {
        part: " · ".join(dict.fromkeys(getattr(run, part) or "" for run in own.values()))
        for part in ("retriever", "generator")
    }
    if card.predictions:  # what a run has of a retriever is the name of a file
        labels = dict.fromkeys(labels, "")
    return {
        "name": card.name, "entry": entry.id, "url": card.predictions, "note": card.note,
        "source": "published predictions" if card.predictions else "submitted",
        **labels, "authors": list(card.authors), "kind": card.retriever_kind,
        "parameters": card.parameters, "open": card.open_weights, "chosen_on": card.chosen_on,
        "trained": {c: card.training_data.get(c, "unknown") for c in corpora},
        "date": max((run.date for run in entry.runs), default=""),
        "cells": [_rounded(column["cells"].get(entry.id)) for column in columns],
    }  # fmt: skip


def _rounded(cell: Record | None) -> Record | None:
    return cell and {n: round(x, 5) if isinstance(x, float) else x for n, x in cell.items()}


def _rank(rows: list[Record], columns: Sequence[Record], k: int) -> None:
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
    rows.sort(key=lambda row: (*losses(row), row["name"].casefold(), row["entry"]))
