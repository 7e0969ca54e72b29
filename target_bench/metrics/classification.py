"""Metrics of labels: accuracy, and precision, recall and F1, weighted and macro.

Everything is a function of the confusion counts, so a query's row is its cell of that table.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from target_bench.core.metric import Metric, MetricDefinition, MetricSpec, by_name
from target_bench.core.schema import LabelMode
from target_bench.metrics.means import Floats, ratio

VERSION = "classification:2"
"""The version of these metrics, for identities of runs: raise it if values can change."""

TRUE, FALSE, NOT_ENOUGH = "True", "False", "Not Enough Information"
LABELS = (TRUE, FALSE, NOT_ENOUGH)
_UNPARSED = len(LABELS)

LABEL_RULES: dict[LabelMode, str] = {"strict": "strict.5", "target": "target"}
"""The version of how labels are read (``target_bench.metrics.labels``)."""


@dataclass(frozen=True)
class JudgedLabels:
    """Labels and gold labels; n queries.

    Attributes:
        predicted: the label of each answer; None for one that failed or holds none.
        gold: the right labels.
    """

    predicted: Sequence[str | None]
    gold: Sequence[str]


def confusion(examples: JudgedLabels) -> NDArray[np.int64]:
    """Return (3, 4) counts: gold True, False, Not Enough Information by predicted ones and none."""
    counts: NDArray[np.int64] = _cells(examples).sum(axis=0).astype(np.int64)
    return counts.reshape(len(LABELS), len(LABELS) + 1)


def _cells(examples: JudgedLabels) -> Floats:
    """Return (n, 12) one-hot rows of the confusion table, gold label first."""
    place = {label: i for i, label in enumerate(LABELS)}
    width = len(LABELS) + 1
    gold = np.array([place[label] for label in examples.gold], dtype=np.intp)
    predicted_columns = [_UNPARSED if p is None else place[p] for p in examples.predicted]
    cells = np.zeros((len(gold), len(LABELS) * width))
    cells[np.arange(len(gold)), gold * width + np.array(predicted_columns, dtype=np.intp)] = 1
    return cells


class LabelMetric(Metric[JudgedLabels]):
    """A function of the confusion counts.

    Args:
        spec: the declaration.
        measure: (..., 3, 4) counts -> (...) values; with ``per_label`` also the counts whose gold
            labels it averages over.
        per_label: whether every label weighs the same, however often it occurs.
        mode: how the labels were read.
    """

    def __init__(
        self,
        spec: MetricSpec,
        measure: Callable[..., Floats],
        per_label: bool = False,
        mode: LabelMode = "strict",
    ) -> None:
        self.spec = spec
        self._measure = measure
        self._mode = mode
        self._per_label = per_label

    @property
    def signature(self) -> str:
        """Name, definition, and how labels are read."""
        return f"{self.name}|{self.spec.description}|labels:{LABEL_RULES[self._mode]}"

    def statistics(self, examples: JudgedLabels) -> Floats:
        """Return (n, 12): the cell of each query in the confusion table."""
        return _cells(examples)

    def value(self, totals: Floats) -> Floats:
        """Return the metric of summed cells; NaN of none."""
        counts = _table(totals)
        return np.where(counts.any(axis=(-2, -1)), self._measure(counts), np.nan)

    def bounds(self, statistics: Floats) -> tuple[float, float]:  # noqa: ARG002 (the contract's)
        """Return 0 and 1."""
        return 0.0, self.highest

    def weights(self, statistics: Floats) -> Floats:
        """Return 1 for each query, or 1 / how often its gold label occurs."""
        gold = _table(statistics).sum(axis=-1)
        each = ratio(np.ones(len(LABELS)), gold.sum(axis=0)) if self._per_label else 1.0
        weights: Floats = (gold * each).sum(axis=-1)
        return weights

    def without(self, total: Floats, rows: Floats) -> Floats:
        """Return the values without each row, over the gold labels of all of them."""
        if not self._per_label:
            return self.value(total - rows)
        return self._measure(_table(total - rows), _table(total))

    def per_query(self, statistics: Floats) -> Floats:
        """Return whether each answer is right: of one answer alone nothing else means anything."""
        return _accuracy(_table(statistics))


def _table(totals: Floats) -> Floats:
    """Return (..., 3, 4) counts from (..., 12) cells."""
    return totals.reshape(*totals.shape[:-1], len(LABELS), len(LABELS) + 1)


def _accuracy(counts: Floats) -> Floats:
    right = np.trace(counts[..., : len(LABELS)], axis1=-2, axis2=-1)
    return ratio(right, counts.sum(axis=(-2, -1)))


def _per_label(counts: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    """Return (..., 3) precision, recall, F1 and support of each label; 0 where undefined."""
    square = counts[..., : len(LABELS)]
    right = np.diagonal(square, axis1=-2, axis2=-1)
    support, predicted = counts.sum(axis=-1), square.sum(axis=-2)
    precision, recall = ratio(right, predicted), ratio(right, support)
    return precision, recall, ratio(2 * right, support + predicted), support


def _weighted(part: int) -> Callable[[Floats], Floats]:
    """Return the mean over labels, weighted by how often each is the right one."""

    def measure(counts: Floats) -> Floats:
        *parts, support = _per_label(counts)
        return ratio((parts[part] * support).sum(axis=-1), support.sum(axis=-1))

    return measure


def _macro(part: int) -> Callable[[Floats], Floats]:
    """Return the mean over the labels of the gold.

    scikit-learn's default averages over those of the predictions too, so that one answer "Not
    Enough Information" to 10,000 statements of which none has that label takes a third off.
    """

    def measure(counts: Floats, among: Floats | None = None) -> Floats:
        *parts, support = _per_label(counts)
        occurs = (support if among is None else among.sum(axis=-1)) > 0
        return ratio((parts[part] * occurs).sum(axis=-1), occurs.sum(axis=-1))

    return measure


def _define(
    name: str,
    label: str,
    description: str,
    measure: Callable[..., Floats],
    per_label: bool = False,
    **more: Any,
) -> MetricDefinition:
    spec = MetricSpec(name, label, description, _SOURCE, "labels", needs=("labels",), **more)
    return MetricDefinition(spec, partial(LabelMetric, spec, measure, per_label))


_SOURCE = "scikit-learn's accuracy_score and precision_recall_fscore_support"
_WEIGHTED = "mean over labels, weighted by gold frequency"
_MACRO = "mean over the labels of the gold"

DEFINITIONS = by_name(
    _define("accuracy", "accuracy", "share of right labels", _accuracy, rank=7, decides=True),
    _define("precision_weighted", "P (weighted)", f"precision, {_WEIGHTED}", _weighted(0)),
    _define("recall_weighted", "R (weighted)", f"recall, {_WEIGHTED}", _weighted(1)),
    _define("f1_weighted", "F1 (weighted)", f"f1, {_WEIGHTED}", _weighted(2), rank=8),
    _define("precision_macro", "P (macro)", f"precision, {_MACRO}", _macro(0), per_label=True),
    _define("recall_macro", "R (macro)", f"recall, {_MACRO}", _macro(1), per_label=True),
    _define("f1_macro", "F1 (macro)", f"f1, {_MACRO}", _macro(2), per_label=True, rank=9),
)
"""Every metric of labels, in the order in which scores are recorded."""


def label_metrics(mode: LabelMode = "strict") -> list[Metric[JudgedLabels]]:
    """Make every metric of labels.

    Args:
        mode: how the labels are read.
    """
    return [definition.make(mode) for definition in DEFINITIONS.values()]
