"""A metric as a function: what it is given, which queries count, which functions are refused."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from target_bench import Generation, Query, Retrieval, TableId, evaluate, metric, score_answers
from target_bench.core.errors import ConfigError, PluginError
from target_bench.core.metric_function import FunctionMetric, resolve_metric
from target_bench.corpora import load
from target_bench.harness.score import score_rankings
from target_bench.harness.stored import score_again
from target_bench.runs.result import read_run
from tests.builders import Recorder

MINI = load("mini")
QUERIES = [query for query in MINI.queries if query.metadata.get("task") == "question_answering"]


@metric
def short(answer: str, references: Sequence[str]) -> float:
    """Answers of one word."""
    return float(len(answer.split()) == 1)


def _scores(measure: Any, answers: Mapping[str, Generation | str]) -> Any:
    return score_answers(MINI, answers, "qa", metrics=[measure])


def test_the_score_is_the_mean_and_a_failed_answer_counts_zero() -> None:
    answers: dict[str, Generation | str] = {query.id: "two words" for query in QUERIES}
    first, second = QUERIES[0].id, QUERIES[1].id
    answers[first] = "<think>a long thought</think>word"
    answers[second] = Generation(second, "word", error="timeout")
    scored = _scores(short, answers)
    assert scored["short"].value == pytest.approx(1 / len(QUERIES))
    assert scored["short"].n == len(QUERIES)
    assert scored["short"].spec == short.spec


def test_none_leaves_a_query_out() -> None:
    def half(answer: str, query: Query) -> float | None:
        return None if query.id == QUERIES[0].id else 0.5

    scored = _scores(half, {query.id: "x" for query in QUERIES})
    score = scored["half"]
    assert (score.value, score.n) == (0.5, len(QUERIES) - 1)
    assert np.isnan(scored.per_query["half"][0])


def test_where_lower_is_better_a_failed_query_is_left_out() -> None:
    @metric(higher_is_better=False, scale="unbounded")
    def words(answer: str) -> float:
        return float(len(answer.split()))

    score = _scores(words, {QUERIES[0].id: "two words"})["words"]
    assert (score.value, score.n) == (2, 1)
    score = _scores(words, {})["words"]
    assert (np.isnan(score.value), score.n) == (True, 0)


def test_rankings_at_every_cutoff() -> None:
    def near(ranking: Sequence[TableId], gold: Sequence[TableId], k: int) -> bool:
        assert len(ranking) <= k
        return any(table in ranking for table in gold)

    rankings = {query.id: Retrieval(query.id, tuple(MINI.corpus.ids[:5])) for query in MINI.queries}
    scored = score_rankings(MINI, rankings, [1, 5], metrics=[near, short])
    assert {"near@1", "near@5"} <= scored.keys()
    assert "short" not in scored
    for k in (1, 5):
        assert scored.per_query[f"near@{k}"] == pytest.approx(scored.per_query[f"success@{k}"])
        assert scored[f"near@{k}"].low == scored[f"success@{k}"].low


def test_text_names_a_function_of_a_file(tmp_path: Path) -> None:
    """An edited one has another signature."""
    path = tmp_path / "mine.py"
    path.write_text("def same(answer):\n    return 1\n\nNOT = 3\n")
    made = resolve_metric(f"{path}:same")
    assert made.name == "same"
    assert resolve_metric("rougeL").name == "rougeL"
    with pytest.raises(ConfigError, match="no 'two' in"):
        resolve_metric(f"{path}:two")
    with pytest.raises(ConfigError, match="has no settings"):
        resolve_metric(f"{path}:same:a=1")
    path.write_text("def same(answer):\n    return 0\n")
    assert resolve_metric(f"{path}:same").signature != made.signature


def _longer(limit: object) -> FunctionMetric:
    def longer(answer: str) -> bool:
        return len(answer) > limit  # type: ignore[operator]

    return FunctionMetric(longer)


def test_a_function_without_a_hash_has_a_signature_of_its_own() -> None:
    made, other = _longer(object()), _longer(object())
    assert made.signature.startswith("longer|unique:")
    assert made.signature == FunctionMetric(made._function).signature != other.signature


def test_evaluate_takes_functions(tmp_path: Path) -> None:
    results = evaluate(
        "random", "mini", task="qa", metrics=[short, lambda answer: 1.0], limit=5, out=tmp_path
    )
    assert results["random"]["short"].n == 5
    with pytest.raises(
        ConfigError, match="short scores answers, which the task retrieval cannot have"
    ):
        evaluate("random", "mini", metrics=[short], out=tmp_path)


def test_a_run_scored_again_has_the_metrics_it_was_asked_for_with(tmp_path: Path) -> None:
    """A run has those of its last command; one that is gone is named."""
    out = tmp_path / "runs"
    for name in "ab":
        (tmp_path / f"{name}.py").write_text(f"def {name}{name}(ranking):\n    return 1.0\n")
    own = [f"{tmp_path / name}.py:{name}{name}" for name in "ab"]
    evaluate("random", "mini", metrics=own[1:], limit=5, out=out)
    observer = Recorder()
    run = evaluate("random", "mini", metrics=own[:1], limit=5, out=out, observer=observer)["random"]
    assert ("aa" in run.scores, "bb" in run.scores) == (True, False)
    assert any("no longer has bb" in warning for warning in observer.warnings)
    again = score_again(read_run(run.folder), metrics=own[1:], observer=observer)
    assert {"aa", "bb"} <= set(again.scores)
    (tmp_path / "a.py").unlink()
    again = score_again(read_run(run.folder), observer=observer)
    assert ("aa" in again.scores, "bb" in again.scores) == (False, True)
    assert any("a.py:aa before, which is dropped" in warning for warning in observer.warnings)


def test_a_metric_is_not_called_as_a_column_of_results(tmp_path: Path) -> None:
    @metric
    def answer(ranking: Any) -> float:
        return 1.0

    with pytest.raises(ConfigError, match="metric 'answer': results have a column of this name"):
        evaluate("bm25", "mini", metrics=answer, limit=6, out=tmp_path)


def test_values_that_cannot_be_added_up_are_a_fault(tmp_path: Path) -> None:
    """JSON has no Infinity."""

    @metric
    def huge(ranking: Any) -> float:
        return 1e308

    with pytest.raises(PluginError, match="huge: its values are too large to be added up"):
        evaluate("bm25", "mini", metrics=huge, limit=6, out=tmp_path)
