"""Scores of synthetic questions beside those of people's."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from target_bench import ConfigError, Dataset, compare, read_run, score_rankings
from target_bench.corpora import load
from target_bench.metrics.scores import parse, spec_of
from tests.target import TARGET

K = [1, 5]


@pytest.fixture(scope="module")
def mini() -> Dataset:
    whole = load("mini")
    return replace(whole, queries=tuple(q for q in whole.queries if q.gold)[:40])


def _marked(dataset: Dataset, is_synthetic: Callable[[int], bool]) -> Dataset:
    queries = list(dataset.queries)
    for i, query in enumerate(queries):
        if is_synthetic(i):
            queries[i] = replace(query, metadata={**query.metadata, "synthetic": "template"})
    return replace(dataset, queries=tuple(queries))


def _part(dataset: Dataset, synthetic: bool) -> Dataset:
    return replace(dataset, queries=tuple(q for q in dataset.queries if q.synthetic == synthetic))


def test_each_kind_is_scored_as_if_it_were_alone(mini: Dataset) -> None:
    mixed = _marked(mini, lambda i: i % 3 == 0)
    first = mini.corpus.ids[:5]
    rankings = {q.id: [*q.gold, *(t for t in first if t not in q.gold)][-5:] for q in mini.queries}

    def scored(dataset: Dataset) -> dict[str, tuple[float, float, float, int]]:
        some = {query.id: rankings[query.id] for query in dataset.queries}
        scores = score_rankings(dataset, some, K).scores
        return {name: (s.value, s.low, s.high, s.n) for name, s in scores.items()}

    people = scored(_part(mixed, synthetic=False))
    synthetic = scored(_part(mixed, synthetic=True))
    assert set(people) | set(synthetic) == set(scored(mixed))
    assert set(synthetic) == {f"{name}[synthetic]" for name in people}
    for name, values in scored(mixed).items():
        assert values == pytest.approx((people | synthetic)[name])


def test_signatures_say_so(mini: Dataset) -> None:
    marked = _marked(mini, lambda _: True)
    scores = score_rankings(marked, {q.id: q.gold for q in marked.queries}, K).scores
    assert all("|queries:synthetic|" in score.signature for score in scores.values())
    assert all(score.spec is None for score in scores.values())
    assert "recall@1" in scores
    assert scores.get("recall@1") is scores["recall@1"] is scores["recall@1[synthetic]"]
    assert "recall@9" not in scores
    assert scores.get("recall@9") is None


def test_names_are_read_as_they_are_printed() -> None:
    spec, k = parse("recall@10[synthetic]")
    assert (spec.marks, k) == ("[synthetic]", 10)
    assert spec.at(k) == "recall@10[synthetic]"
    assert spec.label_at(k) == "R@10 [synthetic]"
    assert spec_of("mrr[synthetic]").at() == "mrr[synthetic]"
    assert not spec_of("recall[dup]@10").marks
    assert spec_of("recall[dup]@10[synthetic]").label_at(10) == "R[dup]@10 [synthetic]"
    assert spec_of("recall@5[synthetic][corrected]").at(5) == "recall@5[synthetic][corrected]"
    with pytest.raises(ConfigError, match="with a cutoff"):
        parse("recall[synthetic]")


def test_stored_runs(mini: Dataset, tmp_path: Path) -> None:
    mixed = _marked(mini, lambda i: i % 2 == 0)
    target = TARGET(("retrieval", mixed), out=tmp_path)
    results = [target.run(name, top_k=K)[0] for name in ("bm25", "tfidf")]
    run = read_run(results[0].folder)
    assert {score.n for score in run.scores.values()} == {20}
    assert any("queries:synthetic" in text for text in run.identity.metrics)
    values = run.measured("mrr[synthetic]").values
    assert int(np.isnan(values).sum()) == 20
    compared = compare([result.folder for result in results], metrics=["mrr[synthetic]"])
    whole = compare([result.folder for result in results])
    assert "mrr[synthetic]" in str(compared)
    assert "mrr" in str(whole)
    assert [word in str(results[0]) for word in (" R@1 ", " R@5 ", " synthetic R@1 ")] == [True] * 3
