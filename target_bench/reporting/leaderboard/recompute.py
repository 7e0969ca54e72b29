"""Scores from predictions: the same code that scores a run, over what a submission holds."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from target_bench.core import contract, registry
from target_bench.core.built_in import RANKING_TASK
from target_bench.core.errors import BudgetError, ConfigError
from target_bench.core.metric import AnswerCounts, Counts, Score
from target_bench.core.metric_parts import over_no_query
from target_bench.core.observer import Observer
from target_bench.core.schema import Dataset, Judgement, Query, Retrieval, TableId
from target_bench.core.task import Task
from target_bench.data.read_split import is_path
from target_bench.data.select import Loaded, Loader, make_task
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
from target_bench.reporting.leaderboard.archive import Budget, RefusedError
from target_bench.reporting.leaderboard.document_models import RunDocument
from target_bench.reporting.leaderboard.read_submission import Read, Submission
from target_bench.runs.manifest import NO_CONTEXT, answers_fingerprint, queries_fingerprint
from target_bench.sql.engines import Limits
from target_bench.sql.workers import cores

BASELINE = "bm25"
"""The retriever that decides which queries are hard: it ranks no gold table first."""


@dataclass(frozen=True, eq=False)
class Checked:
    """A run of a submission, read and scored again.

    Attributes:
        place: of the run in the submission.
        document: what the submission says of it.
        task: what it is about.
        dataset: the queries that it has to answer.
        rankings: those it is about, or is built on; none without a retriever.
        answers: of a run about answers, else None.
        top: the ranking of each query of the dataset, a missing one empty; without a retriever the
            tables that the query is given.
        ranked: the scores of the rankings, over all queries of the split, missing ones as wrong;
            None without a retriever.
        answered: the same of the answers, or None.
        judgements: query id -> what became of its answer, of a task that judges answers.
        hard: (n,) whether the baseline ranks no gold table of the query first; none is without a
            retriever.
        basis: whether a run of answers in the submission is built on it.
    """

    place: int
    document: RunDocument
    task: Task[Any]
    dataset: Dataset
    rankings: Read
    answers: Read | None
    top: list[Retrieval]
    ranked: Scored[Counts] | None
    answered: Scored[AnswerCounts] | None
    judgements: Mapping[str, Judgement]
    hard: NDArray[np.bool_]
    basis: bool

    @property
    def predictions(self) -> Read:
        """The task of the run."""
        return self.rankings if self.answers is None else self.answers

    @property
    def counts(self) -> Counts:
        """The denominators of the rankings; without a retriever nothing but how many were asked."""
        if self.ranked is None:
            return Counts(len(self.dataset.queries), 0, 0, 0, 0, 0, 0)
        return self.ranked.counts

    @cached_property
    def scores(self) -> Mapping[str, Score]:
        """Metric name -> score, of rankings and answers."""
        return {name: score for part in self._parts for name, score in part.scores.items()}

    @cached_property
    def per_query(self) -> Mapping[str, NDArray[np.float64]]:
        """Metric name -> (n,) value of every query of the dataset, of rankings and answers.

        NaN where a metric is not over the query, as for one without a reference.
        """
        parts = [(part.query_ids, part.per_query) for part in self._parts]
        return aligned([query.id for query in self.dataset.queries], parts)

    @property
    def _parts(self) -> list[Scored[Any]]:
        """All scores; rankings that answers are not built on are over no query."""
        ranked = self.ranked
        if ranked is not None and self.answered and self.document.retriever == NO_CONTEXT:
            scores, values = over_no_query(ranked.scores, ranked.per_query)
            ranked = replace(ranked, scores=scores, per_query=values)
        return [part for part in (ranked, self.answered) if part is not None]


def ranked_place(run: RunDocument, place: int) -> int | None:
    """Return the place of the rankings of a run: its own, those it is built on, or None."""
    return place if run.generator is None else run.retrieval


def table_ids(dataset: Dataset) -> dict[TableId, TableId]:
    """Map the id of each table to itself: rankings refer to these and hold no copies."""
    return {table_id: table_id for table_id in dataset.corpus.ids}


class Recomputer:
    """Loads every split once, and scores runs on it.

    Args:
        data_dir: as for ``TARGET``.
        observer: gets progress.
        budget: the time for all of it.
    """

    def __init__(
        self,
        data_dir: Path | None,
        observer: Observer,
        budget: Budget | None = None,
    ) -> None:
        self._loader = Loader(data_dir, observer)
        self._observer = observer
        self._budget = budget or Budget()
        self._hard: dict[tuple[Any, ...], Mapping[str, bool]] = {}

    def recompute(self, submission: Submission) -> list[Checked]:
        """All runs.

        Raises:
            RefusedError: a run is of other data than what is here, or the time is over.
            DataError: the data are not here, or broken.
        """
        bases = {run.retrieval for run in submission.runs}
        return [
            self._run(submission, place, place in bases) for place in range(len(submission.runs))
        ]

    def loaded(self, run: RunDocument, where: str = "run") -> Loaded:
        """Return the split that a run is of; errors as for ``recompute``."""
        for name in (run.corpus, *(spec.partition(":")[0] for spec in run.distractors)):
            if is_path(name) or name not in registry.names("corpus"):
                raise RefusedError(
                    "data", f"{where}: the corpus {name[:60]!a} is not registered here"
                )
        try:
            loaded = self._loader.load(run.corpus, run.split, tuple(run.distractors))
            return loaded.of_task(run.about or RANKING_TASK)
        except ConfigError as error:
            raise RefusedError("data", f"{where}: {error}") from error

    def _run(self, submission: Submission, place: int, basis: bool) -> Checked:
        run, where = submission.runs[place], f"run {place}"
        task = _task(run, where)
        loaded = self.loaded(run, where)
        _check_data(run, loaded, where)
        dataset = loaded.dataset
        if not basis and not any(map(task.has_reference, dataset.queries)):
            raise RefusedError(
                "data", f"{where}: no query of {run.corpus} {run.split} has a reference here"
            )
        rankings = self._rankings(submission, place, loaded)
        answers = None
        if run.generator is not None:
            answers = submission.answers(place, {query.id for query in dataset.queries})
        self._budget.check(where)
        self._observer.stage(f"{where}: {run.task} on {run.corpus} {run.split}")
        top = {
            q.id: rankings.found.get(q.id) or _tables(q, run, task, dataset)
            for q in dataset.queries
        }
        ranking_task = task if task.ranks else RANKING_TASK
        ranked = score_rankings(dataset, top, run.cutoffs, ranking_task) if run.cutoffs else None
        answered = judgements = None
        if answers is not None:
            recorded = submission.judgements(place)
            answered, judgements = self._answered(task, dataset, answers, top, recorded, where)
        hard_ids = self._hard_queries(run, loaded) if run.retriever is not None else {}
        return Checked(
            place,
            run,
            task,
            dataset,
            rankings,
            answers,
            list(top.values()),
            ranked,
            answered,
            judgements or {},
            np.array([hard_ids.get(query.id, False) for query in dataset.queries], dtype=bool),
            basis and answers is None,
        )

    def _rankings(self, submission: Submission, place: int, loaded: Loaded) -> Read:
        """Return the rankings that a run is about, or is built on; none without a retriever."""
        ranked = ranked_place(submission.runs[place], place)
        if ranked is None:
            return Read()
        if ranked != place:
            loaded = self.loaded(submission.runs[ranked], f"run {ranked}")
        known = {query.id for query in loaded.dataset.queries}
        return submission.rankings(ranked, known, table_ids(loaded.dataset))

    def _answered(
        self,
        task: Task[Any],
        dataset: Dataset,
        answers: Read,
        rankings: Mapping[str, Retrieval],
        recorded: Mapping[str, Judgement] | None,
        where: str,
    ) -> tuple[Scored[AnswerCounts], dict[str, Judgement]]:
        """Return the scores of answers, which are judged first where their task does so."""
        task.limit_time(self._budget.seconds)
        try:
            judgements = {}
            if task.judges:
                if task.answer == "sql":
                    self._observer.stage(
                        f"{where}: SQL runs {cores()} statements at a time, "
                        f"{Limits().seconds:g} s each at most"
                    )
                known = _replayed(task, dataset, answers, rankings, recorded, where)
                judgements = judge_answers(dataset, answers.found, task, rankings, known)
            return score_answers(dataset, answers.found, task, judgements, rankings), judgements
        except BudgetError:
            raise self._budget.spent(where) from None

    def _hard_queries(self, run: RunDocument, loaded: Loaded) -> Mapping[str, bool]:
        """Query id -> whether the baseline ranks no gold table first."""
        key = (run.corpus, run.split, tuple(run.distractors), run.about)
        if key not in self._hard:
            dataset = loaded.dataset
            self._observer.stage(f"{dataset.info.name}: which queries are hard")
            met = _ranked_first(dataset)
            gold = (query for query in dataset.queries if query.gold)
            self._hard[key] = {query.id: query.id not in met for query in gold}
        return self._hard[key]


def _task(run: RunDocument, where: str) -> Task[Any]:
    """Return the task of a run, with its default settings.

    Raises:
        RefusedError: it is not registered.
    """
    if run.task not in registry.names("task"):
        raise RefusedError(
            "data",
            f"{where}: the task {run.task[:60]!a} is not registered here; install its package",
        )
    return make_task(run.task)


def _tables(query: Query, run: RunDocument, task: Task[Any], dataset: Dataset) -> Retrieval:
    """Return the tables of a query without a ranking: those that it is given, or none."""
    if run.retriever is None:
        return Retrieval(query.id, tuple(task.given_tables(query, dataset.corpus)))
    return Retrieval(query.id, (), error=MISSING)


def _replayed(
    task: Task[Any],
    dataset: Dataset,
    answers: Read,
    rankings: Mapping[str, Retrieval],
    recorded: Mapping[str, Judgement] | None,
    where: str,
) -> Mapping[str, Judgement]:
    """Return the judgements that are taken as recorded; none where judging can be repeated.

    Raises:
        RefusedError: judging cannot be repeated, and an answer has no judgement of itself.
    """
    if not task.replays:
        return {}
    dataset = scorable(task, dataset)
    generations = {i: one.generation for i, one in all_answers(dataset, answers.found).items()}
    known = {i: one for i, one in (recorded or {}).items() if i in generations}
    open_ones = task.unjudged(dataset, generations, rankings, known)
    missing = [query.id for query in open_ones if generations[query.id].error is None]
    if missing:
        raise RefusedError(
            "judgements",
            f"{where}: {len(missing):,} answers have no recorded judgement of this answer, the "
            f"first is to {missing[0][:60]!a}. A model judges answers to {task.name}, and it "
            "is not asked again here",
        )
    return known


def _ranked_first(dataset: Dataset) -> set[str]:
    """Return the queries of which the baseline ranks a gold table first."""
    if not len(dataset.corpus):
        return set()
    retriever = registry.create("retriever", BASELINE)
    retriever.embed_corpus(dataset.corpus)
    rankings: dict[str, Retrieval] = {}
    size = contract.batch_size(retriever)
    for start in range(0, len(dataset.queries), size):
        batch = dataset.queries[start : start + size]
        found = contract.retrieve(retriever, batch, 1, dataset.corpus, stop=False)
        rankings |= {retrieval.query_id: retrieval for retrieval in found}
    scored = score_rankings(dataset, rankings, 1)
    first = scored.per_query["success@1"].tolist() if scored.scores else []
    return {query_id for query_id, hit in zip(scored.query_ids, first, strict=True) if hit}


def _check_data(run: RunDocument, loaded: Loaded, where: str) -> None:
    """See that the run is of the tables, queries and references that are here."""
    name = f"{run.corpus} {run.split}"
    if loaded.dataset.corpus.fingerprint != run.corpus_fingerprint:
        raise RefusedError(
            "data", f"{where}: the tables of {name} are others{_differing(run, loaded)}"
        )
    try:
        asked = loaded.of_database(run.database).limited(run.limit).dataset.queries
    except ConfigError as error:
        raise RefusedError("data", f"{where}: {error}") from error
    ranks = run.generator is None
    fingerprint = queries_fingerprint if ranks else answers_fingerprint
    if fingerprint(asked) != run.queries_fingerprint:
        raise RefusedError(
            "data",
            f"{where}: the queries or gold answers of {name} are others{_differing(run, loaded)}",
        )


def _differing(run: RunDocument, loaded: Loaded) -> str:
    here = loaded.dataset.files
    names = [n for n in sorted({*here, *run.files}) if here.get(n) != run.files.get(n)]
    return f" than here ({', '.join(ascii(n[:80]) for n in names[:3])})" if names else " than here"
