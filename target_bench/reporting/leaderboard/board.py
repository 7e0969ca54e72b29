"""Boards as plain data: one a task, a row a system, a column for each metric and data set."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import inf, isfinite
from typing import Any, NamedTuple

import numpy as np

from target_bench.core import registry
from target_bench.core.registry import make_task
from target_bench.core.text_tables import count_noun
from target_bench.harness.score import Floats, Scores
from target_bench.metrics.scores import find_spec, list_answer_metrics, list_ranking_metrics
from target_bench.metrics.stats import holm, randomization_tests
from target_bench.reporting.leaderboard.archive import SubmittedRun
from target_bench.reporting.leaderboard.verify import Submission

Record = dict[str, Any]

DEFAULT_K = 10
LEVEL = 0.05
"""From this corrected p-value on, a score is not significantly different from the best."""

BESIDE_RECALL = ("recall[db]@1", "complete_recall", "set_precision", "set_f1", "set_size")
"""Metrics of databases and of sets, which stand behind recall where a run has them."""


class Data(NamedTuple):
    """The data of a column: those that all of its scores are on."""

    corpus: str
    split: str
    distractors: tuple[str, ...]
    about: str
    tables: str  # fingerprints
    queries: str

    @property
    def name(self) -> str:
        """Corpus, split and what was mixed in."""
        name = " + ".join([f"{find_title(self.corpus)} {self.split}", *self.distractors])
        return f"{name}, {self.about.replace('_', ' ')}" if self.about else name


Runs = dict[str, tuple[SubmittedRun, Scores[Any]]]
"""Id of a submission -> its run on some data."""


def make_boards(submissions: Iterable[Submission]) -> list[Record]:
    """Return a board for each task, those about rankings first.

    A board is JSON: ``task``, ``title``, ``cutoffs``, ``k`` (the cutoff to begin with),
    ``columns`` and ``rows``. ``rows[i]["cells"][j]`` is None or ``{"value", "low", "high", "p",
    "best"}`` of column j, as far as known; ``p`` is that of ``compare_with_best``.
    """
    by_id = {each.id: each for each in sorted(submissions, key=lambda each: each.id)}
    tasks: dict[tuple[bool, str], dict[Data, Runs]] = {}
    for submission in by_id.values():
        bases = {run.retrieval for run in submission.runs.values()}
        for folder, run in submission.runs.items():
            if folder in bases and run.about is not None:
                continue  # rankings of another task's queries: their recall stands on its page
            has_answers = run.generator is not None
            about = "" if has_answers else run.about or ""
            fingerprints = run.corpus_fingerprint, run.queries_fingerprint
            data = Data(run.corpus, run.split, tuple(run.distractors), about, *fingerprints)
            runs = tasks.setdefault((has_answers, run.task), {}).setdefault(data, {})
            runs[submission.id] = run, submission.scores[folder]
    return [_make_board(key[1], tasks[key], by_id) for key in sorted(tasks)]


def find_title(name: str) -> str:
    """Return the name of a corpus as its authors write it, if it is registered."""
    if name not in registry.names("corpus"):
        return name
    title: str = registry.resolve("corpus", name).info.title
    return title


def compare_with_best(order: Sequence[str], values: Mapping[str, Floats]) -> dict[str, float]:
    """Test each system of a column against the best one, and correct the p-values (Holm).

    ``order`` has the systems, best first; ``values`` is (n,) for each, NaN where a metric is not
    over a query. A score that is no mean over queries, or over other ones than the best's, is not
    tested; a best that cannot be tested leaves nothing to test against.
    """
    if not order or order[0] not in values:
        return {}
    best = values[order[0]]
    others = [
        system
        for system in order[1:]
        if system in values and (np.isnan(values[system]) == np.isnan(best)).all()
    ]
    if not others:
        return {}
    matrix = np.stack([values[system] for system in (order[0], *others)])[:, ~np.isnan(best)]
    p_values = randomization_tests(matrix, [(0, i + 1) for i in range(len(others))])
    return dict(zip(others, holm(p_values), strict=True))


def _make_board(
    task: str, by_data: Mapping[Data, Runs], submissions: Mapping[str, Submission]
) -> Record:
    # Ranks are those of the first column: that of the data with the most systems.
    order = sorted(by_data, key=lambda data: (bool(data.distractors), -len(by_data[data]), data))
    names = Counter(data.name for data in order)
    columns: list[Record] = []
    for data in order:
        scores = {name: scores for name, (_, scores) in by_data[data].items()}
        n = len(next(iter(scores.values())).query_ids)
        note = count_noun(n, "query")
        if names[data.name] > 1:  # other tables or gold under the same name: not compared
            note += f", tables {data.tables[:8]}, queries {data.queries[:8]}"
        head = {"corpus": data.corpus, "split": data.split, "data": data.name, "note": note}
        columns += _make_columns(scores, head, n)
    cutoffs = sorted({column["k"] for column in columns if column["k"]})
    k = DEFAULT_K if DEFAULT_K in cutoffs or not cutoffs else cutoffs[-1]
    ids = dict.fromkeys(name for runs in by_data.values() for name in runs)
    rows = [_make_row(submissions[name], by_data, columns) for name in ids]
    _rank(rows, columns, k)
    is_registered = task in registry.names("task")
    return {
        "task": task,
        "title": make_task(task).title if is_registered else task.replace("_", " ").capitalize(),
        "cutoffs": cutoffs,
        "k": k,
        "columns": [{n: v for n, v in column.items() if n != "cells"} for column in columns],
        "rows": rows,
    }


def _make_columns(by_system: Mapping[str, Scores[Any]], head: Record, n: int) -> Iterator[Record]:
    """Yield a column of each metric that any of the systems has on the same n queries."""
    scores = {name: score for each in by_system.values() for name, score in each.items()}
    ranking, answers = list_ranking_metrics(scores), list_answer_metrics(scores)
    metrics = [name for name in ranking if name.partition("@")[0] == "recall"]
    if answers:
        metrics = [*answers, *metrics]
    else:
        metrics += [name for name in BESIDE_RECALL if name in scores]
        metrics += [name for name in ranking if not name.startswith("recall")]
    for metric in metrics:
        cells = _make_cells(by_system, metric)
        if not cells:
            continue
        spec = find_spec(metric, scores[metric])
        family, _, cutoff = metric.partition("@")
        sizes = {by_system[system][metric].n for system in cells}
        is_partial = len(sizes) == 1 and max(sizes) < n
        yield {
            **head,
            "note": f"{max(sizes):,} of {head['note']}" if is_partial else head["note"],
            "metric": metric,
            "label": spec.label_at(cutoff or None),
            "k": int(cutoff) if family == "recall" and cutoff else None,
            "digits": spec.digits,
            "lower": not spec.higher_is_better,
            "cells": cells,
        }


def _make_cells(by_system: Mapping[str, Scores[Any]], metric: str) -> dict[str, Record]:
    """Return system -> its cell, of those that have a score."""
    scores = {
        system: each[metric]
        for system, each in by_system.items()
        if metric in each and isfinite(each[metric].value)
    }
    merits = {s: find_spec(metric, score).merit(score.value) for s, score in scores.items()}
    order = sorted(merits, key=lambda system: -merits[system])
    means = {
        system: by_system[system].per_query[metric]
        for system in scores
        if _is_mean(by_system[system], metric)
    }
    p_values = compare_with_best(order, means)
    cells: dict[str, Record] = {}
    for system, score in scores.items():
        cells[system] = {"value": score.value}
        if isfinite(score.high - score.low):
            cells[system] |= {"low": score.low, "high": score.high}
        cells[system]["best"] = len(scores) > 1 and merits[system] == merits[order[0]]
        if system in p_values:
            cells[system]["p"] = p_values[system]
    return cells


def _is_mean(scores: Scores[Any], metric: str) -> bool:
    """Return whether a score is the mean of its queries' values, as corpus BLEU is not."""
    values = scores.per_query.get(metric)
    if values is None or np.isnan(values).all():
        return False
    score = scores[metric]
    return bool(abs(np.nanmean(values) - score.value) <= 1e-4 * find_spec(metric, score).top)


def _make_row(
    submission: Submission, by_data: Mapping[Data, Runs], columns: Sequence[Record]
) -> Record:
    card = submission.card
    runs = [runs[submission.id][0] for runs in by_data.values() if submission.id in runs]
    labels = {
        system: " · ".join(dict.fromkeys(getattr(run, system) or "" for run in runs))
        for system in ("retriever", "generator")
    }
    if card.predictions:  # a run calls its retriever by the name of a file
        labels = dict.fromkeys(labels, "")
    corpora = sorted({run.corpus for run in runs})
    return {
        "name": card.name,
        "entry": submission.id,
        "predictions": card.predictions,
        "note": card.note,
        **labels,
        "authors": list(card.authors),
        "kind": card.kind,
        "parameters": card.parameters,
        "chosen_on": card.chosen_on,
        "trained_on": {name: card.trained_on.get(name, "unknown") for name in corpora},
        "date": max((run.date for run in submission.runs.values()), default=""),
        "cells": [_round(column["cells"].get(submission.id)) for column in columns],
    }


def _round(cell: Record | None) -> Record | None:
    return cell and {n: round(x, 5) if isinstance(x, float) else x for n, x in cell.items()}


def _rank(rows: list[Record], columns: Sequence[Record], k: int) -> None:
    """Sort rows by their columns, and give each its rank in the first; equal scores share one."""
    shown = [i for i, column in enumerate(columns) if column["k"] in (None, k)]

    def sort_key(row: Record) -> list[float]:
        cells = [(row["cells"][i], 1 if columns[i]["lower"] else -1) for i in shown]
        return [sign * cell["value"] if cell else inf for cell, sign in cells] or [inf]

    first = sorted(sort_key(row)[0] for row in rows)
    for row in rows:
        loss = sort_key(row)[0]
        row["rank"] = None if loss == inf else first.index(loss) + 1
    rows.sort(key=lambda row: (*sort_key(row), row["name"].casefold(), row["entry"]))
