"""Entries: what a leaderboard shows of a submission that was verified and scored again."""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import ConfigDict

from target_bench.core.metric import AnswerCounts, Counts, Score
from target_bench.reporting.leaderboard.documents import Card, RunFields

Verdict = Literal["accepted", "rejected"]
Level = Literal["note", "rejected"]
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Finding:
    """Finding of a check.

    Attributes:
        check: the name of the check.
        level: a note leaves the verdict as it is.
        message: what is wrong, with figures.
        run: the place of the run in the submission, or None if it is about the whole.
    """

    check: str
    level: Level
    message: str
    run: int | None = None


class RunEntry(RunFields):
    """One run of a submission, every figure of it recomputed.

    Attributes:
        basis: whether it is the rankings that an answer run of the same submission is built on.
        title: the name of the task in full.
        scores: metric name -> score with its 95% interval; for an answer run those of its
            rankings too.
        query_ids: the n queries of the split, in the order of the dataset.
        per_query: metric name -> (n,) float64 value of each query alone; NaN where it is in no
            denominator.
        counts: the denominators of the rankings.
        answers: the denominators of the answers, or None.
        retriever_identity: class, settings and versions of the retriever, as declared.
        generator_identity: the same of the generator; empty for a run of rankings.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    basis: bool
    title: str
    scores: dict[str, Score]
    query_ids: list[str]
    per_query: dict[str, Floats]
    counts: Counts
    answers: AnswerCounts | None
    retriever_identity: dict[str, Any]
    generator_identity: dict[str, Any]

    @property
    def ranks(self) -> bool:
        """Whether it is a run of rankings."""
        return self.generator is None

    @property
    def retrieve_ms(self) -> float | None:
        """Declared milliseconds of a query in a batch; None where not known."""
        seconds = self.seconds.get("retrieve")
        return 1000 * seconds / self.timed_queries if seconds and self.timed_queries else None

    @property
    def answer_ms(self) -> float | None:
        """Declared milliseconds of an answer; None where not known."""
        seconds = self.seconds.get("generate")
        return 1000 * seconds / self.answers.asked if seconds and self.answers else None


@dataclass(frozen=True, slots=True)
class Entry:
    """A verified submission.

    Attributes:
        id: unique on a board: the name of the submission's file without its suffix.
        card: who made what; every text in it is the submitter's.
        runs: its runs.
        verdict: of the verification.
        findings: the reasons, and notes.
        fingerprint: a hash of all that was submitted, for any compression.
        checked_by: the version of target-bench that verified it.
    """

    id: str
    card: Card
    runs: list[RunEntry]
    verdict: Verdict
    findings: list[Finding]
    fingerprint: str
    checked_by: str
