"""Fact verification: what is judged, and how failures count."""

import json

import pytest

from target_bench.core.errors import DataError
from target_bench.core.schema import Generation, LabelMode, Query
from target_bench.tasks.fact_verification import FactVerification
from tests.tasks.asked import answered, dataset_of

TRUE = Query("q1", "Ann won.", (), "True")


def _judge(answer: str, *queries: Query, labels: LabelMode = "strict") -> list[str | None]:
    asked = queries or (TRUE,)
    given = [Generation(query.id, answer) for query in asked]
    return list(FactVerification(labels).examples(dataset_of(*asked), answered(*given)).predicted)


def test_labels_are_read_from_the_answers() -> None:
    assert _judge("True") == ["True"]
    assert _judge("False") == ["False"]
    assert _judge("Not Enough Information") == ["Not Enough Information"]


def test_reasoning_does_not_belong_to_an_answer() -> None:
    assert _judge("<think>It may be true.</think>\nFalse") == ["False"]
    assert _judge("<think>It may be true.</think>\nFalse", labels="target") == ["True"]
    assert _judge("<think>It may be true") == [None]


def test_answers_of_the_schema_are_read() -> None:
    assert FactVerification.prompt.schema is not None
    labels = FactVerification.prompt.schema["properties"]["label"]["enum"]
    assert [_judge(json.dumps({"label": label})) for label in labels] == [[x] for x in labels]


def test_what_cannot_be_read_is_not_a_label() -> None:
    assert _judge("maybe so") == [None]
    assert FactVerification().parse("maybe so") is None


@pytest.mark.parametrize("error", ["raised: ValueError: no", ""])
def test_a_failed_answer_is_not_a_label(error: str) -> None:
    judged = FactVerification().examples(
        dataset_of(TRUE), answered(Generation("q1", "True", error=error))
    )
    assert list(judged.predicted) == [None]


@pytest.mark.parametrize(
    ("answer", "label"),
    [
        ("True", "True"),
        ("true", "True"),
        (" FALSE ", "False"),
        ("not enough information", "Not Enough Information"),
        (("True",), "True"),
    ],
)
def test_gold_labels_in_any_case(answer: str | tuple[str, ...], label: str) -> None:
    query = Query("q1", "Ann won.", (), answer)
    judged = FactVerification().examples(dataset_of(query), answered(Generation("q1", "True")))
    assert list(judged.gold) == [label]


@pytest.mark.parametrize("answer", ["", "yes", "supported", ("True", "False")])
def test_invalid_gold_labels(answer: str | tuple[str, ...]) -> None:
    query = Query("q9", "Ann won.", (), answer)
    with pytest.raises(DataError, match=r"'q9'.*should be True, False or Not Enough Information"):
        FactVerification().examples(dataset_of(query), answered(Generation("q9", "True")))


def test_how_labels_are_read_is_part_of_the_identity() -> None:
    signatures = [
        {metric.signature for metric in FactVerification(mode).metrics([])}
        for mode in ("strict", "target")
    ]
    assert not signatures[0] & signatures[1]


def test_gold_labels_are_read_before_anything_is_asked() -> None:
    """References are checked before the first request is sent."""
    with pytest.raises(DataError, match=r"'q2'.*'falsch'"):
        FactVerification().check(dataset_of(TRUE, Query("q2", "Bob won.", (), "falsch")))
