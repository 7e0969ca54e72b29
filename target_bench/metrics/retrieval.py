"""Metrics of rankings: each a function of judged rankings and a cutoff.

It returns the value of every query, or numerators and denominators of a ratio of two sums. The rank
of each gold table decides every value. A query that failed or got nothing has the value 0, and is
left out of ``set_size``. Definitions are in ``docs/metrics.md``.
"""

import re
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import nan
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from target_bench.core.errors import ConfigError, DataError
from target_bench.core.metric import (
    RANKINGS,
    Floats,
    MetricDefinition,
    MetricSpec,
    RatioMetric,
    ratio,
)
from target_bench.core.schema import Query, TableId

VERSION = "retrieval:2"
"""The version of these metrics, for identities of runs: raise it if values can change."""

GRADES = "grades"
"""The entry of a query's metadata with the grade of each gold table, in their order, above 0."""

Ranks = NDArray[np.int32]


def read_grades(query: Query) -> dict[TableId, float]:
    """Return how relevant each gold table of a query is: its gain in nDCG, 1 without grades."""
    grades = query.metadata.get(GRADES)
    if grades is None:
        return dict.fromkeys(query.gold, 1.0)
    are_numbers = isinstance(grades, list | tuple) and all(
        isinstance(grade, int | float) and 0 < grade < np.inf for grade in grades
    )
    if not are_numbers or len(grades) != len(query.gold):
        raise DataError(
            f"query {query.id!r:.60}: grades should be {len(query.gold)} numbers above 0, one a "
            f"gold table, but is {grades!r:.80}"
        )
    return dict(zip(query.gold, map(float, grades), strict=True))


@dataclass(frozen=True)
class JudgedRankings:
    """Rankings compared with gold tables; n queries, ranks 1 to depth.

    Attributes:
        matched: (n, width) how many gold tables are first met at each rank (0 or 1).
        matched_or_copy: the same when a copy of a gold table (same header and rows) counts as it.
        gold: (n,) number of gold tables.
        returned: (n,) number of tables returned, repeated ones included.
        depth: the largest rank looked at; ``matched`` ends where the longest ranking does.
        gains: (n, width) the grade of the table at each rank and (n, depth) the highest grades;
            None where all gold tables are equally relevant.
        database_ranks: (n,) the rank of the first table of the gold database, 0 where there is
            none; None where the tables are in no databases.
        families: (n, width) how many families of gold tables are first met at each rank, and (n,)
            their number; None where no gold tables are of one family.
    """

    matched: Ranks
    matched_or_copy: Ranks
    gold: Ranks
    returned: Ranks
    depth: int
    gains: tuple[Floats, Floats] | None = None
    database_ranks: Ranks | None = None
    families: tuple[Ranks, Ranks] | None = None

    def hits(self, k: int) -> Floats:
        """Count the gold tables among the first k of each query."""
        return _floats(self.matched[:, :k].sum(axis=1))

    def size(self, k: int) -> Floats:
        """Count the tables returned among the first k of each query."""
        return _floats(np.minimum(self.returned, k))


def _floats(values: Any) -> Floats:
    return np.asarray(values, dtype=np.float64)


def judge(
    rankings: Sequence[Sequence[Hashable]],
    gold: Sequence[Iterable[Hashable]],
    depth: int,
    copies: Mapping[Hashable, Hashable] | None = None,
    grades: Sequence[Mapping[Any, float]] | None = None,
) -> JudgedRankings:
    """Compare rankings with gold tables.

    Args:
        rankings: for each query its tables, best first.
        gold: for each query its gold tables, in the same order of queries.
        depth: how many ranks to look at.
        copies: table -> the group of tables that are copies of each other; tables not in it are
            like no other. Default: no copies.
        grades: for each query, how relevant its gold tables are: table -> a number above 0, which
            is its gain in nDCG. Default: all are equally relevant.
    """
    golds, cut = [set(tables) for tables in gold], [ranking[:depth] for ranking in rankings]
    matched = matched_or_copy = _match(cut, golds)
    if copies:
        groups, gold_groups = ([[copies.get(t, t) for t in row] for row in s] for s in (cut, golds))
        matched_or_copy = _match(groups, gold_groups)
    return JudgedRankings(
        matched,
        matched_or_copy,
        np.array([len(tables) for tables in golds], dtype=np.int32),
        np.array([len(ranking) for ranking in rankings], dtype=np.int32),
        depth,
        None if grades is None else _find_gains(cut, grades, matched, depth),
    )


def _match(rankings: Sequence[Sequence[Hashable]], golds: Sequence[Iterable[Hashable]]) -> Ranks:
    """Return (n, width) how many gold tables each rank is the first to meet."""
    matched = np.zeros((len(golds), max(map(len, rankings), default=0)), dtype=np.int32)
    for row, ranking, tables in zip(matched, rankings, golds, strict=True):
        left = Counter(tables)  # of two gold tables that are copies one rank meets both
        for rank, table in enumerate(ranking):
            if table in left:
                row[rank] = left.pop(table)
    return matched


def _find_gains(
    rankings: Sequence[Sequence[Hashable]],
    grades: Sequence[Mapping[Any, float]],
    matched: Ranks,
    depth: int,
) -> tuple[Floats, Floats]:
    gains, highest = np.zeros(matched.shape), np.zeros((len(grades), depth))
    for i, (ranking, graded) in enumerate(zip(rankings, grades, strict=True)):
        for rank in map(int, np.flatnonzero(matched[i])):
            gains[i, rank] = graded[ranking[rank]]
        best = sorted(graded.values(), reverse=True)[:depth]
        highest[i, : len(best)] = best
    return gains, highest


def rank_databases(rankings: Sequence[Sequence[str]], gold: Sequence[str]) -> Ranks:
    """Return (n,) the rank of the first table of the gold database; 0 where there is none."""
    pairs = zip(rankings, gold, strict=True)
    ranks = [list(ranking).index(db) + 1 if db in ranking else 0 for ranking, db in pairs]
    return np.array(ranks, dtype=np.int32)


def match_families(
    rankings: Sequence[Sequence[Hashable]],
    gold: Sequence[Iterable[Hashable]],
    families: Mapping[Hashable, Hashable],
    depth: int,
) -> tuple[Ranks, Ranks]:
    """Return (n, width) how many gold families each rank is the first to meet, and (n,) how many.

    Args:
        rankings: for each query its tables, best first.
        gold: for each query its gold tables.
        families: table -> its family; a table that is not in it is like no other.
        depth: how many ranks to look at.
    """
    cut = [[families.get(table, table) for table in ranking[:depth]] for ranking in rankings]
    golds = [{families.get(table, table) for table in tables} for tables in gold]
    return _match(cut, golds), np.array([len(own) for own in golds], dtype=np.int32)


Measure = Callable[[JudgedRankings, int], Floats | tuple[Floats, Floats]]
"""(judged, cutoff or depth) -> the value of each query, or its numerator and denominator."""


@dataclass(frozen=True)
class RetrievalMetric(RatioMetric[JudgedRankings]):
    """A metric of rankings; prints as users write it, and ``parse`` reads it back."""

    spec: MetricSpec
    measure: Measure
    pooled: bool  # whether it is a ratio of sums; else a mean over the queries that have a value
    k: int | None = None  # None for a metric over the whole ranking
    depth: int | None = None  # how long rankings may be, for a metric over the whole of them
    graded: bool = False  # whether gold tables have grades, which are the gains of nDCG

    @property
    def empty(self) -> float:  # type: ignore[override]  # it depends on the metric
        """The value of nothing."""
        return 0.0 if self.pooled else nan

    @property
    def name(self) -> str:
        """As users write it, e.g. ``recall@10``."""
        return self.spec.at(self.k)

    def __str__(self) -> str:
        return self.name

    @property
    def signature(self) -> str:
        """Name and definition; of nDCG with the gains of this corpus."""
        depth = [] if self.depth is None else [f"depth:{self.depth}"]
        gain = f"{'graded' if self.graded else 'binary'} gain"
        definition = self.spec.description.replace("gain the grade of a gold table or 1", gain)
        return "|".join([self.name, definition, *depth])

    @property
    def highest(self) -> float:
        """1; of precision@k that of a query with one gold table, and ``bounds`` sees more."""
        return 1 / self.k if self.spec.name == "precision" and self.k else 1.0

    def statistics(self, examples: JudgedRankings) -> Floats:
        """Return (n, 2) numerators and denominators."""
        if self.k is not None and self.k > examples.depth:
            raise ConfigError(f"{self.name}: the rankings are only {examples.depth} deep")
        values = self.measure(examples, self.k or examples.depth)
        sums = values if isinstance(values, tuple) else (values, np.ones(len(values)))
        return np.column_stack(sums).astype(np.float64)

    def count_queries(self, statistics: Floats) -> int:
        """Return the number of queries: all, or those that have a value."""
        return len(statistics) if self.pooled else super().count_queries(statistics)


DEFINITIONS: dict[str, MetricDefinition] = {}
"""Every metric of rankings, in the order of lists."""

OF_DATABASES = "tables that are in databases"
OF_FAMILIES = "gold tables that are shards or versions of one table"
OF_SETS = "a retriever of sets, or the setting sets=true of the task"
"""What the metrics need that are not of every corpus."""


def parse(name: str) -> RetrievalMetric:
    """Read the metric that prints as ``name``."""
    match = re.fullmatch(r"([^@]+)(?:@(\d+))?", name.strip().lower())
    definition = DEFINITIONS.get(match[1]) if match else None
    if match is None or definition is None:
        names = ", ".join(d.spec.name + "@k" * d.spec.at_k for d in DEFINITIONS.values())
        raise ConfigError(f"unknown metric {name!r}. Known: {names}.")
    k = int(match[2] or 0) or None
    if definition.spec.at_k != bool(k):
        raise ConfigError(f"metric {name!r}: write it as {definition.spec.at(10)}")
    metric: RetrievalMetric = definition.make(k)  # type: ignore[assignment]  # all of this module
    return metric


def metrics_at(
    cutoffs: Iterable[int],
    databases: bool = False,
    sets: bool = False,
    graded: bool = False,
    families: bool = False,
) -> list[RetrievalMetric]:
    """List the metrics: at every cutoff, or over rankings as deep as the largest one."""
    ks = sorted(set(cutoffs))
    left_out = {OF_DATABASES: not databases, OF_SETS: not sets, OF_FAMILIES: not families}
    listed = [d for d in DEFINITIONS.values() if not any(left_out[n] for n in d.spec.needs)]
    at_k: list[Any] = [d.make(k, graded=graded) for d in listed if d.spec.at_k for k in ks]
    return at_k + [d.make(None, ks[-1]) for d in listed if not d.spec.at_k]


MeasureT = TypeVar("MeasureT", bound=Measure)


def _metric(
    name: str, label: str, source: str, at_k: bool = True, pooled: bool = False, **fields: Any
) -> Callable[[MeasureT], MeasureT]:
    """Declare a metric; the docstring of its function is the definition that is published."""

    def declare(measure: MeasureT) -> MeasureT:
        definition = (measure.__doc__ or "").removesuffix(".")
        definition = definition[:1].lower() + definition[1:]
        spec = MetricSpec(name, label, definition, source, RANKINGS, at_k, **fields)
        DEFINITIONS[name] = MetricDefinition(spec, partial(RetrievalMetric, spec, measure, pooled))
        return measure

    return declare


@_metric("recall", "R", "trec_eval's recall", rank=1)
def _recall(judged: JudgedRankings, k: int) -> Floats:
    """Mean over queries of gold tables found / gold tables."""
    return ratio(judged.hits(k), judged.gold)


@_metric("recall[dup]", "R[dup]", "target-bench")
def _recall_or_copy(judged: JudgedRankings, k: int) -> Floats:
    """Recall where a table with the gold table's header and rows counts as it."""
    return ratio(judged.matched_or_copy[:, :k].sum(axis=1), judged.gold)


@_metric("recall_micro", "R micro", "TARGET's recall and accuracy", pooled=True)
def _recall_micro(judged: JudgedRankings, k: int) -> tuple[Floats, Floats]:
    """Gold tables found / gold tables, pooled."""
    return judged.hits(k), _floats(judged.gold)


@_metric("capped_recall", "capped R", "Thakur et al. 2021 (BEIR)")
def _capped_recall(judged: JudgedRankings, k: int) -> Floats:
    """Mean of gold tables found / min(gold tables, k)."""
    return ratio(judged.hits(k), np.minimum(judged.gold, k))


@_metric("capped_recall[target]", "capped R (TARGET)", "TARGET's capped recall", pooled=True)
def _capped_recall_of_target(judged: JudgedRankings, k: int) -> tuple[Floats, Floats]:
    """Gold tables found / min(gold tables, returned tables), pooled."""
    return judged.hits(k), np.minimum(judged.gold, judged.size(k))


@_metric("full_recall", "all", "target-bench")
def _full_recall(judged: JudgedRankings, k: int) -> Floats:
    """Share of queries with all gold tables found."""
    return _floats((judged.hits(k) == judged.gold) & (judged.gold > 0))


@_metric("success", "hit", "trec_eval's success")
def _success(judged: JudgedRankings, k: int) -> Floats:
    """Share of queries with at least one gold table found."""
    return np.minimum(judged.hits(k), 1)


@_metric("precision", "P", "trec_eval's P")
def _precision(judged: JudgedRankings, k: int) -> Floats:
    """Mean of gold tables found / k."""
    return judged.hits(k) / k


@_metric("ndcg", "nDCG", "Järvelin & Kekäläinen 2002")
def _ndcg(judged: JudgedRankings, k: int) -> Floats:
    """Mean nDCG, gain the grade of a gold table or 1, discount log2(rank + 1)."""
    discounts = 1 / np.log2(np.arange(2, k + 2))
    if judged.gains is not None:  # the gain is the grade itself, as in trec_eval
        gains, highest = (grades[:, :k] for grades in judged.gains)
        return ratio(gains @ discounts[: gains.shape[1]], highest @ discounts[: highest.shape[1]])
    hits = judged.matched[:, :k]
    ideal = np.concatenate([[0.0], np.cumsum(discounts)])
    return ratio(hits @ discounts[: hits.shape[1]], ideal[np.minimum(judged.gold, k)])


@_metric("mrr", "MRR", "Voorhees 1999; trec_eval's recip_rank", at_k=False, rank=3)
def _reciprocal_rank(judged: JudgedRankings, _k: int) -> Floats:
    """Mean of 1 / rank of the first gold table."""
    ranks = np.arange(1, judged.matched.shape[1] + 1)
    return _floats(((judged.matched > 0) / ranks).max(axis=1, initial=0.0))


@_metric("map", "MAP", "Buckley & Voorhees 2000; trec_eval's map", at_k=False)
def _average_precision(judged: JudgedRankings, _k: int) -> Floats:
    """Mean average precision over all gold tables."""
    precision = np.cumsum(judged.matched, axis=1) / np.arange(1, judged.matched.shape[1] + 1)
    return ratio((precision * judged.matched).sum(axis=1), judged.gold)


@_metric("recall[db]", "DB", "TARGET's rule for databases", rank=2, needs=(OF_DATABASES,))
def _recall_of_database(judged: JudgedRankings, k: int) -> Floats:
    """Share of queries with a table of the gold database among the first k (TARGET's rule)."""
    ranks = judged.database_ranks
    if ranks is None:
        raise ConfigError("recall[db]@k: the tables of this corpus are in no databases")
    return _floats((ranks > 0) & (ranks <= k))


@_metric("recall[family]", "R[family]", "target-bench", needs=(OF_FAMILIES,))
def _recall_of_families(judged: JudgedRankings, k: int) -> Floats:
    """Mean of families of gold tables found / families, where shards and versions are a family."""
    if judged.families is None:
        raise ConfigError("recall[family]@k: no gold tables of this corpus are of one family")
    matched, n_gold = judged.families
    return ratio(matched[:, :k].sum(axis=1), n_gold)


_set_metric = partial(_metric, at_k=False, needs=(OF_SETS,))


@_set_metric("set_precision", "set P", "trec_eval's set_P")
def _set_precision(judged: JudgedRankings, k: int) -> Floats:
    """Mean of gold tables returned / tables returned, 0 for no table."""
    return ratio(judged.hits(k), judged.size(k))


@_set_metric("set_recall", "set R", "trec_eval's set_recall")
def _set_recall(judged: JudgedRankings, k: int) -> Floats:
    """Mean of gold tables returned / gold tables."""
    return _recall(judged, k)


@_set_metric("set_f1", "set F1", "trec_eval's set_F")
def _set_f1(judged: JudgedRankings, k: int) -> Floats:
    """Mean of 2 * gold tables returned / (tables returned + gold tables)."""
    return ratio(2 * judged.hits(k), judged.size(k) + judged.gold)


@_set_metric("complete_recall", "complete R", "perfect recall of papers on sets of tables")
def _complete_recall(judged: JudgedRankings, k: int) -> Floats:
    """Share of queries whose gold tables are all returned."""
    return _full_recall(judged, k)


_UNBOUNDED: dict[str, Any] = {"scale": "unbounded", "higher_is_better": False, "digits": 1}


@_set_metric("set_size", "set size", "target-bench", **_UNBOUNDED)
def _set_size(judged: JudgedRankings, k: int) -> tuple[Floats, Floats]:
    """Mean number of tables returned, over queries with any."""
    # less is better, so a query that failed or got nothing would else count as the best one
    return judged.size(k), _floats(judged.returned > 0)
