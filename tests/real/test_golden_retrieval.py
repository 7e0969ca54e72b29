"""Our retrieval metrics against trec_eval, ir-measures and the original TARGET package."""

from typing import Any

import numpy as np
import pytest

from target_bench.metrics.retrieval import JudgedRankings, judge, parse
from tests.real.golden import FOLDER, cases, load

TREC = {
    "map": "map",
    "Rprec": "r_precision",
    "recip_rank": "mrr",
    "P": "precision",
    "recall": "recall",
    "success": "success",
    "ndcg_cut": "ndcg",
}
IR_MEASURES = {
    "AP": "map",
    "Rprec": "r_precision",
    "RR": "mrr",
    "P": "precision",
    "R": "recall",
    "Success": "success",
    "nDCG": "ndcg",
}
CUT_OFF = ("P", "recall", "success", "ndcg_cut", "R", "Success", "nDCG")
DEPTH = 100  # the deepest cutoff in the vectors


def _by_trec_rule(run: dict[str, float]) -> list[str]:
    """Score as float32 descending, then the larger id in byte order."""
    return sorted(run, key=lambda doc: (np.float32(run[doc]), doc.encode()), reverse=True)


def _ours(name: str, k: str, judged: JudgedRankings, row: int | None = None) -> float:
    metric = parse(f"{name}@{k}" if k else name)
    statistics = metric.statistics(judged)
    rows = statistics if row is None else statistics[row : row + 1]
    return float(metric.value(rows.sum(axis=0)))


def _named(measure: str, names: dict[str, str]) -> tuple[str, str] | None:
    """(our name, cutoff) of a measure such as ``P_5``, ``nDCG@10`` or ``AP``."""
    family, _, k = measure.replace("@", "_").rpartition("_")
    if not family or not k.isdigit():
        family, k = measure, ""
    if family not in names or bool(k) != (family in CUT_OFF):
        return None
    return names[family], k


@pytest.mark.parametrize("case", cases("retrieval", "trec"), ids=lambda case: case["id"])
def test_trec(case: dict[str, Any]) -> None:
    qrels, run = case["input"]["qrels"], case["input"]["run"]
    queries = list(qrels)
    gold = [{doc for doc, grade in qrels[q].items() if grade > 0} for q in queries]
    depth = max(DEPTH, *map(len, run.values()), 0)
    judged = judge([_by_trec_rule(run.get(q, {})) for q in queries], gold, depth)
    binary = all(grade in (0, 1) for docs in qrels.values() for grade in docs.values())
    compared = 0
    for key, names in (("pytrec_eval_per_query", TREC), ("ir_measures_per_query", IR_MEASURES)):
        for query, values in case["expected"][key].items():
            for measure, expected in values.items():
                named = _named(measure, names)
                if named and (binary or named[0] != "ndcg"):
                    value = _ours(*named, judged, queries.index(query))
                    assert value == pytest.approx(expected, abs=1e-6), (query, measure)
                    compared += 1
    for measure, expected in case["expected"]["ir_measures_aggregate"].items():
        named = _named(measure, IR_MEASURES)
        if named and (binary or named[0] != "ndcg"):
            assert _ours(*named, judged) == pytest.approx(expected, abs=1e-6), measure
            compared += 1
    assert compared


@pytest.mark.parametrize("case", cases("retrieval", "target_recall"), ids=lambda case: case["id"])
def test_target_recall(case: dict[str, Any]) -> None:
    given = case["input"]
    pairs = zip(given["gold_database"], given["gold_tables"], strict=True)
    gold = [
        {(database, table) for table in ([tables] if isinstance(tables, str) else tables)}
        for database, tables in pairs
    ]
    rankings = [[tuple(table) for table in ranking] for ranking in given["retrieved"]]
    depth = max(given["k"], *map(len, rankings))
    judged = judge(rankings, gold, depth)
    k = str(depth)
    expected = case["expected"]
    if isinstance(expected["recall"], float):
        assert _ours("recall_micro", k, judged) == pytest.approx(expected["recall"], abs=1e-6)
    if isinstance(expected["capped_recall"], float):
        value = _ours("capped_recall[target]", k, judged)
        assert value == pytest.approx(expected["capped_recall"], abs=1e-6)


def test_all_kinds_are_known() -> None:
    if not FOLDER.is_dir():
        pytest.skip(f"no {FOLDER}")
    kinds = {case["kind"] for case in load("retrieval")["cases"]}
    assert kinds == {"trec", "target_recall"}
