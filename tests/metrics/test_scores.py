"""Which metrics speak for a run."""

import pytest

from target_bench.core.metric import Score
from target_bench.core.schema import Query, TableId
from target_bench.metrics.scores import (
    canonical_name,
    find_main_metric,
    have_short_answers,
    in_order,
    list_answer_metrics,
    list_main_metrics,
    parse,
)
from tests.target import TARGET

LONG = "He won the race in a time of two hours"
RECORDED = ["sacrebleu", "rougeL", "exact_match", "token_f1"]


def _queries(*answers: str | tuple[str, ...]) -> list[Query]:
    return [Query(f"q{i}", "?", (TableId("", "t"),), a) for i, a in enumerate(answers)]


@pytest.mark.parametrize(
    ("answers", "short"),
    [
        (["Rome"], True),
        (["a b c d"], True),
        (["a b c d e"], False),
        ([LONG, "Rome", "1896"], True),
        ([LONG, LONG, "1896"], False),
        ([(LONG, "Rome"), LONG, "1"], True),
        ([], False),
        ([""], False),
    ],
)
def test_short_answers(answers: list[str | tuple[str, ...]], short: bool) -> None:
    """In the median over queries, each by its shortest reference."""
    assert have_short_answers(_queries(*answers)) is short


def test_what_leads_depends_on_the_references() -> None:
    scores = {name: Score(0.5, 0.4, 0.6, 10, "") for name in RECORDED}
    long, short = in_order(scores, "sacrebleu"), in_order(scores, "exact_match")
    assert list(long) == RECORDED
    assert list(short) == ["exact_match", "sacrebleu", "rougeL", "token_f1"]
    assert list_answer_metrics(long) == ["sacrebleu", "rougeL", "exact_match", "token_f1"]
    assert list_answer_metrics(["recall@1", *short]) == list_main_metrics(["recall@1", *short])
    assert list_main_metrics(list(short)) == ["exact_match", "token_f1"]
    every = ["exact_match", "token_f1", "sacrebleu", "rougeL"]
    assert list_answer_metrics(short, include_long=True) == every
    assert (find_main_metric(list(long)), find_main_metric(["mrr", *short])) == (
        "sacrebleu",
        "exact_match",
    )


def test_a_run_records_its_scores_in_this_order(tmp_path: object) -> None:
    (result,) = TARGET(("qa", "mini"), out=f"{tmp_path}").run("bm25", top_k=[1], limit=20)
    assert find_main_metric(list(result.scores)) == "exact_match"
    printed = str(result)
    assert printed.index("exact") < printed.index("token_f1")
    assert "sacrebleu" not in printed
    assert "rougeL" not in printed
    assert {"sacrebleu", "rougeL"} <= set(result.scores)


@pytest.mark.parametrize(
    ("name", "ours"),
    [
        ("perfect_recall", "complete_recall"),
        ("perfect_recall@5", "full_recall@5"),
        ("table_precision", "set_precision"),
        ("table_recall", "set_recall"),
        ("table_recall@20", "recall@20"),
        ("table_f1", "set_f1"),
        ("table_f1@5", "table_f1@5"),
        ("recall@10", "recall@10"),
    ],
)
def test_names_in_papers(name: str, ours: str) -> None:
    assert canonical_name(name) == ours
    if ours != name:
        spec, k = parse(name)
        assert spec.at(k) == ours
