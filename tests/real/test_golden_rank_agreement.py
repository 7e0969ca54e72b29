"""Rank agreement against the golden vectors, and TabXBench's rankings against released scores."""

import numpy as np
import pytest
from scipy.stats import weightedtau

from benchmarks.table_metrics.rank_agreement import (
    PERSISTENCE,
    agreements,
    footrule,
    order_of,
    rank_agreement,
    rank_biased_overlap,
)
from benchmarks.table_metrics.ranked_tables import ranked_sets
from benchmarks.table_metrics.table2 import released
from target_bench.data.load import load
from tests.real.data import DATA
from tests.real.golden import TOLERANCE, Case, cases, content, needs_golden

pytestmark = needs_golden

FILE = "tabxeval.json"


def _number(value: float | str) -> float:
    return 0.0 if value == "NaN" else float(value)


def _expected(case: Case) -> list[float]:
    names = ("spearman_scores", "kendall_taub_scores", "weightedtau_scores", "rbo_p0.9_truncated")
    values = case["expected"].get("mean", case["expected"])
    return [_number(values[name]) for name in (*names, "footrule_normalized")]


@pytest.mark.parametrize("case", cases(FILE, "rank_metrics"))
def test_one_ranking(case: Case) -> None:
    order, scores = case["input"]["gold_order"], case["input"]["scores"]
    (values,) = agreements([order], [scores])
    assert list(values) == pytest.approx(_expected(case), abs=TOLERANCE)
    expected, predicted = case["expected"], order_of(scores)
    assert predicted == expected["predicted_order"]
    assert footrule(order, predicted) == expected["footrule"]
    for p, name in ((0.98, "rbo_p0.98_truncated"), (1, "rbo_p1_average_overlap")):
        assert rank_biased_overlap(order, predicted, p) == pytest.approx(expected[name])
    broken = [-float(predicted.index(item)) for item in range(len(order))]
    without_ties = rank_agreement(order, broken)
    assert without_ties.spearman == pytest.approx(expected["spearman_ranks"])
    assert without_ties.kendall == pytest.approx(expected["kendall_ranks"])
    assert without_ties.weighted_tau == pytest.approx(expected["weightedtau_neg_ranks"])
    n = len(order)  # both orders hold the same items, so the overlap beyond the last is 1
    extrapolated = rank_biased_overlap(order, predicted) + PERSISTENCE**n
    assert extrapolated == pytest.approx(expected["rbo_ext_p0.9"])


@pytest.mark.parametrize("case", cases(FILE, "rank_metrics"))
def test_other_weights_of_weighted_tau(case: Case) -> None:
    """Those of scipy which the harness does not use: by both rankings, and by the people's."""
    order, scores = case["input"]["gold_order"], case["input"]["scores"]
    rank_of = np.argsort(order)
    gold, predicted = -rank_of, order_of(scores)
    negated = -np.argsort(predicted)
    by_both = weightedtau(gold, negated, rank=None).statistic
    assert by_both == pytest.approx(case["expected"]["weightedtau_ranks_rankNone"])
    if min(scores) < max(scores):
        by_people = weightedtau(gold, scores, rank=rank_of).statistic
        assert by_people == pytest.approx(case["expected"]["weightedtau_goldrank"])


@pytest.mark.parametrize("case", cases(FILE, "corpus_correlation"))
def test_means_over_tabxbench(case: Case) -> None:
    means = agreements(_orders(case), case["input"]["scores"]).mean(axis=0)
    assert list(means) == pytest.approx(_expected(case), abs=TOLERANCE)


def _orders(case: Case) -> list[list[int]]:
    given = case["input"]
    if "gold_orders" not in given:
        (given,) = (
            other["input"]
            for other in content(FILE)["cases"]
            if other["id"] == given["gold_orders_of"]
        )
    orders: list[list[int]] = given["gold_orders"]
    return orders


@pytest.mark.skipif(not (DATA / "tabxbench").is_dir(), reason=f"no TabXBench in {DATA}")
def test_rankings_are_read_in_both_ways_of_writing_them() -> None:
    sets = ranked_sets(load("tabxbench", data_dir=DATA))
    orders = [list(tables.order) for tables in sets]
    published = released(DATA)
    for case in (parameters.values[0] for parameters in cases(FILE, "corpus_correlation")):
        if case["input"]["scores"] == published:
            assert _orders(case) == orders
    means = agreements(orders, published).mean(axis=0)
    assert means[:2] == pytest.approx([0.455, 0.403], abs=5e-4)
    ragged = sum(pair.answer.tables[0].is_ragged for tables in sets for pair in tables.pairs)
    ragged += sum(tables.pairs[0].reference.tables[0].is_ragged for tables in sets)
    assert (len(sets), ragged) == (50, 3)  # 46 where empty cells at the ends are stripped
