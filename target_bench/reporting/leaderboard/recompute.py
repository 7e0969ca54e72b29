"""Scores from predictions: the same code that scores a run, over what a submission holds."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from target_bench.core import registry
from target_bench.core.errors import BudgetError, ConfigError
from target_bench.core.interfaces import Dataset
from target_bench.core.observer import Observer
from target_bench.core.schema import Generation, Query, Retrieval, TableId
from target_bench.data.select import Loaded, Loader
from target_bench.data.splits import is_path
from target_bench.evaluation import inputs, pipeline
from target_bench.evaluation.inputs import Answering
from target_bench.evaluation.options import RunOptions
from target_bench.evaluation.pipeline import Cell
from target_bench.evaluation.results import Result
from target_bench.evaluation.stages.generate import Answerer
from target_bench.evaluation.stages.retrieve import Subject
from target_bench.reporting.leaderboard.archive import RefusedError
from target_bench.reporting.leaderboard.budget import Budget
from target_bench.reporting.leaderboard.read_submission import Read, Submission
from target_bench.reporting.leaderboard.submission_documents import RunDocument
from target_bench.runs.answer_log import Answered
from target_bench.runs.run_identity import (
    answers_fingerprint,
    earlier_answers_fingerprint,
    earlier_note,
    queries_fingerprint,
)

_BASELINES = ("bm25", "tfidf")
"""By these it is told which queries are hard: none of them ranks a gold table first."""

MISSING = "missing"


@dataclass(frozen=True, eq=False)
class Checked:
    """A run of a submission, read and scored again.

    Attributes:
        place: of the run in the submission.
        document: what the submission says of it.
        dataset: the queries that it has to answer.
        rankings: those it is about, or is built on.
        answers: of a run about answers, else None.
        result: the scores of all queries of the split, missing ones as wrong.
        hard: (n,) whether no baseline ranks a gold table of the query first.
        basis: whether a run of answers in the submission is built on it.
    """

    place: int
    document: RunDocument
    dataset: Dataset
    rankings: Read
    answers: Read | None
    result: Result
    hard: NDArray[np.bool_]
    basis: bool

    @property
    def predictions(self) -> Read:
        """What the run is about."""
        return self.rankings if self.answers is None else self.answers

    @property
    def top(self) -> list[Retrieval]:
        """The ranking of each query of the dataset, a missing one empty."""
        found = self.rankings.found
        return [found.get(q.id) or Retrieval(q.id, ()) for q in self.dataset.queries]


def table_ids(dataset: Dataset) -> dict[TableId, TableId]:
    """The ids of all tables, each to itself; rankings refer to these and hold none of their own."""
    return {table_id: table_id for table_id in dataset.corpus.ids}


class Recomputer:
    """Loads every split once, and scores runs on it.

    Args:
        data_dir: as for ``TARGET``.
        observer: hears of progress.
        scratch: an empty folder.
        budget: the time for all of it.
    """

    def __init__(
        self,
        data_dir: Path | None,
        observer: Observer,
        scratch: Path,
        budget: Budget | None = None,
    ) -> None:
        self._loader = Loader(data_dir, observer)
        self._observer = observer
        self._scratch = scratch
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
        cell = self._cell(submission, place, loaded, rankings)
        answering = None
        if answers is not None:
            answering = _answering(submission, place, answers)
        task = registry.create("task", run.task)
        if answering is not None:
            task.limit_time(self._budget.seconds)
        try:
            result = pipeline.evaluate(task, cell, answering)
        except BudgetError:
            raise self._budget.spent(where) from None
        hard_ids = self._hard_queries(run, loaded)
        hard = np.array([hard_ids[query.id] for query in loaded.dataset.queries], dtype=bool)
        return Checked(
            place, run, loaded.dataset, rankings, answers, result, hard, basis and answers is None
        )

    def _cell(self, submission: Submission, place: int, loaded: Loaded, rankings: Read) -> Cell:
        run = submission.runs[place]

        def rank(query: Query, _k: int) -> Retrieval:
            found: Retrieval | None = rankings.found.get(query.id)
            return found or Retrieval(query.id, (), error=MISSING)

        ranked = place if run.retrieval is None else run.retrieval
        subject = Subject(
            run.retriever, {"submission": submission.fingerprint, "run": ranked}, rank=rank
        )
        return self._of(loaded, subject, run.cutoffs)

    def _of(self, loaded: Loaded, subject: Subject, cutoffs: Sequence[int]) -> Cell:
        options = RunOptions(top_k=tuple(cutoffs), on_error="record")
        return Cell(loaded, subject, options, self._scratch, _Quiet(self._observer))

    def _hard_queries(self, run: RunDocument, loaded: Loaded) -> Mapping[str, bool]:
        """Query id -> whether no baseline ranks a gold table first."""
        key = (run.corpus, run.split, tuple(run.distractors), run.about)
        if key not in self._hard:
            self._observer.stage(f"{loaded.dataset.info.name}: which queries are hard")
            results = [
                pipeline.retrieve(self._of(loaded, inputs.subject(name, self._observer), [1]))[0]
                for name in _BASELINES
            ]
            met = np.max([result.per_query["success@1"] for result in results], axis=0)
            ids = results[0].query_ids
            self._hard[key] = {i: not hit for i, hit in zip(ids, met.tolist(), strict=True)}
        return self._hard[key]


class _Quiet(Observer):
    """Passes on what is done, and no warning about it: findings say what is wrong."""

    def __init__(self, observer: Observer) -> None:
        self._observer = observer

    def stage(self, name: str, total: int | None = None) -> None:
        self._observer.stage(name, total)

    def advance(self, steps: int) -> None:
        self._observer.advance(steps)

    def warning(self, message: str) -> None:
        pass


def _answering(submission: Submission, place: int, answers: Read) -> Answering:
    def answer(query: Query) -> Answered:
        found: Answered | None = answers.found.get(query.id)
        return found or Answered(Generation(query.id, "", error=MISSING))

    identity = {"submission": submission.fingerprint, "run": place}
    label = submission.runs[place].generator or ""
    answerer = Answerer(label, identity, answer=answer, prompt=identity)
    return Answering(answerer)


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
