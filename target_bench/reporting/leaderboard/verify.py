"""A submission verified: what is against it, and every score of it computed again."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from math import inf
from pathlib import Path
from typing import Any

from target_bench.core import registry
from target_bench.core.built_in import RANKING_TASK
from target_bench.core.errors import BudgetError, ConfigError
from target_bench.core.metric import Counts, Score, over_no_query
from target_bench.core.observer import Observer
from target_bench.core.registry import installed_version
from target_bench.core.schema import Dataset, Judgement, Retrieval
from target_bench.core.task import given_tables, has_reference
from target_bench.core.task_names import make_task
from target_bench.data.load import Loader, is_path
from target_bench.harness.judge import judge_answers
from target_bench.harness.score import MISSING, aligned, score_answers, score_rankings
from target_bench.models.answer_reading import check_time, time_limit
from target_bench.reporting.leaderboard.checks import CHECKS, RescoredRun, findings, no_context
from target_bench.reporting.leaderboard.documents import RunDocument, RunFields, visible
from target_bench.reporting.leaderboard.entry import Entry, Finding, RunEntry, Verdict
from target_bench.reporting.leaderboard.submission import (
    SUFFIX,
    RefusedError,
    Submission,
    SubmittedPredictions,
    opened,
    rankings_of,
)
from target_bench.runs.manifest import answers_fingerprint, queries_fingerprint

_FIELDS = {"corpus", "split", "task", "retriever", "generator", "cutoffs", "distractors"}


@dataclass(frozen=True, eq=False)
class Verification:
    """Result of verifying a submission.

    Attributes:
        path: the file.
        verdict: accepted or rejected.
        findings: the reasons, and notes.
        entry: what it is on a leaderboard; None if it was refused before it could be scored.
    """

    path: Path
    verdict: Verdict
    findings: tuple[Finding, ...]
    entry: Entry | None

    def to_json(self) -> dict[str, Any]:
        """Return the output of ``leaderboard verify --json``: scores without values of queries."""
        runs = self.entry.runs if self.entry else []
        return {
            "file": self.path.name,
            "verdict": self.verdict,
            "findings": [asdict(finding) for finding in self.findings],
            "checks": list(CHECKS),
            "runs": [
                run.model_dump(mode="json", include=_FIELDS)
                | {"scores": {name: score.to_json() for name, score in run.scores.items()}}
                | {"counts": asdict(run.counts), "n_queries": run.counts.asked}
                | {"answers": None if run.answers is None else asdict(run.answers)}
                for run in runs
            ],
        }


def verify(
    path: Path,
    data_dir: Path | None = None,
    observer: Observer | None = None,
    minutes: float = 60.0,
) -> Verification:
    """Check a submission by every rule and compute its scores from its predictions.

    Args:
        path: the submission.
        data_dir: as for ``evaluate``.
        observer: gets progress and warnings.
        minutes: how long it may take, all in all.

    Raises:
        ConfigError: ``minutes`` is not a positive number.
        DataError: there is no such file, or the data that it is about are not here or broken.
    """
    if not 0 < minutes < inf:
        raise ConfigError(f"minutes={minutes!r} (--minutes): expected a number above 0")
    try:
        with time_limit(60 * minutes):
            entry = _verified(path, data_dir, observer or Observer())
    except RefusedError as error:
        refusal = Finding(check=error.check, level="rejected", message=str(error))
        return Verification(path, "rejected", (refusal,), None)
    except BudgetError:
        message = (
            f"not everything is checked after {minutes:g} minutes, the time that verify gives a "
            "submission. On a slow machine give it more with --minutes"
        )
        refusal = Finding(check="readable", level="rejected", message=message)
        return Verification(path, "rejected", (refusal,), None)
    return Verification(path, entry.verdict, tuple(entry.findings), entry)


def _verified(path: Path, data_dir: Path | None, observer: Observer) -> Entry:
    name = path.name.removesuffix(SUFFIX)
    try:
        visible(name)
    except ValueError as error:
        raise RefusedError(f"the name of the file {error}") from None
    if not 1 <= len(name) <= 200:
        raise RefusedError("the name of the file should have 1 to 200 characters")
    with opened(path) as submission:
        runs = _recompute(submission, data_dir, observer)
        all_findings = [finding for run in runs for finding in findings(run)]
        rejected = any(finding.level == "rejected" for finding in all_findings)
        return Entry(
            id=name,
            card=submission.card,
            runs=[run.entry for run in runs],
            verdict="rejected" if rejected else "accepted",
            findings=all_findings,
            fingerprint=submission.fingerprint,
            checked_by=f"target-bench {installed_version('target-bench')}",
        )


def _recompute(
    submission: Submission, data_dir: Path | None, observer: Observer
) -> list[RescoredRun]:
    """Score all runs of a submission, for as long as ``time_limit`` gives."""
    loader = Loader(data_dir, observer)
    runs = []
    for place, run in enumerate(submission.runs):
        check_time()
        dataset = _load(run, f"run {place}", loader)
        observer.stage(f"run {place}: {run.task} on {run.corpus} {run.split}")
        runs.append(_rescored(submission, place, dataset))
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


def _rescored(submission: Submission, place: int, dataset: Dataset) -> RescoredRun:
    run = submission.runs[place]
    basis = run.generator is None and place in {other.retrieval for other in submission.runs}
    task = make_task(f"{run.task}:sets=true" if run.sets else run.task)
    if not basis and not any(has_reference(task, query) for query in dataset.queries):
        raise RefusedError(
            f"run {place}: no query of {run.corpus} {run.split} has a reference here", "data"
        )
    ranked_place = rankings_of(run, place)
    rankings = (
        SubmittedPredictions()
        if ranked_place is None
        else submission.rankings(ranked_place, dataset)
    )
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
    if answers is not None:
        judgements: Mapping[str, Judgement] = {}
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
    )
    predictions = rankings if answers is None else answers
    return RescoredRun(place, run, dataset, predictions, list(top.values()), entry)
