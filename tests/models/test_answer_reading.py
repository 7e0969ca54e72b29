"""Answers are read once, and within the time."""

import pytest

from target_bench.core import task as core_task
from target_bench.core.errors import BudgetError
from target_bench.core.task import TimeLimit
from target_bench.models.answer_reading import Reading
from target_bench.tasks.fact_verification import FactVerification
from target_bench.tasks.question_answering import QuestionAnswering


def test_each_text_is_read_once() -> None:
    read: list[str] = []

    def count(text: str) -> int:
        read.append(text)
        return len(text)

    reads = Reading(count, TimeLimit())
    assert [reads(text) for text in ("ab", "c", "ab")] == [2, 1, 2]
    assert read == ["ab", "c"]


@pytest.mark.parametrize("task", [FactVerification(), QuestionAnswering()])
def test_the_time_runs_from_the_first_answer(
    task: FactVerification | QuestionAnswering, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 100.0
    task.time.seconds = 10
    monkeypatch.setattr(core_task, "monotonic", lambda: now)
    assert task.parse("True") == "True"
    now += 11
    assert task.parse("True") == "True"
    with pytest.raises(BudgetError):
        task.parse("False")
    with pytest.raises(BudgetError):
        task.time.check()
