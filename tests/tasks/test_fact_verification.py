"""Fact verification: what is judged, and how failures count."""

import pytest

from target_bench.core.errors import DataError
from target_bench.core.schema import Generation, Query
from target_bench.tasks.fact_verification import FactVerification
from tests.tasks.asked import answered, dataset_of

TRUE = Query("q1", "Ann won.", (), "True")


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
