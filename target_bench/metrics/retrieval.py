"""Retrieval metrics, each a ratio of two sums over queries.

The rank at which a gold table stands decides every value; scores never enter. A query that failed
or got nothing counts with value 0. Definitions are in ``docs/metrics.md``.
"""

import re
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from importlib.metadata import version
from typing import Any

import numpy as np
from numpy.typing import NDArray

from target_bench.core.errors import ConfigError
from target_bench.core.interfaces import Metric

Floats = NDArray[np.float64]

VERSION = "retrieval:1"
"""The version of these metrics, for identities of runs: raise it if values can change."""


@dataclass(frozen=True)
class JudgedRankings:
    """Rankings compared with gold tables; n queries, ranks 1 to depth.

    Attributes:
        found: (n, width) how many gold tables are first met at each rank (0 or 1).
        found_or_copy: the same when a copy of a gold table (same header and rows) counts as it.
        gold: (n,) number of gold tables.
        returned: (n,) number of tables returned, repeated ones included.
        depth: the largest rank looked at; ``found`` ends where the longest ranking does.
        database_at: (n,) rank of the first table of the gold database, 0 where there is none; None
            where tables are in no databases.
        databases_to: (n,) how many databases the ranking has met there, the gold one included.
    """

    found: NDArray[np.int32]
    found_or_copy: NDArray[np.int32]
    gold: NDArray[np.int32]
    returned: NDArray[np.int32]
    depth: int
    database_at: NDArray[np.int32] | None = None
    databases_to: NDArray[np.int32] | None = None

    def hits(self, k: int) -> Floats:
        """(n,) gold tables among the first k."""
        hits: Floats = np.sum(self.found[:, :k], axis=1, dtype=np.float64)
        return hits

    @cached_property
    def patterns(self) -> tuple[NDArray[np.int32], NDArray[np.intp]]:
        """The distinct rows of (found, gold, returned), and which one each query has."""
        rows = np.column_stack([self.found, self.gold, self.returned])
        distinct, inverse = np.unique(rows, axis=0, return_inverse=True)
        return distinct, inverse.reshape(-1)


def judge(
    rankings: Sequence[Sequence[Hashable]],
    gold: Sequence[Iterable[Hashable]],
    depth: int,
    copies: Mapping[Hashable, Hashable] | None = None,
) -> JudgedRankings:
    """Compare rankings with gold tables.

    Args:
        rankings: for each query its tables, best first.
        gold: for each query its gold tables, in the same order of queries.
        depth: how many ranks to look at.
        copies: table -> the group of tables that are copies of each other; tables not in it are
            like no other. Default: no copies.
    """
    golds = [set(tables) for tables in gold]
    n = len(golds)
    width = min(depth, max(map(len, rankings), default=0))
    found = np.zeros((n, width), dtype=np.int32)
    for i, (ranking, tables) in enumerate(zip(rankings, golds, strict=True)):
        _mark(found[i], ranking[:depth], dict.fromkeys(tables, 1))
    found_or_copy = found
    if copies:
        found_or_copy = np.zeros_like(found)
        for i, (ranking, tables) in enumerate(zip(rankings, golds, strict=True)):
            groups = [copies.get(table, table) for table in ranking[:depth]]
            _mark(found_or_copy[i], groups, Counter(copies.get(t, t) for t in tables))
    return JudgedRankings(
        found,
        found_or_copy,
        np.array([len(tables) for tables in golds], dtype=np.int32).reshape(n),
        np.array([len(ranking) for ranking in rankings], dtype=np.int32).reshape(n),
        depth,
    )


def with_databases(
    judged: JudgedRankings, rankings: Sequence[Sequence[str]], gold: Sequence[str]
) -> JudgedRankings:
    """The same rankings, judged by databases too.

    Args:
        judged: the rankings of tables.
        rankings: for each query the databases of its tables, best first.
        gold: for each query its database.
    """
    n = len(gold)
    at, to = np.zeros(n, dtype=np.int32), np.zeros(n, dtype=np.int32)
    for i, (ranking, database) in enumerate(zip(rankings, gold, strict=True)):
        looked_at = list(ranking[: judged.depth])
        if database in looked_at:
            at[i] = looked_at.index(database) + 1
            to[i] = len(set(looked_at[: at[i]]))
    return replace(judged, database_at=at, databases_to=to)


def _mark(row: NDArray[np.int32], ranking: Sequence[Hashable], wanted: dict[Hashable, int]) -> None:
    for rank, table in enumerate(ranking):
        if table in wanted:
            row[rank] = wanted.pop(table)


Statistics = Callable[[JudgedRankings, int], tuple[Floats, Floats]]


@dataclass(frozen=True, slots=True)
class Family:
    """A kind of metric: its name before the ``@``, and how it is computed.

    Attributes:
        name: e.g. ``recall``.
        statistics: (judged, k) -> numerators and denominators, one each a query.
        description: the definition in one line.
        at_k: whether it is read at a cutoff; else it is read over the whole ranking.
        measure: the ir-measures measure behind it, where one is.
        of_databases: whether it is about databases rather than tables.
    """

    name: str
    statistics: Statistics
    description: str
    at_k: bool = True
    measure: str = ""
    of_databases: bool = False


@dataclass(frozen=True)
class RetrievalMetric(Metric[JudgedRankings]):
    """One metric; prints as users write it, and ``parse`` reads it back.

    Args:
        family: the kind.
        k: the cutoff, or None for a metric over the whole ranking.
        depth: how long the rankings may be, for a metric over the whole of them; it changes the
            value, so it is part of the signature.
    """

    family: Family
    k: int | None = None
    depth: int | None = None

    @property
    def name(self) -> str:  # type: ignore[override]  # derived, so read-only
        """As users write it, e.g. ``recall@10``."""
        return f"{self.family.name}@{self.k}" if self.k else self.family.name

    def __str__(self) -> str:
        return self.name

    @property
    def signature(self) -> str:
        """Name, definition and the versions of the libraries behind it."""
        parts = [self.name, self.family.description]
        if self.depth is not None:
            parts.append(f"depth:{self.depth}")
        if self.family.measure:
            parts.append(f"ir-measures:{_installed('ir-measures')}")
            parts.append(f"pytrec_eval:{_installed('pytrec-eval-terrier')}")
        return "|".join(parts)

    @property
    def highest(self) -> float:  # type: ignore[override]  # derived, so read-only
        """1; of precision@k that of a query with one gold table, and ``bounds`` sees more."""
        return 1 / self.k if self.family.name == "precision" and self.k else 1.0

    def statistics(self, examples: JudgedRankings) -> Floats:
        """(n, 2) numerators and denominators.

        Raises:
            ConfigError: the rankings are not as deep as the cutoff.
        """
        if self.k is not None and self.k > examples.depth:
            raise ConfigError(f"{self.name}: the rankings are only {examples.depth} deep")
        return np.column_stack(self.family.statistics(examples, self.k or examples.depth))

    def value(self, totals: Floats) -> Floats:
        """Numerator over denominator; 0 where there is nothing to divide by."""
        return _ratio(totals[..., 0], totals[..., 1])

    def weights(self, statistics: Floats) -> Floats:
        """The denominators."""
        return statistics[:, 1]


def parse(name: str) -> RetrievalMetric:
    """The metric that prints as ``name``.

    Raises:
        ConfigError: there is no such metric, or its cutoff is missing, superfluous or below 1.
    """
    match = re.fullmatch(r"([^@]+)(?:@(\d+))?", name.strip().lower())
    family = FAMILIES.get(match[1]) if match else None
    if match is None or family is None:
        known = ", ".join(f"{f.name}@k" if f.at_k else f.name for f in FAMILIES.values())
        raise ConfigError(f"unknown metric {name!r}. Known: {known}.")
    k = int(match[2]) if match[2] else None
    if family.at_k != bool(k):
        wanted = f"{family.name}@10" if family.at_k else family.name
        raise ConfigError(f"metric {name!r}: write it as {wanted}")
    return RetrievalMetric(family, k)


def at_cutoffs(cutoffs: Iterable[int], databases: bool = False) -> list[RetrievalMetric]:
    """Every family: at every cutoff, or over rankings as deep as the largest one.

    Args:
        cutoffs: the cutoffs.
        databases: those about databases too.
    """
    ks = sorted(set(cutoffs))
    families = [f for f in FAMILIES.values() if databases or not f.of_databases]
    metrics = [RetrievalMetric(f, k) for f in families if f.at_k for k in ks]
    whole = [RetrievalMetric(f, depth=ks[-1]) for f in families if not f.at_k]
    return metrics + whole


def _ratio(numerator: Floats, denominator: NDArray[Any]) -> Floats:
    """Numerator over denominator, 0 where there is nothing to divide by."""
    out: Floats = np.zeros_like(numerator)
    np.divide(numerator, denominator, out=out, where=denominator != 0)
    return out


def _recall(judged: JudgedRankings, k: int) -> tuple[Floats, Floats]:
    return _ratio(judged.hits(k), judged.gold), np.ones(len(judged.gold))


def _recall_or_copy(judged: JudgedRankings, k: int) -> tuple[Floats, Floats]:
    hits: Floats = np.sum(judged.found_or_copy[:, :k], axis=1, dtype=np.float64)
    return _ratio(hits, judged.gold), np.ones(len(hits))


def _recall_micro(judged: JudgedRankings, k: int) -> tuple[Floats, Floats]:
    return judged.hits(k), judged.gold.astype(np.float64)


def _capped_recall(judged: JudgedRankings, k: int) -> tuple[Floats, Floats]:
    return _ratio(judged.hits(k), np.minimum(judged.gold, k)), np.ones(len(judged.gold))


def _capped_recall_target(judged: JudgedRankings, k: int) -> tuple[Floats, Floats]:
    returned = np.minimum(judged.returned, k)
    return judged.hits(k), np.minimum(judged.gold, returned).astype(np.float64)


def _full_recall(judged: JudgedRankings, k: int) -> tuple[Floats, Floats]:
    full = (judged.hits(k) == judged.gold) & (judged.gold > 0)
    return full.astype(np.float64), np.ones(len(judged.gold))


def _of_databases(judged: JudgedRankings) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    if judged.database_at is None or judged.databases_to is None:
        raise ConfigError("the tables of this corpus are in no databases")
    return judged.database_at, judged.databases_to


def _recall_of_database(judged: JudgedRankings, k: int) -> tuple[Floats, Floats]:
    at, _ = _of_databases(judged)
    return ((at > 0) & (at <= k)).astype(np.float64), np.ones(len(at))


def _mrr_of_database(judged: JudgedRankings, _k: int) -> tuple[Floats, Floats]:
    at, to = _of_databases(judged)
    return _ratio((at > 0).astype(np.float64), to), np.ones(len(at))


def _from_ir_measures(measure: str, at_k: bool = True) -> Statistics:
    """A measure of ir-measures (trec_eval), asked once for each distinct ranking pattern."""

    def statistics(judged: JudgedRankings, k: int) -> tuple[Floats, Floats]:
        distinct, pattern = judged.patterns
        values = _trec_values(f"{measure}@{k}" if at_k else measure, distinct)
        return values[pattern], np.ones(len(pattern))

    return statistics


def _trec_values(measure: str, patterns: NDArray[np.int32]) -> Floats:
    """The measure of each pattern, on stand-in ids with strictly descending stand-in scores."""
    import ir_measures

    qrels: dict[str, dict[str, int]] = {}
    run: dict[str, dict[str, float]] = {}
    for i, (*found, gold, returned) in enumerate(patterns.tolist()):
        depth = min(returned, len(found))
        retrieved = {f"r{rank}": 1 for rank in range(depth) if found[rank]}
        missed = {f"m{j}": 1 for j in range(gold - len(retrieved))}
        qrels[str(i)] = retrieved | missed
        run[str(i)] = {f"r{rank}": float(depth - rank) for rank in range(depth)}
    values = np.zeros(len(patterns))
    for result in ir_measures.iter_calc([ir_measures.parse_measure(measure)], qrels, run):
        values[int(result.query_id)] = result.value
    return values


@cache
def _installed(distribution: str) -> str:
    return version(distribution)


FAMILIES: dict[str, Family] = {
    family.name: family
    for family in (
        Family("recall", _recall, "mean over queries of gold tables found / gold tables"),
        Family(
            "recall[dup]",
            _recall_or_copy,
            "recall where a table with the gold table's header and rows counts as it",
        ),
        Family("recall_micro", _recall_micro, "gold tables found / gold tables, pooled"),
        Family("capped_recall", _capped_recall, "mean of gold tables found / min(gold tables, k)"),
        Family(
            "capped_recall[target]",
            _capped_recall_target,
            "gold tables found / min(gold tables, returned tables), pooled",
        ),
        Family("full_recall", _full_recall, "share of queries with all gold tables found"),
        Family(
            "success",
            _from_ir_measures("Success"),
            "share of queries with at least one gold table found",
            measure="Success",
        ),
        Family("precision", _from_ir_measures("P"), "mean of gold tables found / k", measure="P"),
        Family(
            "ndcg",
            _from_ir_measures("nDCG"),
            "mean nDCG, binary gain, discount log2(rank + 1)",
            measure="nDCG",
        ),
        Family(
            "mrr",
            _from_ir_measures("RR", at_k=False),
            "mean of 1 / rank of the first gold table",
            at_k=False,
            measure="RR",
        ),
        Family(
            "map",
            _from_ir_measures("AP", at_k=False),
            "mean average precision over all gold tables",
            at_k=False,
            measure="AP",
        ),
        Family(
            "r_precision",
            _from_ir_measures("Rprec", at_k=False),
            "mean precision at the number of gold tables",
            at_k=False,
            measure="Rprec",
        ),
        Family(
            "recall[db]",
            _recall_of_database,
            "share of queries with a table of the gold database among the first k (TARGET's rule)",
            of_databases=True,
        ),
        Family(
            "mrr[db]",
            _mrr_of_database,
            "mean of 1 / rank of the gold database, databases ranked by their best tables",
            at_k=False,
            of_databases=True,
        ),
    )
}
