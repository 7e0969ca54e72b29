"""Verification: a submission is read, held against our own data, and scored again."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import inf
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import numpy as np
from numpy.typing import NDArray

from target_bench.core.built_in import RANKING_TASK
from target_bench.core.errors import BudgetError, ConfigError, DataError
from target_bench.core.metric import Score, empty_scores
from target_bench.core.observer import Observer
from target_bench.core.registry import make_task
from target_bench.core.schema import Dataset, Retrieval
from target_bench.core.task import given_tables, has_reference
from target_bench.data.load import load_once
from target_bench.data.selection import select_queries
from target_bench.harness.judge import judge_answers
from target_bench.harness.score import align_values, score_answers, score_rankings
from target_bench.models.answer_reading import check_time, time_limit
from target_bench.reporting.leaderboard.card import LARGEST_CARD, Card, check_visible, parse_card
from target_bench.reporting.leaderboard.submission import (
    SUFFIX,
    RefusedError,
    RunManifest,
    open_archive,
    read_answers,
    read_member,
    read_rankings,
    read_runs,
)
from target_bench.runs.manifest import answers_fingerprint, queries_fingerprint

Floats = NDArray[np.float64]

PERFECT = 0.97  # no system known has all gold tables on top for so large a share of a corpus


@dataclass(frozen=True, eq=False)
class ScoredRun:
    """A run of a submission, every figure of it computed here.

    Attributes:
        manifest: what the run is of.
        scores: metric name -> score; for a run of answers those of its rankings too.
        query_ids: the n queries of the split, in the order of the dataset.
        per_query: metric name -> (n,) value of each query alone; NaN where it is in no denominator.
        counts: the denominators that are not 0.
        is_basis: whether it is the rankings that answers of the same submission are built on.
    """

    manifest: RunManifest
    scores: Mapping[str, Score]
    query_ids: list[str]
    per_query: Mapping[str, Floats]
    counts: Mapping[str, Any]
    is_basis: bool = False


@dataclass(frozen=True, eq=False)
class Entry:
    """A verified submission: a row of each board that it has runs of.

    Attributes:
        id: unique on a board: the name of the file without its suffix.
        card: who made it; every text in it is the submitter's.
        runs: its runs, scored again.
        notes: what a reader of the scores should know.
    """

    id: str
    card: Card
    runs: list[ScoredRun] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        """Return scores and counts of the runs, without values of queries."""
        names = {"corpus", "split", "task", "retriever", "generator", "top_k", "distractors"}
        runs = [
            run.manifest.model_dump(mode="json", include=names)
            | {"scores": {name: score.to_json() for name, score in run.scores.items()}}
            | {"counts": dict(run.counts)}
            for run in self.runs
        ]
        return {"notes": self.notes, "runs": runs}


def verify(
    path: Path,
    data_dir: Path | None = None,
    observer: Observer | None = None,
    minutes: float = 60.0,
) -> Entry:
    """Read a submission, and compute its scores from its predictions and our own data."""
    if not 0 < minutes < inf:
        raise ConfigError(f"minutes={minutes!r} (--minutes): expected a number above 0")
    observer = observer or Observer()
    try:
        with time_limit(60 * minutes), open_archive(path) as archive:
            entry = Entry(_check_name(path), _read_card(archive))
            runs = read_runs(archive, entry.card)
            bases = {run.retrieval for run in runs.values()}
            for folder, run in runs.items():
                observer.stage(f"{folder}: {run.task} on {run.corpus} {run.split}")
                dataset = _load(folder, run, data_dir, observer)
                scored = _score(archive, folder, run, dataset, folder in bases, entry.notes)
                entry.runs.append(scored)
    except BudgetError:
        raise RefusedError(
            f"not everything is scored after {minutes:g} minutes, the time that verify gives it",
            "on a slow machine give it more with --minutes",
        ) from None
    return entry


def _check_name(path: Path) -> str:
    name = path.name.removesuffix(SUFFIX)
    try:
        check_visible(name)
    except ValueError as error:
        raise RefusedError(f"the name of the file {error}", "rename it") from None
    if not 1 <= len(name) <= 200:
        raise RefusedError("the name of the file should have 1 to 200 characters", "rename it")
    return name


def _read_card(archive: ZipFile) -> Card:
    try:
        return parse_card(read_member(archive, "card.yaml", LARGEST_CARD))
    except ValueError as error:
        fault = str(error).splitlines()[0]
        raise RefusedError(f"card.yaml: {fault}", "correct the card and pack again") from None


def _refuse(folder: str, fault: str) -> RefusedError:
    return RefusedError(f"{folder}/manifest.json: {fault}", "both sides need the published data")


def _load(folder: str, run: RunManifest, data_dir: Path | None, observer: Observer) -> Dataset:
    """Return the queries that a run is of, after a check whether they are the same here."""
    check_time()
    try:
        dataset = load_once(run.corpus, run.split, tuple(run.distractors), data_dir, observer)
        dataset = select_queries(dataset, run.about or RANKING_TASK)
    except ConfigError as error:
        raise _refuse(folder, ascii(str(error))[1:-1][:300]) from None
    fingerprint = queries_fingerprint if run.generator is None else answers_fingerprint
    for name, content, ours in (
        ("corpus_fingerprint", "tables", dataset.corpus.fingerprint),
        ("queries_fingerprint", "queries or gold", fingerprint(dataset.queries)),
    ):
        if getattr(run, name) != ours:
            data = f"{run.corpus} {run.split}"
            raise _refuse(folder, f"{name}: the {content} of {data} are others than here")
    return dataset


def _score(
    archive: ZipFile,
    folder: str,
    run: RunManifest,
    dataset: Dataset,
    is_basis: bool,
    notes: list[str],
) -> ScoredRun:
    """Score a run as any run is scored; ``notes`` gets what a reader should know."""
    task = run.make_task()
    if not is_basis and not any(has_reference(task, query) for query in dataset.queries):
        raise _refuse(folder, f"no query of {run.corpus} {run.split} has a reference here")
    if run.retriever is None:
        rankings = {q.id: Retrieval(q.id, given_tables(task, q)) for q in dataset.queries}
    else:
        rankings = read_rankings(archive, folder, run, dataset, notes)
    answers = None
    if run.generator is not None:
        answers = read_answers(archive, folder, dataset, notes)
    scores: dict[str, Score] = {}
    values: list[tuple[Any, Mapping[str, Floats]]] = []
    counts: Mapping[str, Any] = {}
    try:
        if run.top_k:
            ranking_task = task if answers is None else make_task(RANKING_TASK)
            ranked = score_rankings(dataset, rankings, run.top_k, ranking_task)
            shown, per_query = dict(ranked), ranked.per_query
            if answers is None:
                _note_gold(folder, dataset, rankings, notes)
            if (answers is not None or is_basis) and not any(
                ranking.tables or ranking.error for ranking in rankings.values()
            ):  # as of no-context: answers are not built on these rankings
                shown, per_query = empty_scores(shown, per_query)
            scores |= shown
            values.append((ranked.query_ids, per_query))
            counts = ranked.counts.to_json()
        if answers is not None:
            judged = {} if task.judge is None else judge_answers(dataset, answers, task, rankings)
            answered = score_answers(dataset, answers, task, judged, rankings)
            scores |= answered
            values.append((answered.query_ids, answered.per_query))
            counts = answered.counts.to_json()
    except (ConfigError, DataError) as error:  # as of answers to queries of another task
        raise _refuse(folder, f"cannot be scored: {error!s:.300}") from None
    counts = {name: n for name, n in counts.items() if n}
    ids = [query.id for query in dataset.queries]
    return ScoredRun(run, scores, ids, align_values(ids, values), counts, is_basis)


def _note_gold(
    folder: str, dataset: Dataset, rankings: Mapping[str, Retrieval], notes: list[str]
) -> None:
    """Note rankings that are too good, for those who keep the board: gold is public."""
    on_top = [
        {*rankings[query.id].tables[: len(query.gold)]} == {*query.gold}
        for query in dataset.queries
        if query.gold
    ]
    if sum(on_top) > PERFECT * len(on_top):
        notes.append(
            f"{folder}: {sum(on_top):,} of {len(on_top):,} queries have all their gold tables on "
            "top, more than any system known"
        )
