"""Metrics of tables as answers: validity, headers and cells, H-Score, P-Score, TabXEval's rubric.

The H-Score and the P-Score are those of Struc-Bench (Tang et al. 2023), which has metrics of the
text beside them, the scores of headers and cells those of Wu et al. (2022), the rubric that of
Pancholi et al. (2025), by rules. Each answer beside its reference is a ``ComparedTables``.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from operator import attrgetter
from statistics import fmean
from typing import Any

import numpy as np
from numpy.typing import NDArray

from target_bench.core.metric import MeanOfValues, Metric, MetricDefinition, MetricSpec, by_name
from target_bench.core.reasoning import READING
from target_bench.core.registry import installed_version
from target_bench.metrics import text as text_metrics
from target_bench.tables.answer_tables import FAULT_MEANINGS, FORMATS, TableFormat
from target_bench.tables.compared_tables import ComparedTables
from target_bench.tables.header_cell_scores import Part, Similarity
from target_bench.tables.markup import HTML_PARSER

Compared = Sequence[ComparedTables]

VERSION = "tables:19"
"""The version of these metrics and of reading tables, for identities."""

OF = "tables"
"""What these metrics score: a ``ComparedTables`` for each answer."""

_PACKAGES = ("beautifulsoup4", "pylatexenc")


def table_metrics(
    judged: bool = False, formats: Collection[TableFormat] = FORMATS
) -> list[Metric[Compared]]:
    """Make every metric of tables.

    Args:
        judged: those of a judge too.
        formats: how the tables are written; the official H-Scores of others are left out.
    """
    left_out = {
        name for form in _H_SCORES.keys() - set(formats) for name in _name_h_scores(form)
    } | (set() if judged else {"p_content", "p_structure"})
    return [d.make() for name, d in DEFINITIONS.items() if name not in left_out]


def validity() -> list[Metric[Compared]]:
    """Make the metrics of tables that need no reference."""
    return [DEFINITIONS[name].make() for name in ("valid[strict]", "valid[lenient]")]


def _define(
    name: str,
    label: str,
    description: str,
    values: Callable[[ComparedTables], Iterable[float]],
    source: str = "Tang et al. 2023",
    packages: Sequence[str] = (),
    **fields: Any,
) -> MetricDefinition:
    """Define the mean of the values that answers have; fields are those of a ``MetricSpec``."""
    spec = MetricSpec(name, label, description, source, scores=OF, **fields)

    def sign() -> str:
        versions = [f"{p}=={installed_version(p)}" for p in (*_PACKAGES, *packages)]
        return "|".join([name, description, VERSION, READING, f"html:{HTML_PARSER}", *versions])

    return MetricDefinition(spec, lambda: MeanOfValues(spec, partial(map, values), sign))


_PARTS: dict[Part, tuple[str, str]] = {
    "cells": ("cell", "cells with their headers"),
    "row_header": ("row_header", "row headers"),
    "col_header": ("column_header", "column headers"),
}
"""What is compared -> how metrics begin, and what it is called."""

_SIMILARITIES: dict[Similarity, tuple[str, str, str]] = {
    "exact": ("", "", "equal texts"),
    "chrf": ("[chrf]", " (chrF)", "chrF of the most similar one"),
}
"""Similarity -> how metrics and labels end, and what it is called."""


def declare_part(part: Part, ending: tuple[str, str, str], **fields: Any) -> MetricSpec:
    """Declare the F1 of a part of tables; ``ending`` is of a similarity."""
    (name, what), (suffix, in_label, how) = _PARTS[part], ending
    return MetricSpec(
        f"{name}_f1{suffix}",
        f"{name.replace('_', ' ')} F1{in_label}",
        f"mean f1 of {what} over tables, {how}",
        "Wu et al. 2022",
        scores=OF,
        **fields,
    )


def _headers_and_cells() -> Iterator[MetricDefinition]:
    """Yield F1 of cells and of both kinds of headers, exact and by chrF."""
    for similarity, ending in _SIMILARITIES.items():
        for part in _PARTS:
            spec, leads = declare_part(part, ending), part == "cells"
            yield _define(
                spec.name,
                spec.label,
                spec.description,
                partial(_list_f1, similarity, part),
                spec.source,
                rank=(15 + (similarity == "chrf")) if leads else None,
                decides=leads and similarity == "exact",
            )


def _list_f1(similarity: Similarity, part: Part, compared: ComparedTables) -> list[float]:
    return [scores[part].f1 for _, scores in compared.pairs(similarity) if part in scores]


_H_SCORES: dict[TableFormat, tuple[str, float, float]] = {
    "text": ("text", 2.0, 4.0),
    "html": ("HTML", 2.0, 3.0),
    "latex": ("LaTeX", 3.0, 4.0),
}
"""Formats with an official H-Score -> their name, and the highest content and structure."""


def _name_h_scores(table_format: TableFormat) -> tuple[str, str]:
    suffix = "" if table_format == "text" else f"[{table_format}]"
    return f"h_content{suffix}", f"h_structure{suffix}"


def _h_scores() -> Iterator[MetricDefinition]:
    for table_format, (called, *highest) in _H_SCORES.items():
        in_label = "" if table_format == "text" else f" ({called})"
        names = zip(_name_h_scores(table_format), ("content", "structure"), strict=True)
        for i, (name, field) in enumerate(names):
            what = ("content", "format")[i]
            yield _define(
                name,
                f"H {field}{in_label}",
                f"H-Score, {what}, of {called}, strucbench: sum of sub-scores as the official code "
                f"has them, at most {highest[i]:.0f}, no lower bound",
                partial(_list_h_score, table_format, field),
                scale="unbounded",
                highest=highest[i],
                rank=21 + i if table_format == "text" else None,
            )


def _list_h_score(table_format: TableFormat, field: str, compared: ComparedTables) -> list[float]:
    score = compared.h_score if compared.table_format == table_format else None
    return [] if score is None else [getattr(score, field)]


def _p_scores() -> Iterator[MetricDefinition]:
    for i, (field, what) in enumerate((("content", "content"), ("structure", "format"))):
        yield _define(
            f"p_{field}",
            f"P {field}",
            f"P-Score, {what}, 0-10: mean of a model's replies in both orders, "
            "over pairs with both",
            partial(_list_p_score, i),
            rank=23 + i,
            scale="unbounded",
            highest=10.0,
            digits=2,
            deterministic=False,
            needs=("a model as judge",),
        )


def _list_p_score(index: int, compared: ComparedTables) -> list[float]:
    return [] if compared.p_score is None else [compared.p_score[index]]


class AnswerTextMetric(Metric[Compared]):
    """A metric of texts, of whole answers and references as they are written.

    Struc-Bench reads an answer as one line, in which ``<NEWLINE>`` ends a row: where the reference
    has this mark, line breaks of an answer are turned into it.
    """

    def __init__(self, spec: MetricSpec, metric: Metric[Any]) -> None:
        self.spec = spec
        self._metric = metric

    @property
    def signature(self) -> str:
        """That of the metric of texts, and which texts it compares."""
        return (
            f"{self.name}|whole answers, line breaks as in the reference|{self._metric.signature}"
        )

    def statistics(self, examples: Compared) -> NDArray[np.float64]:
        """Return the statistics of the metric of texts."""
        texts = [compared.written for compared in examples]
        pairs = text_metrics.JudgedAnswers(texts, [(compared.gold,) for compared in examples])
        return self._metric.statistics(pairs)

    def value(self, totals: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the score of summed statistics."""
        return self._metric.value(totals)

    def per_query(self, statistics: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the score of each answer."""
        return self._metric.per_query(statistics)

    def bounds(self, statistics: NDArray[np.float64]) -> tuple[float, float]:
        """Return the bounds of the metric of texts."""
        return self._metric.bounds(statistics)

    def weights(self, statistics: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the weights of the metric of texts."""
        return self._metric.weights(statistics)


def declare_text_metric(spec: MetricSpec, needs: tuple[str, ...] | None = None) -> MetricSpec:
    """Return the declaration of ``rougeL[tables]`` from that of ``rougeL``.

    It never stands for a run: texts that are alike may hold different tables.

    Args:
        spec: the declaration of the metric of texts.
        needs: what the other one needs; default: the same.
    """
    return replace(
        spec,
        name=f"{spec.name}[tables]",
        label=f"{spec.label} (text)",
        description=f"{spec.description.partition(' (needs')[0]}, of the answer as it is written",
        scores=OF,
        rank=None,
        references="any",
        decides=False,
        needs=spec.needs if needs is None else needs,
    )


def _of_texts(definition: MetricDefinition) -> MetricDefinition:
    spec = declare_text_metric(definition.spec)

    return MetricDefinition(spec, lambda: AnswerTextMetric(spec, definition.make("1", READING)))


_OF_COMPARISON = ("python-dateutil", "rapidfuzz", "scipy")
DEFINITIONS = by_name(
    *_headers_and_cells(),
    _define(
        "wrong_format",
        "wrong format",
        "share of tables of the reference whose partner in the answer has rows of different "
        "length; a missing one counts as right, as in the script",
        attrgetter("ragged_partners"),
        "Wu et al. 2022",
        higher_is_better=False,
    ),
    _define(
        "valid[strict]",
        "valid (strict)",
        "share of answers that are the tables asked for and nothing else, without a fault",
        lambda compared: [compared.answer.strict_error is None],
        "",
        rank=19,
    ),
    _define(
        "valid[lenient]",
        "valid (lenient)",
        "share of answers in which a table can be read",
        lambda compared: [compared.answer.error is None],
        "",
        rank=20,
    ),
    _define(
        "correct",
        "correct",
        "share of answers with all tables, headers and cells of the reference and no others, in "
        "any order of rows and columns",
        lambda compared: [compared.is_correct],
    ),
    *_h_scores(),
    *(_of_texts(text_metrics.DEFINITIONS[name]) for name in ("sacrebleu", "rougeL")),
    _define(
        "tabxeval",
        "TabXEval",
        "mean over tables of 1 less the penalty of the rubric, by rules, all weights of the paper "
        "1",
        lambda compared: [comparison.score() for comparison in compared.comparisons],
        "Pancholi et al. 2025",
        _OF_COMPARISON,
        rank=25,
    ),
    _define(
        "tabxeval[paper]",
        "TabXEval (paper)",
        "mean over tables of 1 less the penalty of the paper's equation, by rules, all weights 1: "
        "shares of the rows, columns and cells of the reference, none for names of columns",
        lambda compared: [comparison.paper_score() for comparison in compared.comparisons],
        "Pancholi et al. 2025",
        _OF_COMPARISON,
    ),
    *_p_scores(),
)
"""Every metric of tables, in the order in which scores are recorded; those of a judge last."""


# What a report says of answers besides their scores.


def collect_findings(compared: Compared, judged: bool) -> dict[str, Any]:
    """Return formats, faults and scores by table, as JSON.

    Where there is no reference, formats and faults alone.

    Args:
        compared: the answers.
        judged: whether a model was asked for P-Scores.
    """
    faults = Counter(fault for answer in compared for fault in answer.answer.faults)
    sizes = Counter(len(answer.answer.tables) for answer in compared)
    report: dict[str, Any] = {
        "formats": dict(Counter(answer.table_format for answer in compared).most_common()),
        "faults": {fault: faults[fault] for fault in FAULT_MEANINGS if faults[fault]},
        "tables": {str(n): sizes[n] for n in sorted(sizes)},
    }
    if any(answer.gold for answer in compared):
        report["by_table"] = _by_table(compared)
    if judged:
        read = sum(answer.p_score is not None for answer in compared)
        report["p_score"] = {"asked": sum(answer.judged for answer in compared), "counted": read}
    return report


def _by_table(compared: Compared) -> dict[str, Any]:
    """Return name of a table -> exact precision, recall and F1 of its parts, as Wu et al. report.

    Only names that most answers share are listed; other tables are of one answer each.
    """
    by_name: dict[str, list[Any]] = {}
    for answer in compared:
        for name, scores in answer.pairs("exact"):
            by_name.setdefault(name, []).append(scores)
    frequent = sorted(by_name.items(), key=lambda item: -len(item[1]))[:8]
    return {
        name: {"n": len(scores)}
        | {
            part: [round(fmean(parts[part][i] for parts in scores), 6) for i in range(3)]
            for part in scores[0]
        }
        for name, scores in frequent
        if len(scores) > len(compared) / 2 and len(scores) > 1
    }
