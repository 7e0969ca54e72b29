"""Scoring: rankings and answers that are there -> metrics with intervals, and denominators.

Everything here is a function of values in memory: nothing is retrieved, generated, executed or
written.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import nan
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from target_bench.core import contract, registry
from target_bench.core.errors import ConfigError, DataError
from target_bench.core.interfaces import Dataset, Ranking
from target_bench.core.metric import Metric
from target_bench.core.metric_spec import MetricSpec
from target_bench.core.schema import (
    AnswerCounts,
    Counts,
    Generation,
    Judgement,
    Query,
    Retrieval,
    Score,
)
from target_bench.data.select import of_task, task_named
from target_bench.evaluation.scoring_options import Scoring
from target_bench.metrics import intervals
from target_bench.metrics.headlines import in_order
from target_bench.metrics.named import is_built_in, spec_of
from target_bench.metrics.significance import of_mean
from target_bench.runs.answer_log import Answered
from target_bench.runs.slice_scores import report_by

Amount = TypeVar("Amount", int, float)
CountsT = TypeVar("CountsT", Counts, AnswerCounts)
Floats = NDArray[np.float64]

MISSING = "missing"
"""The error of a query without a ranking or an answer; it counts as wrong."""


@dataclass(frozen=True, eq=False)
class Scored(Generic[CountsT]):
    """Scores, and the value of every query alone.

    Attributes:
        query_ids: the queries, in the order of the dataset.
        scores: metric name -> score.
        per_query: metric name -> (n,) value of each query; NaN where the metric is not over it.
        statistics: metric name -> (n, m) sufficient statistics, of the metrics whose statistics
            are more than the per-query values.
        counts: the denominators.
        report: what else a task says of the answers: outcomes, scores of groups of queries.
    """

    query_ids: Sequence[str]
    scores: Mapping[str, Score]
    per_query: Mapping[str, Floats]
    statistics: Mapping[str, Floats]
    counts: CountsT
    report: Mapping[str, Any] | None = None


class AnswerTask(Protocol):
    """A task about answers, as far as scoring asks it."""

    name: str

    @property
    def judges(self) -> bool:
        """Whether answers are judged before they are scored (``stages.judge.JudgingTask``)."""

    @property
    def default_slices(self) -> Sequence[str]:
        """The properties of queries by which its scores are reported; see ``runs.slices``."""

    def metrics(self, queries: Sequence[Query], /) -> list[Metric[Any]]:
        """What is computed."""

    def examples(
        self,
        dataset: Dataset,
        generations: Sequence[Generation],
        judgements: Mapping[str, Judgement],
        /,
    ) -> Any:
        """What the metrics read of the answers to all queries of the dataset, in its order."""

    def parsed(self, examples: Any, /) -> Sequence[object | None]:
        """What was read in each answer; None where nothing was."""

    def report(self, dataset: Dataset, examples: Any, /) -> Mapping[str, Any]:
        """What else is to be said of the answers."""

    def check_budget(self) -> None:
        """Raise ``BudgetError`` where no time is left."""


def score_rankings(
    dataset: Dataset,
    rankings: Mapping[str, Retrieval | Ranking],
    top_k: int | Sequence[int] = 10,
) -> Scored[Counts]:
    """Score rankings in memory. Nothing is read from or written to a folder.

    ```python
    from target_bench import score_rankings
    from target_bench.corpora import load

    dataset = load("mini")
    first = dataset.corpus.ids[:10]
    scored = score_rankings(dataset, {query.id: first for query in dataset.queries}, [1, 10])
    print(scored.scores["recall@10"].value, scored.per_query["recall@10"].shape)
    ```

    Args:
        dataset: tables and queries, as ``corpora.load`` gives them.
        rankings: query id -> a ``Retrieval``, ids of tables (best first), or pairs of an id and a
            score, which are sorted by score, higher first. A query without one counts as failed:
            it is scored 0. Of a longer ranking than the largest cutoff the rest is left out.
        top_k: one cutoff or several.

    Returns:
        The metrics of table retrieval at these cutoffs with 95% intervals, the values of every
        query, and the denominators.

    Raises:
        ConfigError: a cutoff is not a whole number from 1.
        DataError: a ranking is of another query, names a table that is not in the corpus, or one
            twice.
    """
    ks = cutoffs(top_k)
    check_known("ranking", rankings, dataset)
    depth, queries = ks[-1], dataset.queries
    found = [_retrieval(query.id, rankings, depth, dataset) for query in queries]
    task = registry.create("task", "retrieval")
    ids = [query.id for query in queries]
    values = _computed(task.metrics(ks, dataset), task.examples(dataset, found, depth), ids)
    return Scored(ids, *values, _counts(queries, found, min(depth, len(dataset.corpus))))


def score_answers(
    dataset: Dataset,
    answers: Mapping[str, Answered | Generation | str],
    task: AnswerTask | str,
    judgements: Mapping[str, Judgement] | None = None,
    scoring: Scoring | None = None,
) -> Scored[AnswerCounts]:
    """Score answers in memory. Nothing is executed, nor read from or written to a folder.

    ```python
    from target_bench import score_answers
    from target_bench.corpora import load

    dataset = load("mini")
    answers = {query.id: "Paris" for query in dataset.queries}
    print(score_answers(dataset, answers, "qa").scores["exact_match"].value)
    ```

    Answers in SQL are executed first, by ``judge_answers``.

    Args:
        dataset: queries with references, as ``corpora.load`` gives them. Where its queries are of
            several tasks, those of this one are scored.
        answers: query id -> the answer. A query without one counts as failed: it is scored 0.
        task: a task, or its name: ``qa``, ``fact_verification``, ``text_to_sql``.
        judgements: query id -> its judgement, of every query, for a task that judges answers.
        scoring: how answers are judged, where that can be chosen and the task is named.

    Raises:
        ConfigError: the task is not about answers, or has no query here.
        DataError: an answer is to another query, a judgement is missing, or a reference is
            not one of the task.
        BudgetError: the time that the task has is over.
    """
    asked: AnswerTask = answer_task(task, scoring)
    check_known("answer", answers, dataset)
    dataset = of_task(dataset, asked.name)
    given = all_answers(dataset, answers)
    judgements = judgements or {}
    if asked.judges:
        _check_judged(dataset, judgements, asked.name)
    generations = [answered.generation for answered in given.values()]
    metrics = asked.metrics(dataset.queries)
    examples = asked.examples(dataset, generations, judgements)
    ids = list(given)
    values = _computed(metrics, examples, ids, asked.check_budget)
    counts = _answer_counts(list(given.values()), asked.parsed(examples))
    ordered = values._replace(scores=in_order(values.scores, dataset.queries))
    report = {**asked.report(dataset, examples)}
    if asked.default_slices:
        slicing = (dataset.queries, asked.default_slices, metrics)
        report["by"] = report_by(*slicing, values.per_query, values.statistics)
    return Scored(ids, *ordered, counts, report or None)


def over_no_query(
    scores: Mapping[str, Score], per_query: Mapping[str, Floats]
) -> tuple[dict[str, Score], dict[str, Floats]]:
    """Scores and values of rankings that answers are not built on: over no query, so NaN.

    As a result of its own, a run that retrieves nothing scores 0, the lower bound.
    """
    none = {
        name: replace(score, value=nan, low=nan, high=nan, n=0) for name, score in scores.items()
    }
    return none, {name: np.full_like(found, nan) for name, found in per_query.items()}


def cutoffs(top_k: int | Sequence[int]) -> list[int]:
    """One cutoff or several, ascending, each once.

    Raises:
        ConfigError: one is not a whole number from 1, or there is none.
    """
    given = list(top_k) if isinstance(top_k, Sequence) else [top_k]
    for k in given:
        if isinstance(k, bool) or not isinstance(k, int | np.integer) or k < 1:
            raise ConfigError(f"top_k={k!r}: a cutoff is a whole number from 1")
    if not given:
        raise ConfigError("top_k is empty: name at least one cutoff")
    return sorted({int(k) for k in given})


def answer_task(task: Any, scoring: Scoring | None = None) -> Any:
    """The task itself, or the task of this name.

    Raises:
        ConfigError: the name is unknown, or that of a task about rankings.
    """
    if not isinstance(task, str):
        return task
    name = task_named(task)
    found = (scoring or Scoring()).task(name)
    if not hasattr(found, "judges"):
        raise ConfigError(f"{name} is a task about rankings; score them with score_rankings")
    return found


def all_answers(
    dataset: Dataset, answers: Mapping[str, Answered | Generation | str]
) -> dict[str, Answered]:
    """Query id -> the answer to each query of the dataset, in its order; a missing one failed."""
    return {query.id: _answered(query.id, answers.get(query.id)) for query in dataset.queries}


def _answered(query_id: str, answer: Answered | Generation | str | None) -> Answered:
    if isinstance(answer, Answered):
        return answer
    if isinstance(answer, str):
        answer = Generation(query_id, answer)
    return Answered(answer or Generation(query_id, "", error=MISSING))


def _retrieval(
    query_id: str, rankings: Mapping[str, Any], depth: int, dataset: Dataset
) -> Retrieval:
    ranking = rankings.get(query_id)
    if isinstance(ranking, Retrieval):
        return ranking
    if ranking is None:
        return Retrieval(query_id, (), error=MISSING)
    return contract.given(query_id, ranking, depth, dataset.corpus)


def check_known(what: str, given: Mapping[str, object], dataset: Dataset) -> None:
    """See that what is given is of queries of the dataset.

    Raises:
        DataError: it is not; the message names the first.
    """
    known = {query.id for query in dataset.queries}
    unknown = [query_id for query_id in given if query_id not in known]
    if unknown:
        raise DataError(
            f"{len(unknown)} of {len(given)} {what}s are of queries that {dataset.info.name} "
            f"{dataset.split} does not have; the first is {unknown[0]!r}"
        )


def _check_judged(dataset: Dataset, judgements: Mapping[str, Judgement], task: str) -> None:
    missing = [query.id for query in dataset.queries if query.id not in judgements]
    if missing:
        raise DataError(
            f"{len(missing)} of {len(dataset.queries)} answers are not judged, the first is to "
            f"{missing[0]!r}; judge them with judge_answers(dataset, answers, {task!r})"
        )


class _Values(NamedTuple):
    """Metric name -> its score, per-query values and statistics, as in ``Scored``."""

    scores: dict[str, Score]
    per_query: dict[str, Floats]
    statistics: dict[str, Floats]


def _computed(
    metrics: Sequence[Metric[Any]],
    examples: Any,
    query_ids: Sequence[str],
    check: Callable[[], None] = lambda: None,
) -> _Values:
    """Compute metrics over judged queries.

    Sums run over the queries in the order of their ids, so the order they are asked in changes
    nothing.

    Args:
        metrics: what to compute.
        examples: what the metrics read.
        query_ids: the queries, in the order of the examples.
        check: called before each metric; raises where no time is left.
    """
    by_id = np.array(sorted(range(len(query_ids)), key=query_ids.__getitem__), dtype=np.intp)
    found = _Values({}, {}, {})
    for metric in metrics:
        check()
        statistics = metric.statistics(examples)
        low, high = intervals.interval(metric, statistics[by_id])
        found.scores[metric.name] = Score(
            value=float(metric.value(statistics[by_id].sum(axis=0))),
            low=low,
            high=high,
            n=metric.counted(statistics),
            signature=f"{metric.signature}|{intervals.SIGNATURE}",
            spec=_stored_spec(metric),
        )
        values = found.per_query[metric.name] = metric.per_query(statistics)
        if not np.array_equal(of_mean(values), statistics):
            found.statistics[metric.name] = statistics
    return found


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


def _counts(queries: Sequence[Query], retrievals: Sequence[Retrieval], k: int) -> Counts:
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


def _answer_counts(answers: Sequence[Answered], parsed: Sequence[object | None]) -> AnswerCounts:
    """The denominators of answers, and what they took.

    Args:
        answers: all of them, failed ones included.
        parsed: what was read in each; None where nothing was.
    """
    generations = [answered.generation for answered in answers]
    given = [generation for generation in generations if generation.error is None]
    read = zip(generations, parsed, strict=True)
    return AnswerCounts(
        asked=len(answers),
        answered=len(given),
        failed=len(answers) - len(given),
        unparsed=sum(1 for generation, found in read if generation.error is None and found is None),
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
