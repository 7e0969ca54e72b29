"""The checks of predictions, each a rule of the leaderboard: its documentation is its text."""

import inspect
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import isnan

from target_bench.core.schema import Query
from target_bench.core.task import LeakLimits
from target_bench.harness.stages.score import MISSING
from target_bench.metrics.run_scores import spec_of
from target_bench.reporting.leaderboard.card import Card
from target_bench.reporting.leaderboard.duplicates import Other, copied, duplicate
from target_bench.reporting.leaderboard.entry import Level
from target_bench.reporting.leaderboard.read_submission import READING, Read
from target_bench.reporting.leaderboard.recompute import Checked
from target_bench.runs.manifest import NO_CONTEXT

Found = Iterator[tuple[Level, str]]
"""Finding of a check: its severity, and a sentence with figures."""


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

    Hard are queries for which BM25, run by the verifier, ranks no gold table first. If missing and
    failed queries are hard more often than chance explains (Fisher's exact test, p < 0.001), the
    run is suspicious. They count as wrong in any case.
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
            same = _measured(declared.signature) == _measured(computed.signature)
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


def _measured(signature: str) -> str:
    """Return what a score measures, with the versions of packages: another one may differ."""
    return signature.partition("|interval:")[0]


def _agree(declared: float | None, computed: float, tolerance: float) -> bool:
    """Whether two scores are equal; None and NaN are scores over no query."""
    if declared is None or isnan(computed):
        return declared is None and isnan(computed)
    return abs(declared - computed) <= tolerance


def _failed(prediction: object) -> bool:
    error = getattr(getattr(prediction, "generation", prediction), "error", None)
    return error is not None and error != MISSING


FASTEST = 1e-6
"""Seconds below which no query is answered: a call of a Python function takes a tenth of it."""


APART = 1000
"""How far the time of a query alone and its share of a batch may lie apart, as a factor."""


def timings(run: Checked) -> Found:
    """Declared times are possible; a missing time is not a fault.

    Rejected: a negative time; a retriever that took less than a microsecond per query, or took
    time for no query; answers that took less than a microsecond each; percentiles that fall
    (p50 > p95 > p99), or that are of more queries than the split has; an answer that took longer
    than all answers together. Suspicious: a single query that takes 1000 times longer than its
    share of a batch, or its thousandth part.
    """
    document = run.document
    for name, value in {**document.seconds, **(document.latency_ms or {})}.items():
        if value < 0:
            yield "rejected", f"{name} is {value:g}, less than nothing"
    yield from _retrieval(run) if run.answers is None else _generation(run, run.answers)


def _generation(run: Checked, answers: Read) -> Found:
    together, n = run.document.seconds.get("generate"), len(answers.found)
    if together is not None and 0 <= together < n * FASTEST:
        yield "rejected", f"{n:,} answers took {together:g} s, faster than possible"
    longest = max(answers.times, default=0.0)
    if together is not None and longest > 1.01 * together + 1:
        yield (
            "rejected",
            f"one answer took {longest:g} s, but all of them together {together:g} s",
        )


def _retrieval(run: Checked) -> Found:
    document = run.document
    seconds, n = document.seconds.get("retrieve"), document.timed_queries
    latency = document.latency_ms or {}
    if seconds is not None and n == 0 and seconds > 0:
        yield "rejected", f"{seconds:g} s were needed to rank no query"
    ranked = document.retriever != NO_CONTEXT  # 0.1.0 recorded a time, mostly 0 s, without tables
    if seconds is not None and n > 0 and 0 <= seconds / n < FASTEST and ranked:
        yield "rejected", f"{n:,} queries were ranked in {seconds:g} s, faster than possible"
    declared = [latency[name] for name in ("p50", "p95", "p99") if name in latency]
    if declared != sorted(declared):
        shown = ", ".join(f"{value:g}" for value in declared)
        yield "rejected", f"percentiles of latency fall: {shown} ms"
    if latency.get("queries", 0) > len(run.dataset.queries):
        yield "rejected", f"latency is of {latency['queries']:g} queries, more than there are"
    p50 = latency.get("p50")
    if p50 is None:
        return
    if 0 <= p50 < 1000 * FASTEST:
        yield "rejected", f"half of all queries took less than {p50:g} ms, faster than possible"
    share = 1000 * (seconds or 0.0) / n if n else 0.0
    if share > 0 and p50 > 0 and not 1 / APART <= p50 / share <= APART:
        yield "suspicious", f"a query takes {p50:g} ms alone, but {share:g} ms in a batch"


PERFECT = 0.97
"""No system known has all gold tables on top for so large a share of a corpus."""

HARD = 0.8
IN_ORDER = 0.8
_DEPTH = 10
_MORE_OFTEN = 0.6
"""Of the queries with their first gold table at one of two ranks, the share at the lower one."""

_WORDS = 12


def gold_rankings(run: Checked) -> Found:
    """Rankings do not know the gold tables.

    Looked at is the share of queries with all gold tables on top, by its lower bound of 99.9%
    confidence. Suspicious: it is above 0.97 over all queries; or above 0.8 over the hard ones
    (those for which BM25 ranks no gold table first; our baselines reach 0.46 at most); or, of
    queries with several gold tables and all of them on top, more than 0.8 have them in the very
    order of the gold file, which says nothing about relevance (BM25 has 32% of them so on Spider,
    55% on BIRD). Two of the three are rejected. Suspicious too: among the first ten, the first gold
    table stands more often at some rank than at one above it: of the queries that have it at
    either, the lower bound of the share at the lower one is above 0.6 (BM25, TF-IDF and LSA reach
    0.41 at most on OTT-QA, FeTaQA, TabFact, Spider and BIRD).
    """
    if run.answers is not None:
        return
    queries = zip(run.dataset.queries, run.top, run.hard.tolist(), strict=True)
    labelled = [(query, found, hard) for query, found, hard in queries if query.gold]
    on_top = [set(found.tables[: len(q.gold)]) == set(q.gold) for q, found, _ in labelled]
    several = [
        found.tables[: len(query.gold)] == query.gold
        for (query, found, _), top in zip(labelled, on_top, strict=True)
        if top and len(query.gold) > 1
    ]
    hard = [top for (_, _, is_hard), top in zip(labelled, on_top, strict=True) if is_hard]
    found = [
        f"{sum(hits):,} of {len(hits):,} {what}"
        for hits, most, what in (
            (on_top, PERFECT, "queries have all their gold tables on top"),
            (hard, HARD, "queries that BM25 fails have all their gold tables on top"),
            (several, IN_ORDER, "rankings with several gold tables on top have the gold's order"),
        )
        if at_least(sum(hits), len(hits)) > most
    ]
    if found:
        yield "rejected" if len(found) > 1 else "suspicious", "; ".join(found)
    yield from _risen(run)


def _risen(run: Checked) -> Found:
    """Whether gold tables stand at a rank more often than at a rank above it."""
    at = [0] * _DEPTH
    for query, retrieval in zip(run.dataset.queries, run.top, strict=True):
        ranks = (i for i, table in enumerate(retrieval.tables[:_DEPTH]) if table in query.gold)
        first = next(ranks, None)
        if first is not None:
            at[first] += 1
    for lower in range(1, _DEPTH):
        above = min(range(lower), key=at.__getitem__)
        if at_least(at[lower], at[lower] + at[above]) > _MORE_OFTEN:
            yield (
                "suspicious",
                f"the first gold table stands {at[lower]:,} times at rank {lower + 1}, but "
                f"{at[above]:,} times at rank {above + 1}",
            )
            return


def gold_answers(run: Checked) -> Found:
    """Answers do not know the references.

    A task says which tables hold the answer to a query, when an answer is a copy of the reference,
    and the shares of copies that chance and knowledge of the world explain. Looked at are queries
    whose tables do not hold the answer (for questions, the reference is in no cell, header or title
    of them; for statements, no gold table is among them; for SQL, no table of the gold database):
    of these, more answers are the reference word for word (for statements: the right label) than
    the task explains. Suspicious if the lower bound of 99.9% confidence is above 0.5 for questions,
    0.25 for SQL and 0.9 for statements; rejected if it is above 0.9 for questions or SQL.
    Suspicious too: of references with at least 12 words, more than half (of SQL more than 80%), by
    the same bound, are given word for word. Case, spaces and punctuation (of SQL quotes) do not
    count.
    """
    limits = run.task.leak_limits
    if run.answers is None or limits == LeakLimits():
        return
    queries = [
        (query, found)
        for query, found in zip(run.dataset.queries, run.top, strict=True)
        if run.task.has_reference(query)
    ]
    copied = [_is_copied(run, query) for query, _ in queries]
    corpus, holds = run.dataset.corpus, run.task.holds_answer
    bare = [
        copy
        for copy, (query, found) in zip(copied, queries, strict=True)
        if limits.unsupported is not None and holds(query, found.tables, corpus) is False
    ]
    bound = at_least(sum(bare), len(bare))
    if limits.unsupported is not None and bound > limits.unsupported:
        certain = limits.certain is not None and bound > limits.certain
        yield (
            "rejected" if certain else "suspicious",
            f"{sum(bare):,} of {len(bare):,} answers are the reference word for word, though the "
            f"tables {'retrieved' if run.task.retrieves else 'given'} do not hold it",
        )
    long = [
        copy
        for copy, (query, _) in zip(copied, queries, strict=True)
        if min((len(text.split()) for text in query.references), default=0) >= _WORDS
    ]
    if limits.verbatim is not None and at_least(sum(long), len(long)) > limits.verbatim:
        yield (
            "suspicious",
            f"{sum(long):,} of {len(long):,} long references are given word for word",
        )


def _is_copied(run: Checked, query: Query) -> bool:
    """Whether the answer to a query is its reference."""
    assert run.answers is not None
    answered = run.answers.found.get(query.id)
    generation = None if answered is None else answered.generation
    text = "" if generation is None or generation.error is not None else generation.text
    return run.task.is_copied(text, run.judgements.get(query.id), query)


CONFIDENCE = 0.999
"""Of every bound below: one honest run in a thousand lies outside of it by chance."""


def at_least(successes: int, n: int) -> float:
    """Return the lower bound of a share of which ``successes`` of ``n`` were seen.

    One-sided, exact (Clopper & Pearson 1934); 0 where nothing was seen.
    """
    if successes == 0:
        return 0.0
    from scipy.stats import beta

    return float(beta.ppf(1 - CONFIDENCE, successes, n - successes + 1))


def by_chance(drawn_marked: int, drawn: int, marked: int, n: int) -> float:
    """Return the probability that ``drawn`` of ``n`` hold at least this many ``marked``.

    Hypergeometric, as in Fisher's exact test.
    """
    from scipy.stats import hypergeom

    return float(hypergeom.sf(drawn_marked - 1, n, marked, drawn))


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
