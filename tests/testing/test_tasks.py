"""The checks of tasks and metrics: built-in ones pass, and each broken promise is found."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import pytest

from target_bench import Metric, MetricSpec, TableId, metric
from target_bench.core import registry
from target_bench.core.errors import ConfigError
from target_bench.core.schema import Dataset, Generation, Judgement, Query, Retrieval
from target_bench.core.task import AnswerJudge, Predictions, SummaryBlock, View
from target_bench.metrics.denotation import JudgedValues
from target_bench.metrics.text import JudgedAnswers
from target_bench.tasks.question_answering import QuestionAnswering
from target_bench.testing import check_metric, check_task, metric_checks, run, task_checks


@pytest.mark.parametrize("task", [*registry.BUILT_IN["task"], "sql:engine=duckdb"])
def test_built_in_tasks_keep_the_contract(task: str) -> None:
    assert not check_task(task).failed


class Named(QuestionAnswering):
    """declaration."""

    name = "Question Answering!"


class NoJudge(QuestionAnswering):
    """declaration."""

    judge = "me"  # type: ignore[assignment]


class Unsteady(QuestionAnswering):
    """declaration."""

    made: ClassVar[list[int]] = []

    def settings(self) -> list[str]:
        self.made.append(1)
        return [str(len(self.made))]


class NoMetric(QuestionAnswering):
    """declaration."""

    def metrics(self, _q: Sequence[Query], _c: Sequence[int] = ()) -> list[Metric[JudgedValues]]:
        return []


class Deaf(QuestionAnswering):
    """scores."""

    def examples(self, dataset: Dataset, predictions: Predictions) -> JudgedValues:
        read = super().examples(dataset, predictions)
        return replace(read, texts=["x" for _ in read.texts])


class ReadsFailures(QuestionAnswering):
    """scores."""

    def examples(self, dataset: Dataset, predictions: Predictions) -> JudgedValues:
        given = [predictions.answers[query.id].text for query in dataset.queries]
        return replace(super().examples(dataset, predictions), texts=given)


class HalfRead(QuestionAnswering):
    """scores."""

    def parsed(self, examples: JudgedValues) -> Sequence[str | None]:
        return examples.texts[:1]


class ReportsSets(QuestionAnswering):
    """scores."""

    def report(self, dataset: Dataset, examples: JudgedValues) -> Mapping[str, Any]:
        return {"texts": {1, 2}}


class LongSummary(QuestionAnswering):
    """scores."""

    def report(self, dataset: Dataset, examples: JudgedValues) -> Mapping[str, Any]:
        return {"n": 1}

    view = View(summary=lambda _report: [SummaryBlock("n", text="1\n2")])


class Moody(QuestionAnswering, AnswerJudge):
    """judging."""

    judged_so_far: ClassVar[list[str]] = []

    def __init__(self) -> None:
        super().__init__()
        self.judge = self

    def unjudged(self, dataset: Dataset, *given: Any) -> list[Query]:
        return [query for query in dataset.queries if query.id not in given[-1]]

    def judged(
        self,
        queries: Sequence[Query],
        dataset: Dataset,
        generations: Mapping[str, Generation],
        retrievals: Mapping[str, Retrieval],
    ) -> Any:
        for query in queries:
            self.judged_so_far.append(query.id)
            yield Judgement(query.id, "", {"n": len(self.judged_so_far)})


def held(answer: str, references: Sequence[str]) -> float:
    return float(any(reference in answer for reference in references))


def near(ranking: Sequence[TableId], gold: Sequence[TableId], k: int) -> bool:
    return any(table in ranking for table in gold)


class Words(Metric[JudgedAnswers]):
    """The share of the words of the references."""

    spec = MetricSpec("words", of="texts", scale="unbounded")

    @property
    def signature(self) -> str:
        return "words|version:1"

    def statistics(self, examples: JudgedAnswers) -> Any:
        pairs = zip(examples.texts, examples.references, strict=True)
        return np.array([[len((a or "").split()), len(r[0].split())] for a, r in pairs], float)

    def value(self, totals: Any) -> Any:
        return totals[..., 0] / totals[..., 1]


BUILT_IN = ("rougeL", "accuracy", "ex[bird]", "cell_f1", "sacrebleu")


@pytest.mark.parametrize(
    "given",
    [held, metric(held), near, Words, *BUILT_IN],
    ids=["function", "metric", "function of rankings", "class", *BUILT_IN],
)
def test_sound_metrics_pass(given: Any) -> None:
    assert not check_metric(given).skipped


class Undeclared(Words):
    """declaration."""

    spec = None  # type: ignore[assignment]


class OtherEachTime(Words):
    """declaration."""

    @property
    def signature(self) -> str:
        return str(np.random.random())


class OneRow(Words):
    """values."""

    def statistics(self, examples: JudgedAnswers) -> Any:
        return super().statistics(examples).sum(axis=0)


class OutOfBounds(Words):
    """values."""

    def bounds(self, statistics: Any) -> tuple[float, float]:
        return 0.0, 0.5


class WrongWayRound(Words):
    """values."""

    spec = MetricSpec("words", of="texts", scale="unbounded", higher_is_better=False)


BROKEN = [
    cls
    for cls in list(vars().values())
    if isinstance(cls, type) and cls.__module__ == __name__ and cls is not Words
]


@pytest.mark.parametrize("cls", BROKEN, ids=lambda cls: cls.__name__)
def test_each_fault_is_named(cls: Any) -> None:
    """The docstring is the check that fails."""
    checks = metric_checks if issubclass(cls, Metric) else task_checks
    name = (cls.__doc__ or "").removesuffix(".")
    report = run("it", [check for check in checks(cls) if check.name == name])
    assert [outcome.check for outcome in report.failed] == [name], str(report)


def test_the_name_of_a_metric_of_this_package_is_refused() -> None:
    class Reserved(Words):
        spec = MetricSpec("rougeL", of="texts")

    with pytest.raises(ConfigError, match="give yours a name of its own"):
        check_metric(Reserved)
