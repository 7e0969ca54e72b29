"""A submission verified: what is against it, and every score of it computed again."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from target_bench.core.errors import BudgetError
from target_bench.core.observer import Observer
from target_bench.core.registry import installed_version
from target_bench.reporting.leaderboard.archive import MINUTES, SUFFIX, Budget, RefusedError
from target_bench.reporting.leaderboard.card import Card, visible
from target_bench.reporting.leaderboard.duplicates import Other, others
from target_bench.reporting.leaderboard.entry import Entry, Finding, RunEntry, Verdict
from target_bench.reporting.leaderboard.read_submission import Submission, opened
from target_bench.reporting.leaderboard.recompute import Checked, Recomputer
from target_bench.reporting.leaderboard.submission_checks import CHECKS
from target_bench.runs.manifest import SLICE_PREFIX, slice_columns

LONGEST_NAME = 200
"""Characters of the name of a submission, which becomes the id of its entry."""


@dataclass(frozen=True, eq=False)
class Verification:
    """Result of verifying a submission.

    Attributes:
        path: the file.
        verdict: accepted; suspicious, which somebody has to look at; or rejected.
        findings: the reasons, and notes.
        entry: what it is on a leaderboard; None if it was refused before it could be scored.
    """

    path: Path
    verdict: Verdict
    findings: tuple[Finding, ...]
    entry: Entry | None

    def to_json(self) -> dict[str, Any]:
        """Return the output of ``leaderboard verify --json``: scores without values of queries."""
        runs = [] if self.entry is None else [_shown(run) for run in self.entry.runs]
        return {
            "file": self.path.name,
            "verdict": self.verdict,
            "findings": [asdict(finding) for finding in self.findings],
            "checks": [check.name for check in CHECKS],
            "runs": runs,
        }


def verify(
    path: Path,
    against: Path | None = None,
    data_dir: Path | None = None,
    observer: Observer | None = None,
    minutes: float = MINUTES,
) -> Verification:
    """Check a submission by every rule and compute its scores from its predictions.

    Args:
        path: the submission.
        against: a folder of submissions that are there already, or None.
        data_dir: as for ``TARGET``.
        observer: gets progress and warnings.
        minutes: how long it may take, all in all.

    Raises:
        ConfigError: ``minutes`` is not a positive number.
        DataError: there is no such file, or the data that it is about are not here or broken.
    """
    observer = observer or Observer()
    budget = Budget(minutes)
    try:
        _check_name(path)
        with opened(path) as submission:
            runs = Recomputer(data_dir, observer, budget).recompute(submission)
            findings = _alone(runs, budget)
            if against is not None:
                budget.check("comparing it with other submissions")
                there = others(against, path, submission.fingerprint, runs, observer)
                findings += _compared(runs, submission.card, there)
            findings.sort(key=lambda finding: (finding.run, _ORDER[finding.check]))
            entry = _entry(path, submission, runs, tuple(findings))
    except RefusedError as error:
        finding = Finding(error.check, "rejected", str(error))
        return Verification(path, "rejected", (finding,), None)
    return Verification(path, entry.verdict, entry.findings, entry)


def _check_name(path: Path) -> None:
    """See that the name of the file can be the id of an entry."""
    try:
        name = visible(path.name.removesuffix(SUFFIX))
    except ValueError as error:
        raise RefusedError("archive", f"the name of the file {error}") from None
    if not 1 <= len(name) <= LONGEST_NAME:
        raise RefusedError(
            "archive", f"the name of the file should have 1 to {LONGEST_NAME} characters"
        )


_ORDER = {check.name: i for i, check in enumerate(CHECKS)}


def _alone(runs: Sequence[Checked], budget: Budget) -> list[Finding]:
    try:
        return [
            Finding(check.name, level, message, run.place)
            for run in runs
            for check in CHECKS
            if check.alone is not None
            for level, message in check.alone(run)
        ]
    except BudgetError:
        raise budget.spent("looking for known references") from None


def _compared(runs: Sequence[Checked], card: Card, there: Iterable[Other]) -> list[Finding]:
    return [
        Finding(check.name, level, message, run.place)
        for other in there
        for run in runs
        for check in CHECKS
        if check.compared is not None
        for level, message in check.compared(run, card, other)
    ]


def _verdict(findings: Sequence[Finding]) -> Verdict:
    levels = {finding.level for finding in findings}
    if "rejected" in levels:
        return "rejected"
    return "suspicious" if "suspicious" in levels else "accepted"


def _entry(
    path: Path, submission: Submission, runs: Sequence[Checked], findings: tuple[Finding, ...]
) -> Entry:
    return Entry(
        id=path.name.removesuffix(SUFFIX),
        card=submission.card,
        runs=tuple(_run_entry(run, submission) for run in runs),
        verdict=_verdict(findings),
        findings=findings,
        fingerprint=submission.fingerprint,
        checked_by=f"target-bench {installed_version('target-bench')}",
    )


def _run_entry(run: Checked, submission: Submission) -> RunEntry:
    document, answered = run.document, run.answered
    predictions = "retrieval.jsonl" if run.answers is None else "generations.jsonl"
    found = slice_columns(run.dataset.queries)
    return RunEntry(
        corpus=run.dataset.info.name,
        split=run.dataset.split,
        task=document.task,
        retriever=document.retriever,
        generator=document.generator,
        cutoffs=tuple(document.cutoffs),
        scores=run.scores,
        query_ids=[query.id for query in run.dataset.queries],
        per_query=run.per_query,
        counts=run.counts,
        corpus_fingerprint=document.corpus_fingerprint,
        queries_fingerprint=document.queries_fingerprint,
        predictions_sha256=submission.hashes[f"runs/{run.place}/{predictions}"],
        distractors=tuple(document.distractors),
        about=document.about,
        basis=run.basis,
        retrieval=document.retrieval,
        slices={name.removeprefix(SLICE_PREFIX): values for name, values in found.items()},
        answers=answered.counts if answered else None,
        report=answered.report if answered else None,
        title=run.task.title,
        summary=_summary(run),
        seconds=document.seconds,
        timed_queries=document.timed_queries,
        latency_ms=document.latency_ms,
        cold=document.cold,
        environment=document.environment,
        retriever_identity=document.identity.get("retriever", {}),
        generator_identity=document.identity.get("generator", {}),
        date=document.date,
    )


def _summary(run: Checked) -> tuple[str, ...]:
    report = run.answered.report if run.answered else None
    return tuple(map(str, run.task.summary(report))) if report else ()


def _shown(run: RunEntry) -> dict[str, Any]:
    names = ("corpus", "split", "task", "retriever", "generator", "cutoffs", "distractors")
    return {
        **{name: getattr(run, name) for name in names},
        "n_queries": run.counts.asked,
        "counts": run.counts.to_json(),
        "answers": run.answers.to_json() if run.answers else None,
        "scores": {name: score.to_json() for name, score in run.scores.items()},
    }
