"""What a report says of answers that are tables: faults, errors, scores by table, abilities."""

from collections import Counter
from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any, get_args

from target_bench.tables.answer_tables import Fault
from target_bench.tables.compared_tables import ComparedTables
from target_bench.tables.comparison.type_counts import summed
from target_bench.tables.error_types import ERROR_TYPES

Compared = Sequence[ComparedTables]


def findings(compared: Compared, judged: bool, cells_judged: bool) -> dict[str, Any]:
    """Return all findings, as JSON; formats and faults alone where there is no reference.

    Args:
        compared: the answers.
        judged: whether a model was asked for P-Scores.
        cells_judged: whether a model was asked about cells without support.
    """
    found: dict[str, Any] = {
        "formats": dict(Counter(one.table_format for one in compared).most_common()),
        "faults": _faults(compared),
        "tables": _numbers(compared),
    }
    if cells_judged:
        read = sum(1 for one in compared if one.judged is not None)
        found["judged_cells"] = {"asked": _asked(compared, "cells"), "read": read}
    if not any(one.gold for one in compared):
        return found
    found |= {
        "errors": _errors(compared),
        "types": _types(compared),
        "by_table": _by_table(compared),
        "abilities": abilities(compared),
    }
    if judged:
        read = sum(1 for one in compared if one.p_score is not None)
        found["p_score"] = {"asked": _asked(compared, "p_score"), "counted": read}
    return found


def _asked(compared: Compared, about: str) -> int:
    """Return about how many answers a judge was asked, failed replies included."""
    return sum(1 for one in compared if about in one.asked)


def _faults(compared: Compared) -> dict[str, int]:
    """Return fault -> number of answers with it."""
    counts = Counter(fault for one in compared for fault in one.answer.faults)
    return {fault: counts[fault] for fault in get_args(Fault) if counts[fault]}


def _numbers(compared: Compared) -> dict[str, int]:
    """Return number of tables -> how many answers have this many, fewest first."""
    counts = Counter(len(one.answer.tables) for one in compared)
    return {str(n): counts[n] for n in sorted(counts)}


def _errors(compared: Compared) -> dict[str, dict[str, int]]:
    """Return error type -> how many answers have such errors, and how many they are."""
    diffs = [one.errors for one in compared]
    return {
        kind: {
            "answers": sum(1 for diff in diffs if diff[kind]),
            "errors": sum(diff[kind] for diff in diffs),
        }
        for kind in ERROR_TYPES
    }


def _types(compared: Compared) -> dict[str, dict[str, int]]:
    """Return data type -> columns and cells missing, extra, partial and equal, over all tables."""
    tables = (comparison.types for one in compared for comparison in one.comparisons)
    return {kind: counts._asdict() for kind, counts in summed(tables).items()}


def _by_table(compared: Compared) -> dict[str, Any]:
    """Return name of a table -> exact precision, recall and F1 of its parts, as Wu et al. report.

    Only names that most answers share are listed; other tables are of one answer each.
    """
    names = Counter(name for one in compared for name, _ in one.pairs("exact"))
    return {
        name: {"n": n} | _means([s for one in compared for t, s in one.pairs("exact") if t == name])
        for name, n in names.most_common(8)
        if n > len(compared) / 2 and n > 1
    }


def _means(scores: Sequence[Mapping[Any, Sequence[float]]]) -> dict[str, list[float]]:
    parts = list(scores[0])
    return {
        part: [round(fmean(one[part][i] for one in scores), 6) for i in range(3)] for part in parts
    }


def abilities(compared: Compared) -> dict[str, float]:
    """Return the six dimensions of Struc-Bench's ability map, from 0 to 1, from our scores.

    The paper has people and a model rate them; here each is a score that is computed:
    ``coverage``: recall of cells (chrF); ``hallucination``: their precision (higher: less is made
    up); ``formatting``: answers without a fault; ``comprehension``: F1 of row and column headers
    (chrF); ``pragmatics``: structure; ``reasoning``: content in its place (both of ``v2``).
    """
    soft = [scores for one in compared for _, scores in one.pairs("chrf")]
    headers = [
        scores[part].f1
        for scores in soft
        for part in ("row_header", "col_header")
        if part in scores
    ]
    return {
        "coverage": _mean(scores["cells"].recall for scores in soft),
        "formatting": _mean(float(one.answer.strict_error is None) for one in compared),
        "reasoning": _mean(one.h_score_v2.content for one in compared),
        "comprehension": _mean(headers),
        "pragmatics": _mean(one.h_score_v2.structure for one in compared),
        "hallucination": _mean(scores["cells"].precision for scores in soft),
    }


def _mean(values: Any) -> float:
    listed = list(values)
    return round(fmean(listed), 6) if listed else 0.0
