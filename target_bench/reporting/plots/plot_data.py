"""Data of plots besides scores: names of runs, rankings with gold tables, timings, profiles."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from target_bench.core.built_in import RANKING_TASK
from target_bench.core.errors import ConfigError, DataError, StoreError
from target_bench.core.metric import SYNTHETIC
from target_bench.core.observer import Observer
from target_bench.data.select import Loader, make_task
from target_bench.metrics import stats
from target_bench.metrics.retrieval import RetrievalMetric, judge, parse
from target_bench.runs.manifest import queries_fingerprint
from target_bench.runs.result import Result, read_run

Curve = NDArray[np.float64]


def read(folders: Sequence[Path]) -> list[Result]:
    """Return the runs, each once.

    Raises:
        ConfigError: none is named, or they are of different tasks.
        DataError: they are of different tables under one name.
        StoreError: a run is not finished, or damaged.
    """
    once = list({folder.resolve(): folder for folder in folders}.values())
    if not once:
        raise ConfigError("name at least one run")
    runs = [read_run(folder) for folder in once]
    for run in runs[1:]:
        if run.task != runs[0].task:
            raise ConfigError(
                f"{runs[0].folder.name} is about {runs[0].task} and "
                f"{run.folder.name} about {run.task}; draw one task at a time"
            )
    _check_same_data(runs)
    return runs


def _check_same_data(runs: Sequence[Result]) -> None:
    first: dict[tuple[str, ...], Result] = {}
    for run in runs:
        asked, identity = run.asked, run.identity
        if asked.corpus is None:
            continue
        other = first.setdefault((asked.corpus, run.split, *asked.distractors), run)
        if other.identity.corpus_fingerprint != identity.corpus_fingerprint:
            raise DataError(
                f"{other.folder.name} and {run.folder.name} are of different tables under the name "
                f"{run.corpus}; run one of them again on the other's data"
            )


def check_same_queries(runs: Sequence[Result]) -> None:
    """See that all runs were asked the same.

    Raises:
        DataError: they were not.
    """
    for run in runs[1:]:
        if run.identity.queries_fingerprint != runs[0].identity.queries_fingerprint:
            raise DataError(
                f"{runs[0].folder.name} and {run.folder.name} were asked different queries "
                f"({len(runs[0].query_ids)} and {len(run.query_ids)}); draw runs of the same"
            )


def subject(runs: Sequence[Result]) -> str:
    """Return task and data of all runs, for a title."""
    corpora = dict.fromkeys(f"{run.corpus} {run.split}" for run in runs)
    return f"{', '.join(corpora)} · {runs[0].task.replace('_', ' ')}"


def mark(runs: Sequence[Result]) -> str:
    """Return the end of the names of metrics: that of synthetic questions, if all are synthetic."""
    names = [name for run in runs for name in run.scores]
    return SYNTHETIC if names and all(name.endswith(SYNTHETIC) for name in names) else ""


def profiles(runs: Sequence[Result]) -> tuple[str, list[Mapping[str, float]]]:
    """Return the first profile of shares that the task says of the runs: its label, one a run.

    Raises:
        ConfigError: it says none of a run.
    """
    found = []
    for run in runs:
        task = make_task(run.asked.task or run.task)
        blocks = task.view.summary(run.report) if run.report else ()
        block = next((block for block in blocks if len(block.profile) > 2), None)
        if block is None:
            raise ConfigError(
                f"{run.folder.name}: the task {run.task} says no shares of it that a radar shows"
            )
        found.append(block)
    return found[0].label, [block.profile for block in found]


def recall_at_every_k(
    run: Result, data_dir: Path | None, observer: Observer
) -> tuple[Curve, Curve, Curve]:
    """Recall at 1, 2, ... down to the depth of the rankings, with its 95% interval.

    Among questions of people synthetic ones are left out. The gold tables are read from the corpus
    again.

    Returns:
        (depth,) recall, lower and upper bounds.

    Raises:
        ConfigError: the corpus was made in Python, or the run holds no rankings.
        DataError: the corpus is missing, or its queries are not what they were.
        StoreError: a ranking is damaged or missing.
    """
    path = run.folder / "retrieval.jsonl"
    asked, identity = run.asked, run.identity
    if not path.exists():
        named = f"; name the retrieval run {asked.retrieval_run}"
        raise ConfigError(
            f"{run.folder.name} holds no rankings"
            f"{named if asked.retrieval_run else ': its tables are given, not retrieved'}"
        )
    if asked.corpus is None:
        raise ConfigError(f"{run.folder.name} is of a corpus that was made in Python")
    loaded = Loader(data_dir, observer).load(asked.corpus, run.split, asked.distractors)
    loaded = loaded.of_task(asked.about or RANKING_TASK).of_database(asked.database)
    queries = loaded.limited(asked.limit).dataset.queries
    if queries_fingerprint(queries) != identity.queries_fingerprint:
        raise DataError(
            f"{run.folder}: the queries of {asked.corpus} are not what they were; name the "
            "data of the run with --data-dir, or run again"
        )
    stored = run.rankings
    missing = [query.id for query in queries if query.id not in stored]
    if missing:
        raise StoreError(f"{path}: query {missing[0]!r} has no ranking; run the same command again")
    queries = tuple(query for query in queries if query.synthetic == bool(mark([run])))
    depth = identity.top_k[-1]
    judged = judge([stored[q.id].tables for q in queries], [q.gold for q in queries], depth)
    metrics: list[RetrievalMetric] = [parse(f"recall@{k}") for k in range(1, depth + 1)]
    statistics = [metric.statistics(judged) for metric in metrics]
    recall = [float(m.value(s.sum(axis=0))) for m, s in zip(metrics, statistics, strict=True)]
    bounds = [stats.interval(m, s) for m, s in zip(metrics, statistics, strict=True)]
    return np.array(recall), *np.array(bounds).T
