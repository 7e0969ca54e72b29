"""Scores as cells of tables of text."""

from math import isnan

from target_bench.core.metric import Score
from target_bench.core.text_tables import Column
from target_bench.metrics.run_scores import spec_of


def metric_column(name: str) -> Column:
    """Return the column of a metric, its name on two lines."""
    if name.startswith(("f1_", "exact_")):
        heading = name.replace("_", "_\n")
    elif "[" in name:
        heading = name.replace("[", "\n[", 1)
    else:
        heading = name.replace("full_", "full_\n") if "full_" in name else name.replace("@", "\n@")
    return Column(heading, right=True, label=name)


def score_cell(name: str, score: Score | None) -> str:
    """Return a score above its interval; a dash where it is over no query, nothing without one."""
    if score is None or isnan(score.value):
        return "" if score is None else "–"
    spec = spec_of(name, score)
    value = spec.text(score.value)
    if isnan(score.low) or isnan(score.high):
        return value
    low, high = spec.text(score.low), spec.text(score.high)
    if spec.scale == "share":
        low, high = low.removeprefix("0"), high.removeprefix("0")
    return f"{value}\n{low}-{high}"
