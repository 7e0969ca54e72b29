"""Scores by slice as tables of text, and as JSON."""

from collections.abc import Mapping, Sequence
from typing import Any

from target_bench.core.schema import Score
from target_bench.core.text_tables import Column, TextTable
from target_bench.metrics.headlines import metric_column, score_cell, table_metrics

Parts = Mapping[str, Mapping[str, Score]]
"""Value of a property -> metric -> score of the queries that have it."""


def table(
    name: str, runs: Sequence[tuple[str, Mapping[str, Parts]]], metrics: Sequence[str] = ()
) -> TextTable:
    """Lay out the scores of runs by a property: a row a value and run.

    Args:
        name: the property.
        runs: what each run is called, and property -> parts.
        metrics: which metrics; default: the main ones.
    """
    parts = [(run, by[name]) for run, by in runs]
    values = list(dict.fromkeys(value for _, found in parts for value in found))
    whole: dict[str, Score] = {}
    for _, found in parts:
        for scores in found.values():
            whole |= scores
    shown = list(metrics) or table_metrics(whole)
    rows = []
    for value in values:
        for run, found in parts:
            scores = found.get(value, {})
            n = next((scores[metric].n for metric in shown if metric in scores), None)
            cells = [score_cell(metric, scores.get(metric)) for metric in shown]
            rows.append([value, "" if n is None else f"{n:,}", run, *cells])
    columns = [Column(name), Column("n", right=True), Column("run", below=True)]
    rules = frozenset(range(len(parts), len(rows), len(parts))) if len(parts) > 1 else frozenset()
    return TextTable([*columns, *map(metric_column, shown)], rows, f"by {name}", rules)


def to_json(by: Mapping[str, Parts]) -> dict[str, Any]:
    """Return property -> value -> metric -> value, interval, n and signature."""
    return {
        name: {
            value: {metric: score.to_json() for metric, score in scores.items()}
            for value, scores in parts.items()
        }
        for name, parts in by.items()
    }
