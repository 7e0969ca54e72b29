"""Scores from predictions: the same code that scores a run, over what a submission holds."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from target_bench.core import contract, registry
from target_bench.core.built_in import RANKING_TASK
from target_bench.core.errors import ConfigError
from target_bench.core.identity import is_no_context
from target_bench.core.metric import AnswerCounts, Counts, Score, over_no_query
from target_bench.core.observer import Observer
from target_bench.core.schema import Dataset, Judgement, Query, Retrieval
from target_bench.core.task import Task, given_tables, has_reference
from target_bench.core.task_names import make_task
from target_bench.data.load import Loaded, Loader, is_path
from target_bench.harness.stages.judge import judge_answers
from target_bench.harness.stages.score import (
    MISSING,
    Scored,
    aligned,
    score_answers,
    score_rankings,
)
from target_bench.models.answer_reading import check_time
from target_bench.reporting.leaderboard.archive import RefusedError
from target_bench.reporting.leaderboard.documents import RunDocument
from target_bench.reporting.leaderboard.submission import (
    Submission,
    SubmittedPredictions,
    rankings_of,
)
from target_bench.runs.manifest import answers_fingerprint, queries_fingerprint

BASELINE = "bm25"
"""The retriever that decides which queries are hard: it ranks no gold table first."""


@dataclass(frozen=True, eq=False)
class RescoredRun:
    """A run of a submission, read and scored again, over all queries of its split.

    Attributes:
        place: of the run in the submission.
        document: what the submission says of it.
        task: what it is about.
        dataset: the n queries that it has to answer.
        rankings: those it is about, or is built on; none without a retriever.
        answers: of a run about answers, else None.
        top: the ranking of each query, a missing one empty; without a retriever the tables that
            the query is given.
        judgements: query id -> what became of its answer, of a task that judges answers.
        hard: (n,) whether the baseline ranks no gold table of the query first; none is without a
            retriever.
        basis: whether a run of answers in the submission is built on it.
        scores: metric name -> score of rankings and answers, missing ones as wrong.
        per_query: metric name -> (n,) value of each query; NaN where the metric is not over it.
        counts: the denominators of the rankings.
        answer_counts: the denominators of the answers, or None.
    """

    place: int
    document: RunDocument
    task: Task[Any]
    dataset: Dataset
    rankings: SubmittedPredictions
    answers: SubmittedPredictions | None
    top: list[Retrieval]
    judgements: Mapping[str, Judgement]
    hard: NDArray[np.bool_]
    basis: bool
    scores: dict[str, Score]
    per_query: dict[str, NDArray[np.float64]]
    counts: Counts
    answer_counts: AnswerCounts | None

    @property
    def predictions(self) -> SubmittedPredictions:
        """What the run is about: its answers, else its rankings."""
        return self.rankings if self.answers is None else self.answers


def recompute(
    submission: Submission, data_dir: Path | None, observer: Observer
) -> list[RescoredRun]:
    """Score all runs of a submission, for as long as ``time_limit`` gives.

    Args:
        submission: it, open.
        data_dir: as for ``TARGET``.
        observer: gets progress.

    Raises:
        RefusedError: a run is of other data than what is here.
        BudgetError: the time is over.
        DataError: the data are not here, or broken.
    """
    loader = Loader(data_dir, observer)
    hard: dict[tuple[Any, ...], set[str]] = {}
    bases = {run.retrieval for run in submission.runs}
    runs = []
    for place, run in enumerate(submission.runs):
        check_time()
        loaded = _loaded(run, f"run {place}", loader)
        key = (run.corpus, run.split, tuple(run.distractors), run.about)
        if run.retriever is not None and key not in hard:
            observer.stage(f"{loaded.dataset.info.name}: which queries are hard")
            hard[key] = _hard_queries(loaded.dataset)
        observer.stage(f"run {place}: {run.task} on {run.corpus} {run.split}")
        hard_queries = hard[key] if run.retriever is not None else set()
        runs.append(_rescored(submission, place, loaded.dataset, hard_queries, place in bases))
    return runs


def _loaded(run: RunDocument, where: str, loader: Loader) -> Loaded:
    """Return the split that a run is of, after a look whether it is the same here."""
    if run.task not in registry.names("task"):
        raise RefusedError(
            f"{where}: the task {run.task[:60]!a} is not registered here; install its package",
            "data",
        )
    for name in (run.corpus, *(spec.partition(":")[0] for spec in run.distractors)):
        if is_path(name) or name not in registry.names("corpus"):
            raise RefusedError(f"{where}: the corpus {name[:60]!a} is not registered here", "data")
    try:
        loaded = loader.load(run.corpus, run.split, tuple(run.distractors))
        loaded = loaded.of_task(run.about or RANKING_TASK)
    except ConfigError as error:
        raise RefusedError(f"{where}: {error}", "data") from error
    name, here = f"{run.corpus} {run.split}", loaded.dataset.files
    differing = [n for n in sorted({*here, *run.files}) if here.get(n) != run.files.get(n)]
    named = ", ".join(ascii(n[:80]) for n in differing[:3])
    than = f" than here ({named})" if named else " than here"
    if loaded.dataset.corpus.fingerprint != run.corpus_fingerprint:
        raise RefusedError(f"{where}: the tables of {name} are others{than}", "data")
    fingerprint = queries_fingerprint if run.generator is None else answers_fingerprint
    if fingerprint(loaded.dataset.queries) != run.queries_fingerprint:
        raise RefusedError(f"{where}: the queries or gold of {name} are others{than}", "data")
    return loaded


def _rescored(
    submission: Submission, place: int, dataset: Dataset, hard: set[str], basis: bool
) -> RescoredRun:
    run = submission.runs[place]
    task = make_task(f"{run.task}:sets=true" if run.sets else run.task)
    if not basis and not any(has_reference(task, query) for query in dataset.queries):
        raise RefusedError(
            f"run {place}: no query of {run.corpus} {run.split} has a reference here", "data"
        )
    rankings, ranked_place = SubmittedPredictions(), rankings_of(run, place)
    if ranked_place is not None:
        rankings = submission.rankings(ranked_place, dataset)
    answers = None if run.generator is None else submission.answers(place, dataset)
    check_time()
    top = {
        query.id: rankings.by_query.get(query.id) or _given(query, run, task)
        for query in dataset.queries
    }
    ranking_task = task if task.answer == "ranking" else RANKING_TASK
    ranked = score_rankings(dataset, top, run.cutoffs, ranking_task) if run.cutoffs else None
    counts = ranked.counts if ranked else Counts(len(dataset.queries), 0, 0, 0, 0, 0, 0)
    answered, judgements = None, dict[str, Judgement]()
    if answers is not None:
        if task.judge is not None:
            if task.judge.replays:
                raise RefusedError(f"run {place}: a model judges answers to {run.task}")
            judgements = judge_answers(dataset, answers.by_query, task, top, {})
        answered = score_answers(dataset, answers.by_query, task, judgements, top)
        if ranked and is_no_context(run.identity.get("retriever", {})):
            scores, values = over_no_query(ranked.scores, ranked.per_query)
            ranked = replace(ranked, scores=scores, per_query=values)
    parts: list[Scored[Any]] = [part for part in (ranked, answered) if part is not None]
    return RescoredRun(
        place=place,
        document=run,
        task=task,
        dataset=dataset,
        rankings=rankings,
        answers=answers,
        top=list(top.values()),
        judgements=judgements,
        hard=np.array([query.id in hard for query in dataset.queries], dtype=bool),
        basis=basis and answers is None,
        scores={name: score for part in parts for name, score in part.scores.items()},
        per_query=aligned(list(top), [(part.query_ids, part.per_query) for part in parts]),
        counts=counts,
        answer_counts=answered.counts if answered else None,
    )


def _given(query: Query, run: RunDocument, task: Task[Any]) -> Retrieval:
    """Return the tables of a query without a ranking: those that it is given, or none."""
    if run.retriever is None:
        return Retrieval(query.id, given_tables(task, query))
    return Retrieval(query.id, (), error=MISSING)


def _hard_queries(dataset: Dataset) -> set[str]:
    """Return the queries of which the baseline ranks no gold table first."""
    hard = {query.id for query in dataset.queries if query.gold}
    if not hard:
        return hard
    retriever = registry.create("retriever", BASELINE)
    retriever.embed_corpus(dataset.corpus)
    size = contract.batch_size(retriever)
    for start in range(0, len(dataset.queries), size):
        batch = dataset.queries[start : start + size]
        gold = {query.id: query.gold for query in batch}
        for top in contract.retrieve(retriever, batch, 1, dataset.corpus, stop=False):
            if top.tables and top.tables[0] in gold[top.query_id]:
                hard.discard(top.query_id)
    return hard
