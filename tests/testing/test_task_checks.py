"""The checks of tasks: the built-in ones pass, and each broken promise is found."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import pytest

from target_bench.core import registry
from target_bench.core.metric import Metric
from target_bench.core.schema import Dataset, Generation, Judgement, Query, Retrieval
from target_bench.core.task import AnswerJudge, Predictions, SummaryBlock, View
from target_bench.metrics.denotation import JudgedValues
from target_bench.tasks.question_answering import QuestionAnswering
from target_bench.testing import CheckError, check_task, task_checks
from tests.cli.inside import Inside


@pytest.mark.parametrize("task", [*registry.BUILT_IN["task"], "sql:engine=duckdb"])
def test_built_in_tasks_keep_the_contract(task: str) -> None:
    assert check_task(task).failed == ()


class Named(QuestionAnswering):
    name = "Question Answering!"


class Unsteady(QuestionAnswering):
    made: ClassVar[list[int]] = []

    def settings(self) -> list[str]:
        self.made.append(1)
        return [str(len(self.made))]


class NoMetric(QuestionAnswering):
    def metrics(self, _q: Sequence[Query], _c: Sequence[int] = ()) -> list[Metric[JudgedValues]]:
        return []


class Deaf(QuestionAnswering):
    def examples(self, dataset: Dataset, predictions: Predictions) -> JudgedValues:
        read = super().examples(dataset, predictions)
        return replace(read, texts=["x" for _ in read.texts])


class ReadsFailures(QuestionAnswering):
    def examples(self, dataset: Dataset, predictions: Predictions) -> JudgedValues:
        given = [predictions.answers[query.id].text for query in dataset.queries]
        return replace(super().examples(dataset, predictions), texts=given)


class HalfRead(QuestionAnswering):
    def parsed(self, examples: JudgedValues) -> Sequence[str | None]:
        return examples.texts[:1]


class NoJudge(QuestionAnswering):
    judge = "me"  # type: ignore[assignment]


class ReportsSets(QuestionAnswering):
    def report(self, dataset: Dataset, examples: JudgedValues) -> Mapping[str, Any]:
        return {"texts": {1, 2}}


class LongSummary(QuestionAnswering):
    def report(self, dataset: Dataset, examples: JudgedValues) -> Mapping[str, Any]:
        return {"n": 1}

    view = View(summary=lambda _report: [SummaryBlock("n", text="1\n2")])


class Moody(QuestionAnswering, AnswerJudge):
    said: ClassVar[list[str]] = []

    def __init__(self) -> None:
        super().__init__()
        self.judge = self

    def unjudged(self, *_given: Any) -> list[Query]:
        return []

    def judged(
        self,
        queries: Sequence[Query],
        dataset: Dataset,
        generations: Mapping[str, Generation],
        retrievals: Mapping[str, Retrieval],
    ) -> Any:
        for query in queries:
            self.said.append(query.id)
            yield Judgement(query.id, "", {"n": len(self.said)})


@pytest.mark.parametrize(
    ("cls", "check"),
    [
        (Named, "attributes"),
        (NoJudge, "attributes"),
        (Unsteady, "attributes"),
        (NoMetric, "metrics"),
        (Deaf, "bounds"),
        (ReadsFailures, "failures"),
        (HalfRead, "report"),
        (ReportsSets, "report"),
        (LongSummary, "report"),
        (Moody, "judging"),
    ],
)
def test_a_broken_promise_is_found(cls: type[QuestionAnswering], check: str) -> None:
    """By the check of that promise."""
    (broken,) = [each for each in task_checks(cls) if each.name == check]
    with pytest.raises(CheckError):
        broken()


def test_from_the_command_line(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    done = Inside(capsys, monkeypatch)("check", "--task", "qa", "--skip", "judging=not now")
    assert done.code == 0
    assert "not now" in done.out


class WordyAnswers(QuestionAnswering):
    name = "wordy_answers"
