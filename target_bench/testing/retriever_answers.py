"""What a retriever promises about its answers: one function per promise, ``check_`` and its name.

Each takes a ``Maker``, raises ``CheckError`` where the promise is broken, and ``SkipTest`` where
there is nothing to check.
"""

from collections.abc import Callable, Mapping, Sequence
from math import exp
from typing import Any
from unittest import SkipTest

from target_bench.core import contract
from target_bench.core.errors import ConfigError
from target_bench.core.schema import Retrieval, TableId
from target_bench.testing import samples
from target_bench.testing.calls import (
    embedded,
    expect_same,
    has_batch,
    indexed,
    ranked,
    ranked_at_first,
    ranked_together,
    read,
)
from target_bench.testing.checks import CheckError, Maker
from target_bench.testing.samples import Sample

_INCREASING: Mapping[str, Callable[[float], float]] = {
    "times 1e-8": lambda score: score * 1e-8,
    "times 1e-6": lambda score: score * 1e-6,
    "times 1e6": lambda score: score * 1e6,
    "through a sigmoid": lambda score: 1 / (1 + exp(-score)),
}
"""Functions of scores, from -1 to 1, that change no order."""


def check_basics(make: Maker) -> None:
    """Check that it can be made, has both methods, and ranks ordinary tables for usual queries."""
    retriever = make()
    try:
        contract.check_methods(retriever)
    except ConfigError as error:
        raise CheckError(str(error)) from error
    try:
        ranked_at_first(make)
    except CheckError as error:
        if isinstance(error.__cause__, ConfigError):  # no such model, an extra that is missing
            raise error.__cause__ from error
        raise


def check_top_k(make: Maker) -> None:
    """Check that it returns at most ``top_k`` tables, also for 1 and for more than there are."""
    sample = samples.ordinary()
    with indexed(make) as retriever:
        for k in (1, 2, sample.n - 1, sample.n, sample.n + 1, 1000):
            ranked(retriever, sample, sample.queries[:3], k)


def check_prefix(make: Maker) -> None:
    """Check that the first tables of a longer ranking are those of a shorter one."""
    sample = samples.ordinary()
    with indexed(make) as retriever:
        long = ranked(retriever, sample, k=sample.n)
        shorter = {k: ranked(retriever, sample, k=k) for k in (1, 3, sample.n - 1)}
    for k, short in shorter.items():
        first = [Retrieval(r.query_id, r.tables[:k], r.scores[:k]) for r in long]
        expect_same(
            sample, sample.queries, short, first,
            (f"with top_k={k}", f"as the first {k} with top_k={sample.n}"), make.tolerance,
            "The harness asks once, for the largest k, and every smaller k is read from that "
            "ranking: its figures would change with --top-k. Rank before you cut at top_k; where "
            "an approximate search cannot promise that, skip this check and give that reason.",
        )  # fmt: skip


def check_scores(make: Maker) -> None:
    """Check that scores rank alike on any scale and through a sigmoid: tables stay distinct."""
    sample = samples.ordinary()
    queries = (*sample.queries, " ".join(sample.queries), " ".join(sample.queries[::3]))
    with indexed(make) as retriever:
        found = ranked(retriever, sample, queries)
    several = [(q, r) for q, r in zip(queries, found, strict=True) if len(r.tables) > 1]
    scored = [(query, r) for query, r in several if r.scores]
    if not scored:
        raise SkipTest("no ranking of several tables has scores; the order alone is the ranking")
    if all(len(set(r.scores)) == 1 for _, r in scored):
        raise SkipTest(
            "all tables of a ranking have the same score, so the order of the corpus ranks them; "
            "return ids without scores if your own order should"
        )
    for query, retrieval in scored:
        largest = max(map(abs, retrieval.scores)) or 1.0
        for name, change in _INCREASING.items():
            changed = [change(score / largest) for score in retrieval.scores]
            pairs = list(zip(retrieval.tables, changed, strict=True))
            (again,) = read([pairs], [query], sample.n, sample, f"scores {name}")
            if again.tables != retrieval.tables:
                i = next(
                    i
                    for i, two in enumerate(zip(retrieval.tables, again.tables, strict=True))
                    if two[0] != two[1]
                )
                raise CheckError(
                    f"retrieve({query[:60]!r}, {sample.n}) on {sample.name}: the scores of "
                    f"{retrieval.tables[i]} ({retrieval.scores[i]!r}) and a table near it are so "
                    f"close that they rank otherwise {name}. Return scores that tell tables "
                    "apart: as they are before any sigmoid, and in double precision."
                )


def check_best_first(make: Maker) -> None:
    """Check that tables with scores come best first: higher is better."""
    sample = samples.ordinary()
    for query, found in zip(sample.queries, ranked_at_first(make), strict=True):
        if found.resorted:
            raise CheckError(
                f"retrieve({query!r}, {sample.n}) on {sample.name} returned its tables in another "
                "order than their scores say. The harness sorts them by score, higher first: sort "
                "before you cut at top_k, and return -distance where a small number is good."
            )


def check_batch(make: Maker) -> None:
    """Check that ``retrieve_batch`` answers as ``retrieve`` does, query by query."""
    sample = samples.ordinary()
    with indexed(make) as retriever:
        if not has_batch(retriever):
            raise SkipTest("it has no retrieve_batch; the harness calls retrieve for each query")
        mixed = (*sample.queries, "zebra", *sample.queries[::-1])
        for queries in (mixed, mixed[:1]):
            for k in (3, sample.n):
                together = ranked_together(retriever, sample, queries, k)
                expect_same(
                    sample, queries, together, ranked(retriever, sample, queries, k),
                    ("from retrieve_batch", "from retrieve"), make.tolerance,
                    "The rankings of a batch come in the order of its queries, and no query "
                    "changes the ranking of another one.",
                )  # fmt: skip


def check_texts(make: Maker) -> None:
    """Check that any text is a query: other scripts, emoji, operators of search engines."""
    sample = samples.ordinary()
    with indexed(make) as retriever:
        _ask(retriever, sample, (*samples.SCRIPTS, *samples.OPERATORS))


def check_lengths(make: Maker) -> None:
    """Check that a query may be empty, blank, one character, or very long."""
    sample = samples.ordinary()
    queries = ("", " ", "\n\t ", "a", "mountain " * 10_000, "x" * 50_000)
    with indexed(make) as retriever:
        _ask(retriever, sample, queries)


def _ask(retriever: Any, sample: Sample, queries: Sequence[str]) -> None:
    """Ask the queries one by one, and all together."""
    ranked(retriever, sample, queries)
    if has_batch(retriever):
        ranked_together(retriever, sample, queries)


def check_tables(make: Maker) -> None:
    """Check that any table is indexed: without rows, empty or repeated names, cells of any type."""
    sample = samples.odd()
    ranked(embedded(make, sample), sample)


def check_one_table(make: Maker) -> None:
    """Check that a corpus may hold a single table."""
    sample = samples.single()
    retriever = embedded(make, sample)
    for k in (1, 5):
        ranked(retriever, sample, k=k)


def check_ids(make: Maker) -> None:
    """Check that tables come back under the ids they have, however those look."""
    sample = samples.awkward_ids()
    ranked(embedded(make, sample), sample)


def check_copies(make: Maker) -> None:
    """Check that tables of the same content are found each under its own id."""
    sample = samples.copies()
    ids = sample.corpus.ids
    groups = [(ids[i], ids[i + sample.n - 3]) for i in range(3)]
    hint = "Key tables by table.id, not by their text, title or place."
    _expect_whole_groups(make, sample, groups, hint)


def check_databases(make: Maker) -> None:
    """Check that tables of one name in several databases are distinguished."""
    sample = samples.databases()
    groups = [tuple(sample.corpus.ids[:3])]
    hint = "An id is the pair (database_id, table_id): key tables by table.id as a whole."
    _expect_whole_groups(make, sample, groups, hint)


def _expect_whole_groups(
    make: Maker, sample: Sample, groups: Sequence[tuple[TableId, ...]], hint: str
) -> None:
    """Fail where one of equal tables is found, and a worse table, but not the others.

    Equal tables deserve equal places, so one that stops early loses none of them for that.
    """
    found = ranked(embedded(make, sample), sample)
    for query, retrieval in zip(sample.queries, found, strict=True):
        for group in groups:
            missing = [table for table in group if table not in retrieval.tables]
            present = [table for table in group if table in retrieval.tables]
            if present and missing and _goes_on_after(present[0], retrieval, len(missing), sample):
                raise CheckError(
                    f"retrieve({query!r}, {sample.n}) on {sample.name} found {present[0]} and "
                    f"worse tables, but not {' or '.join(map(str, missing))}, of the same content. "
                    f"{hint}"
                )


def _goes_on_after(table: TableId, found: Retrieval, n_missing: int, sample: Sample) -> bool:
    """Return whether a ranking has worse tables than this one; without scores, all others."""
    if not found.scores:
        return len(found.tables) + n_missing == sample.n
    return found.scores[-1] < found.scores[found.tables.index(table)]
