"""Which runs stand in one column, and what the tests say of them."""

from math import nan
from typing import Any

import numpy as np
import pytest
from scipy.stats import binomtest

from target_bench.core.metric import Score
from target_bench.reporting.leaderboard.board import compare_with_best, make_boards
from target_bench.reporting.leaderboard.verify import Submission
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

SHOWN = board()


def _board(*made: Submission, task: str = "retrieval") -> dict[str, Any]:
    return next(data for data in make_boards(made) if data["task"] == task)


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
    assert (data["cutoffs"], data["k"]) == ([1, 5, 10], 10)
    alpha = [metric for name, metric in _heads(data) if name == "alpha test"]
    assert alpha == ["recall@1", "recall@5", "recall@10", "mrr"]
    recall = _cells(data, "alpha test", "recall@10")
    assert {name: cell["value"] for name, cell in recall.items()} == {
        "Plain BM25": 0.6, "Best, by far": 0.95, "Close": 0.93333, "Odd one": 0.3, "Untold": 0.55,
    }  # fmt: skip
    assert (recall["Best, by far"]["low"], recall["Best, by far"]["high"]) == (0.85, 1.0)
    assert [row["name"] for row in data["rows"]] == [
        "Best, by far", "Close", "Plain BM25", "Untold", "Odd one",
    ]  # fmt: skip
    assert [row["rank"] for row in data["rows"]] == [1, 2, 3, 4, 5]
    beta = _cells(data, "beta test", "recall@10")
    assert beta["Close"] is None
    assert [row["chosen_on"] for row in data["rows"][1:3]] == ["test", "nothing"]
    trained = {row["name"]: row["trained_on"] for row in data["rows"]}
    assert trained["Best, by far"] == {"alpha": "yes", "beta": "no"}
    assert trained["Untold"] == {"alpha": "unknown"}
    assert [name for name, cell in recall.items() if cell["best"]] == ["Best, by far"]
    assert "p" not in recall["Best, by far"], "it is not tested against itself"
    assert recall["Close"]["p"] >= 0.05, "one query less"
    assert max(recall[name]["p"] for name in ("Plain BM25", "Odd one", "Untold")) < 0.05


def test_systems_are_tested_against_the_best() -> None:
    """Golden: sign tests by scipy, Holm by hand over three systems.

    Of 20 queries 1, 11 and 17 differ, all in favour of the best.
    """
    values = {
        name: (np.arange(20) < right).astype(np.float64)
        for name, right in {"a": 19, "b": 18, "c": 8, "d": 2}.items()
    }
    against_a = sorted(binomtest(n, n).pvalue for n in (1, 11, 17))
    expected = [3 * against_a[0], 2 * against_a[1], against_a[2]]
    p_values = compare_with_best(list(values), values)
    assert [p_values[name] for name in "dcb"] == pytest.approx(expected)
    ones, zeros = np.ones(30), np.zeros(30)
    known = {"a": ones, "b": zeros}
    assert compare_with_best(["a", "bleu", "b"], known).keys() == {"b"}
    assert compare_with_best(["bleu", "a", "b"], known) == {}
    assert compare_with_best(["a", "b"], {"a": ones}) == compare_with_best([], {}) == {}
    assert compare_with_best(["a", "b"], {**known, "b": np.full(30, np.nan)}) == {}


@pytest.mark.parametrize("metric", ["complete_recall", "set_f1"])
def test_metrics_beside_recall_are_tested(metric: str) -> None:
    systems = []
    for name, share in (("far", 0.2), ("near", 0.9)):
        values = {"recall@10": recalls(share), metric: recalls(share)}
        run = retrieval(share, by_metric=scores(values), per_query=values)
        systems.append(entry(name, run))
    cells = _cells(_board(*systems), "alpha test", metric)
    assert cells["Far"]["p"] < 0.05
    assert cells["Near"]["best"]


def test_scores_that_are_no_mean_over_queries_are_not_tested() -> None:
    systems = []
    for name, share in (("far", 0.2), ("near", 0.9)):
        run = answers(share, retrieval(share))
        others = {**run.scores, "accuracy": Score(share / 2, 0.0, 1.0, 60, "s")}
        systems.append(entry(name, changed(run, by_metric=others)))
    cells = _cells(_board(*systems, task="fact_verification"), "alpha test", "accuracy")
    assert not any(cell.keys() & {"p"} for cell in cells.values())
    assert {name: cell["best"] for name, cell in cells.items()} == {"Near": True, "Far": False}


def test_answers_have_a_board() -> None:
    data = _board(*SHOWN, task="fact_verification")
    assert [(row["name"], row["generator"]) for row in data["rows"]] == [
        ("Best, by far", "extractive"),
        ("Close", "g:x=1"),
        ("Plain BM25", "extractive"),
    ]
    metrics = [metric for _, metric in _heads(data)]
    assert metrics == ["accuracy", "recall@1", "recall@5", "recall@10"]


def test_rankings_of_another_tasks_queries_stand_on_its_page_alone() -> None:
    basis = retrieval(0.5, about="fact_verification")
    (data,) = make_boards([entry("a", basis, answers(0.5, basis, retrieval="run-0"))])
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
    more = changed(retrieval(0.5), distractors=["gittables:n=100"])
    part = retrieval(0.1, queries_fingerprint=hashed("part"), about="fact_verification")
    data = _board(entry("a", retrieval(0.5)), entry("b", more), entry("c", part))
    assert list(dict.fromkeys(name for name, _ in _heads(data))) == [
        "alpha test", "alpha test, fact verification", "alpha test + gittables:n=100",
    ]  # fmt: skip
    assert _notes(data) == ["60 queries"]


def test_a_score_over_no_query_is_no_cell_and_takes_no_test_from_the_others() -> None:
    run = retrieval(0.4)
    empty = changed(
        run,
        by_metric={**run.scores, "recall@10": Score(nan, nan, nan, 0, "s")},
        per_query={**run.scores.per_query, "recall@10": np.full(60, nan)},
    )
    data = _board(*SHOWN, entry("e", empty, retrieval(0.9, "beta")))
    recall = _cells(data, "alpha test", "recall@10")
    assert recall["E"] is None
    assert "p" in recall["Odd one"]


def test_equal_scores_share_a_rank_and_are_ordered_by_name() -> None:
    twice = [entry(i, retrieval(0.5), its_card=card(i.upper())) for i in ("b", "a")]
    data = _board(*twice, entry("c", retrieval(0.2)))
    assert [(row["name"], row["rank"]) for row in data["rows"]] == [("A", 1), ("B", 1), ("C", 3)]
