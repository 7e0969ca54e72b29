"""Retrieval metrics against trec_eval, ir-measures and the code of TARGET."""

import re
from collections.abc import Mapping

import numpy as np
import pytest

from target_bench.metrics.retrieval import DEFINITIONS, RetrievalMetric, match_gold, parse
from tests.real.golden import TOLERANCE, Case, cases, needs_golden

pytestmark = needs_golden

FILE = "retrieval.json"
WHOLE = 1000
"""Deeper than any ranking or list of gold tables: a cutoff that cuts nothing."""

NAMES = {
    "P": "precision",
    "R": "recall",
    "recall": "recall",
    "ndcg": "ndcg",
    "ndcg_cut": "ndcg",
    "nDCG": "ndcg",
    "success": "success",
    "Success": "success",
    "recip_rank": "mrr",
    "RR": "mrr",
    "map": "map",
    "map_cut": "map",
    "AP": "map",
}
"""What others call our families, the cutoff left off (``ndcg_cut_10``, ``AP@5``)."""

NO_NAME = {"Rprec", "bpref", "num_rel", "num_rel_ret", "num_ret", "set_F", "set_P", "set_recall"}
"""trec_eval's measures that the package does not have."""

Graded = Mapping[str, Mapping[str, int]]
Run = Mapping[str, Mapping[str, float]]


def _ours(measure: str) -> tuple[RetrievalMetric, int] | None:
    """The metric that is this measure, and the depth it is read to."""
    match = re.fullmatch(r"(\w+?)(?:[_@](\d+))?", measure)
    assert match, measure
    if match[1] not in NAMES:
        assert match[1] in NO_NAME, f"a measure this test does not know: {measure}"
        return None
    family = DEFINITIONS[NAMES[match[1]]]
    depth = int(match[2]) if match[2] else WHOLE
    return parse(family.spec.at(depth)), depth


def _ranking(scores: Mapping[str, float], measure: str) -> list[str]:
    """trec_eval's order: float32 score descending, then larger id first, in bytes.

    ``RR@k`` is not trec_eval's: ir-measures takes it from MS MARCO's script, which breaks ties of
    the score as it is by the smaller id.
    """
    if measure.startswith("RR@"):
        return sorted(scores, key=lambda table: (-scores[table], table))
    by_id = sorted(scores, key=lambda table: table.encode(), reverse=True)
    return sorted(by_id, key=lambda table: -np.float32(scores[table]))


def _value(measure: str, qrels: Graded, run: Run, queries: list[str]) -> list[float] | None:
    """Our metric of each query, or None where we have no such metric."""
    ours = _ours(measure)
    if ours is None:
        return None
    metric, depth = ours
    judged = match_gold(
        [_ranking(run.get(query, {}), measure) for query in queries],
        [[table for table, grade in qrels[query].items() if grade > 0] for query in queries],
        depth,
    )
    values: list[float] = metric.value(metric.statistics(judged)).tolist()
    return values


def _is_graded(judgements: Mapping[str, int]) -> bool:
    """Our gain is binary; trec_eval's is the grade."""
    return not set(judgements.values()) <= {0, 1}


def _comparable(measure: str, qrels: Graded, queries: list[str]) -> bool:
    is_ndcg = measure.lower().startswith("ndcg")
    return not (is_ndcg and any(_is_graded(qrels[query]) for query in queries))


@pytest.mark.parametrize("case", cases(FILE, "trec"))
def test_trec(case: Case) -> None:
    """Every measure of ours, a query at a time and over all queries.

    pytrec_eval leaves out queries without a run; ir-measures counts them 0, as we do.
    """
    qrels, run, expected = case["input"]["qrels"], case["input"]["run"], case["expected"]
    compared = 0
    for source in ("pytrec_eval_per_query", "ir_measures_per_query"):
        for query, measures in expected[source].items():
            for measure, value in measures.items():
                ours = _value(measure, qrels, run, [query])
                if ours is not None and _comparable(measure, qrels, [query]):
                    assert ours[0] == pytest.approx(value, abs=TOLERANCE), (query, measure)
                    compared += 1
    queries = list(qrels)
    for measure, value in expected["ir_measures_aggregate"].items():
        ours = _value(measure, qrels, run, queries)
        if ours is not None and _comparable(measure, qrels, queries):
            assert np.mean(ours) == pytest.approx(value, abs=TOLERANCE), measure
            compared += 1
    assert compared > 0


@pytest.mark.parametrize("case", cases(FILE, "target_recall"))
def test_target_recall(case: Case) -> None:
    """The pooled recalls of TARGET's own code.

    It reads all the tables a retriever returned, also where these are more than ``k``, so the
    cutoff here is the longest list. Where nothing is to be divided by it raises; ours is 0.
    """
    given, expected = case["input"], case["expected"]
    gold = [
        [(database, table) for table in ([tables] if isinstance(tables, str) else tables)]
        for database, tables in zip(given["gold_database"], given["gold_tables"], strict=True)
    ]
    rankings = [[tuple(table) for table in ranking] for ranking in given["retrieved"]]
    depth = max(given["k"], *map(len, rankings), 1)
    judged = match_gold(rankings, gold, depth)
    for name, theirs in [
        ("recall_micro", "recall"),
        ("recall_micro", "accuracy"),
        ("capped_recall[target]", "capped_recall"),
    ]:
        metric = parse(f"{name}@{depth}")
        value = float(metric.value(metric.statistics(judged).sum(axis=0)))
        recall = 0.0 if isinstance(expected[theirs], dict) else expected[theirs]
        assert value == pytest.approx(recall, abs=TOLERANCE), theirs
