"""Verification: a submission is read, held against our own data, and scored again."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf
from pathlib import Path
from typing import Any
from zipfile import ZipFile

from target_bench.core.built_in import RANKING_TASK
from target_bench.core.errors import BudgetError, ConfigError, DataError
from target_bench.core.metric import empty_scores
from target_bench.core.observer import Observer
from target_bench.core.schema import Dataset, Generation, Retrieval
from target_bench.core.task import Task, has_reference
from target_bench.data.load import load_once
from target_bench.data.selection import select_queries
from target_bench.harness.judge import judge_answers
from target_bench.harness.score import Scores, align_values, score_answers, score_rankings
from target_bench.models.answer_reading import check_time, time_limit
from target_bench.reporting.leaderboard.archive import (
    SUFFIX,
    RefusedError,
    SubmittedRun,
    open_archive,
    read_answers,
    read_member,
    read_rankings,
    read_runs,
)
from target_bench.reporting.leaderboard.card import LARGEST_CARD, Card, check_visible, parse_card
from target_bench.runs.manifest import answers_fingerprint, queries_fingerprint


@dataclass(frozen=True, eq=False)
class Submission:
    """A verified submission: a row of each board that it has runs of.

    Attributes:
        id: unique on a board: the name of the file without its suffix.
        card: who made it; every text in it is the submitter's.
        runs: run folder -> what the run is of.
        scores: run folder -> its scores, all of them computed here; for a run of answers those of
            its rankings too. Values are of all queries, NaN where one is in no denominator.
        notes: what a reader of the scores should know.
    """

    id: str
    card: Card
    runs: Mapping[str, SubmittedRun]
    scores: Mapping[str, Scores[Any]]
    notes: Sequence[str] = ()

    def to_json(self) -> dict[str, Any]:
        """Return scores and counts of the runs, without values of queries."""
        names = {"corpus", "split", "task", "retriever", "generator", "top_k", "distractors"}
        runs = []
        for folder, run in self.runs.items():
            scores = self.scores[folder]
            record = run.model_dump(mode="json", include=names)
            record["scores"] = {name: score.to_json() for name, score in scores.items()}
            record["counts"] = {name: n for name, n in scores.counts.to_json().items() if n}
            runs.append(record)
        return {"notes": list(self.notes), "runs": runs}


def verify(
    path: Path,
    data_dir: Path | None = None,
    observer: Observer | None = None,
    minutes: float = 60.0,
) -> Submission:
    """Read a submission, and compute its scores from its predictions and our own data."""
    if not 0 < minutes < inf:
        raise ConfigError(f"minutes={minutes!r} (--minutes): expected a number above 0")
    observer = observer or Observer()
    try:
        with time_limit(60 * minutes), open_archive(path) as archive:
            name, card = _check_name(path), _read_card(archive)
            runs = read_runs(archive, card)
            bases = {run.retrieval for run in runs.values()}  # rankings that answers are built on
            scores: dict[str, Scores[Any]] = {}
            notes: list[str] = []
            for folder, run in runs.items():
                observer.stage(f"{folder}: {run.task} on {run.corpus} {run.split}")
                is_basis, task = folder in bases, run.make_task()
                dataset = _load_our_data(folder, run, data_dir, observer)
                if not is_basis and not any(has_reference(task, each) for each in dataset.queries):
                    data = f"{run.corpus} {run.split}"
                    raise _refuse(folder, f"no query of {data} has a reference here")
                rankings = read_rankings(archive, folder, run, task, dataset, notes)
                answers = None
                if run.generator is not None:
                    answers = read_answers(archive, folder, dataset, notes)
                scores[folder] = _score(folder, run, task, dataset, rankings, answers, is_basis)
    except BudgetError:
        raise RefusedError(
            f"scoring did not finish in {minutes:g} minutes, the time limit of verify",
            "on a slow machine raise it with --minutes",
        ) from None
    return Submission(name, card, runs, scores, notes)


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


def _load_our_data(
    folder: str, run: SubmittedRun, data_dir: Path | None, observer: Observer
) -> Dataset:
    """Load the data that a run is of, and refuse the run if they are others here."""
    check_time()
    try:  # anew for each run: the data of a hundred runs may not fit into memory
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
            raise _refuse(folder, f"{name}: the {content} of {data} differ from those here")
    return dataset


def _score(
    folder: str,
    run: SubmittedRun,
    task: Task[Any],
    dataset: Dataset,
    rankings: Mapping[str, Retrieval],
    answers: Mapping[str, Generation] | None,
    is_basis: bool,
) -> Scores[Any]:
    """Score rankings, and the answers to them if there are any, as those of any run.

    Rankings that are a basis of answers get no scores where they are all empty, as of
    ``no-context``.
    """
    scored: list[Scores[Any]] = []
    try:
        if answers is None or run.top_k:  # for answers to given tables nothing was ranked
            ranked = score_rankings(
                dataset, rankings, run.top_k, task if answers is None else RANKING_TASK
            )
            if (answers is not None or is_basis) and not any(
                ranking.tables or ranking.error for ranking in rankings.values()
            ):
                scores, per_query = empty_scores(ranked, ranked.per_query)
                ranked = replace(ranked, by_metric=scores, per_query=per_query)
            scored.append(ranked)
        if answers is not None:
            judged = {} if task.judge is None else judge_answers(dataset, answers, task, rankings)
            scored.append(score_answers(dataset, answers, task, judged, rankings))
    except (ConfigError, DataError) as error:  # as of answers to queries of another task
        raise _refuse(folder, f"cannot be scored: {error!s:.300}") from None
    ids = [query.id for query in dataset.queries]
    return Scores(
        by_metric={name: score for each in scored for name, score in each.items()},
        query_ids=ids,
        per_query=align_values(ids, [(each.query_ids, each.per_query) for each in scored]),
        statistics={},
        counts=scored[-1].counts,
    )
