"""Scores from predictions: the same code that scores a run, over what a submission holds."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import inf
from pathlib import Path
from time import monotonic
from typing import Any

import numpy as np
from numpy.typing import NDArray

from target_bench.core import contract, registry
from target_bench.core.built_in import RANKING_TASK
from target_bench.core.errors import BudgetError, ConfigError
from target_bench.core.identity import is_no_context
from target_bench.core.metric import AnswerCounts, Counts, Score, over_no_query
from target_bench.core.observer import Observer
from target_bench.core.schema import Dataset, Judgement, Query, Retrieval, TableId
from target_bench.core.task import Task, given_tables, has_reference
from target_bench.core.task_names import make_task
from target_bench.data.load import Loaded, Loader, is_path
from target_bench.harness.stages.judge import judge_answers
from target_bench.harness.stages.score import (
    MISSING,
    Scored,
    aligned,
    all_answers,
    scorable,
    score_answers,
    score_rankings,
)
from target_bench.models.answer_reading import time_limit
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

MINUTES = 60.0
"""Unless ``verify`` is given another number."""


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


def table_ids(dataset: Dataset) -> dict[TableId, TableId]:
    """Map the id of each table to itself: rankings refer to these and hold no copies."""
    return {table_id: table_id for table_id in dataset.corpus.ids}


class Recomputer:
    """Loads every split once, and scores runs on it, for as long as there is time.

    Args:
        data_dir: as for ``TARGET``.
        observer: gets progress.
        minutes: how long all of it may take.

    Raises:
        ConfigError: ``minutes`` is not a positive number.
    """

    def __init__(self, data_dir: Path | None, observer: Observer, minutes: float = MINUTES) -> None:
        if not 0 < minutes < inf:
            raise ConfigError(f"minutes={minutes!r} (--minutes): expected a number above 0")
        self._minutes, self._end = minutes, monotonic() + 60 * minutes
        self._loader = Loader(data_dir, observer)
        self._observer = observer
        self._hard: dict[tuple[Any, ...], set[str]] = {}

    def recompute(self, submission: Submission) -> list[RescoredRun]:
        """Score all runs.

        Raises:
            RefusedError: a run is of other data than what is here, or the time is over.
            DataError: the data are not here, or broken.
        """
        bases = {run.retrieval for run in submission.runs}
        return [self._run(submission, i, i in bases) for i in range(len(submission.runs))]

    def check_time(self, where: str) -> None:
        """See that time is left; ``where`` says what comes next.

        Raises:
            RefusedError: it is over.
        """
        if monotonic() >= self._end:
            raise self.too_long(where)

    def too_long(self, where: str) -> RefusedError:
        """Return the refusal of a submission that takes longer."""
        return RefusedError(
            f"{where}: not everything is checked after {self._minutes:g} minutes, the time that "
            "verify gives a submission. On a slow machine give it more with --minutes"
        )

    def _run(self, submission: Submission, place: int, basis: bool) -> RescoredRun:
        run, where = submission.runs[place], f"run {place}"
        if run.task not in registry.names("task"):
            raise RefusedError(
                f"{where}: the task {run.task[:60]!a} is not registered here; install its package",
                "data",
            )
        task = make_task(f"{run.task}:sets=true" if run.sets else run.task)
        loaded = self._loaded(run, where)
        _check_data(run, loaded, where)
        dataset = loaded.dataset
        known = {query.id for query in dataset.queries}
        if not basis and not any(has_reference(task, query) for query in dataset.queries):
            raise RefusedError(
                f"{where}: no query of {run.corpus} {run.split} has a reference here", "data"
            )
        rankings, ranked_place = SubmittedPredictions(), rankings_of(run, place)
        if ranked_place is not None:
            other = submission.runs[ranked_place]
            ranked_on = self._loaded(other, f"run {ranked_place}").dataset
            query_ids = {query.id for query in ranked_on.queries}
            rankings = submission.rankings(ranked_place, query_ids, table_ids(ranked_on))
        answers = None if run.generator is None else submission.answers(place, known)
        self.check_time(where)
        self._observer.stage(f"{where}: {run.task} on {run.corpus} {run.split}")
        top = {
            query.id: rankings.by_query.get(query.id) or _given(query, run, task)
            for query in dataset.queries
        }
        ranking_task = task if task.answer == "ranking" else RANKING_TASK
        ranked = score_rankings(dataset, top, run.cutoffs, ranking_task) if run.cutoffs else None
        counts = ranked.counts if ranked else Counts(len(known), 0, 0, 0, 0, 0, 0)
        answered, judgements = None, dict[str, Judgement]()
        if answers is not None:
            recorded = submission.judgements(place)
            answered, judgements = self._answered(task, dataset, answers, top, recorded, where)
            if ranked and is_no_context(run.identity.get("retriever", {})):
                scores, values = over_no_query(ranked.scores, ranked.per_query)
                ranked = replace(ranked, scores=scores, per_query=values)
        parts: list[Scored[Any]] = [part for part in (ranked, answered) if part is not None]
        hard = self._hard_queries(run, loaded) if run.retriever is not None else set()
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

    def _loaded(self, run: RunDocument, where: str) -> Loaded:
        """Return the split that a run is of, of a registered corpus."""
        for name in (run.corpus, *(spec.partition(":")[0] for spec in run.distractors)):
            if is_path(name) or name not in registry.names("corpus"):
                raise RefusedError(
                    f"{where}: the corpus {name[:60]!a} is not registered here", "data"
                )
        try:
            loaded = self._loader.load(run.corpus, run.split, tuple(run.distractors))
            return loaded.of_task(run.about or RANKING_TASK)
        except ConfigError as error:
            raise RefusedError(f"{where}: {error}", "data") from error

    def _answered(
        self,
        task: Task[Any],
        dataset: Dataset,
        answers: SubmittedPredictions,
        rankings: Mapping[str, Retrieval],
        recorded: Mapping[str, Judgement],
        where: str,
    ) -> tuple[Scored[AnswerCounts], dict[str, Judgement]]:
        """Return the scores of answers, which are judged first where their task does so."""
        by_query = answers.by_query
        judgements: dict[str, Judgement] = {}
        try:
            with time_limit(self._end - monotonic()):
                if task.judge is not None:
                    known = _replayed(task, dataset, answers, rankings, recorded, where)
                    judgements = judge_answers(dataset, by_query, task, rankings, known)
                return score_answers(dataset, by_query, task, judgements, rankings), judgements
        except BudgetError:
            raise self.too_long(where) from None

    def _hard_queries(self, run: RunDocument, loaded: Loaded) -> set[str]:
        """Return the queries of which the baseline ranks no gold table first."""
        key = (run.corpus, run.split, tuple(run.distractors), run.about)
        if key not in self._hard:
            dataset = loaded.dataset
            self._observer.stage(f"{dataset.info.name}: which queries are hard")
            gold = {query.id for query in dataset.queries if query.gold}
            self._hard[key] = gold - _ranked_first(dataset)
        return self._hard[key]


def _given(query: Query, run: RunDocument, task: Task[Any]) -> Retrieval:
    """Return the tables of a query without a ranking: those that it is given, or none."""
    if run.retriever is None:
        return Retrieval(query.id, given_tables(task, query))
    return Retrieval(query.id, (), error=MISSING)


def _replayed(
    task: Task[Any],
    dataset: Dataset,
    answers: SubmittedPredictions,
    rankings: Mapping[str, Retrieval],
    recorded: Mapping[str, Judgement],
    where: str,
) -> Mapping[str, Judgement]:
    """Return the judgements that are taken as recorded; none where judging can be repeated.

    Raises:
        RefusedError: judging cannot be repeated, and an answer has no judgement of itself.
    """
    if task.judge is None or not task.judge.replays:
        return {}
    dataset = scorable(task, dataset)
    generations = {i: a.generation for i, a in all_answers(dataset, answers.by_query).items()}
    known = {i: judged for i, judged in recorded.items() if i in generations}
    unjudged = task.judge.unjudged(dataset, generations, rankings, known)
    missing = [query.id for query in unjudged if generations[query.id].error is None]
    if missing:
        raise RefusedError(
            f"{where}: {len(missing):,} answers have no recorded judgement of this answer, the "
            f"first is to {missing[0][:60]!a}. A model judges answers to {task.name}, and it "
            "is not asked again here"
        )
    return known


def _ranked_first(dataset: Dataset) -> set[str]:
    """Return the queries of which the baseline ranks a gold table first."""
    if not len(dataset.corpus):
        return set()
    retriever = registry.create("retriever", BASELINE)
    retriever.embed_corpus(dataset.corpus)
    size = contract.batch_size(retriever)
    first = set()
    for start in range(0, len(dataset.queries), size):
        batch = dataset.queries[start : start + size]
        gold = {query.id: query.gold for query in batch}
        for top in contract.retrieve(retriever, batch, 1, dataset.corpus, stop=False):
            if top.tables and top.tables[0] in gold[top.query_id]:
                first.add(top.query_id)
    return first


def _check_data(run: RunDocument, loaded: Loaded, where: str) -> None:
    """See that the run is of the tables, queries and references that are here."""
    name, here = f"{run.corpus} {run.split}", loaded.dataset.files
    others = [n for n in sorted({*here, *run.files}) if here.get(n) != run.files.get(n)]
    than = (
        f" than here ({', '.join(ascii(n[:80]) for n in others[:3])})" if others else " than here"
    )
    if loaded.dataset.corpus.fingerprint != run.corpus_fingerprint:
        raise RefusedError(f"{where}: the tables of {name} are others{than}", "data")
    try:
        queries = loaded.of_database(run.database).limited(run.limit).dataset.queries
    except ConfigError as error:
        raise RefusedError(f"{where}: {error}", "data") from error
    fingerprint = queries_fingerprint if run.generator is None else answers_fingerprint
    if fingerprint(queries) != run.queries_fingerprint:
        raise RefusedError(f"{where}: the queries or gold of {name} are others{than}", "data")
