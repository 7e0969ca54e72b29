"""Question answering: what is judged, and how failures count."""

import numpy as np

from target_bench.core.schema import Generation, Query
from target_bench.metrics.denotation import JudgedValues
from target_bench.tasks.question_answering import QuestionAnswering
from tests.tasks.datasets import answered, dataset_of

ONE = Query("q1", "Who?", (), "Ann")
MORE = Query("q2", "Where?", (), ("USA", "United States"))


def test_a_failed_answer_is_none() -> None:
    """Also when something came before it failed, and reasoning without an end."""
    task, unfinished = QuestionAnswering(), "<think>It is Ann"
    for failed in (Generation("q1", "Ann", error="cut off"), Generation("q1", unfinished)):
        answers = answered(failed, Generation("q2", "USA"))
        judged = task.examples(dataset_of(ONE, MORE), answers)
        assert list(judged.texts) == [None, "USA"]
        assert list(judged.references) == [("Ann",), ("USA", "United States")]
    empty = answered(Generation("q1", ""), Generation("q2", " Paris\n"))
    assert list(task.examples(dataset_of(ONE, MORE), empty).texts) == ["", " Paris\n"]


def test_reasoning_does_not_belong_to_an_answer() -> None:
    task, queries = QuestionAnswering(), (ONE, MORE)

    def judged(before: str) -> JudgedValues:
        given = [Generation("q1", f"{before}Ann"), Generation("q2", f"{before}the USA")]
        return task.examples(dataset_of(*queries), answered(*given))

    for metric in task.metrics(queries):
        plain = metric.statistics(judged(""))
        assert np.array_equal(plain, metric.statistics(judged("<think>Bob?</think>\n\n")))
        assert metric.signature.endswith("|answer:without-reasoning.1")
