"""Metrics of labels: accuracy, and precision, recall and F1, weighted and macro.

All of them are functions of the confusion matrix; a query's statistics are its cell of the matrix.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from target_bench.core.metric import Floats, Metric, MetricDefinition, MetricSpec, by_name, ratio
from target_bench.core.schema import LabelMode

VERSION = "classification:2"
"""The version of these metrics, for identities of runs: raise it if values can change."""

TRUE, FALSE, NOT_ENOUGH = "True", "False", "Not Enough Information"
LABELS = (TRUE, FALSE, NOT_ENOUGH)

LABEL_RULES: dict[LabelMode, str] = {"strict": "strict.7", "target": "target"}
"""The version of how labels are read (``target_bench.metrics.labels``)."""


@dataclass(frozen=True)
class JudgedLabels:
    """Predicted and gold labels; n queries.

    Attributes:
        predicted: the label of each answer; None for one that failed or has no label.
        gold: the right labels.
    """

    predicted: Sequence[str | None]
    gold: Sequence[str]


def confusion(examples: JudgedLabels) -> NDArray[np.int64]:
    """Return the (3, 4) confusion matrix: gold labels by predicted labels and no label."""
    return _to_matrix(_mark_cells(examples).sum(axis=0)).astype(np.int64)


def _mark_cells(examples: JudgedLabels) -> Floats:
    """Return (n, 12) one confusion matrix for each query, written as a row."""
    cells = np.zeros((len(examples.gold), len(LABELS), len(LABELS) + 1))
    for i, (gold, predicted) in enumerate(zip(examples.gold, examples.predicted, strict=True)):
        cells[i, LABELS.index(gold), (*LABELS, None).index(predicted)] = 1
    return cells.reshape(len(cells), -1)


def _to_matrix(totals: Floats) -> Floats:
    """Return (..., 3, 4) matrices from (..., 12) cells."""
    return totals.reshape(*totals.shape[:-1], len(LABELS), len(LABELS) + 1)


Average = Literal["", "weighted", "macro"]
_SCORES = {"precision": "P", "recall": "R", "f1": "F1"}


class LabelMetric(Metric[JudgedLabels]):
    """Accuracy, or an average over labels of their precision, recall or F1.

    Args:
        spec: the declaration.
        score: ``precision``, ``recall`` or ``f1``; empty for accuracy.
        average: ``weighted`` by how often a label is gold, or ``macro``, over the labels that are.
        mode: how labels are read, for the signature.
    """

    def __init__(
        self, spec: MetricSpec, score: str = "", average: Average = "", mode: LabelMode = "strict"
    ) -> None:
        self.spec = spec
        self._score = score
        self._average = average
        self._mode = mode

    @property
    def signature(self) -> str:
        """Name, definition, and how labels are read."""
        return f"{self.name}|{self.spec.description}|labels:{LABEL_RULES[self._mode]}"

    def statistics(self, examples: JudgedLabels) -> Floats:
        """Return (n, 12): the cell of each query in the confusion matrix."""
        return _mark_cells(examples)

    def value(self, totals: Floats) -> Floats:
        """Return the metric of summed cells; NaN of none."""
        counts = _to_matrix(totals)
        support = counts.sum(axis=-1)
        # scikit-learn's macro average is over the labels of the predictions too, so that one "Not
        # Enough Information" among 10,000 answers to true and false statements takes a third off
        weights = support if self._average == "weighted" else support > 0
        values = self._average_labels(counts, weights)
        return np.where(counts.any(axis=(-2, -1)), values, np.nan)

    def _average_labels(self, counts: Floats, weights: NDArray[Any]) -> Floats:
        """Return (...) values of (..., 3, 4) counts, by weights of the labels."""
        if not self._score:
            return _compute_accuracy(counts)
        scores = _score_labels(counts, self._score)
        return ratio((scores * weights).sum(axis=-1), weights.sum(axis=-1))

    def bounds(self, statistics: Floats) -> tuple[float, float]:  # noqa: ARG002 (the contract's)
        """Return 0 and 1."""
        return 0.0, self.highest

    def weights(self, statistics: Floats) -> Floats:
        """Return 1 for each query, or 1 / how often its gold label occurs."""
        gold = _to_matrix(statistics).sum(axis=-1)
        by_label = ratio(1.0, gold.sum(axis=0)) if self._average == "macro" else 1.0
        weights: Floats = (gold * by_label).sum(axis=-1)
        return weights

    def leave_one_out(self, total: Floats, rows: Floats) -> Floats:
        """Return the values without each row; a macro average keeps the labels of all rows."""
        if self._average != "macro":
            return self.value(total - rows)
        support = _to_matrix(total).sum(axis=-1)
        return self._average_labels(_to_matrix(total - rows), support > 0)

    def per_query(self, statistics: Floats) -> Floats:
        """Return whether each answer is right, whatever the score: one answer has no average."""
        return _compute_accuracy(_to_matrix(statistics))


def _compute_accuracy(counts: Floats) -> Floats:
    right = np.trace(counts[..., : len(LABELS)], axis1=-2, axis2=-1)
    return ratio(right, counts.sum(axis=(-2, -1)))


def _score_labels(counts: Floats, score: str) -> Floats:
    """Return (..., 3) precision, recall or F1 of each label; 0 where undefined."""
    square = counts[..., : len(LABELS)]
    right = np.diagonal(square, axis1=-2, axis2=-1)
    support, predicted = counts.sum(axis=-1), square.sum(axis=-2)
    if score == "f1":
        return ratio(2 * right, support + predicted)
    return ratio(right, predicted if score == "precision" else support)


def _define(
    name: str, label: str, description: str, score: str = "", average: Average = "", **fields: Any
) -> MetricDefinition:
    source = "scikit-learn's accuracy_score and precision_recall_fscore_support"
    spec = MetricSpec(name, label, description, source, "labels", needs=("labels",), **fields)

    def make(mode: LabelMode = "strict") -> LabelMetric:
        return LabelMetric(spec, score, average, mode)

    return MetricDefinition(spec, make)


_AVERAGES: dict[Average, str] = {
    "weighted": "mean over labels, weighted by gold frequency",
    "macro": "mean over the labels of the gold",
}
_RANKS = {"f1_weighted": 8, "f1_macro": 9}

DEFINITIONS = by_name(
    _define("accuracy", "accuracy", "share of right labels", rank=7, decides=True),
    *(
        _define(
            f"{score}_{average}",
            f"{label} ({average})",
            f"{score}, {over}",
            score,
            average,
            rank=_RANKS.get(f"{score}_{average}"),
        )
        for average, over in _AVERAGES.items()
        for score, label in _SCORES.items()
    ),
)
"""Every metric of labels, in the order in which scores are recorded."""


def label_metrics(mode: LabelMode = "strict") -> list[Metric[JudgedLabels]]:
    """Make every metric of labels."""
    return [definition.make(mode) for definition in DEFINITIONS.values()]
