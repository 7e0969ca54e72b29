"""Metrics of a model of answers that hold tables: BERTScore, BARTScore, BLEURT.

Of whole answers, as in Struc-Bench (Tang et al. 2023), and BERTScore of headers and cells, as in
Wu et al. (2022).
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from importlib.metadata import version

import numpy as np
from numpy.typing import NDArray

from target_bench.core.metric import MeanOfValues, Metric, MetricDefinition, MetricSpec, by_name
from target_bench.core.reasoning import READING
from target_bench.metrics import bertscore
from target_bench.models import bartscore, bleurt
from target_bench.tables.compared_tables import ComparedTables
from target_bench.tables.header_cell_scores import Part
from target_bench.tables.table_metrics import (
    VERSION,
    AnswerTextMetric,
    declare_part,
    declare_text_metric,
)

Compared = Sequence[ComparedTables]

_SPECS = {
    name: declare_text_metric(spec, (*spec.needs, f"--metric '{name}[tables]:model=MODEL'"))
    for name, spec in (
        ("bertscore", bertscore.SPEC),
        ("bartscore", bartscore.SPEC),
        ("bleurt", bleurt.SPEC),
    )
}


def bertscore_of_texts(model: str) -> Metric[Compared]:
    """Make BERTScore of whole answers; the model as for ``BERTScore``."""
    return AnswerTextMetric(_SPECS["bertscore"], bertscore.BERTScore(model, READING))


def bartscore_of_texts(model: str) -> Metric[Compared]:
    """Make BARTScore of whole answers; the model as for ``BARTScore``."""
    return AnswerTextMetric(_SPECS["bartscore"], bartscore.BARTScore(model, READING))


def bleurt_of_texts(model: str) -> Metric[Compared]:
    """Make BLEURT of whole answers, as they are written; the model as for ``BLEURT``."""
    metric = bleurt.BLEURT(model, "1", READING, as_written=True)
    return AnswerTextMetric(_SPECS["bleurt"], metric)


_PARTS: tuple[Part, ...] = ("cells", "row_header", "col_header")
_ENDING = ("[bertscore]", " (BERTScore)", "rescaled BERTScore of the most similar one")


def _cell_spec(part: Part) -> MetricSpec:
    needs = ("the extra bertscore", "--metric 'cell_f1[bertscore]:model=MODEL'")
    return declare_part(part, _ENDING, needs=needs)


class CellBERTScore:
    """F1 of headers and cells by BERTScore, rescaled and cut to 0 to 1, as Wu et al. (2022).

    Args:
        model: as for ``BERTScore``; bert-score must have a baseline of the model.
    """

    def __init__(self, model: str) -> None:
        self.model = bertscore.Rescaled(model)
        self._known: dict[tuple[str, str], float] = {}

    def metric(self, part: Part) -> Metric[Compared]:
        """Make the metric of one part."""
        spec = _cell_spec(part)

        def sign() -> str:
            package = f"bert-score=={version('bert-score')}"
            return "|".join([spec.name, spec.description, VERSION, self.model.named, package])

        return MeanOfValues(spec, partial(self._values, part), sign)

    def _values(self, part: Part, examples: Compared) -> Iterator[list[float]]:
        for compared in examples:
            pairs = compared.pairs(self._similar)
            yield [scores[part].f1 for _, scores in pairs if part in scores]

    def _similar(self, gold: Sequence[str], answer: Sequence[str]) -> NDArray[np.float64]:
        """Return (gold, answer) similarities; pairs that were compared before are known."""
        missing = {
            (gold_text, answer_text) for gold_text in gold for answer_text in answer
        } - self._known.keys()
        if missing:
            listed = sorted(missing)
            scores = self.model.scores([a for _, a in listed], [g for g, _ in listed])
            self._known |= zip(listed, scores.tolist(), strict=True)
        return np.array(
            [[self._known[gold_text, answer_text] for answer_text in answer] for gold_text in gold]
        )


def _define_part(part: Part) -> MetricDefinition:
    def make(model: str) -> Metric[Compared]:
        return CellBERTScore(model).metric(part)

    return MetricDefinition(_cell_spec(part), make)


_MAKERS: dict[str, Callable[[str], Metric[Compared]]] = {
    "bertscore": bertscore_of_texts,
    "bartscore": bartscore_of_texts,
    "bleurt": bleurt_of_texts,
}

DEFINITIONS = by_name(
    *(MetricDefinition(_SPECS[name], make) for name, make in _MAKERS.items()),
    *map(_define_part, _PARTS),
)
