"""Retrieval metrics against ir-measures, and what holds for all rankings."""

import ir_measures
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from target_bench.metrics.retrieval import DEFINITIONS, match_gold, parse

DEPTH = 12

table = st.integers(min_value=0, max_value=25).map("db/t{:02d}".format)
rankings_and_gold = st.lists(
    st.tuples(
        st.lists(table, unique=True, max_size=DEPTH),
        st.lists(table, unique=True, min_size=1, max_size=6),
    ),
    min_size=1,
    max_size=5,
)
Case = list[tuple[list[str], list[str]]]

MEASURES = {
    "recall": "R",
    "precision": "P",
    "ndcg": "nDCG",
    "success": "Success",
    "mrr": "RR",
    "map": "AP",
}


def _ours(name: str, case: Case) -> list[float]:
    rankings, gold = [ranking for ranking, _ in case], [tables for _, tables in case]
    metric = parse(name)
    values: list[float] = metric.value(
        metric.statistics(match_gold(rankings, gold, DEPTH))
    ).tolist()
    return values


def _theirs(measure: str, case: Case) -> list[float]:
    """ir-measures on the real ids, the scores descending."""
    qrels = {str(i): dict.fromkeys(gold, 1) for i, (_, gold) in enumerate(case)}
    run = {
        str(i): {table: float(-rank) for rank, table in enumerate(ranking)}
        for i, (ranking, _) in enumerate(case)
    }
    parsed = ir_measures.parse_measure(measure)
    values = {r.query_id: r.value for r in ir_measures.iter_calc([parsed], qrels, run)}
    return [float(values.get(str(i), 0.0)) for i in range(len(case))]


@pytest.mark.parametrize("family", MEASURES)
@given(case=rankings_and_gold, k=st.integers(min_value=1, max_value=DEPTH))
@settings(deadline=None, max_examples=40)
def test_equal_to_ir_measures(family: str, case: Case, k: int) -> None:
    at = f"@{k}" if DEFINITIONS[family].spec.at_k else ""
    theirs = _theirs(f"{MEASURES[family]}{at}", case)
    assert _ours(f"{family}{at}", case) == pytest.approx(theirs, abs=1e-9)


@given(case=rankings_and_gold)
@settings(deadline=None, max_examples=40)
def test_between_0_and_1(case: Case) -> None:
    for family in (f for f in DEFINITIONS.values() if not f.spec.needs):
        for value in _ours(family.spec.at(3), case):
            assert 0 <= value <= 1


@given(case=rankings_and_gold)
@settings(deadline=None, max_examples=40)
def test_deeper_is_no_worse(case: Case) -> None:
    """Recall, pooled recall, full recall and success grow with the cutoff."""
    for family in ("recall", "recall[dup]", "recall_micro", "full_recall", "success"):
        columns = [_ours(f"{family}@{k}", case) for k in range(1, DEPTH + 1)]
        for values in zip(*columns, strict=True):
            assert list(values) == sorted(values)


@given(case=rankings_and_gold, k=st.integers(min_value=1, max_value=DEPTH))
@settings(deadline=None, max_examples=40)
def test_how_the_recalls_relate(case: Case, k: int) -> None:
    columns = (
        _ours(f"{family}@{k}", case)
        for family in ("full_recall", "recall", "capped_recall", "capped_recall[target]")
    )
    for full, plain, capped, target in zip(*columns, strict=True):
        assert full <= plain <= capped <= target
        assert (plain == 1) == (full == 1)
