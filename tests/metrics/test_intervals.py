"""Intervals of scores and of paired differences, and how often they cover the truth."""

from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats

from target_bench.core.metric import Metric, to_mean_statistics
from target_bench.metrics.classification import LABELS, JudgedLabels, label_metrics
from target_bench.metrics.retrieval import match_gold, parse
from target_bench.metrics.scores import make_default_metric
from target_bench.metrics.stats import LEVEL, interval, interval_of_difference
from target_bench.metrics.text import SacreBLEU, TextAnswers

MEAN = parse("recall@1")
POOLED = parse("recall_micro@1")
Floats = NDArray[np.float64]

UNSEEN = 3.841459 / (100 + 3.841459)
"""The upper bound of a share that is 0 in 100 queries."""

SIZES = (20, 50, 100, 200, 500, 1000, 2000)
SHARES = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99, 0.995, 0.998)
LEAST, MOST = 0.92, 0.98
NOT_ATTAINABLE = {
    (20, 0.99): 0.983,
    (20, 0.995): 0.905,
    (50, 0.99): 0.911,
    (50, 0.998): 0.905,
    (100, 0.995): 0.910,
    (100, 0.998): 0.983,
    (500, 0.998): 0.920,
}
"""Where no interval of a count covers between LEAST and MOST: what this one does."""


def _known(name: str) -> Metric[Any]:
    metric = make_default_metric(name)
    assert metric is not None
    return metric


def _rows(values: Floats) -> Floats:
    """Statistics of a mean."""
    return np.column_stack([values, np.ones(len(values))])


def _hits(hits: int, n: int) -> Floats:
    """Statistics of a share."""
    return _rows((np.arange(n) < hits).astype(np.float64))


@cache
def _of_all_counts(n: int) -> Floats:
    """(n + 1, 2) the interval of each number of hits."""
    return np.array([interval(MEAN, _hits(hits, n)) for hits in range(n + 1)])


def _covered(low: float, share: float, high: float) -> bool:
    return low - 1e-6 <= share <= high + 1e-6  # bounds are rounded to six digits


@pytest.mark.parametrize("n", [1, 2, 7, 50, 1000])
def test_of_a_share_as_in_scipy(n: int) -> None:
    for hits in sorted({0, 1, n // 2, n - 1, n}):
        theirs = stats.binomtest(hits, n).proportion_ci(LEVEL, method="wilson")
        bounds = interval(MEAN, _hits(hits, n))
        assert bounds == pytest.approx((theirs.low, theirs.high), abs=1e-6)


@pytest.mark.parametrize("n", SIZES)
def test_coverage_of_a_share(n: int) -> None:
    """Exactly: the binomial probability of all counts whose interval holds the truth."""
    intervals = _of_all_counts(n)
    for share in SHARES:
        probability = stats.binom.pmf(np.arange(n + 1), n, share)
        held = [_covered(low, share, high) for low, high in intervals]
        coverage = float(probability[held].sum())
        below = np.concatenate([[0.0], np.cumsum(probability)])
        attainable = below[None, :] - below[:, None]
        if ((attainable >= LEAST) & (attainable <= MOST)).any():
            assert LEAST <= coverage <= MOST, share
            assert (n, share) not in NOT_ATTAINABLE
        else:
            assert coverage == pytest.approx(NOT_ATTAINABLE[n, share], abs=0.0006)


def _until(rows: Floats, score: float, rng: np.random.Generator) -> Floats:
    """Rows of a mean and perfect ones, as many that the score is the one given."""
    share = (1 - score) / (1 - rows[:, 0].sum() / rows[:, 1].sum())
    perfect = np.column_stack([rows[:, 1], rows[:, 1]])
    mixed = rng.random(len(rows) * 20) < share
    drawn = rng.integers(0, len(rows), len(mixed))
    return np.where(mixed[:, None], rows[drawn], perfect[drawn])


def _populations() -> dict[str, tuple[Metric[Any], Floats]]:
    rng = np.random.default_rng(11)
    ranks = rng.choice([1, 2, 3, 5, 10, np.inf], size=2000, p=[0.6, 0.15, 0.1, 0.05, 0.05, 0.05])
    gold = rng.integers(1, 5, 2000)
    pooled = np.column_stack([rng.binomial(gold, 0.8), gold]).astype(np.float64)
    overlap = np.where(rng.random(2000) < 0.1, 0.0, rng.beta(4, 3, 2000))
    right = rng.random(2000) < 0.95
    truth = rng.integers(0, 2, 2000)
    labels = JudgedLabels(
        [LABELS[t if r else 1 - t] for t, r in zip(truth, right, strict=True)],
        [LABELS[t] for t in truth],
    )
    (f1,) = [metric for metric in label_metrics() if metric.name == "f1_macro"]
    words = ["a", "table", "of", "cities", "rivers", "in", "every", "year", "since", "then"]
    texts = [" ".join(rng.choice(words, 12)) for _ in range(400)]
    noisy = [" ".join(w if rng.random() < 0.7 else "other" for w in text.split()) for text in texts]
    answers = TextAnswers(noisy, [(text,) for text in texts])
    bleu = SacreBLEU()
    mrr, f1_of_words = _known("mrr"), _known("token_f1")
    return {
        "reciprocal ranks": (mrr, _rows(1 / ranks)),
        "reciprocal ranks, .98": (mrr, _until(_rows(1 / ranks), 0.98, rng)),
        "pooled": (POOLED, pooled),
        "pooled, .98": (POOLED, _until(pooled, 0.98, rng)),
        "F1 of words": (f1_of_words, _rows(overlap)),
        "F1 of words, .95": (f1_of_words, _until(_rows(overlap), 0.95, rng)),
        "F1 of labels": (f1, f1.statistics(labels)),
        "BLEU": (bleu, bleu.statistics(answers)),
    }


POPULATIONS = _populations()


@pytest.mark.parametrize("n", [30, 200])
@pytest.mark.parametrize("name", POPULATIONS)
def test_coverage_of_other_scores(name: str, n: int) -> None:
    """Simulated, seeded; 400 samples have a standard error of .011."""
    metric, rows = POPULATIONS[name]
    truth, rng = float(metric.value(rows.sum(axis=0))), np.random.default_rng(3)
    trials = 100 if name == "BLEU" else 400
    held = 0
    for _ in range(trials):
        low, high = interval(metric, rows[rng.integers(0, len(rows), n)])
        held += _covered(low, truth, high)
    assert 0.91 <= held / trials <= 0.99


def test_perfect_average_over_labels_counts_the_rare_one() -> None:
    gold = ["True"] * 95 + ["False"] * 5
    by_name = {metric.name: metric for metric in label_metrics()}
    lows = {}
    for name in ("accuracy", "f1_weighted", "f1_macro"):
        metric = by_name[name]
        lows[name] = interval(metric, metric.statistics(JudgedLabels(gold, gold)))[0]
    assert lows["accuracy"] == lows["f1_weighted"] == pytest.approx(100 / 103.8415, abs=1e-5)
    effective = 4 / (1 / 95 + 1 / 5)
    assert lows["f1_macro"] == pytest.approx(effective / (effective + 3.8415), abs=1e-4)


@given(st.permutations(list(range(12))))
@settings(deadline=None, max_examples=20)
def test_order_of_queries_changes_nothing(order: list[int]) -> None:
    rows = _rows(np.linspace(0, 1, 12) ** 2)
    assert interval(MEAN, rows[order]) == interval(MEAN, rows)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=40))
@settings(deadline=None, max_examples=200)
def test_holds_the_value_and_stays_on_the_scale(values: list[float]) -> None:
    rows = _rows(np.array(values))
    low, high = interval(MEAN, rows)
    assert 0 <= low <= np.mean(values) + 1e-6
    assert np.mean(values) - 1e-6 <= high <= 1
    assert low < high


def test_over_part_of_the_queries() -> None:
    """Those that are left out change nothing; over none there is no interval."""
    metric = _known("ex[bird]")
    some = np.vstack([_hits(9, 10), np.zeros((40, 2))])
    assert interval(metric, some) == interval(metric, _hits(9, 10))
    single = np.zeros((50, 2))
    single[0] = 1
    assert interval(metric, single) == interval(MEAN, np.ones((1, 2)))
    assert np.isnan(interval(metric, np.zeros((3, 2)))).all()


@pytest.mark.parametrize(
    ("both", "one", "low", "high"),
    [
        (0, 100, 0.1 - 0.1 * UNSEEN, 0.1 + 0.1 * UNSEEN),  # all the same
        (1, 99, 0.0982, 0.1037),
        (100, 0, 0.2 - 0.2 * UNSEEN, 0.2),
    ],
)
def test_precision_over_queries_with_two_gold_tables(
    both: int, one: int, low: float, high: float
) -> None:
    """It can be 2/k, though no query may have reached that."""
    metric = parse("precision@10")
    statistics = metric.statistics(match_gold(["ab"] * both + ["a"] * one, ["ab"] * 100, 10))
    assert metric.bounds(statistics) == (0, 0.2)
    assert interval(metric, statistics) == pytest.approx((low, high), abs=1e-4)


def test_precision_over_queries_with_one_gold_table() -> None:
    metric = parse("precision@10")
    statistics = metric.statistics(match_gold(["xa"] * 100, ["a"] * 100, 10))
    assert interval(metric, statistics) == pytest.approx((0.1 - 0.1 * UNSEEN, 0.1), abs=1e-6)


@pytest.mark.parametrize("name", ["precision_macro", "recall_macro", "f1_macro"])
def test_a_label_that_was_answered_once(name: str) -> None:
    """Leaving that answer out does not change which labels the average is over."""
    (metric,) = (metric for metric in label_metrics() if metric.name == name)
    gold = [LABELS[i % 2] for i in range(2000)]
    answers = [LABELS[(i + (i % 8 < 2)) % 2] for i in range(2000)]
    for stray in (0, 1):
        answers[:stray] = [LABELS[2]] * stray
        low, high = interval(metric, metric.statistics(JudgedLabels(answers, gold)))
        assert high - low < 0.05


def _pairs(both: int, first: int, second: int, neither: int) -> tuple[Floats, Floats]:
    """Statistics of two systems by how many queries both, one and none answer right."""
    mine = np.repeat([1.0, 1.0, 0.0, 0.0], [both, first, second, neither])
    theirs = np.repeat([1.0, 0.0, 1.0, 0.0], [both, first, second, neither])
    return _rows(mine), _rows(theirs)


@pytest.mark.parametrize("table", [(36, 12, 2, 5), (80, 3, 1, 2), (20, 10, 0, 6), (0, 9, 8, 7)])
def test_difference_of_shares_is_newcombes(table: tuple[int, int, int, int]) -> None:
    """His method 10, written with the four counts as in the paper."""
    a, b, c, d = table
    n = sum(table)
    first, second = stats.binomtest(a + b, n), stats.binomtest(a + c, n)
    mine, theirs = (bounds.proportion_ci(LEVEL, method="wilson") for bounds in (first, second))
    p1, p2 = (a + b) / n, (a + c) / n
    phi = (a * d - b * c) / np.sqrt(float((a + b) * (c + d) * (a + c) * (b + d)))
    down, up = (p1 - mine.low, theirs.high - p2), (mine.high - p1, p2 - theirs.low)
    low, high = (
        np.sqrt(x * x - 2 * phi * x * y + y * y) for x, y in ((down[0], down[1]), (up[0], up[1]))
    )
    bounds = interval_of_difference(MEAN, *_pairs(*table))
    assert bounds == pytest.approx((p1 - p2 - low, p1 - p2 + high), abs=2e-6)


@pytest.mark.parametrize("rows", [np.full(50, 1.0), np.tile([0.0, 1.0], 25), np.full(50, 0.0)])
def test_no_difference_seen_is_none_of_fifty(rows: Floats) -> None:
    """As many queries as Wilson allows of nothing seen in 50 may tell the two apart."""
    low, high = interval_of_difference(MEAN, _rows(rows), _rows(rows))
    assert low <= -3.8415 / 53.8415 + 1e-5
    assert high >= 3.8415 / 53.8415 - 1e-5
    assert max(-low, high) < 0.15


@pytest.mark.parametrize(
    "chances",
    [(0.97, 0.01, 0.01), (0.985, 0.01, 0.0), (0.9, 0.05, 0.03), (0.5, 0.1, 0.02), (0.3, 0.2, 0.2)],
)
@pytest.mark.parametrize("n", [50, 200])
def test_coverage_of_differences(chances: tuple[float, float, float], n: int) -> None:
    """Never far too rarely; too often where fewer than four differences are to be expected."""
    rng, held = np.random.default_rng(5), 0
    truth = chances[1] - chances[2]
    for counts in rng.multinomial(n, [*chances, 1 - sum(chances)], size=400):
        low, high = interval_of_difference(MEAN, *_pairs(*map(int, counts)))
        assert low <= (counts[1] - counts[2]) / n <= high
        held += _covered(low, truth, high)
    assert held / 400 >= 0.91
    if n * (chances[1] + chances[2]) > 10:
        assert held / 400 <= 0.985


def test_difference_on_other_parts_of_the_queries() -> None:
    """A query that has no value for one system counts for the other."""
    metric, right = parse("recall@1"), np.ones(60)
    first, second = right.copy(), np.repeat([1.0, np.nan, 1.0, 0.0], [40, 10, 5, 5])
    first[0] = np.nan
    low, high = interval_of_difference(
        metric, to_mean_statistics(first), to_mean_statistics(second)
    )
    assert -0.05 < low < 0.1 < high < 0.3


def test_difference_of_corpus_scores() -> None:
    metric, rows = POPULATIONS["BLEU"]
    low, high = interval_of_difference(metric, rows[:200], rows[200:])
    value = float(metric.value(rows[:200].sum(axis=0)) - metric.value(rows[200:].sum(axis=0)))
    assert low < value < high
    assert interval_of_difference(metric, rows[200:], rows[:200]) == pytest.approx((-high, -low))
    assert np.isnan(interval_of_difference(_known("ex[bird]"), np.zeros((3, 2)), _hits(1, 3))).all()
