"""Answers are read once, and within the time."""

import pytest

from target_bench.core.errors import BudgetError
from target_bench.core.schema import Generation, Query
from target_bench.models import answer_reading
from target_bench.models.answer_reading import check_time, time_limit
from target_bench.tasks.fact_verification import FactVerification
from target_bench.tasks.question_answering import QuestionAnswering
from tests.tasks.datasets import answered, dataset_of


@pytest.mark.parametrize("task", [FactVerification(), QuestionAnswering()])
def test_answers_are_read_within_the_time(
    task: FactVerification | QuestionAnswering, monkeypatch: pytest.MonkeyPatch
) -> None:
    def read(text: str) -> list[object | None]:
        dataset = dataset_of(Query("q", "?", (), "True"))
        return list(task.parse_answers(task.examples(dataset, answered(Generation("q", text)))))  # type: ignore[arg-type]  # its own

    now = 100.0
    monkeypatch.setattr(answer_reading, "monotonic", lambda: now)
    with time_limit(10):
        assert read("True") == ["True"]
        now += 11
        assert read("True") == ["True"]
        with pytest.raises(BudgetError):
            read("False")
        with pytest.raises(BudgetError):
            check_time()
    assert read("False") == ["False"]
