"""The main metric is declared; where it cannot choose between runs, a note says so."""

import pytest

from target_bench.core.metric import Score
from target_bench.metrics.scores import choose_metric_between_runs, find_main_metric, in_order
from target_bench.tasks.question_answering import QuestionAnswering
from tests.metrics.test_scores import LONG, _queries


def _scores(*values: float) -> dict[str, float]:
    names = ("recall@1", "recall@5", "recall@10", "mrr")
    return dict(zip(names, values, strict=True))


EASY = "too easy to choose at k = 10"


@pytest.mark.parametrize(
    ("runs", "why"),
    [
        ([(0.5, 0.8, 0.9, 0.7)], None),
        ([(0.5, 0.8, 0.9, 0.7), (0.9, 0.9, 0.91, 0.9)], None),
        ([(0.5, 0.8, 1.0, 0.7), (0.9, 0.9, 0.91, 0.9)], None),  # one is perfect
        (
            [(0.925, 1.0, 1.0, 0.95), (0.44, 0.9, 1.0, 0.7)],
            f"recall@10 is 1.000 for both runs: {EASY}; look at recall@1",
        ),
        (
            [(0.925, 1.0, 1.0, 0.95), (0.44, 0.9, 1.0, 0.7), (0.5, 0.7, 0.9, 0.6)],
            f"recall@10 is 1.000 for 2 of 3 runs: {EASY}; look at recall@1",
        ),
        (  # recall@1 ties as well, and so does recall@5
            [(0.5, 0.8, 0.9, 0.7), (0.5, 0.8, 0.9, 0.71)],
            "recall@10 is .900 for both runs: it cannot choose; look at mrr",
        ),
        (
            [(0.5, 0.8, 1.0, 0.7), (0.5, 0.8, 1.0, 0.7)],
            f"recall@10 is 1.000 for both runs: {EASY}",
        ),
        ([(0.5, 0.8, float("nan"), 0.7), (0.4, 0.8, 1.0, 0.7)], None),
    ],
)
def test_main_metric_stays_and_says_where_it_cannot_choose(
    runs: list[tuple[float, ...]], why: str | None
) -> None:
    assert choose_metric_between_runs([_scores(*values) for values in runs]) == ("recall@10", why)


def test_a_cutoff_that_lists_every_table_is_not_the_main_one() -> None:
    """Whatever the scores are: a complete ranking in any order is perfect by it."""
    runs = [_scores(0.5, 0.8, 1, 0.7), _scores(0.4, 0.7, 0.9, 0.6)]
    lists_all = "recall@10 takes in all 7 tables; recall@1 decides"
    assert choose_metric_between_runs(runs, n_tables=7) == ("recall@1", lists_all)
    assert (
        choose_metric_between_runs(runs, n_tables=11)
        == choose_metric_between_runs(runs)
        == ("recall@10", None)
    )
    assert choose_metric_between_runs(runs[:1], n_tables=7) == (
        "recall@10",
        None,
    )  # nothing to choose
    assert choose_metric_between_runs(runs, n_tables=1) == ("recall@10", None)
    easy = [_scores(1, 1, 1, 1), _scores(1, 1, 1, 1)]
    why = "recall@1 is 1.000 for both runs: too easy to choose at k = 1"
    assert choose_metric_between_runs(easy, n_tables=7) == ("recall@1", why)


def test_on_several_corpora_it_cannot_choose_only_if_it_cannot_on_each() -> None:
    easy = [_scores(0.9, 1, 1, 0.95), _scores(0.4, 0.9, 1, 0.7)]
    hard = [_scores(0.9, 0.9, 0.95, 0.9), _scores(0.4, 0.9, 0.92, 0.7)]
    assert choose_metric_between_runs(easy, hard) == ("recall@10", None)
    why = "recall@10 cannot choose between the best runs on any set of queries; look at recall@1"
    assert choose_metric_between_runs(easy, easy) == ("recall@10", why)


def test_task_declares_its_main_metric() -> None:
    """Whatever the ranks of metrics and the scores are."""
    names = ["sacrebleu", "rougeL", "exact_match", "token_f1"]
    scores = {name: Score(0.5, 0.4, 0.6, 10, "") for name in names}
    for main in names:
        assert find_main_metric(in_order(scores, main)) == main
    assert list(in_order(scores, "denotation")) == names
    task = QuestionAnswering()
    assert task.main_metric(_queries("Rome")) == "exact_match"
    assert task.main_metric(_queries(LONG)) == "sacrebleu"
