"""Fact verification: what is judged, and how failures count."""

import pytest

from target_bench.core.errors import DataError
from target_bench.core.schema import Generation, Query
from target_bench.tasks.fact_verification import FactVerification
from tests.tasks.datasets import answered, dataset_of

TRUE = Query("q1", "Ann won.", (), "True")


@pytest.mark.parametrize("error", ["raised: ValueError: no", ""])
def test_a_failed_answer_is_not_a_label(error: str) -> None:
    answers = answered(Generation("q1", "True", error=error))
    assert list(FactVerification().examples(dataset_of(TRUE), answers).predicted) == [None]


@pytest.mark.parametrize(
    ("gold", "label"),
    [
        ("True", "True"),
        (" FALSE ", "False"),
        ("not enough information", "Not Enough Information"),
        (("True",), "True"),
        ("", None),
        ("yes", None),
        (("True", "False"), None),
    ],
)
def test_gold_labels(gold: str | tuple[str, ...], label: str | None) -> None:
    """They are read in any case, and checked before the first request is sent."""
    task, dataset = FactVerification(), dataset_of(TRUE, Query("q9", "Bob won.", (), gold))
    answers = answered(Generation("q1", "True"), Generation("q9", "True"))
    if label is None:
        for use in (task.check, lambda data: task.examples(data, answers)):
            with pytest.raises(DataError, match=r"'q9'.*expected True, False or Not Enough Info"):
                use(dataset)
    else:
        assert list(task.examples(dataset, answers).gold) == ["True", label]


def test_how_labels_are_read_is_part_of_the_identity() -> None:
    signatures = [
        {metric.signature for metric in FactVerification(mode).metrics([])}
        for mode in ("strict", "target")
    ]
    assert not signatures[0] & signatures[1]
