"""Whether the times that a submission declares can be."""

from collections.abc import Iterator

from target_bench.reporting.leaderboard.entry import Level
from target_bench.reporting.leaderboard.read_submission import Read
from target_bench.reporting.leaderboard.recompute import Checked
from target_bench.runs.manifest import NO_CONTEXT

FASTEST = 1e-6
"""Seconds below which no query is answered: a call of a Python function takes a tenth of it."""

APART = 1000
"""How far the time of a query alone and its share of a batch may lie apart, as a factor."""


def timings(run: Checked) -> Iterator[tuple[Level, str]]:
    """Declared times are possible; a missing time is not a fault.

    Rejected: a negative time; a retriever that took less than a microsecond a query, or took
    time for no query; answers that took less than a microsecond each; percentiles that fall
    (p50 > p95 > p99), or that are of more queries than the split has; an answer that took longer
    than all answers together. Suspicious: a single query that takes 1000 times longer than its
    share of a batch, or its thousandth part.
    """
    document = run.document
    latency = document.latency_ms or {}
    for name, value in {**document.seconds, **latency}.items():
        if value < 0:
            yield "rejected", f"{name} is {value:g}, less than nothing"
    yield from _retrieval(run) if run.answers is None else _generation(run, run.answers)


def _generation(run: Checked, answers: Read) -> Iterator[tuple[Level, str]]:
    together, n = run.document.seconds.get("generate"), len(answers.found)
    if together is not None and 0 <= together < n * FASTEST:
        yield "rejected", f"{n:,} answers took {together:g} s, faster than possible"
    longest = max(answers.times, default=0.0)
    if together is not None and longest > 1.01 * together + 1:
        yield (
            "rejected",
            f"one answer took {longest:g} s, but all of them together {together:g} s",
        )


def _retrieval(run: Checked) -> Iterator[tuple[Level, str]]:
    document = run.document
    seconds, n = document.seconds.get("retrieve"), document.timed_queries
    latency = document.latency_ms or {}
    if seconds is not None and n == 0 and seconds > 0:
        yield "rejected", f"{seconds:g} s were needed to rank no query"
    if seconds is not None and n > 0 and 0 <= seconds / n < FASTEST and _was_timed(run):
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


def _was_timed(run: Checked) -> bool:
    """Whether a system ranked: answers without tables and those of a file are built on none.

    Version 0.1.0 recorded the time of that, mostly 0 s, and submissions of it declare it.
    """
    return run.document.retriever != NO_CONTEXT
