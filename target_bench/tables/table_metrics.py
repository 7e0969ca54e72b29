"""Metrics of tables as answers: validity, headers and cells, H-Score, P-Score, TabXEval's rubric.

The H-Score and the P-Score are those of Struc-Bench (Tang et al. 2023), which has metrics of the
text beside them, the scores of headers and cells those of Wu et al. (2022), the rubric that of
Pancholi et al. (2025), by rules. Each answer beside its reference is a ``ComparedTables``.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
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
from target_bench.tables.compared_tables import ComparedTables, PairScores
from target_bench.tables.header_cell_scores import Part, Similarity
from target_bench.tables.read_html import HTML_PARSER

Compared = Sequence[ComparedTables]

VERSION = "tables:22"
"""The version of these metrics and of reading tables, for identities."""

OF = "tables"
"""What these metrics score: a ``ComparedTables`` for each answer."""

_TANG, _WU, _PANCHOLI = "Tang et al. 2023", "Wu et al. 2022", "Pancholi et al. 2025"


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
    source: str = _TANG,
    packages: Sequence[str] = (),
    **fields: Any,
) -> MetricDefinition:
    """Define the mean of the values that answers have; fields are those of a ``MetricSpec``."""
    spec = MetricSpec(name, label, description, source, scores=OF, **fields)

    def sign() -> str:
        used = ("beautifulsoup4", "pylatexenc", *packages)
        versions = [f"{package}=={installed_version(package)}" for package in used]
        return "|".join([name, description, VERSION, READING, f"html:{HTML_PARSER}", *versions])

    return MetricDefinition(spec, lambda: MeanOfValues(spec, partial(map, values), sign))


_PARTS: dict[Part, tuple[str, str]] = {
    "cells": ("cell", "cells with their headers"),
    "row_header": ("row_header", "row headers"),
    "col_header": ("column_header", "column headers"),
}
"""What is compared -> how the names of metrics begin, and what it is called."""


def declare_part(part: Part, ending: tuple[str, str, str], **fields: Any) -> MetricSpec:
    """Declare the F1 of a part of tables.

    Args:
        part: what is compared.
        ending: of a similarity: how names and labels end, and what it is called.
        **fields: of the declaration.
    """
    (name, what), (suffix, in_label, how) = _PARTS[part], ending
    return MetricSpec(
        f"{name}_f1{suffix}",
        f"{name.replace('_', ' ')} F1{in_label}",
        f"mean f1 of {what} over tables, {how}",
        _WU,
        scores=OF,
        **fields,
    )


def _define_f1(similarity: Similarity, part: Part) -> MetricDefinition:
    is_exact = similarity == "exact"
    equal, alike = ("", "", "equal texts"), ("[chrf]", " (chrF)", "chrF of the most similar one")
    spec = declare_part(part, equal if is_exact else alike)

    def list_f1(compared: ComparedTables) -> list[float]:
        return [scores[part].f1 for _, scores in compared.pairs(similarity) if part in scores]

    return _define(
        spec.name,
        spec.label,
        spec.description,
        list_f1,
        _WU,
        rank=(15 if is_exact else 16) if part == "cells" else None,
        decides=is_exact and part == "cells",
    )


_H_SCORES: dict[TableFormat, tuple[str, int, int]] = {
    "text": ("text", 2, 4),
    "html": ("HTML", 2, 3),
    "latex": ("LaTeX", 3, 4),
}
"""Formats with an official H-Score -> their name, and the highest content and structure."""


def _name_h_scores(table_format: TableFormat) -> tuple[str, str]:
    suffix = "" if table_format == "text" else f"[{table_format}]"
    return f"h_content{suffix}", f"h_structure{suffix}"


def _define_h_score(table_format: TableFormat, field: str) -> MetricDefinition:
    title, *highest = _H_SCORES[table_format]
    i, is_text = int(field == "structure"), table_format == "text"

    def list_scores(compared: ComparedTables) -> list[float]:
        score = compared.h_score if compared.table_format == table_format else None
        return [] if score is None else [getattr(score, field)]

    return _define(
        _name_h_scores(table_format)[i],
        f"H {field}" + ("" if is_text else f" ({title})"),
        f"H-Score, {('content', 'format')[i]}, of {title}, strucbench: sum of sub-scores as the "
        f"official code has them, at most {highest[i]}, no lower bound",
        list_scores,
        scale="unbounded",
        highest=float(highest[i]),
        rank=21 + i if is_text else None,
    )


def _define_p_score(i: int, field: str, what: str) -> MetricDefinition:
    return _define(
        f"p_{field}",
        f"P {field}",
        f"P-Score, {what}, 0-10: mean of a model's replies in both orders, over pairs with both",
        lambda compared: [] if compared.p_score is None else [compared.p_score[i]],
        rank=23 + i,
        scale="unbounded",
        highest=10.0,
        digits=2,
        needs=("a model as judge",),
    )


class AnswerTextMetric(Metric[Compared]):
    """A metric of texts, of whole answers and references as they are written.

    Struc-Bench reads an answer as a single line, in which ``<NEWLINE>`` ends a row: where the
    reference has this mark, line breaks of an answer are turned into it.
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
        pairs = text_metrics.TextAnswers(texts, [(compared.gold,) for compared in examples])
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


def _define_text_metric(name: str, **settings: Any) -> MetricDefinition:
    definition = text_metrics.DEFINITIONS[name]
    spec = declare_text_metric(definition.spec)
    return MetricDefinition(
        spec, lambda: AnswerTextMetric(spec, definition.make(reading=READING, **settings))
    )


_OF_COMPARISON = ("python-dateutil", "rapidfuzz", "scipy")
DEFINITIONS = by_name(
    *(_define_f1(similarity, part) for similarity in ("exact", "chrf") for part in _PARTS),
    _define(
        "wrong_format",
        "wrong format",
        "share of tables of the reference whose partner in the answer has rows of different "
        "length; a missing one counts as right, as in the script",
        attrgetter("ragged_partners"),
        _WU,
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
    *(_define_h_score(form, field) for form in _H_SCORES for field in ("content", "structure")),
    _define_text_metric("sacrebleu", n_references="1"),
    _define_text_metric("rougeL"),
    _define(
        "tabxeval",
        "TabXEval",
        "mean over tables of 1 less the penalty of the rubric, by rules, all weights of the paper "
        "1",
        lambda compared: [comparison.score() for comparison in compared.comparisons],
        _PANCHOLI,
        _OF_COMPARISON,
        rank=25,
    ),
    _define(
        "tabxeval[paper]",
        "TabXEval (paper)",
        "mean over tables of 1 less the penalty of the paper's equation, by rules, all weights 1: "
        "shares of the rows, columns and cells of the reference, none for names of columns",
        lambda compared: [comparison.paper_score() for comparison in compared.comparisons],
        _PANCHOLI,
        _OF_COMPARISON,
    ),
    _define_p_score(0, "content", "content"),
    _define_p_score(1, "structure", "format"),
)
"""Every metric of tables, in the order in which scores are recorded; those of a judge last."""


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
        report["by_table"] = _average_by_table(compared)
    if judged:
        read = sum(answer.p_score is not None for answer in compared)
        report["p_score"] = {"asked": sum(answer.judged for answer in compared), "counted": read}
    return report


def _average_by_table(compared: Compared) -> dict[str, Any]:
    """Return name of a table -> exact precision, recall and F1 of its parts, as Wu et al. report.

    Only names that most answers share are listed; other tables are of a single answer each.
    """
    tables: dict[str, list[PairScores]] = {}
    for answer in compared:
        for name, pair in answer.pairs("exact"):
            tables.setdefault(name, []).append(pair)
    frequent = sorted(tables.items(), key=lambda item: -len(item[1]))[:8]
    averages: dict[str, Any] = {}
    for name, pairs in frequent:
        if len(pairs) > len(compared) / 2 and len(pairs) > 1:
            averages[name] = {"n": len(pairs)}
            # tables of other queries may have no names of rows, or of columns
            for kind in dict.fromkeys(kind for pair in pairs for kind in pair):
                values = [pair[kind] for pair in pairs if kind in pair]
                averages[name][kind] = [round(fmean(v), 6) for v in zip(*values, strict=True)]
    return averages
