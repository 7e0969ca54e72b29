"""The contract of a metric as checks, on references and empty answers of a task."""

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from target_bench.core import registry
from target_bench.core.built_in import ANSWER_TASK, RANKING_TASK
from target_bench.core.errors import ConfigError
from target_bench.core.metric import RANKINGS, Metric, MetricSpec, score_of
from target_bench.core.metric_function import FunctionMetric, metric_of
from target_bench.core.schema import Dataset
from target_bench.core.task import Task
from target_bench.core.task_names import make_task
from target_bench.data.load import load, of_task
from target_bench.metrics.scores import check_names
from target_bench.metrics.stats import interval
from target_bench.testing.checks import (
    Check,
    CheckError,
    Contract,
    Report,
    calling,
    checks_of,
    expect,
    run,
)
from target_bench.testing.tasks import TaskCase, empty, gold, outputs_of

_K = 3


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
        ConfigError: an unknown name, or no task whose examples it reads.
    """
    return checks_of(METRIC, MetricCase(metric, task, dataset), skip)


class MetricCase:
    """A metric under test, and a task whose answers it measures; arguments: ``metric_checks``."""

    def __init__(
        self, metric: Callable[..., Any] | str, task: str | None, dataset: Dataset | None
    ) -> None:
        self._metric, self._task, self._dataset = metric, task, dataset

    def make(self) -> Metric[Any]:
        """Make the metric, at a cutoff if it has one."""
        with calling("making it"):
            made = metric_of(self._metric() if isinstance(self._metric, type) else self._metric)
        return made.at(_K) if isinstance(made, FunctionMetric) and made.spec.at_k else made

    @cached_property
    def task(self) -> Task[Any]:
        """The task whose examples it reads."""
        kind = self.make().spec.of
        default = RANKING_TASK if kind == RANKINGS else ANSWER_TASK
        tasks = (n for n in registry.BUILT_IN["task"] if registry.resolve("task", n).scores == kind)
        return make_task(self._task or next(tasks, default))

    def statistics(self, best: bool = True) -> NDArray[np.float64]:
        """Return the statistics of the references as answers, or of empty answers.

        Fails unless they are a row of finite numbers for each query.
        """
        metric = self.make()
        scored = TaskCase(
            lambda: self.task, of_task(self._dataset or load("mini"), self.task)
        ).scored
        outputs = outputs_of(self.task, scored, gold if best else empty)
        with calling(f"statistics of {self.task.name}"):
            inputs = outputs if metric.reads_outputs else self.task.examples(*outputs)
            rows = np.asarray(metric.statistics(inputs))
            finite = np.isfinite(rows).all()
        expect(
            rows.ndim == 2 and len(rows) == len(scored.queries) and finite,
            f"statistics() of {len(scored.queries)} queries has the shape {rows.shape}, or numbers "
            "that are not finite; expected a row of numbers for each query, zeros for one that is "
            "left out",
        )
        return rows


def declaration(case: MetricCase) -> None:
    """It declares itself by a `MetricSpec`, under a name and a steady signature of its own."""
    try:
        metric, again = case.make(), case.make()
        expect(
            isinstance(getattr(metric, "spec", None), MetricSpec),
            "it has no attribute spec with a MetricSpec",
        )
        check_names([metric])
    except ConfigError as error:
        raise CheckError(str(error)) from error
    text, other = metric.signature, again.signature
    expect(
        isinstance(text, str) and text and text == other,
        f"signature gave {text!r:.80}, then {other!r:.80}: expected the same text",
    )


def statistics(case: MetricCase) -> None:
    """It gives a row of finite numbers for each query, of answers and of empty ones."""
    case.statistics()
    case.statistics(best=False)


def values(case: MetricCase) -> None:
    """Its value is a number in its interval, within its bounds, in any order of the queries."""
    metric, rows = case.make(), case.statistics()
    with calling("value of the sums of statistics"):
        value, again = (score_of(metric, r) for r in (rows, rows[::-1]))
        low, high = interval(metric, rows)
        least, most = metric.bounds(rows)
    expect(
        abs(value - again) <= 1e-9 * max(1, abs(value)),
        f"the order of the queries changes the value: {value:g}, then {again:g}",
    )
    expect(
        low <= value <= high and least <= value <= most,
        f"its value {value:g} of the references is outside of the interval [{low:g}, {high:g}] "
        f"or of the bounds [{least:g}, {most:g}]: declare scale and highest",
    )
    n = len(metric.per_query(rows))
    expect(n == len(rows), f"per_query() has {n} values of {len(rows)} queries")


def direction(case: MetricCase) -> None:
    """References score no worse than empty answers, by the direction that it declares."""
    metric = case.make()
    best, worst = (score_of(metric, case.statistics(b)) for b in (True, False))
    better = "higher" if metric.spec.higher_is_better else "lower"
    expect(
        metric.spec.merit(best) >= metric.spec.merit(worst),
        f"the references score {best:g}, empty answers {worst:g}, though {better} is better: set "
        "higher_is_better, or skip this check and say why",
    )


METRIC: Contract = (declaration, statistics, values, direction)
