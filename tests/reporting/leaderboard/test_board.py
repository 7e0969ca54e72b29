"""Which runs stand in one column, what the tests say of them, and the mean over corpora."""

from itertools import product
from math import nan
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from target_bench.core.errors import DataError
from target_bench.core.metric import Score
from target_bench.reporting.leaderboard.board import boards, column_tests, for_boards, mean_score
from target_bench.reporting.leaderboard.entry import Entry
from tests.reporting.leaderboard.small import (
    answers,
    board,
    card,
    changed,
    entry,
    hashed,
    recalls,
    retrieval,
    scores,
)

SHOWN = board()[:5]
"""All but the rejected one."""


def _board(*made: Entry, task: str = "retrieval") -> dict[str, Any]:
    return next(data for data in boards(made) if data["task"] == task)


def _cells(data: dict[str, Any], name: str, metric: str) -> dict[str, Any]:
    """Row -> cell of a column."""
    (i,) = (i for i, c in enumerate(data["columns"]) if (c["data"], c["metric"]) == (name, metric))
    return {row["name"]: row["cells"][i] for row in data["rows"]}


def _heads(data: dict[str, Any]) -> list[tuple[str, str]]:
    return [(column["data"], column["metric"]) for column in data["columns"]]


def _notes(data: dict[str, Any]) -> list[str]:
    return list(dict.fromkeys(column["note"] for column in data["columns"] if column["note"]))


def test_columns_rows_and_ranks() -> None:
    data = _board(*SHOWN)
    assert data["title"] == "Table Retrieval"
    assert (data["cutoffs"], data["k"], data["mean_of"]) == ([1, 5, 10], 10, ["alpha", "beta"])
    assert _heads(data)[:3] == [("Mean of 2 corpora", f"recall@{k}") for k in (1, 5, 10)]
    alpha = [metric for name, metric in _heads(data) if name == "alpha test"]
    assert alpha == ["recall@1", "recall@5", "recall@10", "mrr", "ms"]
    recall = _cells(data, "alpha test", "recall@10")
    assert {name: cell["value"] for name, cell in recall.items()} == {
        "Plain BM25": 0.6, "Best, by far": 0.95, "Close": 0.93333, "Odd one": 0.3, "Untold": 0.55,
    }  # fmt: skip
    assert (recall["Best, by far"]["low"], recall["Best, by far"]["high"]) == (0.85, 1.0)
    assert [row["name"] for row in data["rows"]] == [
        "Best, by far", "Plain BM25", "Odd one", "Close", "Untold",
    ]  # fmt: skip
    assert [row["rank"] for row in data["rows"]] == [1, 2, 3, None, None]
    assert [row["part"] for row in data["rows"]] == [None, None, None, "1 of 2", "1 of 2"]
    times = _cells(data, "alpha test", "ms")
    assert times["Close"]["value"] == 1.0
    assert times["Untold"] is None
    trained = {row["name"]: row["trained"] for row in data["rows"]}
    assert trained["Best, by far"] == {"alpha": "yes", "beta": "no"}
    assert trained["Untold"] == {"alpha": "unknown"}
    assert [name for name, cell in recall.items() if cell["best"]] == ["Best, by far"]
    assert "p" not in recall["Best, by far"], "it is not tested against itself"
    assert recall["Close"]["p"] >= 0.05, "one query less"
    assert max(recall[name]["p"] for name in ("Plain BM25", "Odd one", "Untold")) < 0.05


def test_ranks_come_from_tests_of_every_two_systems() -> None:
    """Golden: sign tests by scipy, Holm by hand over six pairs.

    Between 1 and 17 of 20 queries differ, all in favour of the better one. Corrected, a and b have
    p = 1 and c and d .0625; every other two are apart.
    """
    values = {
        name: np.arange(20, dtype=np.float32) < right
        for name, right in {"a": 19, "b": 18, "c": 8, "d": 2}.items()
    }
    p_values = sorted(binomtest(n, n).pvalue for n in (1, 10, 6, 11, 16, 17))
    assert [p * (6 - i) < 0.05 for i, p in enumerate(p_values)] == [True] * 4 + [False] * 2
    against_best, ranks = column_tests(
        list(values), {n: x.astype(np.float32) for n, x in values.items()}
    )
    assert ranks == {"a": (1, 2), "b": (1, 2), "c": (3, 4), "d": (3, 4)}
    against_a = sorted(binomtest(n, n).pvalue for n in (1, 11, 17))
    holm = [3 * against_a[0], 2 * against_a[1], against_a[2]]
    assert sorted(against_best.values()) == pytest.approx(holm)


def test_ranges_of_ranks_overlap_and_do_not_chain() -> None:
    """Each of five is near the next one, and the first is far from the last."""
    values = {n: (np.arange(40) < 38 - 4 * i).astype(np.float32) for i, n in enumerate("abcde")}
    assert column_tests(list(values), values)[1] == {
        "a": (1, 3), "b": (1, 4), "c": (1, 5), "d": (2, 5), "e": (3, 5)
    }  # fmt: skip
    ones, zeros = np.ones(30, np.float32), np.zeros(30, np.float32)
    _, ranks = column_tests(["a", "bleu", "b"], {"a": ones, "b": zeros})
    assert ranks == {"a": (1, 1), "b": (2, 2)}, "a score that is no mean has none"
    assert column_tests(["bleu", "a", "b"], {"a": ones, "b": zeros})[0] == {}
    assert column_tests(["a", "b"], {"a": ones}) == ({}, {})


@pytest.mark.parametrize("metric", ["complete_recall", "set_f1"])
def test_metrics_beside_recall_are_tested(metric: str) -> None:
    systems = []
    for name, share in (("far", 0.2), ("near", 0.9)):
        values = {"recall@10": recalls(share), metric: recalls(share)}
        run = retrieval(share, scores=scores(values), per_query=values)
        systems.append(for_boards(entry(name, run)))
    cells = _cells(_board(*systems), "alpha test", metric)
    assert {name: cell["ranks"] for name, cell in cells.items()} == {"Near": (1, 1), "Far": (2, 2)}


def test_retrievers_of_an_entry_with_the_same_label_are_numbered() -> None:
    first = retrieval(0.5, retriever_identity={"config": {"model": "a"}})
    second = retrieval(0.7, retriever_identity={"config": {"model": "b"}})
    data = _board(entry("a", first, second, retrieval(0.9, retriever="tfidf")))
    labels = sorted(row["retriever"] for row in data["rows"])
    assert labels == ["dense:model=m (1)", "dense:model=m (2)", "tfidf"]


def test_no_mean_where_no_system_has_all() -> None:
    data = _board(entry("a", retrieval(0.5)), entry("b", retrieval(0.6, "beta")))
    assert data["mean_of"] == []
    assert [row["name"] for row in data["rows"]] == ["A", "B"]


def test_the_mean_is_over_the_corpora_of_half_of_the_systems() -> None:
    both = entry("a", retrieval(0.5), retrieval(0.5, "beta"))
    assert _board(both, entry("b", retrieval(0.6)))["mean_of"] == ["alpha", "beta"]
    assert _board(both, entry("b", retrieval(0.6)), entry("c", retrieval(0.7)))["mean_of"] == []


def test_scores_that_are_no_mean_over_queries_are_not_tested() -> None:
    systems = []
    for name, share in (("far", 0.2), ("near", 0.9)):
        run = answers(share, retrieval(share))
        others = {**run.scores, "accuracy": Score(share / 2, 0.0, 1.0, 60, "s")}
        systems.append(entry(name, changed(run, scores=others)))
    cells = _cells(_board(*systems, task="fact_verification"), "alpha test", "accuracy")
    assert not any(cell.keys() & {"p", "ranks"} for cell in cells.values())
    assert {name: cell["best"] for name, cell in cells.items()} == {"Near": True, "Far": False}


def test_answers_have_a_board_with_a_row_for_each_generator() -> None:
    data = _board(*SHOWN, task="fact_verification")
    assert [(row["name"], row["generator"]) for row in data["rows"]] == [
        ("Best, by far", "extractive"),
        ("Best, by far", "other:model=x"),
        ("Plain BM25", "extractive"),
    ]
    metrics = [metric for _, metric in _heads(data)]
    assert metrics == ["accuracy", "recall@1", "recall@5", "recall@10", "failed", "ms/answer"]
    assert {cell["value"] for cell in _cells(data, "alpha test", "failed").values()} == {3.0}


def test_rankings_of_another_tasks_queries_stand_on_its_page_alone() -> None:
    basis = retrieval(0.5, basis=True, about="fact_verification")
    (data,) = boards([entry("a", basis, answers(0.5, basis))])
    assert data["task"] == "fact_verification"


@pytest.mark.parametrize("change", [
    {"corpus_fingerprint": hashed("other")},
    {"queries_fingerprint": hashed("other")},
])  # fmt: skip
def test_other_data_are_another_column(change: dict[str, Any]) -> None:
    data = _board(entry("a", retrieval(0.5)), entry("b", changed(retrieval(0.9), **change)))
    notes = _notes(data)
    assert len(notes) == 2
    assert all(note.startswith("60 queries, tables ") and ", queries " in note for note in notes)
    cells = [cell for row in data["rows"] for cell in row["cells"] if cell]
    assert not any("p" in cell or cell["best"] for cell in cells), "not compared"


def test_distractors_and_parts_of_the_queries_stand_apart() -> None:
    more = changed(retrieval(0.5), distractors=("gittables:n=100",))
    part = retrieval(0.1, queries_fingerprint=hashed("part"), about="fact_verification")
    data = _board(entry("a", retrieval(0.5)), entry("b", more), entry("c", part))
    assert list(dict.fromkeys(name for name, _ in _heads(data))) == [
        "alpha test", "alpha test, fact verification", "alpha test + gittables:n=100",
    ]  # fmt: skip
    assert _notes(data) == ["60 queries"]


def test_same_fingerprint_but_other_queries() -> None:
    other = changed(retrieval(0.5), query_ids=[f"x{i}" for i in range(60)])
    with pytest.raises(DataError, match="entry b: its queries of alpha test are others"):
        boards([entry("a", retrieval(0.5)), entry("b", other)])


def test_of_two_runs_of_a_system_the_one_with_the_more_cutoffs() -> None:
    more = {f"recall@{k}": recalls(0.1 * k) for k in (2, 3, 4, 6)}
    deep = changed(retrieval(0.5), cutoffs=(2, 3, 4, 6), per_query=more, scores=scores(more))
    data = _board(entry("a", retrieval(0.5), deep), entry("b", retrieval(0.9)))
    assert _cells(data, "alpha test", "recall@10")["A"] is None
    assert _cells(data, "alpha test", "recall@6")["A"]["value"] == 0.6


def test_a_score_over_no_query_is_no_cell_and_takes_no_test_from_the_others() -> None:
    run = retrieval(0.4)
    empty = changed(
        run,
        scores={**run.scores, "recall@10": Score(nan, nan, nan, 0, "s")},
        per_query={**run.per_query, "recall@10": np.full(60, nan)},
    )
    data = _board(*SHOWN, entry("e", empty, retrieval(0.9, "beta")))
    recall = _cells(data, "alpha test", "recall@10")
    assert recall["E"] is None
    assert "p" in recall["Odd one"]
    assert _cells(data, "Mean of 2 corpora", "recall@10")["E"] is None


def test_the_mean_is_over_what_half_of_the_systems_have() -> None:
    more = entry("more", retrieval(0.9), retrieval(0.9, "beta"), retrieval(0.9, "gamma"))
    other = entry("other", changed(retrieval(0.9), corpus_fingerprint=hashed("other")))
    data = _board(*SHOWN, more, other)
    assert data["mean_of"] == ["alpha", "beta"]
    means = _cells(data, "Mean of 2 corpora", "recall@10")
    values = {name: cell["value"] for name, cell in means.items() if cell}
    assert values == {"Best, by far": 0.925, "More": 0.9, "Plain BM25": 0.55, "Odd one": 0.25}


def test_a_corpus_counts_once_in_the_mean() -> None:
    """Whatever splits, distractors and parts of its queries there are beside it."""
    whole, beta = retrieval(0.5), retrieval(0.9, "beta")
    more = [
        changed(whole, split="validation", queries_fingerprint=hashed("validation")),
        changed(whole, distractors=("gittables:n=9",), corpus_fingerprint=hashed("mixed")),
        changed(whole, about="text_to_sql", queries_fingerprint=hashed("sql")),
    ]
    assert _board(entry("a", whole, *more))["mean_of"] == []
    data = _board(entry("a", *more, whole, beta))
    assert _cells(data, "Mean of 2 corpora", "recall@10")["A"]["value"] == 0.7


def test_the_test_of_the_mean_swaps_queries_and_each_corpus_counts_the_same() -> None:
    """Against all swaps of few queries, the statistic being the difference of the means."""
    alpha, beta = np.array([1.0, 1, 1, 0]), np.array([1.0, 1, 0, 1, 1, 0])

    def runs(factor: float) -> list[Any]:
        return [
            changed(
                retrieval(0.5, corpus, n=len(values)),
                cutoffs=(1,),
                scores=scores({"recall@1": factor * values}),
                per_query={"recall@1": factor * values},
            )
            for corpus, values in (("alpha", alpha), ("beta", beta))
        ]

    data = _board(entry("a", *runs(1)), entry("b", *runs(0)))
    cells = _cells(data, "Mean of 2 corpora", "recall@1")
    observed = (alpha.mean() + beta.mean()) / 2
    assert cells["A"]["value"] == pytest.approx(observed, abs=1e-5)
    signs = np.array(list(product((-1, 1), repeat=10)))
    swapped = (signs[:, :4] @ alpha / 4 + signs[:, 4:] @ beta / 6) / 2
    expected = (np.abs(swapped) >= observed - 1e-9).mean()
    assert cells["B"]["p"] == pytest.approx(expected, abs=0.01)


SCORES = (
    st.tuples(*[st.floats(0, 1)] * 3).map(sorted).map(lambda x: Score(x[1], x[0], x[2], 9, "s"))
)


@given(st.lists(SCORES, min_size=1, max_size=12))
def test_interval_of_a_mean(parts: list[Score]) -> None:
    """It holds the mean, and is no wider than the intervals that it is made of.

    Of equal scores it is narrower by the root of their number.
    """
    mean = mean_score(parts)
    assert mean.value == pytest.approx(sum(score.value for score in parts) / len(parts))
    assert -1e-9 <= mean.low <= mean.value <= mean.high <= 1 + 1e-9
    assert mean.high - mean.low <= max(score.high - score.low for score in parts) + 1e-9
    first = parts[0]
    mean = mean_score([first] * 4)
    low, high = (first.value + (bound - first.value) / 2 for bound in (first.low, first.high))
    assert (mean.low, mean.high) == pytest.approx((low, high))


def test_equal_scores_share_a_rank_and_are_ordered_by_name() -> None:
    twice = [changed(entry(i, retrieval(0.5)), card=card(i.upper())) for i in ("b", "a")]
    data = _board(*twice, entry("c", retrieval(0.2)))
    assert [(row["name"], row["rank"]) for row in data["rows"]] == [("A", 1), ("B", 1), ("C", 3)]
