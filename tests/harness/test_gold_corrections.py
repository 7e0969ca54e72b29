"""Corrections of gold: the scores are those of a corpus that was edited, and bad rows are named."""

import json
import math
from pathlib import Path
from typing import Any

import pytest

from target_bench import DataError, compare, evaluate, load, read_run
from target_bench.harness.resume import ResumedRun
from target_bench.runs.result import Result
from tests.builders import json_lines

N = 12
"""Tables, of which each answers the question of its number."""

OTHER = {f"q{i}": [f"t{i + 1}"] for i in range(8)}
"""Question -> the right tables, where the published ones are wrong."""


def folder(path: Path, gold: dict[str, Any] | None = None) -> Path:
    """Write a corpus of one's own; ``gold`` replaces published tables."""
    path.mkdir()
    for i in range(N):
        (path / f"t{i}.csv").write_text(f"name,place\nword{i},city{i}\n")
    published = {f"q{i}": [f"t{i}"] for i in range(N)} | (gold or {})
    records = [
        {"query_id": q, "query": f"where is word{q[1:]}", "table_id": tables, "kind": "x"}
        for q, tables in published.items()
    ]
    (path / "queries.jsonl").write_text(json_lines(records))
    return path


def overlay(path: Path, corrected: dict[str, Any], **changed: Any) -> Path:
    rows = [
        {"query": q, "old": f"t{q[1:]}", "new": tables, "source": "us", "reason": "read it"}
        for q, tables in corrected.items()
    ]
    rows[-1] |= changed
    path.write_text(json_lines(rows))
    return path


def numbers(result: Result, mark: str = "") -> dict[str, tuple[float, float, float, int]]:
    """Metric -> value, interval and n, of the scores with a mark or of those without one."""
    return {
        name.removesuffix(mark): (score.value, score.low, score.high, score.n)
        for name, score in result.scores.items()
        if name.endswith("[corrected]") == bool(mark)
    }


@pytest.mark.filterwarnings("ignore:edited test. 1 of 12 queries has no answer in any table")
@pytest.mark.parametrize("changed", [OTHER, {"q0": ["t0", "t3"], "q2": "t9"}])
def test_as_if_the_files_were_edited(tmp_path: Path, changed: dict[str, Any]) -> None:
    corpus = folder(tmp_path / "shop")
    plain = evaluate("bm25", corpus, out=tmp_path / "runs")[0]
    before = numbers(plain)
    file = overlay(tmp_path / "fix.jsonl", changed)
    result = evaluate("bm25", corpus, out=tmp_path / "runs", gold_corrections=file)[0]
    by_hand = folder(tmp_path / "edited", changed)
    edited = evaluate("bm25", by_hand, out=tmp_path / "other")[0]
    assert (result.folder, result.reused) == (plain.folder, True)
    assert numbers(result) == before
    assert numbers(result, "[corrected]") == numbers(edited)
    assert result.n_contested == len(changed)
    assert result.to_json()["gold_corrections"].startswith("fix.jsonl@")
    values = result.measured("recall@1[corrected]").values
    assert [math.isnan(v) for v in values].count(True) == list(changed.values()).count(None)
    assert "corrected R@1" in str(result)


def test_a_run_scored_again_keeps_them_until_others_are_named(tmp_path: Path) -> None:
    corpus, out = folder(tmp_path / "shop"), tmp_path / "runs"
    file = overlay(tmp_path / "fix.jsonl", OTHER)
    first = evaluate("bm25", corpus, out=out, gold_corrections=file, limit=5)[0]
    scores = first.scores
    assert (first.n_contested, scores["recall@1[corrected]"].n) == (5, 5)
    assert ResumedRun(read_run(first.folder)).score()[0].scores == scores
    other = overlay(tmp_path / "other.jsonl", {"q0": "t1"})
    again = ResumedRun(read_run(first.folder)).score(gold_corrections=other)[0]
    assert (again.n_contested, again.corrections.partition("@")[0]) == (1, "other.jsonl")
    assert not evaluate("bm25", corpus, out=out, limit=5)[0].corrections


def test_csv_says_the_same(tmp_path: Path) -> None:
    corpus = folder(tmp_path / "shop")
    lines = overlay(tmp_path / "fix.jsonl", {"q0": ["t1", "t2"], "q1": None})
    table = tmp_path / "fix.csv"
    table.write_text(
        "query,old,new,source,reason,note\n"
        'q0,"[""t0""]","[""t1"", ""t2""]",us,"one, two\nlines",x\nq1,t1,,us,none,\n'
    )
    by_lines, by_table = (
        load(corpus, gold_corrections=file).corrections for file in (lines, table)
    )
    assert by_lines is not None
    assert by_table is not None
    assert by_lines.gold == by_table.gold
    table.write_text("query,old,source,reason\nq0,t0,us,why\n")
    with pytest.raises(DataError, match=r"fix\.csv, row 1: no field 'new'; it has query, old"):
        load(corpus, gold_corrections=table)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"query": "q77"}, "field 'query': 'q77' is no query of shop test. Did you mean"),
        ({"query": "q0", "old": "t0"}, "field 'query': 'q0' has a row already"),
        ({"old": "t5"}, "field 'old' names t5, but the gold of query 'q1' is t1"),
        ({"new": "tt3"}, "field 'new': 'tt3' is no table of the corpus. Did you mean t3"),
        ({"new": "t1"}, "field 'new' names the tables of 'old'. Remove the row"),
        ({"new": 1.5}, "field 'new' should be text or a whole number"),
        ({"reason": " "}, "field 'reason' is empty"),
    ],
)
def test_bad_rows(tmp_path: Path, changed: dict[str, Any], message: str) -> None:
    file = overlay(tmp_path / "fix.jsonl", {"q0": "t1", "q1": "t2"}, **changed)
    with pytest.raises(DataError) as error:
        load(folder(tmp_path / "shop"), gold_corrections=file)
    assert f"{file}, line 2: {message}" in str(error.value)


def test_verdicts_that_change(tmp_path: Path) -> None:
    """By published gold the first run is better, by corrected gold the second one."""
    corpus, out = folder(tmp_path / "shop"), tmp_path / "runs"
    (tmp_path / "next.py").write_text(
        "class Next:\n"
        "    def embed_corpus(self, corpus):\n"
        "        pass\n"
        "    def retrieve(self, query, top_k):\n"
        "        number = int(query.split('word')[1])\n"
        "        return [('0', f't{(number + 1) % 12}')]\n"
    )
    systems = ["bm25", f"next={tmp_path}/next.py:Next"]
    file = overlay(tmp_path / "fix.jsonl", {f"q{i}": f"t{i + 1}" for i in range(11)})
    runs = evaluate(systems, corpus, out=out, top_k=1, gold_corrections=file)
    compared = compare(runs, ["recall@1"])
    (by_gold,) = compared.by_gold
    assert (by_gold.verdict, by_gold.corrected_verdict) == ("worse", "better")
    assert (by_gold.differ, by_gold.contested, by_gold.of_all) == (12, 11, 11)
    assert compared.to_json()["by_gold"][0]["corrected"]["value"] == pytest.approx(10 / 12)
    assert "of 1 verdict 1 changes" in str(compared)
    corrected = compare(runs, ["recall@1[corrected]"])
    assert corrected.rows[1].difference == by_gold.corrected
    part = compare(runs, ["recall@1"], slices=["contested=false"])
    assert part.rows[0].n == 1
    by_part = str(compare(runs, ["recall@1"], by=["contested"]))
    assert "fix.jsonl@" in by_part
    assert " corrects 11 queries; of 2 verdicts" in by_part
    other = overlay(tmp_path / "other.jsonl", {"q0": "t1"})
    for corrections, note in (
        (None, "tfidf is not scored by corrected gold"),
        (other, "different corrections of gold"),
    ):
        third = evaluate("tfidf", corpus, out=out, top_k=1, gold_corrections=corrections)
        noted = compare([*runs, *third], ["recall@1"])
        assert note in "".join(noted.notes)
        assert not noted.by_gold


def test_answers_have_them_from_their_rankings(tmp_path: Path) -> None:
    corpus = folder(tmp_path / "shop")
    path = corpus / "queries.jsonl"
    records = [json.loads(line) | {"answer": "city"} for line in path.read_text().splitlines()]
    path.write_text(json_lines(records))
    file = overlay(tmp_path / "fix.jsonl", OTHER)
    result = evaluate("bm25", corpus, task="qa", out=tmp_path / "runs", gold_corrections=file)[0]
    assert "recall@1[corrected]" in result.all_scores
    assert not any(name.endswith("[corrected]") for name in result.scores)
