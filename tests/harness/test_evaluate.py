"""``evaluate``, the function that users call."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from target_bench import (
    ConfigError,
    Corpus,
    PluginError,
    Retriever,
    TableId,
    evaluate,
    load,
    metric,
    read_run,
    read_runs,
)
from target_bench.data.selection import select_queries
from target_bench.reporting.conclusions import conclude
from target_bench.reporting.sentences import describe_run
from target_bench.retrievers.bounds import Oracle
from target_bench.runs.result import read_main_metric
from target_bench.tasks.retrieval import TableRetrieval
from tests.builders import Counting, Recorder


def test_a_name_an_object_and_a_list_of_them(tmp_path: Path) -> None:
    results = evaluate(["bm25", Counting()], "mini", top_k=[1, 10], out=tmp_path, limit=20)
    assert [result.command.label for result in results] == ["bm25", "Counting"]
    assert 0 <= results["Counting"]["recall@10"].value < results["bm25"]["recall@10"].value <= 1
    assert {run.folder for run in read_runs(tmp_path)} == {result.folder for result in results}


def test_a_dataset_and_a_task(tmp_path: Path) -> None:
    options = {"task": "qa", "generator": "gold", "out": tmp_path, "limit": 5}
    results = evaluate("bm25", load("mini"), observer=Recorder(), **options)  # type: ignore[arg-type]  # of evaluate
    assert results["bm25 + gold"]["exact_match"].value == 1
    assert results["bm25"]["recall@10"].n == 5, "that of its rankings"
    with pytest.raises(ConfigError, match="unknown task"):
        evaluate("bm25", "mini", task="no-such", out=tmp_path)


class LastGold(Retriever):
    """A bound of our own: one gold table of each query."""

    reads_gold = True

    def embed_corpus(self, corpus: Corpus) -> None:
        pass

    def retrieve(self, query: Any, top_k: int) -> list[TableId]:
        return [query.gold[-1]]


class FirstTwo(Retriever):
    """A set of two tables."""

    returns_sets = True

    def embed_corpus(self, corpus: Corpus) -> None:
        self.ids = list(corpus.ids)[:2]

    def retrieve(self, query: str, top_k: int) -> list[TableId]:
        return self.ids[:top_k]


def test_a_retriever_of_sets_is_scored_by_them(tmp_path: Path) -> None:
    """Beside one that ranks, and before answers; a task that says so decides otherwise."""
    results = evaluate([FirstTwo(), "bm25"], "mini", out=tmp_path, limit=9)
    assert results["FirstTwo"]["set_size"].value == 2
    assert results["FirstTwo"]["perfect_recall"].value == results["FirstTwo"]["success@5"].value
    assert "set_size" not in results["bm25"]
    assert str(results).count("complete_recall") == 1
    said = " ".join(describe_run(list(results)))
    assert "FirstTwo returns 2.0 tables per question: compare set_f1 (run all with --task" in said
    (answered,) = evaluate(FirstTwo(), "mini", task="qa", generator="gold", out=tmp_path, limit=9)
    assert answered["set_size"].value == 2
    (plain,) = evaluate(FirstTwo(), "mini", task="retrieval:sets=false", out=tmp_path, limit=9)
    assert "set_size" not in plain


class ByReciprocalRank(TableRetrieval):
    name = "by_reciprocal_rank"
    main = "mrr"


def test_a_ranking_task_declares_the_metric_that_decides(tmp_path: Path) -> None:
    (result,) = evaluate("bm25", "mini", task=f"{__file__}:ByReciprocalRank", out=tmp_path)
    assert read_main_metric(result) == "mrr"
    (plain,) = evaluate("bm25", "mini", out=tmp_path)
    assert read_main_metric(plain) == "recall@10"


@metric
def is_found(ranking: Any) -> float:
    """Queries with any table."""
    return float(len(ranking) > 0)


def test_a_run_is_reused_if_nothing_was_left_to_do(tmp_path: Path) -> None:
    def is_reused(**options: Any) -> bool:
        observer = Recorder()
        (result,) = evaluate("bm25", "mini", limit=5, out=tmp_path, observer=observer, **options)
        return result.run.reused

    assert [is_reused(), is_reused()] == [False, True]
    assert [is_reused(metrics=[is_found]) for _ in range(2)] == [False, True]
    assert [is_reused(), is_reused()] == [False, True]
    for scores in tmp_path.glob("*/scores.json"):
        scores.unlink()
    assert [is_reused(), is_reused()] == [False, True]


@pytest.mark.parametrize("tasks", [("qa", "retrieval"), ("retrieval", "qa")])
def test_rankings_of_all_queries_are_for_themselves_too(tmp_path: Path, tasks: Any) -> None:
    """Whichever task came first; those that answers alone asked for are not."""
    whole = load("mini")
    dataset = replace(whole, queries=select_queries(whole, "question_answering").queries)
    for task in tasks:
        (result,) = evaluate("bm25", dataset, task=task, generator="empty", out=tmp_path / "runs")
        (other,) = evaluate("bm25", whole, task="qa", generator="empty", out=tmp_path / "part")
        assert read_run(other.rankings_result.folder).command.ranks_for_answers
    assert not read_run(result.rankings_result.folder).command.ranks_for_answers


def test_a_retriever_has_one_name(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="name='theirs': 'ours=bm25' has a name already"):
        evaluate("ours=bm25", "mini", name="theirs", out=tmp_path)


def test_bounds_are_retrievers_that_read_gold(tmp_path: Path) -> None:
    retrievers: list[Any] = [LastGold(), "oracle", "no-context"]
    results = evaluate(retrievers, "mini", out=tmp_path, limit=9, latency=3)
    recall = {result.command.label: result["recall@10"].value for result in results}
    assert recall["no-context"] == 0
    assert 0 < recall["LastGold"] <= recall["oracle"] == 1
    with pytest.raises(PluginError, match="or be part of another retriever"):
        evaluate("hybrid:retrievers=[oracle,bm25]", "mini", out=tmp_path, limit=10)


def test_a_bound_is_one_under_any_name(tmp_path: Path) -> None:
    at = "target_bench.retrievers.bounds"
    bounds: list[Any] = [LastGold(), "best=oracle", Oracle(), f"{at}:Oracle", "best2=no-context"]
    results = evaluate([*bounds, "random", "bm25"], "mini", out=tmp_path, limit=60)
    systems = [result.command.label for result in results if not result.identity.is_bound]
    assert systems == ["random", "bm25"]
    assert len(results) > len(systems) + 2
    sentences = " ".join(describe_run(list(results)))
    assert "Oracle" not in sentences
    assert "LastGold" not in sentences
    (shown,) = conclude(results)
    assert {str(folder) for folder in shown.rankings[0].runs.values()} == {
        str(results["bm25"].folder),
        str(results["random"].folder),
    }
