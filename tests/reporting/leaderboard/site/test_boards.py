"""Which runs stand in one column, and what the tests say of them."""

import json
from dataclasses import replace
from math import nan
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from target_bench.core.errors import DataError
from target_bench.core.metric import Score
from target_bench.reporting.leaderboard.site import build
from tests.reporting.leaderboard.site.small import (
    answers,
    board,
    data_of,
    entry,
    found,
    hashed,
    retrieval,
    scores,
    write,
)


def _overview(tmp_path: Path, *made: Any, page: str = "index.html") -> dict[str, Any]:
    build(write(tmp_path / "in", made), tmp_path / "site")
    return data_of(tmp_path / "site" / page)


def _cells(data: dict[str, Any], group: int, key: str) -> dict[str, Any]:
    names = [row["name"] for row in data["rows"]]
    cells = data["groups"][group]["cells"]
    return {names[int(row)]: cell[key] for row, cell in cells.items() if key in cell}


def test_the_overview(tmp_path: Path) -> None:
    data = _overview(tmp_path, *board())
    names = ["alpha test", "beta test", "Mean of 2 corpora"]
    assert [group["name"] for group in data["groups"]] == names
    assert [column["key"] for column in data["groups"][0]["columns"]][:2] == ["recall@{k}", "ms"]
    assert (data["cutoffs"], data["k"]) == ([1, 5, 10], 10)
    recall = _cells(data, 0, "recall@10")
    assert {name: cell[0] for name, cell in recall.items()} == {
        "Plain BM25": 0.6, "Best, by far": 0.95, "Close": 0.93333, "Odd one": 0.3, "Untold": 0.55,
    }  # fmt: skip
    assert recall["Best, by far"][1:3] == [0.85, 1.0]
    times = _cells(data, 0, "ms")
    assert (times["Close"], times["Best, by far"], times["Untold"]) == ([1.0], [10.0], [])


def test_answers_without_rankings_have_no_recall(tmp_path: Path) -> None:
    """The run that answers from a file are built on: no recall, no hardest queries, no mean."""
    basis = retrieval(0.0, retriever="no-context", basis=True)
    made = [entry("a", basis, answers(0.5, basis, 0)), entry("b", retrieval(0.5))]
    data = _overview(tmp_path, *made)
    recall = _cells(data, 0, "recall@10")
    assert sorted(map(len, recall.values())) == [0, 3]
    page = (tmp_path / "site" / "entries" / "a.html").read_text("utf-8")
    assert "alpha-0<" not in page[: page.index("accuracy")]
    other = (tmp_path / "site" / "entries" / "b.html").read_text("utf-8")
    assert "alpha-30<" in other
    alone = _overview(tmp_path / "alone", entry("c", retrieval(0.0, retriever="no-context")))
    assert _cells(alone, 0, "recall@10")["C"][0] == 0


def test_what_the_tests_say(tmp_path: Path) -> None:
    """Against best and baseline, corrected; neither is tested against itself."""
    recall = _cells(_overview(tmp_path, *board()), 0, "recall@10")
    p = {name: [*cell[3:], None, None][:2] for name, cell in recall.items()}
    assert p["Close"][0] >= 0.05  # one query less
    assert p["Close"][1] < 0.05
    assert p["Best, by far"][0] is None
    assert p["Best, by far"][1] < 0.05
    assert p["Plain BM25"][0] < 0.05
    assert p["Plain BM25"][1] is None
    assert p["Odd one"][1] < 0.05
    assert p["Untold"][1] >= 0.05


def test_the_best_answers_of_a_system(tmp_path: Path) -> None:
    data = _overview(tmp_path, *board())
    column = data["groups"][0]["columns"][2]
    assert (column["label"], column["task"]) == ("accuracy", "Fact Verification")
    assert len(data["groups"][1]["columns"]) == 2
    best = _cells(data, 0, column["key"])
    assert {name: cell[0] for name, cell in best.items()} == {
        "Plain BM25": 0.4,
        "Best, by far": 0.9,
    }
    assert _cells(data, 0, f"{column['key']}:by")["Best, by far"] == "extractive"
    task = data_of(tmp_path / "site" / "tasks" / "fact_verification.html")
    generators = [(row["name"], row["generator"]) for row in task["rows"]]
    assert generators == [
        ("Best, by far", "extractive"),
        ("Best, by far", "other:model=x"),
        ("Plain BM25", "extractive"),
    ]
    keys = [column["key"] for column in task["groups"][0]["columns"]]
    assert keys == ["accuracy", "recall@{k}", "failed", "tokens", "answer"]
    assert [cell["failed"] for cell in task["groups"][0]["cells"].values()] == [[3], [3], [3]]


def test_other_tables_are_another_column(tmp_path: Path) -> None:
    changed = replace(retrieval(0.9), corpus_fingerprint=hashed("other"))
    data = _overview(tmp_path, entry("a", retrieval(0.5)), entry("b", changed))
    assert [group["name"] for group in data["groups"]] == ["alpha test"] * 2
    versions = [group["version"] for group in data["groups"]]
    assert sorted(versions) == sorted([f"tables {hashed(x)[:8]}" for x in ("alpha", "other")])
    assert [len(group["cells"]) for group in data["groups"]] == [1, 1]
    text = (tmp_path / "site" / "index.html").read_text("utf-8")
    assert 'id="versions"' in text
    # neither is tested against the other
    assert all(len(c["recall@10"]) == 3 for g in data["groups"] for c in g["cells"].values())


def test_other_queries_and_answers_are_another_column(tmp_path: Path) -> None:
    fewer = retrieval(0.9, n=20, queries_fingerprint=hashed("fewer"))
    base = retrieval(0.5)
    regraded = answers(0.5, base, 0, queries_fingerprint=hashed("regraded"))
    one = entry("a", base, answers(0.4, base, 0))
    data = _overview(tmp_path, one, entry("b", fewer), entry("c", base, regraded))
    assert [g["queries"] for g in data["groups"]] == ["60 queries", "20 queries"]
    assert [g["version"][:8] for g in data["groups"]] == ["queries "] * 2
    columns = data["groups"][0]["columns"][2:]
    assert [column["version"][:8] for column in columns] == ["queries "] * 2
    alike = _overview(tmp_path / "alike", one, entry("d", retrieval(0.2)))
    assert [group["version"] for group in alike["groups"]] == [None]


def test_a_part_of_the_queries_is_marked(tmp_path: Path) -> None:
    """Of a run with --limit the other queries are wrong; its column does not pass for the whole."""
    part = retrieval(0.1, queries_fingerprint=hashed("part"), about="fact_verification")
    data = _overview(tmp_path, entry("a", retrieval(0.5)), entry("b", part))
    assert [g["queries"] for g in data["groups"]] == [
        "60 queries",
        "60 queries of fact verification",
    ]
    assert [g["version"][:8] for g in data["groups"]] == ["queries "] * 2
    assert [g["about"] for g in data["groups"]] == [None, "fact verification"]


def test_distractors_stand_apart(tmp_path: Path) -> None:
    more = replace(retrieval(0.5), distractors=("gittables:n=100",))
    data = _overview(tmp_path, entry("a", retrieval(0.5)), entry("b", more))
    assert [g["name"] for g in data["groups"]] == ["alpha test", "alpha test + gittables:n=100"]
    assert [g["version"] for g in data["groups"]] == [None, None]


def test_same_fingerprint_but_other_queries(tmp_path: Path) -> None:
    other = replace(retrieval(0.5), query_ids=[f"x{i}" for i in range(60)])
    with pytest.raises(DataError, match=r"1\.entry\.json: runs\.0\.query_ids: other queries"):
        _overview(tmp_path, entry("a", retrieval(0.5)), entry("b", other))


def test_other_cutoffs_of_the_same_system(tmp_path: Path) -> None:
    """The run with the more cutoffs stands on the boards, and nothing of the other."""
    more = {f"recall@{k}": found(0.1 * k) for k in (2, 3, 4, 6)}
    deep = replace(retrieval(0.5), cutoffs=(2, 3, 4, 6), per_query=more, scores=scores(more))
    data = _overview(tmp_path, entry("a", retrieval(0.5), deep), entry("b", retrieval(0.9)))
    cells = {row["name"]: data["groups"][0]["cells"][str(i)] for i, row in enumerate(data["rows"])}
    assert sorted(cells["A"]) == ["ms", "recall@2", "recall@3", "recall@4", "recall@6"]
    assert sorted(cells["B"]) == ["ms", "recall@1", "recall@10", "recall@5"]
    text = (tmp_path / "site" / "entries" / "a.html").read_text("utf-8")
    assert text.count('<caption class="sr-only">Hardest queries by id</caption>') == 2


def test_two_retrievers_of_an_entry(tmp_path: Path) -> None:
    """Each has a row; those with the same label and other settings are numbered."""
    first = retrieval(0.5, retriever_identity={"config": {"model": "a"}})
    second = retrieval(0.7, retriever_identity={"config": {"model": "b"}})
    third = retrieval(0.9, retriever="tfidf")
    data = _overview(tmp_path, entry("a", first, second, third))
    labels = [row["retriever"] for row in data["rows"]]
    assert sorted(labels) == ["dense:model=m (1)", "dense:model=m (2)", "tfidf"]


def test_a_missing_score_is_not_a_number(tmp_path: Path) -> None:
    run = retrieval(0.5)
    record = entry("a", run).to_json()
    nothing = {"value": None, "low": None, "high": None, "n": 0, "signature": "s"}
    record["runs"][0]["scores"]["ndcg@10"] = nothing
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.entry.json").write_text(json.dumps(record))
    build(tmp_path / "in", tmp_path / "site")
    data = data_of(tmp_path / "site" / "tasks" / "retrieval.html")
    assert data["groups"][0]["cells"]["0"]["ndcg@10"] == []


def test_a_run_without_values_takes_no_test_from_the_others(tmp_path: Path) -> None:
    run = retrieval(0.4)
    empty = replace(
        run,
        scores={**run.scores, "recall@10": Score(nan, nan, nan, 0, "s")},
        per_query={**run.per_query, "recall@10": np.full(60, nan)},
    )
    recall = _cells(_overview(tmp_path, *board(), entry("e", empty)), 0, "recall@10")
    assert len(recall["Odd one"]) == 5
    assert recall["E"] == []


def test_zero_shot_share_is_of_its_own_corpora(tmp_path: Path) -> None:
    rows = {row["name"]: row["trained"] for row in _overview(tmp_path, *board())["rows"]}
    assert rows["Best, by far"] == {"alpha": "yes", "beta": "no"}
    assert rows["Close"] == {"alpha": "no"}
    assert rows["Untold"] == {"alpha": "unknown"}


def test_times_that_may_be_of_a_cache_are_neither_shown_nor_drawn(tmp_path: Path) -> None:
    """Those of entries that do not say that they are cold."""
    lexical = {"class": "BM25"}
    encoder = {"class": "Model2Vec", "revision": "1"}
    dense = {"class": "Dense", "parts": {"encoder": encoder}}
    latency = {"p50": 1.0, "p95": 2.0, "p99": 3.0}
    runs = {
        "said": retrieval(0.5, retriever_identity=dense, latency_ms=latency),
        "lexical": retrieval(0.5, retriever_identity=lexical, cold=False, latency_ms=latency),
        "dense": retrieval(0.5, retriever_identity=dense, cold=False, latency_ms=latency),
    }
    _overview(tmp_path, *(entry(name, run) for name, run in runs.items()))
    task = data_of(tmp_path / "site" / "tasks" / "retrieval.html")
    (group,) = task["groups"]
    cells = {task["rows"][int(row)]["name"]: cell for row, cell in group["cells"].items()}
    found = {name: [c for c in ("ms", "p50", "index") if c in cell] for name, cell in cells.items()}
    assert found == {"Said": ["ms", "p50", "index"], "Lexical": [], "Dense": []}
    pages = {p.name: p.read_text("utf-8") for p in (tmp_path / "site" / "entries").glob("*.html")}
    noted = [name for name, text in pages.items() if "is a time that is not shown" in text]
    assert len(pages) == 3
    assert len(noted) == 2
