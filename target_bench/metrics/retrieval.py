"""Metrics of rankings, each a ratio of two sums over queries.

The rank at which a gold table stands decides every value. A query that failed or got nothing counts
with value 0, and is left out of ``set_size``. Besides the usual metrics there are those

* of databases, where the tables are in several;
* of the set of tables that a retriever chose to return (by returning fewer than it was asked for),
  and of the columns in it;
* of both parts, where passages of text complete tables: a query has in its metadata, as
  ``passages``, the gold tables that are passages, any of which will do;
* for pools: a query has in its metadata, as ``not_relevant``, the tables that people judged and
  found not relevant; with the gold tables these are all that were judged.

Definitions are in ``docs/metrics.md``.
"""

import re
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from math import nan
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from target_bench.core.errors import ConfigError, DataError
from target_bench.core.metric import RANKINGS, MetricDefinition, MetricSpec, by_name
from target_bench.core.schema import Query, TableId
from target_bench.metrics.means import Floats, RatioMetric, ratio

Column = tuple[TableId, str]
"""A table, and the name of one of its columns."""

VERSION = "retrieval:2"
"""The version of these metrics, for identities of runs: raise it if values can change."""

NOT_RELEVANT = "not_relevant"
"""The entry of a query's metadata with the tables that were judged and are not relevant.

A table of the query's database is named by its id, another one by ``[database, table]``.
"""

PASSAGES = "passages"
"""The entry of a query's metadata with the ids of those gold tables that are passages.

Any one of them completes the other gold tables; none are needed where the list is empty.
"""

GRADES = "grades"
"""The entry of a query's metadata with the grade of each gold table, in their order, above 0.

The grade is the table's gain in nDCG; without this entry all gold tables have the gain 1.
"""


def grades_of(query: Query) -> dict[TableId, float]:
    """Return how relevant each gold table of a query is.

    Raises:
        DataError: the grades of the metadata are not as many positive numbers as gold tables.
    """
    grades = query.metadata.get(GRADES)
    if grades is None:
        return dict.fromkeys(query.gold, 1.0)
    numbers = isinstance(grades, list | tuple) and all(
        isinstance(grade, int | float) and 0 < grade < np.inf for grade in grades
    )
    if not numbers or len(grades) != len(query.gold):
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
        parts: what else was judged, by the names of ``MISSING``; the functions ``with_...`` add it.
    """

    matched: NDArray[np.int32]
    matched_or_copy: NDArray[np.int32]
    gold: NDArray[np.int32]
    returned: NDArray[np.int32]
    depth: int
    parts: Mapping[str, Sequence[NDArray[Any]]] = field(default_factory=dict)

    def hits(self, k: int) -> Floats:
        """Return (n,) numbers of gold tables among the first k."""
        return _floats(np.sum(self.matched[:, :k], axis=1))

    def size(self, k: int) -> Floats:
        """Return (n,) numbers of tables returned among the first k."""
        return _floats(np.minimum(self.returned, k))

    def part(self, name: str) -> Sequence[NDArray[Any]]:
        """Return what was judged besides.

        Raises:
            ConfigError: it was not.
        """
        if name not in self.parts:
            raise ConfigError(MISSING[name])
        return self.parts[name]

    def also(self, name: str, *part: NDArray[Any]) -> "JudgedRankings":
        """Return the same rankings with another part."""
        return replace(self, parts={**self.parts, name: part})


MISSING = {
    "gains": "all gold tables are equally relevant",
    "databases": "the tables of this corpus are in no databases",
    "columns": "column_recall@k needs gold columns: use --task retrieval:columns=true",
    "pool": "judged@k and bpref need queries with not_relevant in their metadata",
    "passages": "recall[tables]@k and the like need queries that name their passages",
}
"""What may be judged besides -> what is said where it is not."""


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
    golds = [set(tables) for tables in gold]
    n = len(golds)
    width = min(depth, max(map(len, rankings), default=0))
    matched = np.zeros((n, width), dtype=np.int32)
    for i, (ranking, tables) in enumerate(zip(rankings, golds, strict=True)):
        _mark(matched[i], ranking[:depth], dict.fromkeys(tables, 1))
    matched_or_copy = matched
    if copies:
        matched_or_copy = np.zeros_like(matched)
        for i, (ranking, tables) in enumerate(zip(rankings, golds, strict=True)):
            groups = [copies.get(table, table) for table in ranking[:depth]]
            _mark(matched_or_copy[i], groups, Counter(copies.get(t, t) for t in tables))
    return JudgedRankings(
        matched,
        matched_or_copy,
        np.array([len(tables) for tables in golds], dtype=np.int32).reshape(n),
        np.array([len(ranking) for ranking in rankings], dtype=np.int32).reshape(n),
        depth,
        {} if grades is None else {"gains": _gains(rankings, grades, matched, depth)},
    )


def _gains(
    rankings: Sequence[Sequence[Hashable]],
    grades: Sequence[Mapping[Any, float]],
    matched: NDArray[np.int32],
    depth: int,
) -> tuple[Floats, Floats]:
    """Return (n, width) the grade of the table at each rank, and (n, depth) the highest grades."""
    at_ranks, best = np.zeros(matched.shape), np.zeros((len(grades), depth))
    for i, (ranking, graded) in enumerate(zip(rankings, grades, strict=True)):
        for rank in map(int, np.flatnonzero(matched[i])):
            at_ranks[i, rank] = graded[ranking[rank]]
        highest = sorted(graded.values(), reverse=True)[:depth]
        best[i, : len(highest)] = highest
    return at_ranks, best


def with_databases(
    judged: JudgedRankings, rankings: Sequence[Sequence[str]], gold: Sequence[str]
) -> JudgedRankings:
    """Return the same rankings, judged by databases too.

    The part is (n,) the rank of the first table of the gold database, 0 where there is none, and
    (n,) how many databases the ranking has met there, the gold one included.

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
    return judged.also("databases", at, to)


def labelled_tables(query: Query) -> frozenset[TableId]:
    """Return the tables that were judged for a query, relevant or not.

    Raises:
        DataError: ``not_relevant`` is not a list of tables.
    """
    refused = query.metadata.get(NOT_RELEVANT) or ()
    pairs = (name for name in refused if not isinstance(name, str))
    if isinstance(refused, str) or not all(
        isinstance(p, list | tuple) and len(p) == 2 for p in pairs
    ):
        raise DataError(
            f"query {query.id!r:.60}: not_relevant should be a list of tables (an id, or a "
            f"database and an id), but is {refused!r:.80}"
        )
    named = (
        TableId(*name) if isinstance(name, list | tuple) else TableId(query.database_id, str(name))
        for name in refused
    )
    return frozenset([*query.gold, *named])


def with_labels(
    judged: JudgedRankings, rankings: Sequence[Sequence[TableId]], queries: Iterable[Query]
) -> JudgedRankings:
    """Return the same rankings, with what is known of their other tables.

    The part is (n, width) which tables are known to be not relevant, and (n,) how many are in all,
    -1 for a query without a pool.

    Args:
        judged: the rankings.
        rankings: for each query its tables, best first.
        queries: the queries, in the same order.
    """
    n = len(judged.gold)
    refused = np.zeros((n, judged.matched.shape[1]), dtype=np.bool_)
    in_all = np.full(n, -1, dtype=np.int32)
    for i, (ranking, query) in enumerate(zip(rankings, queries, strict=True)):
        if NOT_RELEVANT not in query.metadata:
            continue
        known = labelled_tables(query) - set(query.gold)
        in_all[i] = len(known)
        first = ranking[: refused.shape[1]]
        refused[i, : len(first)] = [table in known for table in first]
    return judged.also("pool", refused, in_all)


def with_columns(
    judged: JudgedRankings, rankings: Sequence[Sequence[TableId]], gold: Sequence[Set[Column]]
) -> JudgedRankings:
    """Return the same rankings, judged by columns too.

    The part is (n, depth) how many gold columns the table at each rank has, and (n,) their number.

    Args:
        judged: the rankings of tables.
        rankings: for each query its tables, best first.
        gold: for each query its gold columns; empty where they are not known.
    """
    matched = np.zeros((len(gold), judged.depth), dtype=np.int32)
    for row, ranking, columns in zip(matched, rankings, gold, strict=True):
        _mark(row, ranking[: judged.depth], dict(Counter(table for table, _ in columns)))
    numbers = np.array([len(columns) for columns in gold], dtype=np.int32).reshape(len(gold))
    return judged.also("columns", matched, numbers)


def with_passages(
    judged: JudgedRankings, rankings: Sequence[Sequence[TableId]], queries: Iterable[Query]
) -> JudgedRankings:
    """Return the same rankings, with tables and the passages that complete them told apart.

    The part is (n, width) which of the gold tables met are passages, and (n,) how many gold tables
    are.

    Args:
        judged: the rankings.
        rankings: for each query its tables, best first.
        queries: the queries, in the same order.

    Raises:
        DataError: the metadata name as a passage what is no gold table.
    """
    width = judged.matched.shape[1]
    met = np.zeros((len(judged.gold), width), dtype=np.bool_)
    in_all = np.zeros(len(judged.gold), dtype=np.int32)
    for i, (ranking, query) in enumerate(zip(rankings, queries, strict=True)):
        named = {TableId(query.database_id, str(p)) for p in query.metadata.get(PASSAGES) or ()}
        if not named <= set(query.gold):
            strange = min(named - set(query.gold)).table_id
            raise DataError(
                f"query {query.id!r:.60}: passages names {strange!r:.80}, which is none of its "
                "gold tables"
            )
        in_all[i] = len(named)
        first = ranking[:width]
        met[i, : len(first)] = [table in named for table in first]
    return judged.also("passages", met & (judged.matched > 0), in_all)


def _mark(row: NDArray[np.int32], ranking: Sequence[Hashable], gold: dict[Hashable, int]) -> None:
    for rank, table in enumerate(ranking):
        if table in gold:
            row[rank] = gold.pop(table)


Values = Callable[[JudgedRankings, int], Floats]
"""(judged, cutoff or depth) -> (n,) the value of each query."""

Statistics = Callable[[JudgedRankings, int], tuple[Floats, ...]]
"""(judged, cutoff or depth) -> numerators and denominators, one each a query."""


@dataclass(frozen=True)
class RetrievalMetric(RatioMetric[JudgedRankings]):
    """A metric of rankings; prints as users write it, and ``parse`` reads it back.

    Args:
        spec: its declaration.
        measure: (judged, k) -> numerators and denominators, one each a query.
        k: the cutoff, or None for a metric over the whole ranking.
        depth: how long the rankings may be, for a metric over the whole of them; it changes the
            value, so it is part of the signature.
    """

    spec: MetricSpec
    measure: Statistics
    k: int | None = None
    depth: int | None = None
    empty: ClassVar[float] = 0.0

    @property
    def name(self) -> str:
        """As users write it, e.g. ``recall@10``."""
        return self.spec.at(self.k)

    def __str__(self) -> str:
        return self.name

    @property
    def signature(self) -> str:
        """Name and definition."""
        depth = [] if self.depth is None else [f"depth:{self.depth}"]
        return "|".join([self.name, self.spec.description, *depth])

    @property
    def highest(self) -> float:
        """1; of precision@k that of a query with one gold table, and ``bounds`` sees more."""
        return 1 / self.k if self.spec.name == "precision" and self.k else 1.0

    def statistics(self, examples: JudgedRankings) -> Floats:
        """Return (n, 2) numerators and denominators.

        Raises:
            ConfigError: the rankings are not as deep as the cutoff, or lack what is measured.
        """
        if self.k is not None and self.k > examples.depth:
            raise ConfigError(f"{self.name}: the rankings are only {examples.depth} deep")
        return np.column_stack(self.measure(examples, self.k or examples.depth))

    def counted(self, statistics: Floats) -> int:
        """Return the number of all queries."""
        return len(statistics)


class MeanOverSome(RetrievalMetric):
    """A mean over the queries that have a value; NaN where none has."""

    empty = nan

    def counted(self, statistics: Floats) -> int:
        """Return the number of queries that have a value."""
        return RatioMetric.counted(self, statistics)


def parse(name: str) -> RetrievalMetric:
    """Read the metric that prints as ``name``.

    Raises:
        ConfigError: there is no such metric, or its cutoff is missing, superfluous or below 1.
    """
    match = re.fullmatch(r"([^@]+)(?:@(\d+))?", name.strip().lower())
    definition = DEFINITIONS.get(match[1]) if match else None
    if match is None or definition is None:
        known = ", ".join(d.spec.name + "@k" * d.spec.at_k for d in DEFINITIONS.values())
        raise ConfigError(f"unknown metric {name!r}. Known: {known}.")
    k = int(match[2]) if match[2] else None
    if definition.spec.at_k != bool(k):
        raise ConfigError(f"metric {name!r}: write it as {definition.spec.at(10)}")
    made: RetrievalMetric = definition.make(k)  # type: ignore[assignment]  # all of this module are
    return made


GROUPS = {
    "databases": "tables that are in databases",
    "passages": "queries that name the passages among their gold tables (passages)",
    "sets": "the setting sets=true of the task",
    "columns": "the setting columns=true of the task",
    "pools": "queries with judged tables that are not relevant (not_relevant)",
}
"""Metrics that are not of every corpus -> what they need first."""


def metrics_at(cutoffs: Iterable[int], groups: Collection[str] = ()) -> list[RetrievalMetric]:
    """List the metrics: at every cutoff, or over rankings as deep as the largest one.

    Args:
        cutoffs: the cutoffs.
        groups: those of ``GROUPS`` that are listed beside the metrics of every corpus.
    """
    ks = sorted(set(cutoffs))
    listed = [("", "databases", "passages"), *((name,) for name in list(GROUPS)[2:])]
    metrics: list[Any] = []
    for together in listed:
        needs = [
            "" if not name else GROUPS[name] for name in together if not name or name in groups
        ]
        definitions = [d for d in DEFINITIONS.values() if "".join(d.spec.needs[:1]) in needs]
        metrics += [d.make(k) for d in definitions if d.spec.at_k for k in ks]
        metrics += [d.make(None, ks[-1]) for d in definitions if not d.spec.at_k]
    return metrics


# The metrics, each with its declaration.

_DEFINED: list[MetricDefinition] = []


def _define(
    name: str,
    label: str,
    cls: type[RetrievalMetric] = RetrievalMetric,
    group: str = "",
    description: str = "",
    **fields: Any,
) -> Callable[[Statistics], Statistics]:
    """Declare a metric by its statistics.

    Args:
        name: of the metric.
        label: as people call it.
        cls: what it is.
        group: of ``GROUPS``; empty for a metric of every corpus.
        description: the definition; default: the docstring of the statistics.
        **fields: other fields of a ``MetricSpec``.
    """
    needs = (GROUPS[group],) if group else ()
    more = {"at_k": True, "needs": needs, **fields}

    def declare(measure: Statistics) -> Statistics:
        defined = description or _first_line(measure)
        spec = MetricSpec(name, label, defined, scores=RANKINGS, **more)

        def make(k: int | None = None, depth: int | None = None) -> RetrievalMetric:
            return cls(spec, measure, k, depth)

        _DEFINED.append(MetricDefinition(spec, make))
        return measure

    return declare


def _mean(
    name: str, label: str, description: str = "", **fields: Any
) -> Callable[[Values], Values]:
    """Declare a mean over all queries by the value of each; arguments as for ``_define``."""

    def declare(values: Values) -> Values:
        def measure(judged: JudgedRankings, k: int) -> tuple[Floats, ...]:
            return values(judged, k), np.ones(len(judged.gold))

        defined = description or _first_line(values)
        _define(name, label, MeanOverSome, description=defined, **fields)(measure)
        return values

    return declare


def _first_line(function: Callable[..., Any]) -> str:
    """Return the docstring of a metric as the definition that is published."""
    line = (function.__doc__ or "").removesuffix(".")
    return line[:1].lower() + line[1:]


@_mean("recall", "R", rank=1)
def _recall(judged: JudgedRankings, k: int) -> Floats:
    """Mean over queries of gold tables found / gold tables."""
    return ratio(judged.hits(k), judged.gold)


@_mean("recall[dup]", "R[dup]")
def _recall_or_copy(judged: JudgedRankings, k: int) -> Floats:
    """Recall where a table with the gold table's header and rows counts as it."""
    return ratio(_floats(judged.matched_or_copy[:, :k].sum(axis=1)), judged.gold)


@_define("recall_micro", "R micro", source="TARGET's recall and accuracy")
def _recall_micro(judged: JudgedRankings, k: int) -> tuple[Floats, ...]:
    """Gold tables found / gold tables, pooled."""
    return judged.hits(k), _floats(judged.gold)


@_mean("capped_recall", "capped R")
def _capped_recall(judged: JudgedRankings, k: int) -> Floats:
    """Mean of gold tables found / min(gold tables, k)."""
    return ratio(judged.hits(k), np.minimum(judged.gold, k))


@_define("capped_recall[target]", "capped R (TARGET)", source="TARGET's capped recall")
def _capped_recall_target(judged: JudgedRankings, k: int) -> tuple[Floats, ...]:
    """Gold tables found / min(gold tables, returned tables), pooled."""
    return judged.hits(k), np.minimum(judged.gold, judged.size(k))


@_mean("full_recall", "all")
def _full(judged: JudgedRankings, k: int) -> Floats:
    """Share of queries with all gold tables found."""
    return _floats((judged.hits(k) == judged.gold) & (judged.gold > 0))


@_mean("success", "hit")
def _success(judged: JudgedRankings, k: int) -> Floats:
    """Share of queries with at least one gold table found."""
    return np.minimum(judged.hits(k), 1)


@_mean("precision", "P")
def _precision(judged: JudgedRankings, k: int) -> Floats:
    """Mean of gold tables found / k."""
    return judged.hits(k) / k


@_mean("ndcg", "nDCG", source="Järvelin & Kekäläinen 2002")
def _ndcg(judged: JudgedRankings, k: int) -> Floats:
    """Mean nDCG, binary gain, discount log2(rank + 1)."""
    discounts = 1 / np.log2(np.arange(2, k + 2))
    if "gains" in judged.parts:  # the gain is the grade itself, as in trec_eval
        gains, highest = (part[:, :k] for part in judged.part("gains"))
        return ratio(gains @ discounts[: gains.shape[1]], highest @ discounts[: highest.shape[1]])
    met = judged.matched[:, :k]
    best = np.concatenate([[0.0], np.cumsum(discounts)])
    return ratio(met @ discounts[: met.shape[1]], best[np.minimum(judged.gold, k)])


@_mean("mrr", "MRR", at_k=False, rank=3)
def _reciprocal_rank(judged: JudgedRankings, _k: int) -> Floats:
    """Mean of 1 / rank of the first gold table."""
    hit = judged.matched > 0
    if not hit.shape[1]:
        return np.zeros(len(hit))
    return _floats(hit.any(axis=1) / (hit.argmax(axis=1) + 1.0))


@_mean("map", "MAP", at_k=False)
def _average_precision(judged: JudgedRankings, _k: int) -> Floats:
    """Mean average precision over all gold tables."""
    precision = np.cumsum(judged.matched, axis=1) / np.arange(1, judged.matched.shape[1] + 1)
    return ratio((precision * judged.matched).sum(axis=1), judged.gold)


@_mean("r_precision", "R-precision", at_k=False)
def _r_precision(judged: JudgedRankings, _k: int) -> Floats:
    """Mean precision at the number of gold tables."""
    within = np.arange(judged.matched.shape[1]) < judged.gold[:, None]
    return ratio(_floats(np.sum(judged.matched * within, axis=1)), judged.gold)


@_mean("recall[db]", "DB", group="databases", rank=2)
def _recall_of_database(judged: JudgedRankings, k: int) -> Floats:
    """Share of queries with a table of the gold database among the first k (TARGET's rule)."""
    at, _ = judged.part("databases")
    return _floats((at > 0) & (at <= k))


@_mean("mrr[db]", "MRR (DB)", group="databases", at_k=False)
def _mrr_of_database(judged: JudgedRankings, _k: int) -> Floats:
    """Mean of 1 / rank of the gold database, databases ranked by their best tables."""
    at, to = judged.part("databases")
    return ratio(_floats(at > 0), to)


@_mean("recall[tables]", "R tables", group="passages")
def _recall_of_tables(judged: JudgedRankings, k: int) -> Floats:
    """Mean of gold tables found that are no passages / such gold tables."""
    met, in_all = judged.part("passages")
    return ratio(judged.hits(k) - met[:, :k].sum(axis=1), judged.gold - in_all)


@_define("recall[passages]", "R passages", MeanOverSome, group="passages")
def _recall_of_passages(judged: JudgedRankings, k: int) -> tuple[Floats, ...]:
    """Share of queries with one of their gold passages found, over queries with any."""
    met, in_all = judged.part("passages")
    return _floats(met[:, :k].any(axis=1)), _floats(in_all > 0)


@_mean("recall[both]", "R both", group="passages", rank=0)
def _recall_of_both(judged: JudgedRankings, k: int) -> Floats:
    """Share of queries with all gold tables found, and a gold passage if there is any."""
    passage, needed = _recall_of_passages(judged, k)
    return _floats((_recall_of_tables(judged, k) == 1) & (passage >= needed))


@_mean("set_precision", "set P", group="sets", at_k=False)
def _set_precision(judged: JudgedRankings, k: int) -> Floats:
    """Mean of gold tables returned / tables returned, 0 for no table."""
    return ratio(judged.hits(k), judged.size(k))


@_mean("set_recall", "set R", group="sets", at_k=False)
def _set_recall(judged: JudgedRankings, k: int) -> Floats:
    """Mean of gold tables returned / gold tables."""
    return _recall(judged, k)


@_mean("set_f1", "set F1", group="sets", at_k=False)
def _set_f1(judged: JudgedRankings, k: int) -> Floats:
    """Mean of 2 * gold tables returned / (tables returned + gold tables)."""
    return ratio(2 * judged.hits(k), judged.size(k) + judged.gold)


@_mean("complete_recall", "complete R", group="sets", at_k=False)
def _complete_recall(judged: JudgedRankings, k: int) -> Floats:
    """Share of queries whose gold tables are all returned."""
    return _full(judged, k)


@_define(
    "set_size",
    "set size",
    MeanOverSome,
    group="sets",
    at_k=False,
    scale="unbounded",
    higher_is_better=False,
    digits=1,
)
def _set_size(judged: JudgedRankings, k: int) -> tuple[Floats, ...]:
    """Mean number of tables returned, over queries with any."""
    # less is better, so a query that failed or got nothing would else count as the best one
    return judged.size(k), _floats(judged.returned > 0)


@_define("column_recall", "column R", MeanOverSome, needs=(GROUPS["columns"], "gold columns"))
def _column_recall(judged: JudgedRankings, k: int) -> tuple[Floats, ...]:
    """Mean of gold columns in the first k tables / gold columns, over queries with gold columns."""
    matched, n = judged.part("columns")
    return ratio(_floats(matched[:, :k].sum(axis=1)), n), _floats(n > 0)


@_define("judged", "judged", group="pools", source="Judged@k")
def _judged(judged: JudgedRankings, k: int) -> tuple[Floats, ...]:
    """Mean share of the first k tables that people judged, over queries with a pool."""
    refused, in_all = judged.part("pool")
    pooled = in_all >= 0
    known = judged.hits(k) + refused[:, :k].sum(axis=1)
    returned = judged.size(k) * pooled
    return ratio(known * pooled, returned), _floats(returned > 0)


@_define(
    "bpref",
    "bpref",
    description="mean over gold tables of 1 - judged tables that are not relevant above it / "
    "min(gold, such)",
    group="pools",
    at_k=False,
    source="Buckley & Voorhees 2004",
)
def _bpref(judged: JudgedRankings, _k: int) -> tuple[Floats, ...]:
    refused, in_all = judged.part("pool")
    most = _floats(np.minimum(judged.gold, in_all))[:, None]
    above = np.minimum(np.cumsum(refused, axis=1, dtype=np.float64), most)
    lost = np.divide(above, most, out=np.zeros_like(above), where=most > 0)
    pooled = in_all >= 0
    return ratio(((1 - lost) * judged.matched).sum(axis=1) * pooled, judged.gold), _floats(pooled)


DEFINITIONS = by_name(*_DEFINED)
"""Every metric of rankings, in the order of lists."""
