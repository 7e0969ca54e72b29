"""A submission verified: what is against it, and every score of it computed again."""

from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import Any

from target_bench.core.errors import BudgetError, ConfigError
from target_bench.core.observer import Observer
from target_bench.core.registry import installed_version
from target_bench.models.answer_reading import time_limit
from target_bench.reporting.leaderboard.checks import CHECKS, findings
from target_bench.reporting.leaderboard.copies import copies
from target_bench.reporting.leaderboard.documents import visible
from target_bench.reporting.leaderboard.entry import Entry, Finding, Verdict
from target_bench.reporting.leaderboard.recompute import recompute
from target_bench.reporting.leaderboard.submission import SUFFIX, RefusedError, opened

_IN_JSON = {
    "corpus", "split", "task", "retriever", "generator", "cutoffs", "distractors", "counts",
    "answers", "scores",
}  # fmt: skip


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
        runs = self.entry.runs if self.entry else []
        return {
            "file": self.path.name,
            "verdict": self.verdict,
            "findings": [finding.model_dump() for finding in self.findings],
            "checks": list(CHECKS),
            "runs": [
                run.model_dump(mode="json", include=_IN_JSON) | {"n_queries": run.counts.asked}
                for run in runs
            ],
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
        return Verification(path, "rejected", (refusal,), None)
    except BudgetError:
        message = (
            f"not everything is checked after {minutes:g} minutes, the time that verify gives a "
            "submission. On a slow machine give it more with --minutes"
        )
        refusal = Finding(check="readable", level="rejected", message=message)
        return Verification(path, "rejected", (refusal,), None)
    return Verification(path, entry.verdict, tuple(entry.findings), entry)


def _verified(path: Path, against: Path | None, data_dir: Path | None, observer: Observer) -> Entry:
    name = path.name.removesuffix(SUFFIX)
    try:
        visible(name)
    except ValueError as error:
        raise RefusedError(f"the name of the file {error}") from None
    if not 1 <= len(name) <= 200:
        raise RefusedError("the name of the file should have 1 to 200 characters")
    with opened(path) as submission:
        runs = recompute(submission, data_dir, observer)
        all_findings = [finding for run in runs for finding in findings(run, submission.card)]
        if against is not None:
            all_findings += copies(against, path, submission, runs, observer)
        order: list[Verdict] = ["accepted", "suspicious", "rejected"]
        verdicts = [v for v in order if any(f.level == v for f in all_findings)]
        return Entry(
            id=name,
            card=submission.card,
            runs=[run.entry for run in runs],
            verdict=verdicts[-1] if verdicts else "accepted",
            # A run that is beside several of another submission is said to be a copy once.
            findings=sorted(
                dict.fromkeys(all_findings), key=lambda f: (f.run, [*CHECKS].index(f.check))
            ),
            fingerprint=submission.fingerprint,
            checked_by=f"target-bench {installed_version('target-bench')}",
        )
