"""The checks of a metric pass what keeps the contract, and name what does not."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from target_bench import Metric, MetricSpec, TableId, metric
from target_bench.metrics.text import JudgedAnswers
from target_bench.testing import check_metric, metric_checks, run


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


class Reserved(Words):
    """declaration."""

    spec = MetricSpec("recall", of="texts", at_k=False)

    @property
    def name(self) -> str:
        return "rougeL"


class Undeclared(Words):
    """declaration."""

    spec = None  # type: ignore[assignment]


class Unsteady(Words):
    """declaration."""

    @property
    def signature(self) -> str:
        return str(np.random.random())


class OneRow(Words):
    """statistics."""

    def statistics(self, examples: JudgedAnswers) -> Any:
        return super().statistics(examples).sum(axis=0)


class OutOfBounds(Words):
    """values."""

    def bounds(self, statistics: Any) -> tuple[float, float]:
        return 0.0, 0.5


class WrongWayRound(Words):
    """direction."""

    spec = MetricSpec("words", of="texts", scale="unbounded", higher_is_better=False)


BUILT_IN = ("rougeL", "accuracy", "ex[bird]", "cell_f1", "sacrebleu")
BROKEN = (Reserved, Undeclared, Unsteady, OneRow, OutOfBounds, WrongWayRound)


@pytest.mark.parametrize(
    "given",
    [held, metric(held), near, Words, *BUILT_IN],
    ids=["function", "metric", "function of rankings", "class", *BUILT_IN],
)
def test_sound_ones_pass(given: Any) -> None:
    assert not check_metric(given).skipped


@pytest.mark.parametrize("cls", BROKEN, ids=lambda cls: cls.__name__)
def test_each_fault_is_named(cls: type) -> None:
    """The docstring is the check that fails."""
    report = run("it", metric_checks(cls))
    assert report.failed[0].check == (cls.__doc__ or "").removesuffix("."), str(report)
