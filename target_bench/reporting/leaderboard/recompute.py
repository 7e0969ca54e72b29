"""Scores from predictions: the same code that scores a run, over what a submission holds."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from target_bench.core import contract, registry
from target_bench.core.errors import BudgetError, ConfigError
from target_bench.core.interfaces import Dataset
from target_bench.core.observer import Observer
from target_bench.core.schema import (
    AnswerCounts,
    Counts,
    Judgement,
    Query,
    Retrieval,
    Score,
    TableId,
)
from target_bench.data.select import Loaded, Loader
from target_bench.data.sources import is_path
from target_bench.evaluation.stages.judge import judge_answers
from target_bench.evaluation.stages.score import (
    MISSING,
    Scored,
    over_no_query,
    score_answers,
    score_rankings,
)
from target_bench.reporting.leaderboard.archive import RefusedError
from target_bench.reporting.leaderboard.budget import Budget
from target_bench.reporting.leaderboard.read_submission import Read, Submission
from target_bench.reporting.leaderboard.submission_documents import RunDocument
from target_bench.runs.manifest import NO_CONTEXT
from target_bench.runs.run_identity import (
    answers_fingerprint,
    earlier_answers_fingerprint,
    earlier_note,
    queries_fingerprint,
)

_BASELINES = ("bm25", "tfidf")
"""By these it is told which queries are hard: none of them ranks a gold table first."""


@dataclass(frozen=True, eq=False)
class Checked:
    """A run of a submission, read and scored again.

    Attributes:
        place: of the run in the submission.
        document: what the submission says of it.
        dataset: the queries that it has to answer.
        rankings: those it is about, or is built on.
        answers: of a run about answers, else None.
        top: the ranking of each query of the dataset, a missing one empty.
        ranked: the scores of the rankings, over all queries of the split, missing ones as wrong.
        answered: the same of the answers, or None.
        judgements: query id -> what became of its answer, of a task that judges answers.
        hard: (n,) whether no baseline ranks a gold table of the query first.
        basis: whether a run of answers in the submission is built on it.
    """

    place: int
    document: RunDocument
    dataset: Dataset
    rankings: Read
    answers: Read | None
    top: list[Retrieval]
    ranked: Scored[Counts]
    answered: Scored[AnswerCounts] | None
    judgements: Mapping[str, Judgement]
    hard: NDArray[np.bool_]
    basis: bool

    @property
    def predictions(self) -> Read:
        """What the run is about."""
        return self.rankings if self.answers is None else self.answers

    @cached_property
    def scores(self) -> Mapping[str, Score]:
        """Metric name -> score, of rankings and answers."""
        if self.answered is None:
            return self.ranked.scores
        return {**self._under_answers[0], **self.answered.scores}

    @cached_property
    def per_query(self) -> Mapping[str, NDArray[np.float64]]:
        """Metric name -> (n,) value of every query, of rankings and answers."""
        if self.answered is None:
            return self.ranked.per_query
        return {**self._under_answers[1], **self.answered.per_query}

    @property
    def _under_answers(
        self,
    ) -> tuple[Mapping[str, Score], Mapping[str, NDArray[np.float64]]]:
        """Scores and values of the rankings that answers are built on."""
        both = self.ranked.scores, self.ranked.per_query
        return over_no_query(*both) if self.document.retriever == NO_CONTEXT else both


def table_ids(dataset: Dataset) -> dict[TableId, TableId]:
    """The ids of all tables, each to itself; rankings refer to these and hold none of their own."""
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
        """The split that a run is of; errors as for ``recompute``."""
        for name in (run.corpus, *(spec.partition(":")[0] for spec in run.distractors)):
            if is_path(name) or name not in registry.names("corpus"):
                raise RefusedError("data", f"{where}: nobody knows the corpus {name[:60]!a}")
        try:
            loaded = self._loader.load(run.corpus, run.split, tuple(run.distractors))
            return loaded if run.about is None else loaded.of_task(run.about)
        except ConfigError as error:
            raise RefusedError("data", f"{where}: {error}") from error

    def _run(self, submission: Submission, place: int, basis: bool) -> Checked:
        run, where = submission.runs[place], f"run {place}"
        if run.task not in registry.names("task"):
            raise RefusedError("data", f"{where}: nobody knows the task {run.task[:60]!a}")
        loaded = self.loaded(run, where)
        _check_data(run, loaded, where)
        known = {query.id for query in loaded.dataset.queries}
        tables = table_ids(loaded.dataset)
        ranked = place if run.retrieval is None else run.retrieval
        ranking_known = known
        if run.retrieval is not None:
            ranked_on = self.loaded(submission.runs[ranked], where)
            ranking_known = {query.id for query in ranked_on.dataset.queries}
        rankings = submission.rankings(ranked, ranking_known, tables)
        answers = None if run.retrieval is None else submission.answers(place, known)
        self._budget.check(where)
        self._observer.stage(f"{where}: {run.task} on {run.corpus} {run.split}")
        top = {q.id: rankings.found.get(q.id) or _not_ranked(q) for q in loaded.dataset.queries}
        scored = score_rankings(loaded.dataset, top, run.cutoffs)
        answered = judgements = None
        if answers is not None:
            answered, judgements = self._answered(run, loaded.dataset, answers, top, where)
        hard_ids = self._hard_queries(run, loaded)
        return Checked(
            place,
            run,
            loaded.dataset,
            rankings,
            answers,
            list(top.values()),
            scored,
            answered,
            judgements or {},
            np.array([hard_ids[query.id] for query in loaded.dataset.queries], dtype=bool),
            basis and answers is None,
        )

    def _answered(
        self,
        run: RunDocument,
        dataset: Dataset,
        answers: Read,
        rankings: Mapping[str, Retrieval],
        where: str,
    ) -> tuple[Scored[AnswerCounts], dict[str, Judgement]]:
        """The scores of answers, which are judged first where their task does so."""
        task = registry.create("task", run.task)
        task.limit_time(self._budget.seconds)
        try:
            judgements = {}
            if task.judges:
                judgements = judge_answers(dataset, answers.found, task, rankings)
            return score_answers(dataset, answers.found, task, judgements), judgements
        except BudgetError:
            raise self._budget.spent(where) from None

    def _hard_queries(self, run: RunDocument, loaded: Loaded) -> Mapping[str, bool]:
        """Query id -> whether no baseline ranks a gold table first."""
        key = (run.corpus, run.split, tuple(run.distractors), run.about)
        if key not in self._hard:
            dataset = loaded.dataset
            self._observer.stage(f"{dataset.info.name}: which queries are hard")
            met = np.max([_ranked_first(name, dataset) for name in _BASELINES], axis=0)
            ids = (query.id for query in dataset.queries)
            self._hard[key] = {i: not hit for i, hit in zip(ids, met.tolist(), strict=True)}
        return self._hard[key]


def _not_ranked(query: Query) -> Retrieval:
    return Retrieval(query.id, (), error=MISSING)


def _ranked_first(baseline: str, dataset: Dataset) -> NDArray[np.float64]:
    """(n,) whether a baseline ranks a gold table of each query first."""
    retriever = registry.create("retriever", baseline)
    retriever.embed_corpus(dataset.corpus)
    rankings: dict[str, Retrieval] = {}
    size = contract.batch_size(retriever)
    for start in range(0, len(dataset.queries), size):
        batch = dataset.queries[start : start + size]
        found = contract.retrieve(retriever, batch, 1, dataset.corpus, stop=False)
        rankings |= {retrieval.query_id: retrieval for retrieval in found}
    return score_rankings(dataset, rankings, 1).per_query["success@1"]


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
    fingerprint = queries_fingerprint if run.task == "retrieval" else answers_fingerprint
    if run.task != "retrieval" and earlier_answers_fingerprint(asked) == run.queries_fingerprint:
        raise RefusedError("data", f"{earlier_note(where)}: answer again, and submit that run")
    if fingerprint(asked) != run.queries_fingerprint:
        raise RefusedError(
            "data",
            f"{where}: the queries or gold answers of {name} are others{_differing(run, loaded)}",
        )


def _differing(run: RunDocument, loaded: Loaded) -> str:
    here = loaded.dataset.files
    names = [n for n in sorted({*here, *run.files}) if here.get(n) != run.files.get(n)]
    return f" than here ({', '.join(ascii(n[:80]) for n in names[:3])})" if names else " than here"
