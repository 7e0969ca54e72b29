"""Fact verification: is the statement supported by the tables, or contradicted?"""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from target_bench.core.errors import DataError
from target_bench.core.metric import Metric
from target_bench.core.schema import AnswerKind, Dataset, LabelMode, Query
from target_bench.core.task import Predictions, PromptStyle, SummaryBlock, Task, View
from target_bench.metrics.classification import (
    LABELS,
    VERSION,
    JudgedLabels,
    confusion,
    label_metrics,
)
from target_bench.metrics.labels import parse_label
from target_bench.models.answer_reading import AnswerReader

_GOLD = {label.lower(): label for label in LABELS}


_SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {"label": {"type": "string", "enum": list(LABELS)}},
    "required": ["label"],
    "additionalProperties": False,
}


class FactVerification(Task[JudgedLabels]):
    """Labels read from the answers, compared with the gold labels.

    Args:
        labels: how a label is read from an answer: ``strict``, as a word of its own, or
            ``target``, as the original package does it.
    """

    name = "fact_verification"
    title = "Fact Verification"
    aliases = ("fv", "fact_checking", "fact_verification_task")
    scores = "labels"
    main = "accuracy"
    answer: ClassVar[AnswerKind] = "label"
    prompt = PromptStyle(schema=_SCHEMA, reads_prose=True)
    view = View(
        "tables that were retrieved for a statement",
        "a label: True, False or Not Enough Information",
        summary=lambda report: _summarize(report),  # the function below
    )

    def __init__(self, labels: LabelMode = "strict") -> None:
        self.labels: LabelMode = labels
        self._reader = AnswerReader(lambda text: parse_label(text, self.labels))

    def check(self, dataset: Dataset) -> None:
        """Check that every reference is a label.

        Raises:
            DataError: one is not.
        """
        for query in dataset.queries:
            _read_gold(query)

    def metrics(
        self, _queries: Sequence[Query], _cutoffs: Sequence[int] = ()
    ) -> list[Metric[JudgedLabels]]:
        """Return every metric of labels."""
        return label_metrics(self.labels)

    def examples(self, dataset: Dataset, predictions: Predictions) -> JudgedLabels:
        """Return predicted labels, None for a failed answer, and gold labels."""
        labels = self._reader.read_all(dataset, predictions)
        return JudgedLabels(labels, [_read_gold(query) for query in dataset.queries])

    def parse_answers(self, examples: JudgedLabels) -> Sequence[str | None]:
        """Return the label in each answer; None where none can be read."""
        return examples.predicted

    def settings(self) -> list[str]:
        """Return the version of the metrics' rules, which changes scores."""
        return [VERSION]

    def report(self, _dataset: Dataset, examples: JudgedLabels) -> dict[str, Any]:
        """Return the confusion table: gold label -> given label -> number of queries."""
        rows = {
            gold: dict(zip((*LABELS, "none"), counts, strict=True))
            for gold, counts in zip(LABELS, confusion(examples).tolist(), strict=True)
            if any(counts)
        }
        return {"confusion": rows}


def _summarize(report: Mapping[str, Any]) -> list[SummaryBlock]:
    """Return the confusion table, one line per gold label."""
    return [
        SummaryBlock(f"gold {gold}", {f"as {predicted}": n for predicted, n in row.items() if n})
        for gold, row in report["confusion"].items()
    ]


def _read_gold(query: Query) -> str:
    references = query.references
    label = _GOLD.get(references[0].strip().lower()) if len(references) == 1 else None
    if label is None:
        raise DataError(
            f"query {query.id!r}: answer to a statement: expected True, False or Not Enough "
            f"Information, found {query.answer!r}"
        )
    return label
