"""Measures of abstention: equal to MTEB's and scikit-learn's, and right for no table chosen."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from target_bench import evaluate, score_rankings
from target_bench.core.errors import ConfigError
from target_bench.core.schema import Dataset, Query, Retrieval
from target_bench.corpora import load
from target_bench.metrics import stats
from target_bench.metrics.abstention import chance_above, confidences, nauc, ranks
from target_bench.metrics.retrieval import parse
from target_bench.metrics.stats import Floats
from target_bench.reporting.compare import compare


def _cases(n_cases: int) -> list[tuple[Floats, Floats]]:
    """Confidences and values, many of them tied; values are not all equal."""
    rng = np.random.default_rng(0)
    cases: list[tuple[Floats, Floats]] = []
    while len(cases) < n_cases:
        n, kind = int(rng.integers(2, 60)), len(cases)
        confidence = (rng.normal(size=n), rng.integers(0, 4, n) * 1.0, np.zeros(n))[kind % 3]
        values = (rng.integers(0, 2, n) * 1.0, rng.random(n), rng.integers(0, 4, n) / 3)[
            kind // 3 % 3
        ]
        if np.ptp(values) > 0:
            cases.append((np.asarray(confidence), np.asarray(values)))
    return cases


def test_nauc_as_mteb() -> None:
    theirs = pytest.importorskip("mteb._evaluators.retrieval_metrics")
    for confidence, values in _cases(360):
        expected = theirs.nauc(confidence, values)
        assert float(nauc(confidence, values)) == pytest.approx(expected, abs=1e-9)
        assert float(nauc(ranks(confidence), values)) == pytest.approx(expected, abs=1e-9)
        left = [np.delete((confidence, values), i, axis=1) for i in range(len(values))]
        if all(np.ptp(v) > 0 for _, v in left):
            alone = [theirs.nauc(*pair) for pair in left]
            assert nauc(confidence, values, leave_one_out=True) == pytest.approx(alone, abs=1e-9)
    for scores in ([], [0.5], [0.1, 0.9, 0.4], [-1.0, -1.0]):
        assert confidences(scores) == pytest.approx(list(theirs.confidence_scores(scores).values()))


def test_chance_above_as_scikit_learn() -> None:
    auc = pytest.importorskip("sklearn.metrics").roc_auc_score
    rng = np.random.default_rng(1)
    for confidence, values in _cases(300):
        none = rng.random(len(values)) < 0.4
        weight = np.where(none, 0, values)
        chance = float(chance_above(none, weight, confidence))
        counts = none | (weight > 0)
        if not none.any() or not weight.any():
            assert np.isnan(chance)
            continue
        weights = np.where(none, 1, weight)[counts]
        area = auc(~none[counts], confidence[counts], sample_weight=weights)
        assert chance == pytest.approx(1 - area)
        alone = [
            float(chance_above(np.delete(none, i), np.delete(weight, i), np.delete(confidence, i)))
            for i in range(len(none))
        ]
        assert chance_above(none, weight, confidence, leave_one_out=True) == pytest.approx(
            alone, nan_ok=True
        )


def _without_answers(every: int = 4) -> Dataset:
    """The mini corpus, where each fourth query is unanswerable."""
    dataset = load("mini")
    queries = [
        replace(q, gold=(), answer="", metadata={"unanswerable": True}) if i % every == 0 else q
        for i, q in enumerate(dataset.queries)
    ]
    return replace(dataset, queries=tuple(queries))


def test_rankings_as_mteb() -> None:
    """A real run; an unanswerable query is to MTEB one whose judged tables are not relevant."""
    theirs = pytest.importorskip("mteb._evaluators.retrieval_metrics")
    dataset = _without_answers()
    run = evaluate("bm25", dataset, task="retrieval", top_k=[1, 10])["bm25"]
    # Of equal scores pytrec_eval takes the name that is last in the alphabet first.
    names = {q: {t: f"{99 - i}" for i, t in enumerate(r.tables)} for q, r in run.rankings.items()}
    retrieved = {
        q: dict(zip(names[q].values(), r.scores, strict=True)) for q, r in run.rankings.items()
    }
    relevant = {
        q.id: {names[q.id].get(t, "lost"): 1 for t in q.gold} or {"none": 0}
        for q in dataset.queries
        if q.id in names
    }
    expected = theirs.calculate_retrieval_scores(retrieved, relevant, [1, 10])
    for name, score in expected.naucs.items():
        _, metric, _, k, confidence = (
            name.replace("NDCG", "ndcg").replace("Recall", "recall").replace("@", "_at_").split("_")
        )
        if metric in ("recall", "ndcg"):
            assert run.scores[f"nauc_{metric}[{confidence}]@{k}"].value == pytest.approx(score)


RANKED = {"a": (0, 3.0), "b": (1, 1.0), "c": (0, 2.0), "d": None, "e": "failed", "f": None}
"""Of each query, whether its first table is gold, and its score; None: no table."""


def _scored() -> Any:
    dataset = load("mini")
    gold, other = dataset.corpus.ids[:2]
    unanswerable = {"unanswerable": True}
    queries = tuple(
        Query(
            name,
            name,
            () if name in "cdef" else (gold,),
            metadata=unanswerable if name in "cdef" else {},
        )
        for name in RANKED
    )
    rankings = {
        name: Retrieval(name, (gold if row[0] == 0 else other,), (row[1],))
        if isinstance(row, tuple)
        else Retrieval(name, (), error="it broke" if row else None)
        for name, row in RANKED.items()
    }
    return score_rankings(replace(dataset, queries=queries), rankings, [1])


def test_by_hand() -> None:
    """Queries a and b have the gold table, which a found; of the others c got a table, e failed."""
    scored = _scored()
    assert scored.counts.unanswerable == 4
    assert (scored.scores["recall@1"].value, scored.scores["recall@1"].n) == (0.5, 2)
    assert np.isnan(scored.per_query["recall@1"][2:]).all()
    assert scored.scores["none_precision"].value == 1.0
    assert scored.scores["none_recall"].value == 0.5
    assert scored.scores["none_f1"].value == pytest.approx(2 / 3)
    # Above a, with 3, is only the failed query.
    assert scored.scores["false_retrieval@1"].value == 0.25


def test_no_answer_needs_no_setting_and_confidence_does(tmp_path: Any) -> None:
    plain = evaluate("bm25", "mini", task="retrieval", top_k=5, out=tmp_path)["bm25"]
    assert not any("nauc" in name or "none" in name for name in plain.scores)
    confident = evaluate("bm25", "mini", task="retrieval:abstention=true", top_k=5, out=tmp_path)[
        "bm25"
    ]
    assert "nauc_ndcg[diff1]@5" in confident.scores
    assert "none_f1" not in confident.scores
    with pytest.raises(ConfigError, match="abstention=true"):
        parse("nauc_recall[max]@1").statistics(_judged())


def _judged() -> Any:
    from target_bench.metrics.retrieval import judge

    return judge([["a"]], [["a"]], 1)


def test_compared_and_sliced(tmp_path: Any) -> None:
    """Stored runs have intervals, tests and parts; scores of parts too."""
    dataset = _without_answers()
    evaluate(["bm25", "tfidf", "oracle"], dataset, task="retrieval", top_k=5, out=tmp_path)
    metrics = ["nauc_recall[max]@5", "false_retrieval@5", "none_f1", "recall@5"]
    rows = compare(sorted(tmp_path.iterdir()), metrics=metrics, resamples=200).rows
    apart = {(row.metric, row.run.split("-")[0]): row.difference for row in rows if row.difference}
    assert {metric for metric, _ in apart} == set(metrics)
    assert all(0 < d.p <= 1 and d.low <= d.value <= d.high for d in apart.values())


def test_swaps_of_two_scales() -> None:
    """The ranks of confidences are swapped: another scale changes neither value nor p."""
    rng = np.random.default_rng(2)
    confidence, values = rng.normal(size=(2, 80)), rng.integers(0, 2, 80) * 1.0
    area = parse("nauc_recall[max]@1")

    def rows(known: Floats) -> Floats:
        return np.column_stack([np.ones(80), values, ranks(known)])

    plain, scaled = (
        stats.compare(rows(confidence[0]), rows(c), area.value, resamples=100, of_rows=True)
        for c in (confidence[1], 40 + np.exp(confidence[1]))
    )
    assert plain == scaled


def test_interval_where_one_query_alone_is_answered() -> None:
    """Without it there is no score, so nothing is known of how far the score would move."""
    chance, statistics = parse("false_retrieval@1"), np.array([[0, 1, 0.9], [1, 0, 0.5], [1, 0, 0]])
    tied = statistics * [1, 1, 0] + [0, 0, 0.5]
    assert stats.interval(chance, tied) == (0, 1)
    low, high = stats.interval_of_difference(chance, tied, statistics)
    assert low < 0 < 0.5 < high
