"""The checks of tasks and metrics: built-in ones pass, and each broken promise is found."""

import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import count
from typing import Any

import numpy as np
import pytest

from target_bench import Metric, MetricSpec, TableId, metric
from target_bench.core import registry
from target_bench.core.errors import ConfigError
from target_bench.core.schema import Judgement
from target_bench.core.task import AnswerJudge, SummaryBlock, View
from target_bench.metrics.text import JudgedAnswers
from target_bench.tasks.question_answering import QuestionAnswering
from target_bench.testing import check_metric, check_task, metric_checks, run, task_checks
from tests.testing.faults import broken


@pytest.mark.parametrize("task", [*registry.BUILT_IN["task"], "sql:engine=duckdb"])
def test_built_in_tasks_keep_the_contract(task: str) -> None:
    assert not check_task(task).failed


class Moody(AnswerJudge):
    """Judges the same answer in another way each time."""

    calls = count()

    def unjudged(self, dataset: Any, *given: Any) -> Any:
        return [query for query in dataset.queries if query.id not in given[-1]]

    def judged(self, queries: Any, *_given: Any) -> Any:
        for query in queries:
            yield Judgement(query.id, "", {"n": next(self.calls)})


def _examples(texts: Callable[[Any, Any], list[str]]) -> Any:
    def examples(self: QuestionAnswering, dataset: Any, predictions: Any) -> Any:
        read = QuestionAnswering.examples(self, dataset, predictions)
        return replace(read, texts=texts(dataset.queries, predictions.answers))

    return {"examples": examples}


def _report(report: Any, *summary: SummaryBlock) -> Any:
    return {"report": lambda *_given: report, "view": View(summary=lambda _report: summary)}


SETTINGS = count()

TASKS = broken(
    QuestionAnswering,
    {
        "name": ("declaration", "lower-case identifier", {"name": "Question Answering!"}),
        "judge": ("declaration", "judge is 'me'", {"judge": "me"}),
        "unsteady": ("declaration", "settings()", {"settings": lambda _self: [next(SETTINGS)]}),
        "no metric": ("declaration", "metrics() is empty", {"metrics": lambda *_given: []}),
        "deaf": ("scores", "0 for references", _examples(lambda queries, _a: ["x"] * len(queries))),
        "reads failures": (
            "scores",
            "1 for failed ones",
            _examples(lambda queries, answers: [answers[query.id].text for query in queries]),
        ),
        "half read": (
            "scores",
            "parsed() lists 1 values for 20 answers",
            {"parsed": lambda _self, examples: examples.texts[:1]},
        ),
        "reports sets": ("scores", "writing its report as JSON", _report({"texts": {1, 2}})),
        "long summary": ("scores", "of one line", _report({"n": 1}, SummaryBlock("n", text="1\n"))),
        "moody": ("judging", "in two ways", {"judge": Moody()}),
    },
)


def held(answer: str, references: Sequence[str]) -> float:
    return float(any(reference in answer for reference in references))


def near(ranking: Sequence[TableId], gold: Sequence[TableId], k: int) -> bool:
    return any(table in ranking for table in gold)


class Words(Metric[JudgedAnswers]):
    """The share of the words of the references."""

    spec = MetricSpec("words", scores="texts", scale="unbounded")

    @property
    def signature(self) -> str:
        return "words|version:1"

    def statistics(self, examples: JudgedAnswers) -> Any:
        pairs = zip(examples.texts, examples.references, strict=True)
        return np.array([[len((a or "").split()), len(r[0].split())] for a, r in pairs], float)

    def value(self, totals: Any) -> Any:
        return totals[..., 0] / totals[..., 1]


METRICS = broken(
    Words,
    {
        "another each time": (
            "declaration",
            "expected the same text twice",
            {"signature": property(lambda _self: str(random.random()))},
        ),
        "one row": (
            "values",
            "statistics() of 20 queries has the shape (2,)",
            {"statistics": lambda self, examples: Words.statistics(self, examples).sum(axis=0)},
        ),
        "out of bounds": ("values", "not within", {"bounds": lambda *_given: (0.0, 0.5)}),
        "wrong way round": (
            "values",
            "references score 1, empty answers 0",
            {"spec": replace(Words.spec, higher_is_better=False)},
        ),
    },
)


def test_a_metric_without_a_declaration_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"is not a metric: .* a MetricSpec as spec"):
        check_metric(type("Undeclared", (Words,), {"spec": None, "__module__": __name__}))


@pytest.mark.parametrize(("cls", "check", "words"), [*TASKS, *METRICS])
def test_each_fault_is_named(cls: Any, check: str, words: str) -> None:
    checks = metric_checks if issubclass(cls, Metric) else task_checks
    (failed,) = run("it", [each for each in checks(cls) if each.name == check]).failed
    assert words in failed.detail


BUILT_IN = ("rougeL", "accuracy", "ex[bird]", "cell_f1", "sacrebleu")


@pytest.mark.parametrize(
    "given",
    [held, metric(held), near, Words, *BUILT_IN],
    ids=["function", "metric", "function of rankings", "class", *BUILT_IN],
)
def test_sound_metrics_pass(given: Any) -> None:
    assert not check_metric(given).skipped


def test_the_name_of_a_metric_of_this_package_is_refused() -> None:
    class Reserved(Words):
        spec = MetricSpec("rougeL", scores="texts")

    with pytest.raises(ConfigError, match="give yours a name of its own"):
        check_metric(Reserved)
