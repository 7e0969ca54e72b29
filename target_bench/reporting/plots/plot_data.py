"""What pictures read besides scores: names of runs, rankings with their gold tables, timings."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from target_bench.core.errors import ConfigError, DataError, StoreError
from target_bench.core.observer import Observer
from target_bench.data.select import Loader
from target_bench.metrics import intervals
from target_bench.metrics.judged_rankings import judge
from target_bench.metrics.retrieval import RetrievalMetric, parse
from target_bench.runs import record_log
from target_bench.runs.comparable import check_same_version
from target_bench.runs.run_identity import queries_fingerprint
from target_bench.runs.scored import ScoredRun, read_scored
from target_bench.runs.store import read_run
from target_bench.runs.times import ColdTimes, cold

Curve = NDArray[np.float64]


def read(folders: Sequence[Path]) -> list[ScoredRun]:
    """The runs, each once.

    Raises:
        ConfigError: none is named, or they are of different tasks.
        DataError: they are of different tables under one name.
        StoreError: a run is not finished, or damaged.
    """
    once = list({folder.resolve(): folder for folder in folders}.values())
    if not once:
        raise ConfigError("name at least one run")
    runs = [read_scored(folder) for folder in once]
    for run in runs[1:]:
        if run.identity["task"] != runs[0].identity["task"]:
            raise ConfigError(
                f"{runs[0].folder.name} is about {runs[0].identity['task']} and "
                f"{run.folder.name} about {run.identity['task']}; draw one task at a time"
            )
    _check_same_data(runs)
    return runs


def _check_same_data(runs: Sequence[ScoredRun]) -> None:
    first: dict[tuple[str, ...], ScoredRun] = {}
    for run in runs:
        asked, identity = run.manifest["asked"], run.identity
        if asked["corpus"] is None:
            continue
        other = first.setdefault((asked["corpus"], identity["split"], *asked["distractors"]), run)
        if other.identity["corpus_fingerprint"] != identity["corpus_fingerprint"]:
            raise DataError(
                f"{other.folder.name} and {run.folder.name} are of different tables under the name "
                f"{identity['corpus']}; run one of them again on the other's data"
            )


def check_same_queries(runs: Sequence[ScoredRun]) -> None:
    """See that all runs were asked the same.

    Raises:
        DataError: they were not.
    """
    for run in runs[1:]:
        check_same_version(runs[0], run)
        if run.identity["queries_fingerprint"] != runs[0].identity["queries_fingerprint"]:
            raise DataError(
                f"{runs[0].folder.name} and {run.folder.name} were asked different queries "
                f"({len(runs[0].query_ids)} and {len(run.query_ids)}); draw runs of the same"
            )


def names(runs: Sequence[ScoredRun]) -> list[str]:
    """What the runs are called: as little as tells them apart."""
    corpora = {(run.identity["corpus"], run.identity["split"]) for run in runs}
    labels = [run.label for run in runs]
    if len(corpora) > 1:
        labels = [f"{run.identity['corpus']}: {run.label}" for run in runs]
    often = Counter(labels)
    return [
        f"{label} ({run.folder.name.rpartition('-')[2]})" if often[label] > 1 else label
        for label, run in zip(labels, runs, strict=True)
    ]


def subject(runs: Sequence[ScoredRun]) -> str:
    """What all runs are of, for a title."""
    first = runs[0].identity
    corpora = dict.fromkeys(f"{r.identity['corpus']} {r.identity['split']}" for r in runs)
    return f"{', '.join(corpora)} · {first['task'].replace('_', ' ')}"


def rankings_of(run: ScoredRun) -> dict[str, Any]:
    """The manifest of the rankings of a run: its own, or that of the run it is built on."""
    rankings = run.manifest["asked"].get("retrieval_run")
    return dict(run.manifest) if rankings is None else read_run(run.folder.parent / rankings)


def times_of(run: ScoredRun) -> ColdTimes:
    """The times of a run and of the rankings that it is built on, as far as they may be shown."""
    own = cold(run.manifest)
    if "retrieval_run" not in run.manifest["asked"]:
        return own
    return cold(rankings_of(run)).with_answers(own)


def recall_at_every_k(
    run: ScoredRun, data_dir: Path | None, observer: Observer
) -> tuple[Curve, Curve, Curve]:
    """Recall at 1, 2, ... down to the depth of the rankings, with its 95% interval.

    The gold tables are read from the corpus again.

    Returns:
        (depth,) recall, lower and upper bounds.

    Raises:
        ConfigError: the corpus was made in Python, or the run holds no rankings.
        DataError: the corpus is missing, or its queries are not what they were.
        StoreError: a ranking is damaged or missing.
    """
    path = run.folder / "retrieval.jsonl"
    asked, identity = run.manifest["asked"], run.identity
    if not path.exists():
        raise ConfigError(
            f"{run.folder.name} holds no rankings; name the retrieval run "
            f"{asked.get('retrieval_run', '')}"
        )
    if asked["corpus"] is None:
        raise ConfigError(f"{run.folder.name} is of a corpus that was made in Python")
    loaded = Loader(data_dir, observer).load(
        asked["corpus"], identity["split"], tuple(asked["distractors"])
    )
    loaded = loaded.of_task(asked.get("about", "retrieval")).of_database(asked.get("database"))
    queries = loaded.limited(asked.get("limit")).dataset.queries
    if queries_fingerprint(queries) != identity["queries_fingerprint"]:
        raise DataError(
            f"{run.folder}: the queries of {asked['corpus']} are not what they were; name the "
            "data of the run with --data-dir, or run again"
        )
    stored = record_log.read(path)
    missing = [query.id for query in queries if query.id not in stored]
    if missing:
        raise StoreError(f"{path}: query {missing[0]!r} has no ranking; run the same command again")
    depth = identity["top_k"][-1]
    judged = judge([stored[q.id].tables for q in queries], [q.gold for q in queries], depth)
    metrics: list[RetrievalMetric] = [parse(f"recall@{k}") for k in range(1, depth + 1)]
    statistics = [metric.statistics(judged) for metric in metrics]
    recall = [float(m.value(s.sum(axis=0))) for m, s in zip(metrics, statistics, strict=True)]
    bounds = [intervals.interval(m, s) for m, s in zip(metrics, statistics, strict=True)]
    return np.array(recall), *np.array(bounds).T
