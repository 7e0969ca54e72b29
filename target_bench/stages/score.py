"""The scoring stage: retrievals -> metrics with intervals, and the denominators."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from target_bench.interfaces import Metric
from target_bench.metrics import bootstrap
from target_bench.schema import Counts, Query, Retrieval, Score


@dataclass(frozen=True)
class Scored:
    """Scores, and the value of every query alone.

    Attributes:
        scores: metric name -> score.
        per_query: metric name -> (n,) values, queries in the order they were given.
    """

    scores: Mapping[str, Score]
    per_query: Mapping[str, NDArray[np.float64]]


def score(metrics: Sequence[Metric[Any]], examples: Any, query_ids: Sequence[str]) -> Scored:
    """Score judged queries.

    Sums run over the queries in the order of their ids, so the order they are asked in changes
    nothing.

    Args:
        metrics: what to compute.
        examples: what the metrics read.
        query_ids: the queries, in the order of the examples.
    """
    by_id = np.array(sorted(range(len(query_ids)), key=query_ids.__getitem__), dtype=np.intp)
    scores, per_query = {}, {}
    for metric in metrics:
        statistics = metric.statistics(examples)
        low, high = bootstrap.interval(metric, statistics)
        scores[metric.name] = Score(
            value=float(metric.value(statistics[by_id].sum(axis=0))),
            low=low,
            high=high,
            n=len(query_ids),
            signature=f"{metric.signature}|{bootstrap.SIGNATURE}",
        )
        per_query[metric.name] = metric.value(statistics)
    return Scored(scores, per_query)


def count(queries: Sequence[Query], retrievals: Sequence[Retrieval], k: int) -> Counts:
    """The denominators of rankings that may hold ``k`` tables."""
    answered = [retrieval for retrieval in retrievals if retrieval.error is None]
    return Counts(
        asked=len(queries),
        answered=len(answered),
        failed=len(retrievals) - len(answered),
        empty=sum(1 for retrieval in answered if not retrieval.tables),
        short=sum(1 for retrieval in answered if len(retrieval.tables) < k),
        resorted=sum(1 for retrieval in answered if retrieval.resorted),
        empty_queries=sum(1 for query in queries if not query.text.strip()),
    )
