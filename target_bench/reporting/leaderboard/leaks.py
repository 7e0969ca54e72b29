"""Whether predictions know the gold."""

from collections.abc import Iterator

from target_bench.core.schema import Query
from target_bench.core.task import LeakLimits
from target_bench.reporting.leaderboard.entry import Level
from target_bench.reporting.leaderboard.recompute import Checked
from target_bench.reporting.leaderboard.suspicion import at_least

PERFECT = 0.97
"""No system known has all gold tables on top for so large a share of a corpus."""

HARD = 0.8
IN_ORDER = 0.8
_DEPTH = 10
_MORE_OFTEN = 0.6
"""Of the queries with their first gold table at one of two ranks, the share at the lower one."""

_WORDS = 12


def gold_rankings(run: Checked) -> Iterator[tuple[Level, str]]:
    """Rankings do not know the gold tables.

    Looked at is the share of queries with all gold tables on top, by its lower bound of 99.9%
    confidence. Suspicious: it is above 0.97 over all queries; or above 0.8 over the hard ones
    (those for which neither BM25 nor TF-IDF ranks a gold table first); or, of queries with several
    gold tables and all of them on top, more than 0.8 have them in the very order of the gold file,
    which says nothing about relevance (BM25 has 32% of them so on Spider, 55% on BIRD). Two of the
    three are rejected. Suspicious too: among the first ten, the first gold table stands more often
    at some rank than at one above it: of the queries that have it at either, the lower bound of the
    share at the lower one is above 0.6 (BM25, TF-IDF and LSA reach 0.41 at most on OTT-QA, FeTaQA,
    TabFact, Spider and BIRD).
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
            (hard, HARD, "queries that baselines fail have all their gold tables on top"),
            (several, IN_ORDER, "rankings with several gold tables on top have the gold's order"),
        )
        if at_least(sum(hits), len(hits)) > most
    ]
    if found:
        yield "rejected" if len(found) > 1 else "suspicious", "; ".join(found)
    yield from _risen(run)


def _risen(run: Checked) -> Iterator[tuple[Level, str]]:
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


def gold_answers(run: Checked) -> Iterator[tuple[Level, str]]:
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
