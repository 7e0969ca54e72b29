"""The metrics of tables under test: functions of two tables, and metrics of the package by name."""

import re
import time
from collections.abc import Callable, Sequence
from functools import cache, lru_cache
from statistics import fmean
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.table_metrics.grid_similarity import grits
from benchmarks.table_metrics.relative_mapping import relative_mapping
from benchmarks.table_metrics.tree_similarity import teds
from target_bench.core import registry
from target_bench.metrics.text import JudgedAnswers
from target_bench.tables.answer_tables import AnswerTable
from target_bench.tables.compared_tables import ComparedTables
from target_bench.tables.h_score import h_score_of_table
from target_bench.tables.header_cell_scores import Grid, character_f
from target_bench.tables.table_metrics import OF

Floats = NDArray[np.float64]


def cell_f1(reference: Grid, answer: Grid, similarity: Callable[[str, str], float]) -> float:
    """Return F1 of all cells, header included, each with the most similar one of the other side.

    So Pancholi et al. (2025) compare tables by the metrics of texts in their Table 2; order does
    not count, nor does where a cell stands.

    Args:
        reference: rows, the header first.
        answer: those of the answer.
        similarity: of a cell of the answer and one of the reference, from 0 to 1.
    """
    left, right = ([cell for row in rows for cell in row] for rows in (answer, reference))
    if not left or not right:
        return float(left == right)
    names = [list(dict.fromkeys(side)) for side in (left, right)]
    similar = np.array([[similarity(a, b) for b in names[1]] for a in names[0]])
    best = [dict(zip(names[i], similar.max(axis=1 - i), strict=True)) for i in (0, 1)]
    precision, recall = (
        fmean(own[cell] for cell in side) for own, side in zip(best, (left, right), strict=True)
    )
    both = precision + recall
    return float(2 * precision * recall / both) if both else 0.0


def _equal(answer: str, reference: str) -> float:
    return float(answer == reference)


@lru_cache(maxsize=1 << 20)
def _rouge_l(answer: str, reference: str) -> float:
    if _words(answer).isdisjoint(_words(reference)):
        return 0.0
    return float(_scorer().score(reference, answer)["rougeL"].fmeasure)


@lru_cache(maxsize=1 << 16)
def _words(text: str) -> frozenset[str]:
    return frozenset(re.findall(r"[a-z0-9]+", text.lower()))


@cache
def _scorer() -> Any:
    from rouge_score.rouge_scorer import RougeScorer

    return RougeScorer(["rougeL"])


METRICS: dict[str, Callable[[AnswerTable, AnswerTable], float]] = {
    "exact match": lambda reference, answer: float(reference.rows == answer.rows),
    "RMS F1": lambda reference, answer: relative_mapping(reference.padded(), answer.padded()).f1,
    "GriTS (content)": lambda reference, answer: grits(reference.padded(), answer.padded()),
    "TEDS": lambda reference, answer: teds(reference.rows, answer.rows),
    "H content (official)": lambda reference, answer: (
        h_score_of_table(answer.padded(), reference.padded()).content
    ),
    "H structure (official)": lambda reference, answer: (
        h_score_of_table(answer.padded(), reference.padded()).structure
    ),
    "EM of cells": lambda reference, answer: cell_f1(reference.rows, answer.rows, _equal),
    "chrF of cells": lambda reference, answer: cell_f1(reference.rows, answer.rows, character_f),
    "ROUGE-L of cells": lambda reference, answer: cell_f1(reference.rows, answer.rows, _rouge_l),
}
"""Name -> how alike a reference and an answer are. Add your own here."""

OF_PACKAGE = (
    "cell_f1",
    "cell_f1[chrf]",
    "rougeL",
    "tabxeval",
)
"""Metrics of tables, or of texts (which read the Markdown), that ``target-bench`` has."""


def values(name: str, pairs: Sequence[ComparedTables]) -> tuple[Floats, float]:
    """Score answers beside their references, each text being one table.

    Args:
        name: one of ``METRICS``, or a metric of the package as written on its command line, as in
            ``bertscore:model=MODEL``, ``bleurt``.
        pairs: answers and references.

    Returns:
        (n,) values, higher for the better table, 0 where the answer holds none and NaN where a
        metric of the package has no value. And the seconds of processor time it took, reading the
        tables left out.
    """
    # New objects: what one metric read or aligned should not make the next one faster.
    pairs = [ComparedTables(pair.text, pair.gold, pair.table_format) for pair in pairs]
    for pair in pairs:
        pair.answer.tables, pair.reference.tables  # noqa: B018 (read before the clock runs)
    if name in METRICS:
        started = time.process_time()
        scores = [
            METRICS[name](pair.reference.tables[0], pair.answer.tables[0])
            if pair.answer.tables
            else 0.0
            for pair in pairs
        ]
        return np.array(scores, dtype=np.float64), time.process_time() - started
    metric = registry.create("metric", name)
    examples: Any = pairs
    if metric.spec.scores != OF:
        examples = JudgedAnswers([p.text for p in pairs], [(p.gold,) for p in pairs])
    started = time.process_time()
    scores = metric.per_query(metric.statistics(examples))
    seconds = time.process_time() - started
    return (scores if metric.spec.higher_is_better else -scores), seconds
