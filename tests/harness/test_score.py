"""Scoring in memory gives what a run gives, and says what is wrong with what it is given."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from target_bench import judge_answers, score_answers, score_rankings
from target_bench.core.errors import ConfigError, DataError, PluginError
from target_bench.core.metric import Metric, MetricSpec
from target_bench.core.registry import make_task
from target_bench.core.schema import Generation, Retrieval, TableId
from target_bench.data.load import load
from target_bench.data.selection import select_queries
from target_bench.harness.score import Scores
from target_bench.harness.score_external import score_file
from target_bench.runs.record_log import ANSWERS, RANKINGS
from target_bench.runs.result import Result
from tests.builders import Recorder, only
from tests.harness.judged import SPREAD
from tests.target import TARGET

MINI = select_queries(load("mini"), "retrieval")
SQL = replace(MINI, queries=tuple(SPREAD))


def _run(out: Path, task: str, **more: Any) -> Result:
    target = TARGET((task, "mini"), out=out, observer=Recorder())
    return only(target.run(more.pop("retriever", "bm25"), **more))


def _same(scored: Scores[Any], result: Result) -> None:
    """The scores, values and counts of a run, as far as they were computed."""
    assert sorted(scored.query_ids) == result.per_query.ids
    order = np.argsort(scored.query_ids)
    for name, score in scored.items():
        assert result.scores[name] == score
        np.testing.assert_array_equal(scored.per_query[name][order], result.per_query.values[name])


def test_rankings_of_a_run(tmp_path: Path) -> None:
    """As they are stored, and as ids alone."""
    result = _run(tmp_path, "retrieval", top_k=[1, 5, 10])
    stored = RANKINGS.read(result.folder)
    scored = score_rankings(MINI, stored, [10, 1, 5])
    _same(scored, result)
    assert (scored.keys(), scored.counts) == (result.scores.keys(), result.stored.counts)
    bare = {query_id: retrieval.tables for query_id, retrieval in stored.items()}
    _same(score_rankings(MINI, bare, [1, 5, 10]), result)
    assert len(list(tmp_path.iterdir())) == 1


@pytest.mark.parametrize(
    ("task", "read", "unread"),
    [
        ("table-to-text", "predictions", "run_file"),  # about tables that are given
        ("qa", "predictions", "run_file"),
        ("retrieval", "run_file", "predictions"),
        ("retrieval", "run_file", "order"),
    ],
)
def test_a_file_that_the_task_does_not_read_is_refused(task: str, read: str, unread: str) -> None:
    files: dict[str, Any] = {read: "nowhere", unread: "elsewhere"}
    with pytest.raises(ConfigError, match=f"^{unread}='elsewhere': .* does not read it"):
        score_file(task, "mini", **files)


def test_scored_tables_are_put_in_order_and_cut() -> None:
    query, ids = MINI.queries[0], MINI.corpus.ids
    gold = query.gold[0]
    others = [table for table in ids if table != gold][:5]
    pairs = [*((table, 0.1 * i) for i, table in enumerate(others)), (gold, 3.0)]
    dataset = replace(MINI, queries=(query,))
    scored = score_rankings(dataset, {query.id: pairs}, [1, 3])
    assert scored["success@1"].value == 1
    assert (scored.counts.resorted, scored.counts.short) == (1, 0)
    behind = score_rankings(dataset, {query.id: [*others, gold]}, 3)
    assert behind["mrr"].value == 0, "the rest of a longer ranking is left out"


def test_a_ranking_at_a_cutoff_is_the_one_that_was_returned_at_it() -> None:
    """Of a retriever whose ranking depends on k; also where a larger cutoff is on disk."""
    query, ids = MINI.queries[0], MINI.corpus.ids
    gold = query.gold[0]
    others = tuple(table for table in ids if table != gold)[:20]
    at = {5: others[:5], 10: (gold, *others[:9])}
    ranking = Retrieval(query.id, others, at=at)
    dataset = replace(MINI, queries=(query,))
    values = {
        ks: score_rankings(dataset, {query.id: ranking}, list(ks))
        for ks in ((5, 10, 20), (5, 10), (5,))
    }
    for ks, scores in values.items():
        found = {k: scores[f"recall@{k}"].value for k in ks}
        assert found == {k: float(k == 10) for k in ks}
    unknown = replace(ranking, at={5: (TableId("0", "nope"),)})
    with pytest.raises(DataError, match="nope"):
        score_rankings(dataset, {query.id: unknown}, 5)
    deep = {query.id: Retrieval(query.id, (*others[:10], gold))}
    assert score_rankings(dataset, deep, 10)["mrr"].value == 0, "cut as a list is"


def test_scores_fit_in_a_line() -> None:
    text = repr(score_rankings(MINI, {q.id: q.gold for q in MINI.queries}, 10))
    assert text.startswith("Scores(recall@10 1.000 [")
    assert text.endswith(f", ...; {len(MINI.queries)} queries)")


def test_a_missing_ranking_counts_as_wrong() -> None:
    gold = {query.id: query.gold for query in MINI.queries}
    missing = gold.pop(MINI.queries[3].id)
    assert missing
    scored = score_rankings(MINI, gold, 10)
    n = len(MINI.queries)
    assert (scored.counts.asked, scored.counts.answered, scored.counts.failed) == (n, n - 1, 1)
    assert scored["success@10"].value == pytest.approx((n - 1) / n)
    assert scored.per_query["success@10"][3] == 0


FIRST = MINI.queries[0].id


@pytest.mark.parametrize(
    ("rankings", "message"),
    [
        ({FIRST: [("no", "table")]}, r"its ranking holds \('no', 'table'\), which is not the"),
        ({FIRST: Retrieval(FIRST, (MINI.corpus.ids[0],) * 2)}, "the table .* twice"),
        ({FIRST: Retrieval("another", ())}, "its ranking is of the query 'another'"),
        ({"nowhere": []}, "1 of 1 rankings are of queries that mini test does not"),
    ],
)
def test_rankings_that_cannot_be_scored(rankings: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        score_rankings(MINI, rankings)


@pytest.mark.parametrize("task", ["qa", "fact_verification"])
def test_answers_of_a_run(tmp_path: Path, task: str) -> None:
    result = _run(tmp_path, task, top_k=5)
    stored = ANSWERS.read(result.folder)
    scored = score_answers(MINI, stored, task)
    _same(scored, result)
    assert scored.counts == result.stored.answers
    assert (scored.report or {}) == result.stored.report
    texts = {query_id: answer.text for query_id, answer in stored.items()}
    _same(score_answers(MINI, texts, task), result)


def test_answers_in_sql(monkeypatch: pytest.MonkeyPatch) -> None:
    """They are judged first; then nothing is executed, but after a change of the judge."""
    answers = {query.id: str(query.answer) for query in SPREAD}
    task = make_task("text-to-sql:workers=1")
    judgements = judge_answers(SQL, answers, task)
    scored = score_answers(SQL, answers, "sql", judgements)
    assert scored["ex[bird]"].value == 1
    assert scored.report is not None
    assert scored.report["outcomes"] == {"correct": len(SPREAD)}
    assert judge_answers(SQL, answers, task, known=judgements) == judgements
    first = SPREAD[0].id
    changed = judge_answers(SQL, answers | {first: "SELECT -1"}, task, known=judgements)
    assert {key for key in changed if changed[key] != judgements[key]} == {first}
    elsewhere = {first: Retrieval(first, (TableId(SPREAD[-1].database_id, "t"),))}
    ranked = judge_answers(SQL, answers, task, elsewhere, judgements)
    assert ranked[first].record["verdict"] == "unknown_table"
    with monkeypatch.context() as patch:
        patch.setattr("target_bench.tasks.text_to_sql.JUDGING_VERSION", "judging:next")
        again = judge_answers(SQL, answers, task, known=judgements)
    assert all(again[key].fingerprint != judgements[key].fingerprint for key in judgements)
    judgements.pop(first)
    with pytest.raises(DataError, match=rf"1 of {len(SPREAD)} answers are not judged.*{first}"):
        score_answers(SQL, answers, "text_to_sql", judgements)


def test_what_cannot_be_scored_so() -> None:
    with pytest.raises(DataError, match=r"1 of 1 answers are of queries .* the first is 'nowhere'"):
        score_answers(MINI, {"nowhere": "Paris"}, "qa")
    with pytest.raises(DataError, match="its answer is to the query 'another'"):
        score_answers(MINI, {FIRST: Generation("another", "Paris")}, "qa")
    with pytest.raises(ConfigError, match="score them with score_rankings"):
        score_answers(MINI, {}, "retrieval")
    with pytest.raises(ConfigError, match="has no judge"):
        judge_answers(MINI, {}, "qa")
    with pytest.raises(ConfigError, match="is about the task question_answering"):
        score_answers(SQL, {}, "qa")


def test_rankings_of_the_whole_split_score_as_the_run_does(tmp_path: Path) -> None:
    """Queries that a split does not rank, as those of tasks with tables, are in no score."""
    result = only(TARGET(("retrieval", "mini"), out=tmp_path, observer=Recorder()).run("bm25"))
    scores = score_rankings(load("mini"), result.run.rankings)
    assert scores["recall@10"] == result["recall@10"]
    assert scores.counts == result.stored.counts
    with pytest.raises(ConfigError, match="score them with score_answers"):
        score_rankings(MINI, {}, task="qa")


def test_statistics_are_those_of_the_ranking_at_the_cutoff() -> None:
    ids = MINI.corpus.ids
    rankings = {q.id: Retrieval(q.id, tuple(ids[:10]), at={5: (q.gold[0],)}) for q in MINI.queries}
    scores = score_rankings(MINI, rankings, [5, 10])
    for name, values in scores.per_query.items():
        if name not in scores.statistics and name.endswith("@5"):
            assert np.nanmean(values) == pytest.approx(scores[name].value), name
    name = "capped_recall[target]@5"
    rows = scores.statistics.get(name)
    if rows is not None:
        assert rows[:, 0].sum() / rows[:, 1].sum() == pytest.approx(scores[name].value)


@pytest.mark.parametrize(
    ("values", "fault"), [([np.nan], "has NaN"), ([np.inf, -np.inf], "too large to be added up")]
)
def test_statistics_that_are_no_numbers_are_refused(values: list[float], fault: str) -> None:
    class Unknown(Metric[Any]):
        spec = MetricSpec("unknown", scores="texts")
        signature = "unknown|v1"

        def statistics(self, examples: Any) -> Any:
            return np.resize(values, (2, len(examples.texts))).T

        def value(self, totals: Any) -> Any:
            return totals[..., 0] / totals[..., 1]

    with pytest.raises(PluginError, match=fault):
        score_answers(MINI, {}, "qa", metrics=[Unknown()])


@pytest.mark.parametrize(
    "metadata",
    [{"values": 3}, {"values": "Paris"}, {"values": ["a", "b"], "canonical_values": ["a"]}],
)
def test_values_that_are_no_list_are_refused(metadata: dict[str, Any]) -> None:
    query = replace(MINI.queries[0], metadata=metadata)
    with pytest.raises(DataError, match="metadata values="):
        score_answers(replace(MINI, queries=(query,)), {query.id: "Paris"}, "qa")
