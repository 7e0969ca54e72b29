"""Metrics of rankings: each a function of judged rankings and a cutoff.

It returns the value of every query, or the numerators and denominators of a ratio of two sums. The
rank of each gold table decides every value. A query that failed or got nothing has the value 0; in
``capped_recall[target]`` and ``set_size`` it adds nothing to the denominator. Definitions are in
``docs/metrics.md``.
"""

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence, Sized
from dataclasses import dataclass
from functools import partial
from math import nan
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from target_bench.core.errors import ConfigError, DataError
from target_bench.core.metric import (
    OF_RANKINGS,
    Floats,
    MetricDefinition,
    MetricSpec,
    RatioMetric,
    ratio,
    split_cutoff,
)
from target_bench.core.schema import Query, TableId

VERSION = "retrieval:2"
"""The version of these metrics, for identities of runs: raise it if values can change."""

GRADES = "grades"
"""The entry of a query's metadata with the grade of each gold table, in their order, above 0."""

Ranks = NDArray[np.int32]


def read_grades(query: Query) -> dict[TableId, float]:
    """Return gold table -> its grade, which is its gain in nDCG; 1 for a query without grades."""
    grades = query.metadata.get(GRADES)
    if grades is None:
        return dict.fromkeys(query.gold, 1.0)
    are_numbers = isinstance(grades, list | tuple) and all(
        isinstance(grade, int | float) and 0 < grade < np.inf for grade in grades
    )
    if not are_numbers or len(grades) != len(query.gold):
        raise DataError(
            f"query {query.id!r:.60}: grades: expected {len(query.gold)} numbers above 0, one "
            f"per gold table, found {grades!r:.80}"
        )
    return dict(zip(query.gold, map(float, grades), strict=True))


class Gains(NamedTuple):
    """The gains of nDCG where gold tables have grades."""

    ranked: Floats  # (n, width) the grade of the gold table first met at each rank, else 0
    ideal: Floats  # (n, depth) the grades of the gold tables, highest first


class Families(NamedTuple):
    """Families of gold tables: shards and versions of one table."""

    matched: Ranks  # (n, width) how many are first met at each rank
    gold: Ranks  # (n,) how many there are


@dataclass(frozen=True)
class JudgedRankings:
    """Rankings compared with gold tables; n queries, ranks 1 to depth.

    Attributes:
        matched: (n, width) 1 where a gold table is first met, else 0. The width is the length of
            the longest ranking, at most the depth.
        matched_or_copy: (n, width) how many gold tables are first met at each rank, where a copy of
            one (same header and rows) counts as it: a table may be the copy of several.
        gold: (n,) number of gold tables.
        returned: (n,) number of tables returned, repeated ones included.
        depth: the number of ranks that count.
        gains: None where all gold tables are equally relevant.
        databases: (n, width) 1 where a table of the gold database is first met; the task adds it,
            and leaves it None where the tables are in no databases.
        families: None where gold tables have none in common.
    """

    matched: Ranks
    matched_or_copy: Ranks
    gold: Ranks
    returned: Ranks
    depth: int
    gains: Gains | None = None
    databases: Ranks | None = None
    families: Families | None = None

    def hits(self, k: int) -> Floats:
        """Count the gold tables among the first k of each query."""
        return _floats(self.matched[:, :k].sum(axis=1))

    def size(self, k: int) -> Floats:
        """Count the tables returned among the first k of each query."""
        return _floats(np.minimum(self.returned, k))


def _floats(values: Any) -> Floats:
    return np.asarray(values, dtype=np.float64)


def match_gold(
    rankings: Sequence[Sequence[Hashable]],
    gold: Sequence[Iterable[Hashable]],
    depth: int,
    copies: Mapping[Any, Hashable] | None = None,
    grades: Sequence[Mapping[Any, float]] | None = None,
    families: Mapping[Any, Hashable] | None = None,
) -> JudgedRankings:
    """Compare rankings with gold tables.

    Args:
        rankings: for each query its tables, best first.
        gold: for each query its gold tables, in the same order of queries.
        depth: how many ranks count.
        copies: table -> the group of its copies; tables without copies may be missing.
        grades: for each query, gold table -> its grade above 0, the gain in nDCG. Default: all are
            equally relevant.
        families: table -> its family; tables without one may be missing.
    """
    gold_sets = [set(tables) for tables in gold]
    cut = [ranking[:depth] for ranking in rankings]
    matched = matched_or_copy = match(cut, gold_sets)
    if copies:
        matched_or_copy = match(_group(cut, copies), _group(gold_sets, copies))
    return JudgedRankings(
        matched=matched,
        matched_or_copy=matched_or_copy,
        gold=_count(gold_sets),
        returned=_count(rankings),
        depth=depth,
        gains=None if grades is None else _find_gains(cut, grades, matched, depth),
        families=None if families is None else _match_families(cut, gold_sets, families),
    )


def match(rankings: Sequence[Sequence[Hashable]], gold: Sequence[Iterable[Hashable]]) -> Ranks:
    """Return (n, width) how many gold items are first met at each rank.

    An item that is gold n times counts n: two gold tables that are copies are met at once.
    """
    matched = np.zeros((len(gold), max(map(len, rankings), default=0)), dtype=np.int32)
    for row, ranking, items in zip(matched, rankings, gold, strict=True):
        left = Counter(items)
        for rank, item in enumerate(ranking):
            if item in left:
                row[rank] = left.pop(item)
    return matched


def _group(
    lists: Sequence[Iterable[Hashable]], groups: Mapping[Any, Hashable]
) -> list[list[Hashable]]:
    """Return lists of tables with each table replaced by its group, if it has one."""
    return [[groups.get(table, table) for table in tables] for tables in lists]


def _count(lists: Sequence[Sized]) -> Ranks:
    return np.array(list(map(len, lists)), dtype=np.int32)


def _find_gains(
    rankings: Sequence[Sequence[Hashable]],
    grades: Sequence[Mapping[Any, float]],
    matched: Ranks,
    depth: int,
) -> Gains:
    gains = Gains(np.zeros(matched.shape), np.zeros((len(grades), depth)))
    for i, (ranking, graded) in enumerate(zip(rankings, grades, strict=True)):
        for rank in map(int, np.flatnonzero(matched[i])):
            gains.ranked[i, rank] = graded[ranking[rank]]
        ideal = sorted(graded.values(), reverse=True)[:depth]
        gains.ideal[i, : len(ideal)] = ideal
    return gains


def _match_families(
    rankings: Sequence[Sequence[Hashable]],
    gold: Sequence[Iterable[Hashable]],
    families: Mapping[Any, Hashable],
) -> Families:
    gold_families = [set(tables) for tables in _group(gold, families)]
    return Families(match(_group(rankings, families), gold_families), _count(gold_families))


Measure = Callable[[JudgedRankings, int], Floats | tuple[Floats, ...]]
"""(judged, cutoff or depth) -> the value of each query; or its numerator and denominator, and for
precision@k the largest value that it can have."""


@dataclass(frozen=True)
class RetrievalMetric(RatioMetric[JudgedRankings]):
    """A metric of rankings; prints as users write it, and ``parse`` reads it back."""

    spec: MetricSpec
    measure: Measure
    pooled: bool  # whether it is a ratio of sums over all queries; else a mean over queries
    k: int | None = None  # None for a metric without a cutoff
    depth: int | None = None  # the largest cutoff, for a metric without one
    graded: bool = False  # whether gold tables have grades, for the signature of nDCG

    @property
    def empty(self) -> float:  # type: ignore[override]  # it depends on the metric
        """The value where there is nothing to divide by."""
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
        gain = f"{'graded' if self.graded else 'binary'} gain"
        definition = self.spec.description.replace("gain the grade of a gold table or 1", gain)
        depth = "" if self.depth is None else f"|depth:{self.depth}"
        return f"{self.name}|{definition}{depth}"

    def bounds(self, statistics: Floats) -> tuple[float, float]:
        """Return the lowest and the highest value; that of precision@k follows from the gold."""
        if self.spec.name != "precision":
            return super().bounds(statistics)
        return 0.0, float(statistics[:, 2].max(initial=0.0))

    def statistics(self, examples: JudgedRankings) -> Floats:
        """Return (n, 2) numerators and denominators; of precision@k, see ``Measure``, (n, 3)."""
        if self.k is not None and self.k > examples.depth:
            raise ConfigError(f"{self.name}: the rankings are only {examples.depth} deep")
        measured = self.measure(examples, self.k or examples.depth)
        if not isinstance(measured, tuple):
            measured = measured, np.ones(len(measured))
        return np.column_stack(measured).astype(np.float64)

    def count_queries(self, statistics: Floats) -> int:
        """Return the number of queries: all, or those that have a value."""
        return len(statistics) if self.pooled else super().count_queries(statistics)


DEFINITIONS: dict[str, MetricDefinition] = {}
"""Every metric of rankings, in the order of lists."""

_DATABASES = "tables that are in databases"
_FAMILIES = "gold tables that are shards or versions of one table"
_SETS = "a retriever of sets, or the setting sets=true of the task"
"""What some metrics need (``MetricSpec.needs``)."""


def parse(name: str) -> RetrievalMetric:
    """Make the metric of a name: ``recall@10``."""
    family, k = split_cutoff(name.strip().lower())
    definition = DEFINITIONS.get(family)
    if definition is None:
        names = ", ".join(d.spec.name + "@k" * d.spec.at_k for d in DEFINITIONS.values())
        raise ConfigError(f"unknown metric {name!r}. Known: {names}.")
    if definition.spec.at_k != (k is not None):
        raise ConfigError(f"metric {name!r}: write it as {definition.spec.at(10)}")
    metric: RetrievalMetric = definition.make(k)  # type: ignore[assignment]  # all of this module
    return metric


def metrics_at(
    cutoffs: Iterable[int],
    *,
    databases: bool = False,
    sets: bool = False,
    families: bool = False,
    graded: bool = False,
) -> list[RetrievalMetric]:
    """Make all metrics: at every cutoff, or without one over rankings down to the largest.

    Args:
        cutoffs: one or more.
        databases: whether tables are in databases, for ``recall[db]``.
        sets: whether to measure returned sets.
        families: whether gold tables are of one family, for ``recall[family]``.
        graded: whether gold tables have grades, for the signature of nDCG.
    """
    ks = sorted(set(cutoffs))
    available = {_DATABASES: databases, _SETS: sets, _FAMILIES: families}
    metrics: list[Any] = []
    without_cutoff: list[Any] = []
    for definition in DEFINITIONS.values():
        if not all(available[need] for need in definition.spec.needs):
            continue
        if definition.spec.at_k:
            metrics += [definition.make(k, graded=graded) for k in ks]
        else:
            without_cutoff.append(definition.make(None, ks[-1]))
    return metrics + without_cutoff


MeasureT = TypeVar("MeasureT", bound=Measure)


def _metric(
    name: str, label: str, source: str, at_k: bool = True, pooled: bool = False, **fields: Any
) -> Callable[[MeasureT], MeasureT]:
    """Declare a metric; its ``rank`` is that among metrics (``MetricSpec.rank``).

    The docstring of its function is the definition that users see. It is part of the signature, by
    which runs are identified: in other words it makes every run of rankings a new one.
    """

    def declare(measure: MeasureT) -> MeasureT:
        definition = (measure.__doc__ or "").removesuffix(".")
        definition = definition[:1].lower() + definition[1:]
        spec = MetricSpec(name, label, definition, source, OF_RANKINGS, at_k, **fields)
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
def _precision(judged: JudgedRankings, k: int) -> tuple[Floats, Floats, Floats]:
    """Mean of gold tables found / k."""
    return judged.hits(k) / k, np.ones(len(judged.gold)), np.minimum(judged.gold, k) / k


@_metric("ndcg", "nDCG", "Järvelin & Kekäläinen 2002")
def _ndcg(judged: JudgedRankings, k: int) -> Floats:
    """Mean nDCG, gain the grade of a gold table or 1, discount log2(rank + 1)."""
    discounts = 1 / np.log2(np.arange(2, k + 2))
    if judged.gains is not None:  # the gain is the grade itself, as in trec_eval
        ranked, ideal = judged.gains.ranked[:, :k], judged.gains.ideal[:, :k]
        return ratio(ranked @ discounts[: ranked.shape[1]], ideal @ discounts[: ideal.shape[1]])
    hits = judged.matched[:, :k]
    by_gold = np.concatenate([[0.0], np.cumsum(discounts)])  # ideal value by number of gold tables
    return ratio(hits @ discounts[: hits.shape[1]], by_gold[np.minimum(judged.gold, k)])


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


@_metric("recall[db]", "DB", "TARGET's rule for databases", rank=2, needs=(_DATABASES,))
def _recall_of_database(judged: JudgedRankings, k: int) -> Floats:
    """Share of queries with a table of the gold database among the first k (TARGET's rule)."""
    if judged.databases is None:
        raise ConfigError("recall[db]@k: the tables of this corpus are in no databases")
    return _floats(judged.databases[:, :k].sum(axis=1))


@_metric("recall[family]", "R[family]", "target-bench", needs=(_FAMILIES,))
def _recall_of_families(judged: JudgedRankings, k: int) -> Floats:
    """Mean of families of gold tables found / families, where shards and versions are a family."""
    if judged.families is None:
        raise ConfigError("recall[family]@k: no gold tables of this corpus are of one family")
    return ratio(judged.families.matched[:, :k].sum(axis=1), judged.families.gold)


_set_metric = partial(_metric, at_k=False, needs=(_SETS,))


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


@_set_metric(
    "set_size", "set size", "target-bench", scale="unbounded", higher_is_better=False, digits=1
)
def _set_size(judged: JudgedRankings, k: int) -> tuple[Floats, Floats]:
    """Mean number of tables returned, over queries with any."""
    # fewer is better, so a query that failed or got nothing would count as the best one
    return judged.size(k), _floats(judged.returned > 0)
