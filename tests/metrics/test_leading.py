"""Which metric decides between runs: by saturation alone, never by a test."""

import pytest

from target_bench.metrics.scores import leading


def _scores(*values: float) -> dict[str, float]:
    names = ("recall@1", "recall@5", "recall@10", "mrr")
    return dict(zip(names, values, strict=True))


@pytest.mark.parametrize(
    ("runs", "metric", "why"),
    [
        ([(0.5, 0.8, 0.9, 0.7)], "recall@10", None),
        ([(0.5, 0.8, 0.9, 0.7), (0.9, 0.9, 0.91, 0.9)], "recall@10", None),
        ([(0.5, 0.8, 1.0, 0.7), (0.9, 0.9, 0.91, 0.9)], "recall@10", None),  # one is perfect
        (
            [(0.925, 1.0, 1.0, 0.95), (0.44, 0.9, 1.0, 0.7)],
            "recall@1",
            "recall@10 is 1.000 for both runs: these questions are too easy to choose at k=10; "
            "recall@1 decides",
        ),
        (
            [(0.925, 1.0, 1.0, 0.95), (0.44, 0.9, 1.0, 0.7), (0.5, 0.7, 0.9, 0.6)],
            "recall@1",
            "recall@10 is 1.000 for 2 of 3 runs: these questions are too easy to choose at k=10; "
            "recall@1 decides",
        ),
        (  # recall@1 ties as well, and so does recall@5
            [(0.5, 0.8, 0.9, 0.7), (0.5, 0.8, 0.9, 0.71)],
            "mrr",
            "recall@10 is .900 for both runs; mrr decides",
        ),
        ([(0.5, 0.8, 1.0, 0.7), (0.5, 0.8, 1.0, 0.7)], "recall@10", None),  # equal in all
        (  # two are perfect in all, and one is not at 1
            [(1.0, 1.0, 1.0, 1.0), (1.0, 1.0, 1.0, 1.0), (0.2, 0.6, 1.0, 0.4)],
            "recall@1",
            "recall@10 is 1.000 for all 3 runs: these questions are too easy to choose at k=10; "
            "recall@1 decides",
        ),
        ([(1.0, 1.0, 1.0, 1.0), (1.0, 1.0, 1.0, 1.0), (0.2, 0.6, 0.9, 0.4)], "recall@10", None),
        ([(0.5, 0.8, float("nan"), 0.7), (0.4, 0.8, 1.0, 0.7)], "recall@10", None),
    ],
)
def test_a_saturated_metric_does_not_lead(
    runs: list[tuple[float, ...]], metric: str, why: str | None
) -> None:
    assert leading([_scores(*values) for values in runs]) == (metric, why)


def test_a_cutoff_that_lists_every_table_does_not_lead() -> None:
    """One retriever alone returns short rankings, so that nothing is saturated."""
    runs = [_scores(0.5, 0.8, 1, 0.7), _scores(0.4, 0.7, 0.9, 0.6)]
    lists_all = "recall@10 takes in all 7 tables; recall@1 decides"
    assert leading(runs, n_tables=7) == ("recall@1", lists_all)
    assert leading(runs, n_tables=11) == leading(runs) == ("recall@10", None)
    assert leading(runs[:1], n_tables=7) == ("recall@10", None)  # nothing to decide
    assert leading(runs, n_tables=1) == ("mrr", "recall@10 takes in all 1 table; mrr decides")


def test_on_several_corpora_it_is_saturated_only_if_it_is_on_each() -> None:
    easy = [_scores(0.9, 1, 1, 0.95), _scores(0.4, 0.9, 1, 0.7)]
    hard = [_scores(0.9, 0.9, 0.95, 0.9), _scores(0.4, 0.9, 0.92, 0.7)]
    assert leading(easy, hard) == ("recall@10", None)
    metric, why = leading(easy, easy)
    assert (metric, why) == (
        "recall@1",
        "recall@10 does not tell the best runs apart on any set of queries; recall@1 decides",
    )
    alone = [_scores(0.5, 0.5, 0.5, 0.5)]
    assert leading(hard, alone)[0] == "recall@10"
