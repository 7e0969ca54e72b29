"""The scoring stage: retrievals -> metrics with intervals, and the denominators."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from target_bench.core.errors import ConfigError
from target_bench.core.metric import Metric
from target_bench.core.metric_spec import MetricSpec
from target_bench.core.schema import AnswerCounts, Counts, Query, Retrieval, Score
from target_bench.metrics import intervals
from target_bench.metrics.named import is_built_in, spec_of
from target_bench.metrics.significance import of_mean
from target_bench.runs.answer_log import Answered

Amount = TypeVar("Amount", int, float)


@dataclass(frozen=True)
class Scored:
    """Scores, and the value of every query alone.

    Attributes:
        scores: metric name -> score.
        per_query: metric name -> (n,) values, queries in the order they were given.
        statistics: metric name -> (n, m) sufficient statistics, of the metrics whose statistics
            are more than the per-query values.
    """

    scores: Mapping[str, Score]
    per_query: Mapping[str, NDArray[np.float64]]
    statistics: Mapping[str, NDArray[np.float64]]


def score(
    metrics: Sequence[Metric[Any]],
    examples: Any,
    query_ids: Sequence[str],
    check: Callable[[], None] | None = None,
) -> Scored:
    """Score judged queries.

    Sums run over the queries in the order of their ids, so the order they are asked in changes
    nothing.

    Args:
        metrics: what to compute.
        examples: what the metrics read.
        query_ids: the queries, in the order of the examples.
        check: called before each metric; raises where no time is left.
    """
    by_id = np.array(sorted(range(len(query_ids)), key=query_ids.__getitem__), dtype=np.intp)
    scores, per_query, more = {}, {}, {}
    for metric in metrics:
        if check is not None:
            check()
        statistics = metric.statistics(examples)
        low, high = intervals.interval(metric, statistics[by_id])
        scores[metric.name] = Score(
            value=float(metric.value(statistics[by_id].sum(axis=0))),
            low=low,
            high=high,
            n=metric.counted(statistics),
            signature=f"{metric.signature}|{intervals.SIGNATURE}",
            spec=_stored_spec(metric),
        )
        values = per_query[metric.name] = metric.per_query(statistics)
        if not np.array_equal(of_mean(values), statistics):
            more[metric.name] = statistics
    return Scored(scores, per_query, more)


def _stored_spec(metric: Metric[Any]) -> MetricSpec | None:
    """The declaration that is stored beside the score; None for a metric of this package.

    Raises:
        ConfigError: the metric has the name of one of this package, and is another one.
    """
    if not is_built_in(metric.name):
        return metric.spec
    if spec_of(metric.name) != metric.spec:
        raise ConfigError(
            f"metric {metric.name!r}: {type(metric).__name__} has the name of a metric of "
            "target-bench and another declaration; give it a name of its own"
        )
    return None


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
        tied=sum(1 for retrieval in answered if retrieval.tied),
    )


def count_answers(
    answers: Sequence[Answered], parse: Callable[[str], object | None]
) -> AnswerCounts:
    """The denominators of answers, and what they took.

    Args:
        answers: all of them, failed ones included.
        parse: reads an answer; None where that cannot be done.
    """
    generations = [answered.generation for answered in answers]
    given = [generation for generation in generations if generation.error is None]
    return AnswerCounts(
        asked=len(answers),
        answered=len(given),
        failed=len(answers) - len(given),
        unparsed=sum(1 for generation in given if parse(generation.text) is None),
        truncated=sum(1 for answered in answers if answered.truncated),
        cut=sum(1 for generation in given if generation.finish_reason == "length"),
        input_tokens=_sum(generation.input_tokens for generation in generations),
        output_tokens=_sum(generation.output_tokens for generation in generations),
        cost=_sum(generation.cost for generation in generations),
    )


def _sum(amounts: Iterable[Amount | None]) -> Amount | None:
    """The sum of what is known; None where nothing is."""
    known = [amount for amount in amounts if amount is not None]
    return sum(known[1:], start=known[0]) if known else None
