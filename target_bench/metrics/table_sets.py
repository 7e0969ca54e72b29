"""Metrics of the set of tables that a retriever chose to return, and of the columns in it.

A retriever chooses by returning fewer tables than it was asked for. The order within the set does
not matter. Definitions are in ``docs/metrics.md``.
"""

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from target_bench.core.errors import ConfigError
from target_bench.core.metric import RANKINGS, MetricDefinition, MetricSpec, by_name, mean
from target_bench.core.schema import TableId
from target_bench.metrics.retrieval import (
    Floats,
    JudgedRankings,
    RetrievalMetric,
    Statistics,
    define,
    full_recall,
    made,
    ratio,
)

Column = tuple[TableId, str]


@dataclass(frozen=True)
class JudgedColumns(JudgedRankings):
    """Rankings compared with gold tables and with gold columns.

    Attributes:
        columns_found: (n, depth) how many gold columns the table at each rank has.
        columns: (n,) number of gold columns; 0 where they are not known.
    """

    columns_found: NDArray[np.int32] | None = None
    columns: NDArray[np.int32] | None = None


def with_columns(
    judged: JudgedRankings, rankings: Sequence[Sequence[TableId]], gold: Sequence[Set[Column]]
) -> JudgedColumns:
    """Return the same rankings, judged by columns too.

    Args:
        judged: the rankings of tables.
        rankings: for each query its tables, best first.
        gold: for each query its gold columns; empty where they are not known.
    """
    found = np.zeros((len(gold), judged.depth), dtype=np.int32)
    for row, ranking, columns in zip(found, rankings, gold, strict=True):
        wanted: dict[tuple[str, str], int] = {}
        for table, _ in columns:
            wanted[table] = wanted.get(table, 0) + 1
        for rank, table in enumerate(ranking[: judged.depth]):
            row[rank] = wanted.pop(table, 0)
    known: Mapping[str, object] = {f.name: getattr(judged, f.name) for f in fields(JudgedRankings)}
    numbers = np.array([len(columns) for columns in gold], dtype=np.int32).reshape(len(gold))
    return JudgedColumns(**known, columns_found=found, columns=numbers)  # type: ignore[arg-type]  # fields by name


def set_metrics(depth: int) -> list[RetrievalMetric]:
    """List the metrics of sets, over rankings of at most ``depth`` tables."""
    return [made(definition, depth=depth) for definition in SETS]


def column_metrics(cutoffs: Sequence[int]) -> list[RetrievalMetric]:
    """List the metrics of columns at these cutoffs."""
    return [ColumnRecall(k=k) for k in cutoffs]


def _size(judged: JudgedRankings, k: int) -> Floats:
    return np.minimum(judged.returned, k).astype(np.float64)


def _set_precision(judged: JudgedRankings, k: int) -> tuple[Floats, Floats]:
    return ratio(judged.hits(k), _size(judged, k)), np.ones(len(judged.gold))


def _set_recall(judged: JudgedRankings, k: int) -> tuple[Floats, Floats]:
    return ratio(judged.hits(k), judged.gold), np.ones(len(judged.gold))


def _set_f1(judged: JudgedRankings, k: int) -> tuple[Floats, Floats]:
    return ratio(2 * judged.hits(k), _size(judged, k) + judged.gold), np.ones(len(judged.gold))


def _set_size(judged: JudgedRankings, k: int) -> tuple[Floats, Floats]:
    return _size(judged, k), np.ones(len(judged.gold))


def _column_recall(judged: JudgedRankings, k: int) -> tuple[Floats, Floats]:
    if not isinstance(judged, JudgedColumns) or judged.columns is None:
        raise ConfigError("column_recall@k needs gold columns: use --task retrieval:columns=true")
    assert judged.columns_found is not None
    hits: Floats = np.sum(judged.columns_found[:, :k], axis=1, dtype=np.float64)
    return ratio(hits, judged.columns), (judged.columns > 0).astype(np.float64)


_COLUMN_SPEC = MetricSpec(
    "column_recall",
    "column R",
    "mean of gold columns in the first k tables / gold columns, over queries with gold columns",
    of=RANKINGS,
    at_k=True,
    needs=("the setting columns=true of the task", "gold columns"),
)


@dataclass(frozen=True)
class ColumnRecall(RetrievalMetric):
    """The share of gold columns in the first k tables, over the queries whose columns are known."""

    spec: MetricSpec = _COLUMN_SPEC
    measure: Statistics = _column_recall

    def value(self, totals: Floats) -> Floats:
        """Return the mean; NaN where no query has gold columns."""
        return mean(totals)

    def counted(self, statistics: Floats) -> int:
        """Return the number of queries with gold columns."""
        return int((statistics[:, 1] > 0).sum())


def _column_recall_at(k: int) -> ColumnRecall:
    return ColumnRecall(k=k)


_ASKED_FOR = ("the setting sets=true of the task",)

SET_PRECISION = define(
    "set_precision",
    "set P",
    "mean of gold tables returned / tables returned, 0 for no table",
    _set_precision,
    at_k=False,
    needs=_ASKED_FOR,
)
SET_RECALL = define(
    "set_recall",
    "set R",
    "mean of gold tables returned / gold tables",
    _set_recall,
    at_k=False,
    needs=_ASKED_FOR,
)
SET_F1 = define(
    "set_f1",
    "set F1",
    "mean of 2 * gold tables returned / (tables returned + gold tables)",
    _set_f1,
    at_k=False,
    needs=_ASKED_FOR,
)
COMPLETE_RECALL = define(
    "complete_recall",
    "complete R",
    "share of queries whose gold tables are all returned",
    full_recall,
    at_k=False,
    needs=_ASKED_FOR,
)
SET_SIZE = define(
    "set_size",
    "set size",
    "mean number of tables returned",
    _set_size,
    at_k=False,
    needs=_ASKED_FOR,
    scale="unbounded",
    higher_is_better=False,
    digits=1,
)
COLUMN_RECALL = MetricDefinition(_COLUMN_SPEC, _column_recall_at)

SETS: tuple[MetricDefinition, ...] = (
    SET_PRECISION,
    SET_RECALL,
    SET_F1,
    COMPLETE_RECALL,
    SET_SIZE,
)
"""Every metric of sets, in the order in which scores are recorded."""

DEFINITIONS = by_name(*SETS, COLUMN_RECALL)
