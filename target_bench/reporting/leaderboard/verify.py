"""A submission verified: what is against it, and every score of it computed again."""

from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import Any

from target_bench.core.errors import BudgetError, ConfigError
from target_bench.core.identity import is_no_context
from target_bench.core.metric import over_no_query
from target_bench.core.observer import Observer
from target_bench.core.registry import installed_version
from target_bench.models.answer_reading import check_time, time_limit
from target_bench.reporting.leaderboard.archive import SUFFIX, RefusedError
from target_bench.reporting.leaderboard.checks import CHECKS, findings, findings_beside
from target_bench.reporting.leaderboard.copies import other_runs
from target_bench.reporting.leaderboard.documents import RunFields, visible
from target_bench.reporting.leaderboard.entry import Entry, Finding, RunEntry, Verdict
from target_bench.reporting.leaderboard.recompute import RescoredRun, recompute
from target_bench.reporting.leaderboard.submission import Submission, opened


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
        names = {"corpus", "split", "task", "retriever", "generator", "cutoffs", "distractors"}
        runs = [
            run.model_dump(mode="json", include=names | {"counts", "answers", "scores"})
            | {"n_queries": run.counts.asked}
            for run in (self.entry.runs if self.entry else ())
        ]
        return {
            "file": self.path.name,
            "verdict": self.verdict,
            "findings": [finding.model_dump() for finding in self.findings],
            "checks": list(CHECKS),
            "runs": runs,
        }


def verify(
    path: Path,
    against: Path | None = None,
    data_dir: Path | None = None,
    observer: Observer | None = None,
    minutes: float = 60.0,
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
    if not 0 < minutes < inf:
        raise ConfigError(f"minutes={minutes!r} (--minutes): expected a number above 0")
    try:
        with time_limit(60 * minutes):
            entry = _verified(path, against, data_dir, observer or Observer())
    except RefusedError as error:
        refusal = Finding(check=error.check, level="rejected", message=str(error))
    except BudgetError:
        message = (
            f"not everything is checked after {minutes:g} minutes, the time that verify gives a "
            "submission. On a slow machine give it more with --minutes"
        )
        refusal = Finding(check="readable", level="rejected", message=message)
    else:
        return Verification(path, entry.verdict, tuple(entry.findings), entry)
    return Verification(path, "rejected", (refusal,), None)


def _verified(path: Path, against: Path | None, data_dir: Path | None, observer: Observer) -> Entry:
    name = _entry_id(path)
    with opened(path) as submission:
        runs = recompute(submission, data_dir, observer)
        # A run may be beside several of another submission, and is said to be a copy once.
        all_findings = {f: None for run in runs for f in findings(run, submission.card)}
        if against is not None:
            for other in other_runs(against, path, submission.fingerprint, runs, observer):
                check_time()
                for run in runs:
                    all_findings |= dict.fromkeys(findings_beside(run, submission.card, other))
        order = list(CHECKS)
        levels = {finding.level for finding in all_findings}
        verdict: Verdict = "suspicious" if "suspicious" in levels else "accepted"
        if "rejected" in levels:
            verdict = "rejected"
        return Entry(
            id=name,
            card=submission.card,
            runs=[_run_entry(run, submission) for run in runs],
            verdict=verdict,
            findings=sorted(all_findings, key=lambda f: (f.run, order.index(f.check))),
            fingerprint=submission.fingerprint,
            checked_by=f"target-bench {installed_version('target-bench')}",
        )


def _entry_id(path: Path) -> str:
    """Return the name of the file without its suffix, which becomes the id of the entry."""
    name = path.name.removesuffix(SUFFIX)
    try:
        visible(name)
    except ValueError as error:
        raise RefusedError(f"the name of the file {error}") from None
    if not 1 <= len(name) <= 200:
        raise RefusedError("the name of the file should have 1 to 200 characters")
    return name


def _run_entry(run: RescoredRun, submission: Submission) -> RunEntry:
    document = run.document
    predictions = "retrieval.jsonl" if run.answers is None else "generations.jsonl"
    scores, per_query = run.scores, run.per_query
    if run.basis and is_no_context(document.identity.get("retriever", {})):
        unused = over_no_query(scores, per_query)
        scores, per_query = dict(unused[0]), dict(unused[1])
    return RunEntry(
        **document.model_dump(include=set(RunFields.model_fields)),
        basis=run.basis,
        title=run.task.title[:100],
        scores=scores,
        query_ids=[query.id for query in run.dataset.queries],
        per_query=per_query,
        counts=run.counts,
        answers=run.answer_counts,
        retriever_identity=document.identity.get("retriever", {}),
        generator_identity=document.identity.get("generator", {}),
        predictions_sha256=submission.hashes[f"runs/{run.place}/{predictions}"],
    )
