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
from target_bench.core.metric import RANKINGS, Metric, MetricDefinition, MetricSpec, by_name


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
        pool: what ``metrics.pooled`` knows of the other tables; None where nothing is known.
    """

    found: NDArray[np.int32]
    found_or_copy: NDArray[np.int32]
    gold: NDArray[np.int32]
    returned: NDArray[np.int32]
    depth: int
    database_at: NDArray[np.int32] | None = None
    databases_to: NDArray[np.int32] | None = None
    pool: tuple[NDArray[np.bool_], NDArray[np.int32]] | None = None

    def hits(self, k: int) -> NDArray[np.float64]:
        """Return (n,) numbers of gold tables among the first k."""
        hits: NDArray[np.float64] = np.sum(self.found[:, :k], axis=1, dtype=np.float64)
        return hits

    @cached_property
    def patterns(self) -> tuple[NDArray[np.int32], NDArray[np.intp]]:
        """The distinct rows of (found, gold, returned), and which one each query has."""
        rows = np.ascontiguousarray(np.column_stack([self.found, self.gold, self.returned]))
        whole = rows.view((np.void, rows.shape[1] * rows.itemsize)).ravel()
        _, first, inverse = np.unique(whole, return_index=True, return_inverse=True)
        return rows[first], inverse


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
    """Return the same rankings, judged by databases too.

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


Floats = NDArray[np.float64]

VERSION = "retrieval:1"
"""The version of these metrics, for identities of runs: raise it if values can change."""

Statistics = Callable[[JudgedRankings, int], tuple[Floats, Floats]]


@dataclass(frozen=True)
class RetrievalMetric(Metric[JudgedRankings]):
    """A metric of rankings; prints as users write it, and ``parse`` reads it back.

    Args:
        spec: its declaration.
        measure: (judged, k) -> numerators and denominators, one each a query.
        measured_by: the ir-measures measure behind it, where one is.
        k: the cutoff, or None for a metric over the whole ranking.
        depth: how long the rankings may be, for a metric over the whole of them; it changes the
            value, so it is part of the signature.
    """

    spec: MetricSpec
    measure: Statistics
    measured_by: str = ""
    k: int | None = None
    depth: int | None = None

    @property
    def name(self) -> str:
        """As users write it, e.g. ``recall@10``."""
        return self.spec.at(self.k)

    def __str__(self) -> str:
        return self.name

    @property
    def signature(self) -> str:
        """Name, definition and the versions of the libraries behind it."""
        parts = [self.name, self.spec.description]
        if self.depth is not None:
            parts.append(f"depth:{self.depth}")
        if self.measured_by:
            parts.append(f"ir-measures=={_installed('ir-measures')}")
            parts.append(f"pytrec-eval-terrier=={_installed('pytrec-eval-terrier')}")
        return "|".join(parts)

    @property
    def highest(self) -> float:
        """1; of precision@k that of a query with one gold table, and ``bounds`` sees more."""
        return 1 / self.k if self.spec.name == "precision" and self.k else 1.0

    def statistics(self, examples: JudgedRankings) -> Floats:
        """Return (n, 2) numerators and denominators.

        Raises:
            ConfigError: the rankings are not as deep as the cutoff.
        """
        if self.k is not None and self.k > examples.depth:
            raise ConfigError(f"{self.name}: the rankings are only {examples.depth} deep")
        return np.column_stack(self.measure(examples, self.k or examples.depth))

    def value(self, totals: Floats) -> Floats:
        """Return numerator over denominator; 0 where there is nothing to divide by."""
        return ratio(totals[..., 0], totals[..., 1])

    def weights(self, statistics: Floats) -> Floats:
        """Return the denominators."""
        return statistics[:, 1]


def parse(name: str) -> RetrievalMetric:
    """Read the metric that prints as ``name``.

    Raises:
        ConfigError: there is no such metric, or its cutoff is missing, superfluous or below 1.
    """
    match = re.fullmatch(r"([^@]+)(?:@(\d+))?", name.strip().lower())
    found = DEFINITIONS.get(match[1]) if match else None
    if match is None or found is None:
        known = ", ".join(d.spec.name + "@k" * d.spec.at_k for d in DEFINITIONS.values())
        raise ConfigError(f"unknown metric {name!r}. Known: {known}.")
    k = int(match[2]) if match[2] else None
    if found.spec.at_k != bool(k):
        raise ConfigError(f"metric {name!r}: write it as {found.spec.at(10)}")
    return made(found, k)


def at_cutoffs(cutoffs: Iterable[int], databases: bool = False) -> list[RetrievalMetric]:
    """List every metric: at every cutoff, or over rankings as deep as the largest one.

    Args:
        cutoffs: the cutoffs.
        databases: those about databases too.
    """
    ks = sorted(set(cutoffs))
    wanted = [d for d in DEFINITIONS.values() if databases or not d.spec.needs]
    metrics = [made(d, k) for d in wanted if d.spec.at_k for k in ks]
    whole = [made(d, depth=ks[-1]) for d in wanted if not d.spec.at_k]
    return metrics + whole


def made(
    definition: MetricDefinition, k: int | None = None, depth: int | None = None
) -> RetrievalMetric:
    """Make the metric at a cutoff, or over rankings of a depth."""
    metric = definition.make(k, depth)
    assert isinstance(metric, RetrievalMetric)
    return metric


def ratio(numerator: Floats, denominator: NDArray[Any]) -> Floats:
    """Return numerator over denominator, 0 where there is nothing to divide by."""
    out: Floats = np.zeros_like(numerator)
    np.divide(numerator, denominator, out=out, where=denominator != 0)
    return out


def _recall(judged: JudgedRankings, k: int) -> tuple[Floats, Floats]:
    return ratio(judged.hits(k), judged.gold), np.ones(len(judged.gold))


def _recall_or_copy(judged: JudgedRankings, k: int) -> tuple[Floats, Floats]:
    hits: Floats = np.sum(judged.found_or_copy[:, :k], axis=1, dtype=np.float64)
    return ratio(hits, judged.gold), np.ones(len(hits))


def _recall_micro(judged: JudgedRankings, k: int) -> tuple[Floats, Floats]:
    return judged.hits(k), judged.gold.astype(np.float64)


def _capped_recall(judged: JudgedRankings, k: int) -> tuple[Floats, Floats]:
    return ratio(judged.hits(k), np.minimum(judged.gold, k)), np.ones(len(judged.gold))


def _capped_recall_target(judged: JudgedRankings, k: int) -> tuple[Floats, Floats]:
    returned = np.minimum(judged.returned, k)
    return judged.hits(k), np.minimum(judged.gold, returned).astype(np.float64)


def full_recall(judged: JudgedRankings, k: int) -> tuple[Floats, Floats]:
    """Measure whether all gold tables are among the first k."""
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
    return ratio((at > 0).astype(np.float64), to), np.ones(len(at))


def _from_ir_measures(measure: str, at_k: bool = True) -> Statistics:
    """Return a measure of ir-measures (trec_eval), asked once for each distinct ranking pattern."""

    def statistics(judged: JudgedRankings, k: int) -> tuple[Floats, Floats]:
        distinct, pattern = judged.patterns
        values = _trec_values(f"{measure}@{k}" if at_k else measure, distinct)
        return values[pattern], np.ones(len(pattern))

    return statistics


def _trec_values(measure: str, patterns: NDArray[np.int32]) -> Floats:
    """Return the measure of each pattern, on stand-in ids with strictly descending scores."""
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


def define(
    name: str, label: str, description: str, measure: Statistics | str, **more: Any
) -> MetricDefinition:
    """Declare a metric; a measure of ir-measures is given by its name there."""
    measured_by = measure if isinstance(measure, str) else ""
    if isinstance(measure, str):
        measure = _from_ir_measures(measure, more.get("at_k", True))
    statistics = measure
    spec = MetricSpec(name, label, description, of=RANKINGS, **{"at_k": True, **more})

    def make(k: int | None = None, depth: int | None = None) -> RetrievalMetric:
        return RetrievalMetric(spec, statistics, measured_by, k, depth)

    return MetricDefinition(spec, make)


_DATABASES = ("tables that are in databases",)

RECALL = define(
    "recall", "R", "mean over queries of gold tables found / gold tables", _recall, rank=1
)
RECALL_DUP = define(
    "recall[dup]",
    "R[dup]",
    "recall where a table with the gold table's header and rows counts as it",
    _recall_or_copy,
)
RECALL_MICRO = define(
    "recall_micro",
    "R micro",
    "gold tables found / gold tables, pooled",
    _recall_micro,
    source="TARGET's recall and accuracy",
)
CAPPED_RECALL = define(
    "capped_recall", "capped R", "mean of gold tables found / min(gold tables, k)", _capped_recall
)
CAPPED_RECALL_TARGET = define(
    "capped_recall[target]",
    "capped R (TARGET)",
    "gold tables found / min(gold tables, returned tables), pooled",
    _capped_recall_target,
    source="TARGET's capped recall",
)
FULL_RECALL = define(
    "full_recall", "all", "share of queries with all gold tables found", full_recall
)
SUCCESS = define("success", "hit", "share of queries with at least one gold table found", "Success")
PRECISION = define("precision", "P", "mean of gold tables found / k", "P")
NDCG = define(
    "ndcg",
    "nDCG",
    "mean nDCG, binary gain, discount log2(rank + 1)",
    "nDCG",
    source="Järvelin & Kekäläinen 2002",
)
MRR = define("mrr", "MRR", "mean of 1 / rank of the first gold table", "RR", at_k=False, rank=3)
MAP = define("map", "MAP", "mean average precision over all gold tables", "AP", at_k=False)
R_PRECISION = define(
    "r_precision", "R-precision", "mean precision at the number of gold tables", "Rprec", at_k=False
)
RECALL_DB = define(
    "recall[db]",
    "DB",
    "share of queries with a table of the gold database among the first k (TARGET's rule)",
    _recall_of_database,
    rank=2,
    needs=_DATABASES,
)
MRR_DB = define(
    "mrr[db]",
    "MRR (DB)",
    "mean of 1 / rank of the gold database, databases ranked by their best tables",
    _mrr_of_database,
    at_k=False,
    needs=_DATABASES,
)

DEFINITIONS = by_name(
    *(RECALL, RECALL_DUP, RECALL_MICRO, CAPPED_RECALL, CAPPED_RECALL_TARGET, FULL_RECALL, SUCCESS),
    *(PRECISION, NDCG, MRR, MAP, R_PRECISION, RECALL_DB, MRR_DB),
)
"""Every metric of rankings, in the order in which scores are recorded."""
