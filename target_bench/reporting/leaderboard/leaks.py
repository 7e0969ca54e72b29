"""Whether predictions know the gold."""

import re
from collections.abc import Callable, Iterator
from functools import lru_cache

from target_bench.core.schema import Query, Retrieval, TableId
from target_bench.core.serialization import cell_text
from target_bench.reporting.leaderboard.entry import Level
from target_bench.reporting.leaderboard.recompute import Checked
from target_bench.reporting.leaderboard.suspicion import at_least

PERFECT = 0.97
"""No system known has all gold tables on top for so large a share of a corpus."""

HARD = 0.8
IN_ORDER = 0.8
UNSUPPORTED = {"question_answering": 0.5, "text_to_sql": 0.25, "fact_verification": 0.9}
VERBATIM = {"question_answering": 0.5, "text_to_sql": 0.8}
_CERTAIN = 0.9
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
    on_top = [value == 1.0 for value in run.per_query["r_precision"].tolist()]
    several = [
        retrieval.tables[: len(query.gold)] == query.gold
        for query, retrieval, top in zip(run.dataset.queries, run.top, on_top, strict=True)
        if top and len(query.gold) > 1
    ]
    hard = [top for top, is_hard in zip(on_top, run.hard.tolist(), strict=True) if is_hard]
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

    Looked at are queries whose retrieved tables do not hold the answer: for questions, the
    reference is in no cell, header or title of them; for statements, no gold table is among them;
    for SQL, no table of the gold database. Of these, more answers than chance or knowledge
    of the world explain are the reference word for word (for statements: the right label):
    suspicious if the lower bound of 99.9% confidence is above 0.5 for questions, 0.25 for SQL and
    0.9 for statements; rejected if it is above 0.9 for questions or SQL. Suspicious too: of
    references with at least 12 words, more than half (of SQL more than 80%), by the same bound, are
    given word for word. Case, spaces and punctuation (of SQL quotes) do not count.
    """
    if run.answers is None or run.document.task not in UNSUPPORTED:
        return
    task = run.document.task
    right, held = _verbatim(run), _held(run)
    queries = list(zip(run.dataset.queries, run.top, strict=True))
    given = [right(i, query) for i, (query, _) in enumerate(queries)]
    bare = [g for g, (query, found) in zip(given, queries, strict=True) if not held(query, found)]
    bound = at_least(sum(bare), len(bare))
    if bound > UNSUPPORTED[task]:
        level: Level = "suspicious"
        if bound > _CERTAIN and task != "fact_verification":
            level = "rejected"
        yield (
            level,
            f"{sum(bare):,} of {len(bare):,} answers are the reference word for word, though the "
            "tables retrieved do not hold it",
        )
    long = [
        g
        for g, (query, _) in zip(given, queries, strict=True)
        if min(len(text.split()) for text in query.references) >= _WORDS
    ]
    if task in VERBATIM and at_least(sum(long), len(long)) > VERBATIM[task]:
        yield (
            "suspicious",
            f"{sum(long):,} of {len(long):,} long references are given word for word",
        )


def _verbatim(run: Checked) -> Callable[[int, Query], bool]:
    """Whether the answer to a query, the i-th, is its reference."""
    assert run.answers is not None
    found = run.answers.found
    if run.document.task == "fact_verification":
        accuracy = run.per_query["accuracy"].tolist()
        return lambda i, _query: accuracy[i] == 1.0
    if run.document.task == "question_answering":

        def same_words(_i: int, query: Query) -> bool:
            given = words(found[query.id].generation.text) if query.id in found else ""
            return given != "" and given in map(words, query.references)

        return same_words

    def same_sql(_i: int, query: Query) -> bool:
        given = _squeezed(run.judgements[query.id].record["sql"] or "")
        return given != "" and given in map(_squeezed, query.references)

    return same_sql


def _held(run: Checked) -> Callable[[Query, Retrieval], bool]:
    """Whether the tables of a ranking hold the answer to a query."""
    if run.document.task == "fact_verification":
        return lambda query, ranking: not set(query.gold).isdisjoint(ranking.tables)
    if run.document.task == "text_to_sql":
        return lambda query, ranking: (
            query.database_id in {table.database_id for table in ranking.tables}
        )
    corpus = run.dataset.corpus

    @lru_cache(maxsize=2000)
    def text_of(table_id: TableId) -> str:
        table = corpus[table_id]
        said = [str(value) for value in table.context.values()]
        cells = (cell_text(cell) for row in table.rows for cell in row)
        return words(" ".join([*said, *table.header, *cells]))

    def holds(query: Query, ranking: Retrieval) -> bool:
        wanted = [f" {words(text)} " for text in query.references]
        return any(text in f" {text_of(t)} " for t in ranking.tables for text in wanted)

    return holds


def words(text: str) -> str:
    """The words of a text, whatever its case, spaces and punctuation."""
    return " ".join(re.findall(r"[^\W_]+", text.casefold()))


def _squeezed(sql: str) -> str:
    return re.sub(r"[\s;`'\"\[\]]+", "", sql).casefold()
