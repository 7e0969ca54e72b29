"""Scoring: rankings and answers that are there -> metrics with intervals, and denominators.

Everything here is a function of values in memory: nothing is retrieved, generated, executed or
written.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from target_bench.core.built_in import RANKING_TASK
from target_bench.core.errors import ConfigError, DataError, PluginError
from target_bench.core.metric import (
    AnswerCounts,
    Counts,
    Metric,
    MetricSpec,
    Score,
    compute_score,
    split_cutoff,
    to_mean_statistics,
)
from target_bench.core.metric_function import (
    MetricLike,
    combine_metrics,
    resolve_metric,
)
from target_bench.core.plugin_errors import guard_plugin
from target_bench.core.ranking import Ranking
from target_bench.core.registry import make_task
from target_bench.core.retrieve import read_ranking
from target_bench.core.run_config import TOP_K
from target_bench.core.schema import Dataset, Generation, Judgement, Query, Retrieval
from target_bench.core.settings import read_cutoffs
from target_bench.core.task import Outputs, Predictions, Task, has_reference
from target_bench.core.text_tables import count_noun
from target_bench.data.selection import select_queries
from target_bench.metrics import stats
from target_bench.metrics.scores import find_spec, in_order, is_built_in, refuse_built_in_names
from target_bench.models.answer_reading import check_time
from target_bench.runs.slicing import read_properties, report_parts

Amount = TypeVar("Amount", int, float)
CountsT = TypeVar("CountsT", Counts, AnswerCounts)
Floats = NDArray[np.float64]

_SHOWN = 3  # scores in a repr

MISSING = "missing"
"""The error of a query without a ranking or an answer; it counts as wrong."""


@dataclass(frozen=True, eq=False, repr=False)
class Scores(Mapping[str, Score], Generic[CountsT]):
    """Map metric name -> score, with the value of every query alone.

    ```python
    from target_bench import load, score_rankings

    dataset = load("mini")
    gold = {query.id: query.gold for query in dataset.queries}
    scores = score_rankings(dataset, gold, top_k=10)
    print(scores["recall@10"], scores.per_query["recall@10"][:3])
    # 1.000 [.986, 1.000] [1. 1. 1.]
    ```

    Attributes:
        by_metric: metric name -> score.
        query_ids: the queries that are scored, in the order of the dataset.
        per_query: metric name -> (n,) value of each query; NaN where the metric is not over it.
        statistics: metric name -> (n, m) sufficient statistics, of the metrics whose statistics
            are more than the per-query values.
        counts: how many queries were asked, answered and failed, and the like.
        report: what else a task says of the answers: outcomes, scores of groups of queries.
        properties: property of the answers -> (n,) its value of each.
    """

    by_metric: Mapping[str, Score]
    query_ids: Sequence[str]
    per_query: Mapping[str, Floats]
    statistics: Mapping[str, Floats]
    counts: CountsT
    report: Mapping[str, Any] = field(default_factory=dict)
    properties: Mapping[str, Sequence[Any]] = field(default_factory=dict)

    def __repr__(self) -> str:
        shown = [f"{name} {score}" for name, score in self.items()][:_SHOWN]
        more = ", ..." * (len(self) > _SHOWN)
        return f"Scores({', '.join(shown)}{more}; {count_noun(self.counts.asked, 'query')})"

    def __getitem__(self, metric: str) -> Score:
        return self.by_metric[metric]

    def __iter__(self) -> Iterator[str]:
        return iter(self.by_metric)

    def __len__(self) -> int:
        return len(self.by_metric)


def score_rankings(
    dataset: Dataset,
    rankings: Mapping[str, Retrieval | Ranking],
    top_k: int | Sequence[int] = TOP_K,
    task: Task[Any] | str = RANKING_TASK,
    metrics: Sequence[MetricLike] = (),
) -> Scores[Counts]:
    """Score rankings in memory. Nothing is read from or written to a folder.

    ```python
    from target_bench import load, score_rankings

    dataset = load("mini")
    first = dataset.corpus.ids[:10]
    scores = score_rankings(dataset, {query.id: first for query in dataset.queries}, [1, 10])
    print(scores["recall@10"], scores.per_query["recall@10"].shape)
    # .077 [.051, .114] (280,)
    ```

    Args:
        dataset: tables and queries, as ``load`` gives them. Queries that are not about retrieval
            (``ranked`` in their metadata is false, as of some in ``mini``) are left out.
        rankings: query id -> a ``Retrieval``, ids of tables (best first), or pairs of an id and a
            score, which are sorted by score, higher first. A query without one counts as failed:
            it is scored 0. Of a longer ranking than the largest cutoff the rest is left out.
        top_k: one cutoff or several.
        task: the task about rankings, or its name; default: table retrieval.
        metrics: metrics besides the task's own; those of answers are left out.

    Returns:
        The metrics of table retrieval at these cutoffs with 95% intervals, the values of every
        query, and the denominators.

    Raises:
        ConfigError: a cutoff is not a whole number from 1, or the task is about answers.
        DataError: a ranking is of another query, names a table that is not in the corpus, or one
            twice.

    Queries without gold tables are in the counts and in no score.
    """
    if not isinstance(dataset, Dataset):
        raise ConfigError(
            f"score_rankings({dataset!r:.100}, ...): expected a Dataset, as load('mini') returns"
        )
    ks = read_cutoffs("top_k", top_k)
    task = make_task(task) if isinstance(task, str) else task
    if task.answer != "ranking":
        raise ConfigError(f"{task.name} is a task about answers; score them with score_answers")
    check_query_ids("ranking", rankings, dataset)
    dataset = select_queries(dataset, task)
    read = (_read_retrieval(query.id, rankings, ks[-1], dataset) for query in dataset.queries)
    return score_checked_rankings(dataset, list(read), ks, task, metrics)


def score_checked_rankings(
    dataset: Dataset,
    retrievals: Sequence[Retrieval],
    ks: Sequence[int],
    task: Task[Any],
    metrics: Sequence[MetricLike] = (),
) -> Scores[Counts]:
    """Score the rankings of all queries of a dataset, in their order, that are known to be valid.

    Arguments are as for ``score_rankings``; a run has checked its rankings when it got them.
    """
    depth, queries = ks[-1], dataset.queries
    by_query = {retrieval.query_id: retrieval for retrieval in retrievals}
    scored = select_scorable(task, dataset)
    counts = _count_rankings(task, queries, retrievals, ks, len(dataset.corpus))
    if not scored.queries:
        return Scores({}, (), {}, {}, counts)
    # A ranking that depends on how many tables are asked for has one of its own at each cutoff.
    depends_on_k = any(retrieval.at for retrieval in retrievals)
    by_depth = {}
    for k in ks if depends_on_k else [depth]:
        at_k = by_query
        if k != depth:
            at_k = {query_id: ranking.take_cutoff(k) for query_id, ranking in by_query.items()}
        outputs = Outputs(scored, Predictions(at_k, depth=k))
        by_depth[k] = task.examples(*outputs), outputs
    inputs = []
    for metric in list_metrics(task, scored.queries, ks, metrics):
        _, k_of_metric = split_cutoff(metric.name)
        # A metric without a cutoff reads the deepest rankings; all do if none depends on k.
        examples, outputs = by_depth.get(k_of_metric or depth, by_depth[depth])
        inputs.append((metric, examples, outputs))
    ids = [query.id for query in scored.queries]
    scores, per_query, statistics = _compute_scores(inputs, ids)
    scores = in_order(scores, task.main_metric(scored.queries))
    return Scores(scores, ids, per_query, statistics, counts)


def score_answers(
    dataset: Dataset,
    answers: Mapping[str, Generation | str],
    task: Task[Any] | str,
    judgements: Mapping[str, Judgement] | None = None,
    rankings: Mapping[str, Retrieval] | None = None,
    metrics: Sequence[MetricLike] = (),
) -> Scores[AnswerCounts]:
    """Score answers in memory. Nothing is executed, nor read from or written to a folder.

    ```python
    from target_bench import load, score_answers

    dataset = load("mini")
    answers = {query.id: "Paris" for query in dataset.queries}
    print(score_answers(dataset, answers, "qa")["exact_match"])  # .000 [.000, .026]
    ```

    Answers in SQL are executed first, by ``judge_answers``.

    Args:
        dataset: queries with references, as ``load`` gives them. Where its queries are of
            several tasks, those of this one are scored.
        answers: query id -> the answer. A query without one counts as failed: it is scored 0.
        task: a task, or its name with settings, as in ``qa``.
        judgements: query id -> its judgement, of every query, for a task that judges answers.
        rankings: query id -> the tables that an answer is built on, for a task that reads them.
        metrics: metrics besides the task's own; those of rankings are left out.

    Queries without a reference are in the counts and in no score, unless no query has one and the
    task has metrics that need none.

    Raises:
        ConfigError: the task is not about answers, or has no query here.
        DataError: an answer is to another query, a judgement is missing, or a reference is
            not one of the task.
        BudgetError: the time that ``leaderboard verify`` gives a submission is over.
    """
    scored_task = make_answer_task(task)
    check_query_ids("answer", answers, dataset)
    dataset = select_queries(dataset, scored_task)
    generations = list_answers(dataset, answers)
    scored = select_scorable(scored_task, dataset)
    if not scored.queries:
        return Scores({}, (), {}, {}, _count_answers(scored_task, dataset, generations))
    if scored_task.judge is not None:
        _check_judged(scored, judgements or {}, scored_task.name)
    outputs = Outputs(scored, Predictions(rankings or {}, generations, judgements or {}))
    examples = scored_task.examples(*outputs)
    listed = list_metrics(scored_task, scored.queries, (), metrics)
    ids = [query.id for query in scored.queries]
    inputs = [(metric, examples, outputs) for metric in listed]
    scores, per_query, statistics = _compute_scores(inputs, ids)
    report = {**scored_task.report(scored, examples)}
    properties = scored_task.properties(examples)
    if scored_task.view.slices:
        columns = read_properties(scored.queries) | {**properties}
        report["by"] = report_parts(columns, scored_task.view.slices, listed, per_query, statistics)
    return Scores(
        in_order(scores, scored_task.main_metric(scored.queries)),
        ids,
        per_query,
        statistics,
        _count_answers(scored_task, dataset, generations, scored, examples),
        report,
        properties,
    )


def list_metrics(
    task: Task[Any],
    queries: Sequence[Query],
    ks: Sequence[int] = (),
    more: Sequence[MetricLike] = (),
) -> Sequence[Metric[Any]]:
    """List the metrics of a task, and more that were asked for; none without queries."""
    refuse_built_in_names(more)
    metrics = [resolve_metric(each) for each in task.metrics(queries, ks)] if queries else []
    if more and queries:
        metrics = combine_metrics(task, metrics, more, ks)
    return metrics


def align_values(
    query_ids: Sequence[str], parts: Iterable[tuple[Sequence[str], Mapping[str, Floats]]]
) -> dict[str, Floats]:
    """Return metric name -> (n,) value of each query, NaN where its part lacks the query.

    Reports and boards show rankings and answers, which are scored apart, side by side. A part is
    query ids with their values; no metric is in two parts.
    """
    index = {query_id: i for i, query_id in enumerate(query_ids)}
    aligned = {}
    for ids, per_query in parts:
        rows = [index[query_id] for query_id in ids]
        for name, values in per_query.items():
            aligned[name] = np.full(len(query_ids), np.nan)
            aligned[name][rows] = values
    return aligned


def make_answer_task(task: Task[Any] | str) -> Task[Any]:
    """Return the task itself, or make that of a name; refuse one about rankings."""
    made = make_task(task) if isinstance(task, str) else task
    if made.answer == "ranking":
        raise ConfigError(f"{made.name} is a task about rankings; score them with score_rankings")
    return made


def select_scorable(task: Task[Any], dataset: Dataset) -> Dataset:
    """Return the dataset with the queries that a task can score; perhaps with none.

    They are those with a reference; all, where none has one and the task has metrics without.

    Raises:
        DataError: a reference is not one of the task.
    """
    queries = tuple(query for query in dataset.queries if has_reference(task, query))
    all_there = len(queries) == len(dataset.queries)
    labelled = dataset if all_there else replace(dataset, queries=queries)
    task.check(labelled)
    return dataset if not queries and task.scores_unlabelled else labelled


def list_answers(
    dataset: Dataset, answers: Mapping[str, Generation | str]
) -> dict[str, Generation]:
    """List query id -> answer of all queries, in their order; a missing one counts as failed."""
    listed = {}
    for query in dataset.queries:
        answer = answers.get(query.id)
        if answer is None:
            answer = Generation(query.id, "", error=MISSING)
        elif isinstance(answer, str):
            answer = Generation(query.id, answer)
        elif answer.query_id != query.id:
            raise DataError(f"query {query.id!r}: its answer is to the query {answer.query_id!r}")
        listed[query.id] = answer
    return listed


def _read_retrieval(
    query_id: str, rankings: Mapping[str, Any], depth: int, dataset: Dataset
) -> Retrieval:
    ranking = rankings.get(query_id)
    if ranking is None:
        return Retrieval(query_id, (), error=MISSING)
    if not isinstance(ranking, Retrieval):
        return read_ranking(query_id, ranking, depth, dataset.corpus)
    if ranking.query_id != query_id:
        raise DataError(f"query {query_id!r}: its ranking is of the query {ranking.query_id!r}")
    for tables in (ranking.tables, *ranking.at.values()):
        distinct = set(tables)
        if len(distinct) < len(tables) or not dataset.corpus.positions.keys() >= distinct:
            read_ranking(query_id, tables, depth, dataset.corpus)  # raises what is wrong
    return ranking.take_cutoff(depth)


def check_query_ids(what: str, given: Mapping[str, object], dataset: Dataset) -> None:
    """Raise ``DataError`` for an id of a query that the dataset does not have."""
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


def _compute_scores(
    inputs: Iterable[tuple[Metric[Any], Any, Outputs]], query_ids: Sequence[str]
) -> tuple[dict[str, Score], dict[str, Floats], dict[str, Floats]]:
    """Compute each metric on its own examples; return scores, per-query values and statistics.

    Sums run over the queries in the order of their ids: the order they are asked in changes no
    digit of a score.
    """
    by_id = np.array(sorted(range(len(query_ids)), key=query_ids.__getitem__), dtype=np.intp)
    scores: dict[str, Score] = {}
    per_query: dict[str, Floats] = {}
    extra_statistics: dict[str, Floats] = {}
    for metric, examples, outputs in inputs:
        check_time()  # there is a limit only for submissions, which may be hostile
        with guard_plugin("metric", metric, "scoring"):
            statistics = metric.statistics(outputs if metric.reads_outputs else examples)
            _check_statistics(metric, statistics, len(query_ids))
            low, high = stats.interval(metric, statistics[by_id])
            scores[metric.name] = Score(
                value=compute_score(metric, statistics[by_id]),
                low=low,
                high=high,
                n=metric.count_queries(statistics),
                signature=f"{metric.signature}|{stats.SIGNATURE}",
                spec=_stored_spec(metric),
            )
            values = per_query[metric.name] = metric.per_query(statistics)
            if not np.array_equal(to_mean_statistics(values), statistics):
                extra_statistics[metric.name] = statistics
    return scores, per_query, extra_statistics


def _check_statistics(metric: Metric[Any], statistics: Floats, n: int) -> None:
    """Raise ``PluginError`` unless these are a row of numbers for each of n queries."""
    if np.ndim(statistics) != 2 or len(statistics) != n:
        raise PluginError(
            f"metric {metric.name}: statistics() of {n} queries has the shape "
            f"{np.shape(statistics)}: expected a row for each query"
        )
    if np.isnan(statistics).any():
        raise PluginError(
            f"metric {metric.name}: statistics() has NaN; return zeros for queries left out"
        )
    with np.errstate(over="ignore", invalid="ignore"):
        if not np.isfinite(statistics.sum(axis=0)).all():  # inf and -inf add up to NaN
            raise PluginError(
                f"metric {metric.name}: its values are too large to be added up (the largest is "
                f"{np.abs(statistics).max():.3g})"
            )


def _stored_spec(metric: Metric[Any]) -> MetricSpec | None:
    """Return the declaration that is stored beside the score; None for a metric of this package."""
    if not is_built_in(metric.name):
        return metric.spec
    if find_spec(metric.name) != metric.spec:
        raise ConfigError(
            f"metric {metric.name!r}: {type(metric).__name__} has the name of a metric of "
            "target-bench and another declaration; give it a name of its own"
        )
    return None


def _count_rankings(
    task: Task[Any],
    queries: Sequence[Query],
    retrievals: Sequence[Retrieval],
    ks: Sequence[int],
    n_tables: int,
) -> Counts:
    """Return the denominators of rankings.

    A ranking is short below the last cutoff, or below the size of the corpus if that is smaller.
    """
    depth = min(ks[-1], n_tables)
    cutoffs = [cutoff for cutoff in ks if cutoff < n_tables]
    answered = [retrieval for retrieval in retrievals if retrieval.error is None]
    return Counts(
        asked=len(queries),
        answered=len(answered),
        failed=len(retrievals) - len(answered),
        empty=sum(1 for retrieval in answered if not retrieval.tables),
        short=sum(1 for retrieval in answered if len(retrieval.tables) < depth),
        resorted=sum(1 for retrieval in answered if retrieval.resorted),
        empty_queries=sum(1 for query in queries if not query.text.strip()),
        tied=sum(1 for retrieval in answered if retrieval.tied),
        # At a cutoff that was asked by itself nothing is cut.
        divided_ties=sum(
            any(_divides_ties(cutoff, r) for cutoff in cutoffs if cutoff not in r.at)
            for r in answered
        ),
        unlabelled=sum(not has_reference(task, query) for query in queries),
    )


def _divides_ties(k: int, ranking: Retrieval) -> bool:
    """Return whether a cutoff divides tables of equal score."""
    scores = ranking.scores
    if len(scores) > k:
        return scores[k - 1] == scores[k]
    if ranking.divides_ties is not None:  # at the end of the ranking
        return ranking.divides_ties and len(scores) == k
    # No table after the last cutoff is known; a tie just before it is taken for one across it.
    return len(scores) == k > 1 and scores[k - 2] == scores[k - 1]


def _count_answers(
    task: Task[Any],
    dataset: Dataset,
    answers: Mapping[str, Generation],
    scored: Dataset | None = None,
    examples: Any = None,
) -> AnswerCounts:
    """Return the denominators of answers, and what they took."""
    given = [answer for answer in answers.values() if answer.error is None]
    unparsed = 0
    if scored is not None:
        queries = scored.queries
        parsed = task.parse_answers(examples) or [True] * len(queries)
        if len(parsed) != len(queries):
            raise PluginError(
                f"task {task.name}: parse_answers() lists {len(parsed)} values for {len(queries)} "
                "answers"
            )
        errors = (answers[query.id].error for query in queries)
        unparsed = sum(
            value is None and error is None for value, error in zip(parsed, errors, strict=True)
        )
    return AnswerCounts(
        asked=len(answers),
        answered=len(given),
        failed=len(answers) - len(given),
        unparsed=unparsed,
        truncated=sum(answer.truncated for answer in answers.values()),  # of its prompt
        at_token_limit=sum(answer.finish_reason == "length" for answer in given),
        input_tokens=_sum(answer.input_tokens for answer in answers.values()),
        output_tokens=_sum(answer.output_tokens for answer in answers.values()),
        cost=_sum(answer.cost for answer in answers.values()),
        unlabelled=sum(not has_reference(task, query) for query in dataset.queries),
    )


def _sum(amounts: Iterable[Amount | None]) -> Amount | None:
    """Return the sum of what is known; None where nothing is."""
    known = [amount for amount in amounts if amount is not None]
    return sum(known[1:], start=known[0]) if known else None
