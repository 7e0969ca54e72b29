"""The contracts of a task and of a metric as checks, on references and empty answers."""

import json
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import replace
from functools import cached_property, partial
from math import isclose
from typing import Any, get_args
from unittest import SkipTest

import numpy as np
from numpy.typing import NDArray

from target_bench.core import registry
from target_bench.core.built_in import ANSWER_TASK, RANKING_TASK
from target_bench.core.errors import ConfigError
from target_bench.core.metric import RANKINGS, Metric, MetricSpec, score_of
from target_bench.core.metric_function import FunctionMetric, metric_of
from target_bench.core.prompt_writer import PromptOptions
from target_bench.core.schema import AnswerKind, Dataset, Generation, Judgement, Query, Retrieval
from target_bench.core.task import (
    AnswerJudge,
    Outputs,
    Predictions,
    SummaryBlock,
    TableSource,
    Task,
    has_reference,
)
from target_bench.core.task_names import make_task
from target_bench.data.load import load, of_task
from target_bench.metrics.scores import check_names
from target_bench.metrics.stats import interval
from target_bench.testing.checks import Check, Contract, Report, calling, checks_of, expect, run

_QUERIES = 20
_DEPTH = 10

MOST_JUDGED = 4 * _QUERIES
"""How many answers all checks of a task together have judged, at most."""


def check_task(task: Callable[[], Task[Any]] | str, *arguments: Any, **options: Any) -> Report:
    """Run ``task_checks``: return the report, or raise one ``CheckError`` of all faults."""
    return run(task, task_checks(task, *arguments, **options)).raise_failures()


def task_checks(
    task: Callable[[], Task[Any]] | str,
    dataset: Dataset | None = None,
    *,
    skip: Mapping[str, str] | None = None,
) -> list[Check]:
    """Return the checks of a task, one by one.

    Args:
        task: its class, a function that makes one, or a name with settings as on the command line
            (``qa``, ``my_file.py:Mine``).
        dataset: queries with references of the task; default: the corpus ``mini``.
        skip: names of checks to leave out, each with the reason, which the report shows.

    Raises:
        ConfigError: an unknown name or setting, or a dataset without references of the task.
    """
    make = partial(make_task, task) if isinstance(task, str) else task
    return checks_of(TaskContract(make, _referenced(make(), dataset)), skip)


def check_metric(metric: Callable[..., Any] | str, *arguments: Any, **options: Any) -> Report:
    """Run ``metric_checks``: return the report, or raise one ``CheckError`` of all faults."""
    return run(metric, metric_checks(metric, *arguments, **options)).raise_failures()


def metric_checks(
    metric: Callable[..., Any] | str,
    task: str | None = None,
    dataset: Dataset | None = None,
    *,
    skip: Mapping[str, str] | None = None,
) -> list[Check]:
    """Return the checks of a metric, one by one.

    Args:
        metric: a function, a class, or text as on the command line (``my_file.py:short``).
        task: the task whose examples it reads; default: the first that scores what the metric is
            of, or question answering.
        dataset: queries with references of the task; default: the corpus ``mini``.
        skip: names of checks to leave out, each with the reason, which the report shows.

    Raises:
        ConfigError: an unknown name, or a dataset without references of the task.
    """
    return checks_of(MetricContract(metric, task, dataset), skip)


class TaskContract(Contract):
    """The checks of a task, on a dataset of which each query has a reference."""

    def __init__(self, make: Callable[[], Task[Any]], dataset: Dataset) -> None:
        self._make, self._dataset = make, dataset

    def attributes(self) -> None:
        """Its attributes are of the kinds that the contract names, and its settings are steady."""
        task = self._make()
        for name, is_kept, expected in (
            ("name", task.name.isidentifier() and task.name.islower(), "a lower-case identifier"),
            ("title", task.title.strip(), "the name of the task for people"),
            ("answer", task.answer in get_args(AnswerKind), f"one of {get_args(AnswerKind)}"),
            ("source", task.source in get_args(TableSource), f"one of {get_args(TableSource)}"),
            ("judge", isinstance(task.judge, AnswerJudge | None), "an AnswerJudge, or None"),
        ):
            expect(is_kept, f"{name} is {getattr(task, name)!r:.80}; expected {expected}")
        settings, again = task.settings(), self._make().settings()
        expect(settings == again, f"settings() gave {settings!r}, then {again!r}")

    def metrics(self) -> None:
        """It has metrics, each with its own name and signature, the same each time."""
        listed, again = ([(m.name, m.signature) for m in self._metrics()] for _ in range(2))
        expect(listed == again, f"metrics() gave {listed!r}, then {again!r}")
        expect(len(dict(listed)) == len(listed), f"metrics() has a name twice: {listed!r}")

    def scores(self) -> None:
        """References are valid and score highest, empty answers less, and failed ones no more.

        So says the metric that decides; where none does, the first one gives references more. The
        others give a value too. A Generation with an error holds no answer.
        """
        self._make().check(self._dataset)
        metrics = self._metrics()
        leads = next((m for m in metrics if m.spec.decides), metrics[0])
        outputs = [self._references, self._blanks]
        if self._make().answer != "ranking":
            outputs.append(_outputs_of(self._make(), self._dataset, _failed))
        values = {}
        for metric in metrics:
            with calling(f"examples, or the metric {metric.name}"):
                values[metric.name] = [
                    score_of(metric, _statistics(metric, self._make(), o)) for o in outputs
                ]
        best, worst, *failed = values[leads.name]
        shown = f"references score {leads.name}={best:g}, empty answers {worst:g}"
        expect(
            worst < best and (not leads.spec.decides or isclose(best, leads.highest)),
            f"{shown}; the highest value is {leads.highest:g}",
        )
        expect(not failed or failed[0] <= worst, f"{shown}, and failed ones {failed}")

    def judging(self) -> None:
        """Judging twice gives the same, and what is judged is not judged again."""
        task = self._make()
        if task.judge is None:
            raise SkipTest("it does not judge")
        predictions = self._references.predictions
        answers, judged = predictions.answers, predictions.judgements
        again = _judged(self._make(), self._dataset, answers)
        differing = [query_id for query_id in judged if judged[query_id] != again.get(query_id)]
        expect(not differing, f"the answers to {differing} were judged in two ways")
        rest = task.judge.unjudged(self._dataset, answers, {}, judged)
        expect(not rest, f"unjudged() names {[q.id for q in rest]}, which were judged a moment ago")

    def report(self) -> None:
        """It reads a value from each answer; its report is JSON, its summary a line per block."""
        task, n = self._make(), len(self._dataset.queries)
        for outputs in (self._references, self._blanks):
            examples = task.examples(*outputs)
            values = task.parsed(examples)
            expect(len(values) in (0, n), f"parsed() has {len(values)} entries for {n} answers")
            with calling("writing report as JSON"):
                text = json.dumps(task.report(self._dataset, examples), allow_nan=False)
            report = json.loads(text)
            for block in task.view.summary(report) if report else ():
                is_line = isinstance(block, SummaryBlock) and "\n" not in str(block)
                expect(is_line, f"summary() gave {block!r:.200}: expected blocks of one line")

    def prompts(self) -> None:
        """It has a prompt, with tables and without, that says what is asked; its identity is JSON.

        Put the templates into a YAML file beside the class.
        """
        from target_bench.models.prompts.prompting import writer_of

        task, dataset = self._make(), self._dataset
        if task.answer == "ranking":
            raise SkipTest("an answer is a ranking")
        with calling("the prompt"):
            writer = writer_of(task, PromptOptions(), dataset.databases, follows_schema=True)
            json.dumps(writer.identity)
        questions = {query.text: query for query in dataset.queries}.values()
        for ranking in (dataset.queries[0].gold, ()):
            tables = writer.tables(dataset.corpus, ranking)
            first, *rest = (writer.prompted(q, tables).request.messages for q in questions)
            is_asked = first not in rest
            expect(is_asked, f"the prompt with {len(tables)} tables is the same for two questions")

    def _metrics(self) -> list[Metric[Any]]:
        task = self._make()
        cutoffs = [_DEPTH] if task.answer == "ranking" else []
        with calling("metrics"):
            listed = [metric_of(each) for each in task.metrics(self._dataset.queries, cutoffs)]
        expect(listed, "metrics() is empty: name at least one metric")
        return listed

    @cached_property
    def _references(self) -> Outputs:
        return _outputs_of(self._make(), self._dataset, _gold)

    @cached_property
    def _blanks(self) -> Outputs:
        return _outputs_of(self._make(), self._dataset, _empty)


class MetricContract(Contract):
    """The checks of a metric; arguments as for ``metric_checks``."""

    def __init__(
        self, metric: Callable[..., Any] | str, task: str | None, dataset: Dataset | None
    ) -> None:
        self._metric, self._named_task, self._dataset = metric, task, dataset

    def declaration(self) -> None:
        """It declares itself by a `MetricSpec`, under a name and a steady signature of its own."""
        metric, again = self._make(), self._make()
        is_declared = isinstance(getattr(metric, "spec", None), MetricSpec)
        expect(is_declared, "it has no attribute spec with a MetricSpec")
        check_names([metric])
        text, other = metric.signature, again.signature
        expect(
            isinstance(text, str) and text and text == other,
            f"signature gave {text!r:.80}, then {other!r:.80}: expected the same text",
        )

    def values(self) -> None:
        """Its statistics are a row of numbers a query; its value lies within bounds and interval.

        Give zeros for a query that is left out, and declare scale and highest.
        """
        metric = self._make()
        for rows in self._both:
            n = len(rows)
            with calling("value of the sums of statistics"):
                value, again = (score_of(metric, r) for r in (rows, rows[::-1]))
                (low, high), (least, most) = interval(metric, rows), metric.bounds(rows)
                per_query = metric.per_query(rows)
            expect(isclose(value, again), f"the order of queries changes {value:g} to {again:g}")
            expect(
                low <= value <= high and least <= value <= most,
                f"its value {value:g} is outside of the interval [{low:g}, {high:g}] or of the "
                f"bounds [{least:g}, {most:g}]",
            )
            expect(len(per_query) == n, f"per_query() has {len(per_query)} values of {n} queries")

    def direction(self) -> None:
        """References score no worse than empty answers, by the direction that it declares.

        Set higher_is_better, or skip this check and say why.
        """
        metric = self._make()
        best, worst = (score_of(metric, rows) for rows in self._both)
        is_kept = metric.spec.merit(best) >= metric.spec.merit(worst)
        expect(is_kept, f"the references score {best:g}, empty answers {worst:g}")

    def _make(self) -> Metric[Any]:
        """Make the metric, at a cutoff if it has one."""
        with calling("making it"):
            made = metric_of(self._metric() if isinstance(self._metric, type) else self._metric)
        return made.at(_DEPTH) if isinstance(made, FunctionMetric) and made.spec.at_k else made

    @cached_property
    def _both(self) -> list[NDArray[np.float64]]:
        """Its statistics of references and of empty answers."""
        metric = self._make()
        default = RANKING_TASK if metric.spec.of == RANKINGS else ANSWER_TASK
        names = registry.BUILT_IN["task"]
        fitting = (n for n in names if registry.resolve("task", n).scores == metric.spec.of)
        task = make_task(self._named_task or next(fitting, default))
        dataset, both = _referenced(task, self._dataset), []
        for answer in (_gold, _empty):
            with calling(f"statistics of {task.name}"):
                both.append(_statistics(metric, task, _outputs_of(task, dataset, answer)))
            expect(
                both[-1].ndim == 2
                and len(both[-1]) == len(dataset.queries)
                and np.isfinite(both[-1]).all(),
                f"statistics() of {len(dataset.queries)} queries has the shape {both[-1].shape}, "
                "or numbers that are not finite",
            )
        return both


def _referenced(task: Task[Any], dataset: Dataset | None) -> Dataset:
    """Return a dataset, or ``mini``, with its first queries that have a reference of the task."""
    dataset = of_task(dataset or load("mini"), task)
    queries = [query for query in dataset.queries if has_reference(task, query)]
    if not queries:
        raise ConfigError(f"no query of {dataset.info.name} has a reference: pass another dataset")
    return replace(dataset, queries=tuple(queries[:_QUERIES]))


def _statistics(metric: Metric[Any], task: Task[Any], outputs: Outputs) -> NDArray[np.float64]:
    read = outputs if metric.reads_outputs else task.examples(*outputs)
    return np.asarray(metric.statistics(read))


def _gold(query: Query) -> Generation:
    return Generation(query.id, query.references[0])


def _empty(query: Query) -> Generation:
    return Generation(query.id, "")


def _failed(query: Query) -> Generation:
    return Generation(query.id, query.references[0], error="raised: a test")


def _outputs_of(
    task: Task[Any], dataset: Dataset, answer: Callable[[Query], Generation]
) -> Outputs:
    """Return what a system would give that answers each query so, judged where the task judges.

    Of a task about rankings ``_gold`` ranks the gold tables, and any other answer nothing.
    """
    if task.answer == "ranking":
        ranked = {q.id: Retrieval(q.id, q.gold if answer is _gold else ()) for q in dataset.queries}
        return Outputs(dataset, Predictions(rankings=ranked, depth=_DEPTH))
    answers = {query.id: answer(query) for query in dataset.queries}
    return Outputs(dataset, Predictions({}, answers, _judged(task, dataset, answers)))


def _judged(
    task: Task[Any], dataset: Dataset, answers: Mapping[str, Generation]
) -> dict[str, Judgement]:
    if task.judge is None:
        return {}
    judged = task.judge.judged(dataset.queries, dataset, answers, {})
    with calling("judge"), closing(judged):
        return {judgement.query_id: judgement for judgement in judged}
