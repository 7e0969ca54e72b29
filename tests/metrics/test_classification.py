"""Metrics of labels: equal to scikit-learn's."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import accuracy_score, precision_recall_fscore_support

from target_bench.metrics.classification import (
    DEFINITIONS,
    LABELS,
    NOT_ENOUGH,
    JudgedLabels,
    confusion,
)
from target_bench.metrics.stats import compare, interval, interval_of_difference

pairs = st.lists(
    st.tuples(st.sampled_from([*LABELS, None]), st.sampled_from(LABELS)), min_size=1, max_size=30
)


def _examples(labels: list[tuple[str | None, str]]) -> JudgedLabels:
    return JudgedLabels([predicted for predicted, _ in labels], [gold for _, gold in labels])


def _value(name: str, examples: JudgedLabels) -> float:
    metric = DEFINITIONS[name].make("strict")
    return float(metric.value(metric.statistics(examples).sum(axis=0)))


@settings(deadline=None)
@given(pairs)
def test_weighted_is_scikit_learns(labels: list[tuple[str | None, str]]) -> None:
    """An answer without a label is a wrong one: for scikit-learn, a label that does not occur."""
    examples = _examples(labels)
    gold, given_ = list(examples.gold), [p or "none" for p in examples.predicted]
    expected = precision_recall_fscore_support(gold, given_, average="weighted", zero_division=0)
    assert _value("accuracy", examples) == pytest.approx(accuracy_score(gold, given_))
    for name, value in zip(("precision", "recall", "f1"), expected, strict=False):
        assert _value(f"{name}_weighted", examples) == pytest.approx(value, abs=1e-12)


@settings(deadline=None)
@given(pairs)
def test_macro_is_scikit_learns(labels: list[tuple[str | None, str]]) -> None:
    """Over the labels of the gold, which scikit-learn has to be told."""
    examples = _examples(labels)
    gold, given_ = list(examples.gold), [p or "none" for p in examples.predicted]
    expected = precision_recall_fscore_support(
        gold, given_, labels=sorted(set(gold)), average="macro", zero_division=0
    )
    for name, value in zip(("precision", "recall", "f1"), expected, strict=False):
        assert _value(f"{name}_macro", examples) == pytest.approx(value, abs=1e-12)


@settings(deadline=None)
@given(pairs)
def test_confusion_counts_every_query(labels: list[tuple[str | None, str]]) -> None:
    counts = confusion(_examples(labels))
    assert counts.shape == (3, 4)
    assert counts.sum() == len(labels)
    right = sum(predicted == gold for predicted, gold in labels)
    assert np.trace(counts[:, :3]) == right


def test_label_of_no_statement_does_not_count_in_macro_averages() -> None:
    """One "Not Enough Information" among 10,000 answers costs as much as one wrong answer.

    And the test says so too: it has no smaller p than a difference of one answer can have.
    """
    gold = ["True", "False"] * 5000
    one = JudgedLabels([NOT_ENOUGH, *gold[1:]], gold)
    for name in ("precision_macro", "recall_macro", "f1_macro"):
        metric = DEFINITIONS[name].make()
        right, wrong = (metric.statistics(e) for e in (JudgedLabels(gold, gold), one))
        value = float(metric.value(wrong.sum(axis=0)))
        assert value > 0.9998
        low, high = interval(metric, wrong)
        assert low <= value <= high
        low, high = interval_of_difference(metric, right, wrong)
        assert low < 0 < high < 0.01
        assert compare(right, wrong, metric.value, 200).p == 1
