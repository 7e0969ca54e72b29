"""Main effects: averages over the other settings, compared on the same queries."""

from collections import Counter
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from target_bench.core.metric import MetricSpec, mean, of_mean
from target_bench.metrics import stats
from target_bench.metrics.scores import named
from target_bench.reporting.conclusions.effects import (
    Averaged,
    averages,
    effects,
    matched,
    paired_difference,
)
from target_bench.reporting.conclusions.factors import NONE, Factor
from target_bench.runs.measured import Measured

SPEC = MetricSpec("recall", at_k=True)
N = 30


def _of(values: Any) -> Measured:
    found = np.asarray(values, dtype=float)
    return Measured("recall@10", found, of_mean(found), mean, None, SPEC)


def _grid(*levels: tuple[str, ...]) -> list[Factor]:
    columns = zip(*product(*levels), strict=True)
    return [Factor("xyz"[i], tuple(column)) for i, column in enumerate(columns)]


@given(arrays(float, (6, N), elements=st.sampled_from([0.0, 0.5, 1.0])))
def test_of_a_whole_grid(values: Any) -> None:
    """A level's score is the mean of its cells; a difference is that of two levels."""
    found, unclear = effects(_grid(("1", "2", "3"), ("a", "b")), [_of(row) for row in values])
    assert not unclear
    cells = values.mean(axis=1).reshape(3, 2)
    expected = {"x": cells.mean(axis=1), "y": cells.mean(axis=0)}
    for effect in found:
        scores = [level.score for level in effect.levels]
        assert scores == pytest.approx(expected[effect.factor])
        (best,) = [level for level in effect.levels if level.difference is None]
        assert best.score == max(scores)
        for level in effect.levels:
            assert level.low <= level.score <= level.high
            if level.difference is not None:
                assert level.difference.value == pytest.approx(level.score - best.score)
                assert level.difference.low <= level.difference.value <= level.difference.high
    assert found[0].range >= found[-1].range


def test_a_factor_without_effect_beside_one_with_a_large_one() -> None:
    generator = np.random.default_rng(0)
    right = generator.random((2, 400)) < 0.5
    rows = [_of(right[0] * 0.5 + (0.4 if x else 0.0)) for x in (0, 1) for _ in range(2)]
    found, _ = effects(_grid(("0", "1"), ("a", "b")), rows)
    assert [(effect.factor, effect.is_shown) for effect in found] == [("x", True), ("y", False)]
    worst = found[0].levels[0].difference
    assert worst is not None
    assert worst.value == pytest.approx(-0.4)
    assert worst.p == pytest.approx(2 / 10_001)  # the smallest, corrected for two tests


def test_holes_are_not_averaged_over() -> None:
    """Of a grid without one cell, only the combinations that all levels have count."""
    x, y = _grid(("1", "2"), ("a", "b"))
    kept = [0, 1, 2]  # no cell (2, b)
    factors = [Factor(f.name, tuple(f.of_run[i] for i in kept)) for f in (x, y)]
    scores = [_of([value] * N) for value in (0.2, 0.9, 0.4)]
    found, _ = effects(factors, scores)
    by_name = {effect.factor: effect for effect in found}
    assert [level.score for level in by_name["x"].levels] == pytest.approx([0.2, 0.4])
    assert by_name["x"].combinations == 1


def test_settings_of_one_of_two_retrievers_are_averaged_over() -> None:
    retriever = Factor("retriever", ("bm25", "bm25", "lsa"))
    k1 = Factor("k1", ("0.9", "1.2", NONE))
    scores = [_of([value] * N) for value in (0.2, 0.4, 0.9)]
    found, _ = effects([retriever, k1], scores)
    by_name = {effect.factor: [level.score for level in effect.levels] for effect in found}
    assert by_name["retriever"] == pytest.approx([0.3, 0.9])
    assert by_name["k1"] == pytest.approx([0.2, 0.4])
    assert matched([retriever], [k1]) == {("bm25",): [0, 1], ("lsa",): [2, 2]}


def test_runs_count_as_often_as_their_combination_needs() -> None:
    """Of 2 and 3 runs of a level, and of 7 of another one in either combination."""
    x = Factor("x", ("a",) * 5 + ("b",) * 14)
    y = Factor("y", ("1", "1", "2", "2", "2") + ("1",) * 7 + ("2",) * 7)
    z = Factor("z", tuple(map(str, range(5))) + (NONE,) * 14)
    found = matched([x], [y, z])
    shares = [Counter(found[level,]) for level in "ab"]
    assert shares[0] == {0: 21, 1: 21, 2: 14, 3: 14, 4: 14}
    assert shares[1] == dict.fromkeys(range(5, 19), 6)


def test_cells_that_differ_in_several_settings_tell_no_effect() -> None:
    x, y = Factor("x", ("1", "2", "3")), Factor("y", ("a", "b", "b"))
    found, unclear = effects([x, y], [_of([value] * N) for value in (0.1, 0.2, 0.3)])
    assert (found, unclear) == ([], ["x", "y"])


def _pooled(seed: int, *shares: float) -> list[Measured]:
    metric = named("recall_micro@10")
    assert metric is not None
    generator = np.random.default_rng(seed)
    runs = []
    for share in shares:
        gold = generator.integers(1, 9, N).astype(float)
        rows = np.column_stack([np.floor(gold * share), gold])
        runs.append(Measured("m", rows[:, 0] / gold, rows, metric.value, metric, metric.spec))
    return runs


def test_metrics_that_are_no_means_are_averaged_as_scores() -> None:
    """The average of pooled recalls is not the recall of all queries pooled."""
    runs = _pooled(1, 0.3, 0.6)
    both = averages({("a",): [0, 1]}, runs)["a",]
    assert isinstance(both, Averaged)
    total = both.statistics.sum(axis=0)
    scores = [float(run.value(run.statistics.sum(axis=0))) for run in runs]
    assert float(both.value(total)) == pytest.approx(np.mean(scores))
    assert both.bounds(both.statistics) == (0, 1)
    left = both.without(total, both.statistics)
    brute = [float(both.value(total - row)) for row in both.statistics]
    assert left == pytest.approx(brute)
    assert both.weights(both.statistics).shape == (N,)
    twice = averages({("a",): [0, 0], ("b",): [1, 1]}, runs)
    test = paired_difference(twice["a",], twice["b",])
    one, other = runs
    plain = stats.compare(one.statistics, other.statistics, one.value)
    assert test.value == pytest.approx(plain.difference)
    assert test.p == plain.p


def test_levels_of_different_numbers_of_runs_by_a_metric_that_is_no_mean() -> None:
    """Two settings of one retriever, and another retriever without it."""
    runs = _pooled(2, 0.3, 0.6, 0.9)
    retriever = Factor("retriever", ("bm25", "bm25", "tfidf"))
    k1 = Factor("k1", ("0.5", "2", NONE))
    found, unclear = effects([retriever, k1], runs)
    assert not unclear
    scores = [float(run.value(run.statistics.sum(axis=0))) for run in runs]
    by_name = {effect.factor: effect.levels for effect in found}
    bm25, tfidf = by_name["retriever"]
    assert (bm25.score, tfidf.score) == pytest.approx((np.mean(scores[:2]), scores[2]))
    assert bm25.difference is not None
    assert bm25.difference.value == pytest.approx(np.mean(scores[:2]) - scores[2])


def test_runs_that_a_metric_judges_on_other_queries_keep_their_scores() -> None:
    """Scores of 1.0 over the first half and of 0.5 over all have the average 0.75."""
    half, nan = np.ones(N), np.nan
    half[N // 2 :] = nan
    whole = np.tile([0.0, 1.0], N // 2)
    factors = _grid(("1", "2"), ("a", "b"))
    found, _ = effects(factors, [_of(half), _of(whole), _of(whole), _of(whole)])
    first, second = next(one.levels for one in found if one.factor == "x")
    assert (first.score, second.score) == pytest.approx((0.75, 0.5))
    assert second.difference is not None
    assert second.difference.value == pytest.approx(-0.25)
