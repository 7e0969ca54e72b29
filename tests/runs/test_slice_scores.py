"""Scores by slice: those that the queries of the part alone would have."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from target_bench import read_run, score_answers, score_rankings
from target_bench.core.errors import ConfigError
from target_bench.core.metric import Score
from target_bench.core.schema import Dataset
from target_bench.data.load import load
from target_bench.data.selection import sample_queries, select_queries
from target_bench.runs.result import Result
from target_bench.runs.score_tables import score_slices, to_document
from target_bench.runs.slicing import divide_by
from tests.builders import Recorder, only
from tests.runs.stored import Runs, copied
from tests.target import TARGET

MINI = load("mini")


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Runs:
    return copied(tmp_path_factory.mktemp("runs"))


@pytest.fixture(scope="module")
def sql(tmp_path_factory: pytest.TempPathFactory) -> Result:
    target = TARGET(
        ("text_to_sql", "mini"), out=tmp_path_factory.mktemp("sql"), observer=Recorder()
    )
    return read_run(only(target.run("random", generator="extractive", top_k=[1, 3])).folder)


def _same(scores: Mapping[str, Score], alone: Mapping[str, Score]) -> None:
    """Value, interval and number of queries of every metric of the run.

    The part alone may have more: those of databases, where all of its queries are about one.
    """
    assert scores.keys() <= alone.keys()
    for metric, mine in scores.items():
        score = alone[metric]
        assert mine.n == score.n, metric
        numbers = [mine.value, mine.low, mine.high], [score.value, score.low, score.high]
        np.testing.assert_allclose(*numbers, rtol=1e-12, atol=1e-12, err_msg=metric)


def _part(dataset: Dataset, run: Result, name: str, value: str) -> Dataset:
    mask = divide_by(run.per_query.properties, name).masks()[value]
    kept = {query_id for query_id, is_in in zip(run.per_query.ids, mask, strict=True) if is_in}
    return replace(dataset, queries=tuple(q for q in dataset.queries if q.id in kept))


@pytest.mark.parametrize("name", ["gold_tables", "task"])
def test_of_rankings(runs: Runs, name: str) -> None:
    run = read_run(runs.bm25)
    for value, scores in run.scores_by(name).items():
        part = _part(MINI, run, name, value)
        rankings = {query.id: run.run.rankings[query.id] for query in part.queries}
        _same(scores, score_rankings(part, rankings, run.identity.top_k))


@pytest.mark.parametrize("task", ["question_answering", "fact_verification"])
def test_of_answers(runs: Runs, task: str) -> None:
    """Corpus BLEU and macro F1 too, which are no means of the queries' values."""
    run = read_run(runs.answers if task == "question_answering" else runs.labels)
    dataset = select_queries(MINI, task)
    for value, scores in run.scores_by("gold_tables").items():
        part = _part(dataset, run, "gold_tables", value)
        answers = {query.id: run.run.answers[query.id] for query in part.queries}
        _same(scores, score_answers(part, answers, task))


@pytest.mark.parametrize("name", ["hardness", "database"])
def test_of_sql(sql: Result, name: str) -> None:
    dataset = select_queries(MINI, "text_to_sql")
    for value, scores in sql.scores_by(name).items():
        part = _part(dataset, sql, name, value)
        answers = {query.id: sql.run.answers[query.id] for query in part.queries}
        _same(scores, score_answers(part, answers, "text_to_sql", sql.run.judgements))
        reported = sql.stored.report["by"][name][value]
        assert reported["queries"] == len(part.queries)
        assert reported["runnable"] == scores["ex[bird]"].n
        for metric, score in scores.items():
            assert reported[metric] == pytest.approx(score.value)
    assert list(sql.stored.report["by"]) == ["hardness", "difficulty", "database", "gold_retrieved"]


def test_some_metrics_of_some_names(runs: Runs, sql: Result) -> None:
    assert list(sql.scores_by("hardness")) == ["easy", "medium", "hard", "extra"]
    run = read_run(runs.bm25)
    parts = run.scores_by("gold_tables", ["mrr"])
    assert {tuple(scores) for scores in parts.values()} == {("mrr",)}
    with pytest.raises(
        ConfigError, match="the queries have no property 'colour'; they have: gold_tables"
    ):
        run.scores_by("colour")
    with pytest.raises(ConfigError, match=r"unknown metric 'bleu'\. Known: recall@1"):
        run.scores_by("gold_tables", ["bleu"])


def test_an_unknown_name_is_reported_before_anything_runs(tmp_path: Path) -> None:
    target = TARGET(("retrieval", "mini"), out=tmp_path, observer=Recorder())
    with pytest.raises(ConfigError, match="the queries have no property 'colour'"):
        target.run("bm25", by="colour")
    assert not list(tmp_path.glob("*/retrieval.jsonl"))


def test_results_hold_them(tmp_path: Path) -> None:
    target = TARGET(("qa", "mini"), out=tmp_path, observer=Recorder())
    result = only(target.run("bm25", limit=40, by=["gold_tables", "gold_tables"]))
    assert score_slices(result) == {"gold_tables": read_run(result.folder).scores_by("gold_tables")}
    asked = sample_queries(select_queries(MINI, "question_answering").queries, 40)
    assert [query.id for query in asked] == result.per_query.ids
    assert to_document(result)["by"]["gold_tables"]["1"]["sacrebleu"]["n"] == sum(
        len(query.gold) == 1 for query in asked
    )
    assert "by gold_tables" in str(result)
