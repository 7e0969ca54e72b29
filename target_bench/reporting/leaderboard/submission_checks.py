"""The checks of predictions, each a rule of the leaderboard: its documentation is its text."""

import inspect
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import isnan

from target_bench.evaluation.stages.score import MISSING
from target_bench.metrics.run_scores import definition, spec_of
from target_bench.reporting.leaderboard.board import Other
from target_bench.reporting.leaderboard.card import Card
from target_bench.reporting.leaderboard.duplicates import copied, duplicate
from target_bench.reporting.leaderboard.entry import Level
from target_bench.reporting.leaderboard.leaks import gold_answers, gold_rankings
from target_bench.reporting.leaderboard.read_submission import READING
from target_bench.reporting.leaderboard.recompute import Checked
from target_bench.reporting.leaderboard.suspicion import by_chance
from target_bench.reporting.leaderboard.timings import timings

Found = Iterator[tuple[Level, str]]
"""What a check finds: how bad it is, and a sentence with figures."""


def data(_run: Checked) -> Found:
    """The run is of the tables, queries and gold answers that the verifier has.

    Corpus and fingerprints have to be the same, or the submission is refused; the message names
    the source files that differ. Only registered corpora are loaded.
    """
    yield from ()


def budget(_run: Checked) -> Found:
    """Verifying a submission takes at most 60 minutes, or what ``--minutes`` says.

    The time is for the whole submission, the gold included. SQL that still runs then is stopped,
    and the submission is rejected without scores. On a slow machine, give it more.
    """
    yield from ()


def upper_bound(run: Checked) -> Found:
    """No run is an upper bound that reads the gold (``oracle``, ``gold``): rejected."""
    names = run.document.retriever, run.document.generator
    for part, name in zip(("retriever", "generator"), names, strict=True):
        mode = run.document.identity.get(part)
        if name in ("oracle", "gold") or mode in ({"mode": "oracle"}, {"mode": "gold"}):
            yield "rejected", f"its {part} is {name}, which reads the gold"


def coverage(run: Checked) -> Found:
    """Every query of the split is predicted once.

    A missing query counts as wrong and is noted. A query twice, or one that the split does not
    have, is rejected.
    """
    read, n = run.predictions, len(run.dataset.queries)
    missing = n - len(read.found)
    if missing:
        yield "note", f"{missing:,} of {n:,} queries are missing; they count as wrong"
    if read.extra.n and run.answers is not None:
        yield "rejected", f"answers to queries that the task does not have: {read.extra}"
    if run.rankings.extra.n and run.answers is None:
        yield "rejected", f"rankings of queries that the split does not have: {run.rankings.extra}"
    if read.repeated.n:
        yield "rejected", f"queries that are predicted twice: {read.repeated}"


def missing_hard(run: Checked) -> Found:
    """Missing queries are not those that are hard.

    Hard are queries for which neither of the baselines BM25 and TF-IDF, run by the verifier, ranks
    a gold table first. If missing and failed queries are hard more often than chance explains
    (Fisher's exact test, p < 0.001), the run is suspicious. They count as wrong in any case.
    """
    found = run.predictions.found
    missing = [q.id not in found or _failed(found[q.id]) for q in run.dataset.queries]
    drawn, n, hard = sum(missing), len(missing), int(run.hard.sum())
    both = sum(1 for is_hard, m in zip(run.hard.tolist(), missing, strict=True) if is_hard and m)
    if drawn and by_chance(both, drawn, hard, n) < 0.001:
        yield (
            "suspicious",
            f"{both:,} of the {drawn:,} queries without a prediction are hard, but only {hard:,} "
            f"of all {n:,} are; they count as wrong",
        )


def table_ids(run: Checked) -> Found:
    """Rankings name tables of the corpus, each once; another ranking counts as wrong: rejected."""
    if run.rankings.unknown.n:
        yield "rejected", f"rankings with tables that are not there: {run.rankings.unknown}"
    if run.rankings.twice.n:
        yield "rejected", f"rankings with a table twice: {run.rankings.twice}"


def cutoff(run: Checked) -> Found:
    """No ranking is longer than the largest cutoff declared; a longer one is rejected."""
    if run.rankings.long.n:
        k = run.document.cutoffs[-1]
        yield "rejected", f"rankings of more than {k} tables: {run.rankings.long}"


_NAMED = 5
"""Scores that are named; of more their number is given."""


def scores(run: Checked) -> Found:
    """Declared scores are those of the predictions.

    Every score is computed again, and only these are shown. One that was declared and differs by
    more than 0.0001 (0.01 on a scale to 100; 0.005 where SQL is executed, because time limits
    differ between machines) is rejected if it has the signature of the score computed, intervals
    apart, else suspicious: it may be of another version. Scores of runs of a part of the queries,
    and metrics that are not computed here, are noted.
    """
    limit, database = run.document.limit, run.document.database
    if database is not None or (limit is not None and limit < len(run.dataset.queries)):
        yield "note", "the scores declared are of a part of the queries, and not compared"
        return
    unknown, wrong = [], Counter[Level]()
    for name, declared in run.document.scores.items():
        computed = run.scores.get(name)
        if computed is None:
            unknown.append(ascii(name))
        elif not _agree(declared.value, computed.value, spec_of(name, computed).tolerance):
            same = definition(declared.signature) == definition(computed.signature)
            level: Level = "rejected" if same else "suspicious"
            said = "no number" if declared.value is None else f"{declared.value:.5g}"
            wrong[level] += 1
            if wrong[level] <= _NAMED:
                yield level, f"{name} is declared as {said}, but is {computed.value:.5g}"
    for level, n in wrong.items():
        if n > _NAMED:
            yield level, f"{n - _NAMED} more declared scores are not those of the predictions"
    if unknown:
        yield "note", f"not computed here: {', '.join(unknown[:5])}"


def _agree(declared: float | None, computed: float, tolerance: float) -> bool:
    """Whether two scores are equal; None and NaN are scores over no query."""
    if declared is None or isnan(computed):
        return declared is None and isnan(computed)
    return abs(declared - computed) <= tolerance


def _failed(prediction: object) -> bool:
    error = getattr(getattr(prediction, "generation", prediction), "error", None)
    return error is not None and error != MISSING


@dataclass(frozen=True, slots=True)
class Check:
    """A rule of the leaderboard; one without a function is checked while the file is read.

    Attributes:
        name: what verdicts call it.
        rule: its text.
        alone: finds what is against it in a run, or None.
        compared: finds what is against it in a run beside a run of another submission, or None.
    """

    name: str
    rule: str
    alone: Callable[[Checked], Found] | None = None
    compared: Callable[[Checked, Card, Other], Found] | None = None


def _alone(check: Callable[[Checked], Found]) -> Check:
    return Check(check.__name__, inspect.getdoc(check) or "", alone=check)


def _compared(check: Callable[[Checked, Card, Other], Found]) -> Check:
    return Check(check.__name__, inspect.getdoc(check) or "", compared=check)


CHECKS: tuple[Check, ...] = (
    *(Check(name, rule) for name, rule in READING.items()),
    *map(_alone, (data, budget, upper_bound, coverage, missing_hard, table_ids, cutoff)),
    *map(_alone, (scores, timings)),
    *map(_compared, (duplicate, copied)),
    *map(_alone, (gold_rankings, gold_answers)),
)
"""All rules, in the order in which they are checked; ``docs/leaderboard.md`` lists them."""
