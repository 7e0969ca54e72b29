"""Metrics of labels: equal to scikit-learn's."""

import math

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
    """Over the labels that occur; an answer without one adds no label of its own."""
    examples = _examples(labels)
    gold, given_ = list(examples.gold), [p or "none" for p in examples.predicted]
    occur = sorted({*gold, *given_} - {"none"})
    expected = precision_recall_fscore_support(
        gold, given_, labels=occur, average="macro", zero_division=0
    )
    for name, value in zip(("precision", "recall", "f1"), expected, strict=False):
        assert _value(f"{name}_macro", examples) == pytest.approx(value, abs=1e-12)


@settings(deadline=None)
@given(pairs)
def test_answered_only(labels: list[tuple[str | None, str]]) -> None:
    """The same metrics of the queries that got True or False."""
    answered = [pair for pair in labels if pair[0] in ("True", "False")]
    for name in ("accuracy", "f1_weighted", "f1_macro"):
        alone = _value(name, _examples(answered)) if answered else math.nan
        assert _value(f"{name}[answered]", _examples(labels)) == pytest.approx(alone, nan_ok=True)


@settings(deadline=None)
@given(pairs)
def test_confusion_counts_every_query(labels: list[tuple[str | None, str]]) -> None:
    counts = confusion(_examples(labels))
    assert counts.shape == (3, 4)
    assert counts.sum() == len(labels)
    right = sum(predicted == gold for predicted, gold in labels)
    assert np.trace(counts[:, :3]) == right


def test_answered_only_counts_what_it_is_over() -> None:
    examples = _examples(
        [("True", "True"), (NOT_ENOUGH, "True"), (None, "False"), ("False", "True")]
    )
    metric = DEFINITIONS["accuracy[answered]"].make("strict")
    rows = metric.statistics(examples)
    assert metric.counted(rows) == 2
    assert metric.per_query(rows).tolist() == pytest.approx([1, np.nan, np.nan, 0], nan_ok=True)
    assert DEFINITIONS["accuracy"].make("strict").counted(rows) == 4
