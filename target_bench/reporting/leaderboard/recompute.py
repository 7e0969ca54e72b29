"""Scores from predictions: the same code that scores a run, over what a submission holds."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from target_bench.core import contract, registry
from target_bench.core.built_in import RANKING_TASK
from target_bench.core.errors import ConfigError
from target_bench.core.identity import is_no_context
from target_bench.core.metric import Counts, Score, over_no_query
from target_bench.core.observer import Observer
from target_bench.core.schema import Dataset, Judgement, Retrieval
from target_bench.core.task import Task, given_tables, has_reference
from target_bench.core.task_names import make_task
from target_bench.data.load import Loader, is_path
from target_bench.harness.stages.judge import judge_answers
from target_bench.harness.stages.score import MISSING, aligned, score_answers, score_rankings
from target_bench.models.answer_reading import check_time
from target_bench.reporting.leaderboard.documents import RunDocument, RunFields
from target_bench.reporting.leaderboard.entry import RunEntry
from target_bench.reporting.leaderboard.submission import (
    Predictions,
    RefusedError,
    Submission,
    predictions_file,
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
        entry: what a leaderboard holds of it; missing predictions are scored as wrong.
    """

    place: int
    document: RunDocument
    task: Task[Any]
    dataset: Dataset
    rankings: Predictions
    answers: Predictions | None
    top: list[Retrieval]
    judgements: Mapping[str, Judgement]
    hard: NDArray[np.bool_]
    entry: RunEntry

    @property
    def predictions(self) -> Predictions:
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
    runs = []
    for place, run in enumerate(submission.runs):
        check_time()
        dataset = _load(run, f"run {place}", loader)
        key = (run.corpus, run.split, tuple(run.distractors), run.about)
        if run.retriever is not None and key not in hard:
            observer.stage(f"{dataset.info.name}: which queries are hard")
            hard[key] = _hard_queries(dataset)
        observer.stage(f"run {place}: {run.task} on {run.corpus} {run.split}")
        hard_queries = hard[key] if run.retriever is not None else set()
        runs.append(_rescored(submission, place, dataset, hard_queries))
    return runs


def _load(run: RunDocument, where: str, loader: Loader) -> Dataset:
    """Return the queries that a run is of, after a look whether they are the same here."""

    def refused(message: str) -> RefusedError:
        return RefusedError(f"{where}: {message}", "data")

    if run.task not in registry.names("task"):
        raise refused(f"the task {run.task[:60]!a} is not registered here; install its package")
    for name in (run.corpus, *(spec.partition(":")[0] for spec in run.distractors)):
        if is_path(name) or name not in registry.names("corpus"):
            raise refused(f"the corpus {name[:60]!a} is not registered here")
    try:
        loaded = loader.load(run.corpus, run.split, tuple(run.distractors))
        dataset = loaded.of_task(run.about or RANKING_TASK).dataset
    except ConfigError as error:
        raise refused(str(error)) from error
    differing = dict(dataset.files.items() ^ run.files.items())
    files = ", ".join(ascii(name[:80]) for name in sorted(differing)[:3])
    than = f"{run.corpus} {run.split} are others than here" + (f" ({files})" if files else "")
    if dataset.corpus.fingerprint != run.corpus_fingerprint:
        raise refused(f"the tables of {than}")
    fingerprint = queries_fingerprint if run.generator is None else answers_fingerprint
    if fingerprint(dataset.queries) != run.queries_fingerprint:
        raise refused(f"the queries or gold of {than}")
    return dataset


def _rescored(submission: Submission, place: int, dataset: Dataset, hard: set[str]) -> RescoredRun:
    run = submission.runs[place]
    basis = run.generator is None and place in {other.retrieval for other in submission.runs}
    task = make_task(f"{run.task}:sets=true" if run.sets else run.task)
    if not basis and not any(has_reference(task, query) for query in dataset.queries):
        raise RefusedError(
            f"run {place}: no query of {run.corpus} {run.split} has a reference here", "data"
        )
    ranked_place = rankings_of(run, place)
    rankings = Predictions() if ranked_place is None else submission.rankings(ranked_place, dataset)
    answers = None if run.generator is None else submission.answers(place, dataset)
    check_time()
    top: dict[str, Retrieval] = {}
    for query in dataset.queries:
        other = Retrieval(query.id, (), error=MISSING)
        if run.retriever is None:
            other = Retrieval(query.id, given_tables(task, query))
        top[query.id] = rankings.by_query.get(query.id, other)
    counts, answer_counts = Counts(len(dataset.queries), 0, 0, 0, 0, 0, 0), None
    scores: dict[str, Score] = {}
    per_query = []  # (query ids, metric -> values)
    if run.cutoffs:
        ranking_task = task if task.answer == "ranking" else RANKING_TASK
        ranked = score_rankings(dataset, top, run.cutoffs, ranking_task)
        shown, values, counts = ranked.scores, ranked.per_query, ranked.counts
        if no_context(run) and (basis or answers is not None):
            shown, values = over_no_query(shown, values)
        scores |= shown
        per_query.append((ranked.query_ids, values))
    judgements: Mapping[str, Judgement] = {}
    if answers is not None:
        if task.judge is not None:
            if task.judge.replays:
                raise RefusedError(f"run {place}: a model judges answers to {run.task}")
            judgements = judge_answers(dataset, answers.by_query, task, top, {})
        answered = score_answers(dataset, answers.by_query, task, judgements, top)
        answer_counts = answered.counts
        scores |= answered.scores
        per_query.append((answered.query_ids, answered.per_query))
    entry = RunEntry(
        **run.model_dump(include=set(RunFields.model_fields)),
        basis=basis,
        title=task.title[:100],
        scores=scores,
        query_ids=list(top),
        per_query=aligned(list(top), per_query),
        counts=counts,
        answers=answer_counts,
        retriever_identity=run.identity.get("retriever", {}),
        generator_identity=run.identity.get("generator", {}),
        predictions_sha256=submission.hashes[predictions_file(run, place)],
    )
    hard_queries = np.array([name in hard for name in top], dtype=bool)
    return RescoredRun(
        place, run, task, dataset, rankings, answers, list(top.values()), judgements,
        hard_queries, entry,
    )  # fmt: skip


def no_context(run: RunDocument) -> bool:
    """Whether a run retrieves nothing, so that its rankings have scores as a result alone."""
    return is_no_context(run.identity.get("retriever", {}))


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
