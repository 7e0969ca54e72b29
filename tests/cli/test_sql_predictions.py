"""Predictions in SQL made elsewhere: their forms, what may not be run, and what a score is over."""

import json
from pathlib import Path
from typing import Any

import pytest
from pyarrow import parquet

from target_bench.data.load import load
from tests.cli.inside import Inside
from tests.data.releases import SPIDER_QUESTIONS, write_spider

SCORE = ("score", "mini", "--task", "text-to-sql", "--predictions")
QUERIES = [q for q in load("mini").queries if q.metadata.get("task") == "text_to_sql"]
BIRD = "\t----- bird -----\t"


def _one(out: str) -> dict[str, Any]:
    result: dict[str, Any]
    (result,) = json.loads(out)["results"]
    return result


def _judged(result: dict[str, Any]) -> list[dict[str, Any]]:
    raw = (Path(result["folder"]) / "judgements.jsonl").read_bytes()
    return [json.loads(line) for line in raw.decode("utf-8").splitlines()]


def _written(folder: Path, answers: Any) -> Path:
    path = folder / "predictions.json"
    path.write_text(json.dumps(answers), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    "wrapped",
    [
        "INSERT INTO customer(id) {}",
        "CREATE TABLE z AS {}",
        "REPLACE INTO customer {}",
        "{}; DROP TABLE customer",
    ],
)
def test_statements_that_write_get_nothing_in_any_form(
    inside: Inside, tmp_path: Path, wrapped: str
) -> None:
    texts = [wrapped.format(query.answer) for query in QUERIES]
    forms: list[Any] = [
        {query.id: text for query, text in zip(QUERIES, texts, strict=True)},
        {str(i): f"{text}{BIRD}{QUERIES[i].database_id}" for i, text in enumerate(texts)},
    ]
    for form in forms:
        result = _one(inside.good(*SCORE, _written(tmp_path, form), "--json"))
        assert result["scores"]["ex[bird]"]["value"] == 0
        assert not {"correct", "no_prediction"} & set(result["report"]["outcomes"])
        if "DROP" in wrapped:
            assert "more than one statement, or text after" in _judged(result)[0]["reason"]


def test_texts_that_are_no_utf8(inside: Inside, tmp_path: Path) -> None:
    """A lone surrogate is told as JSON tells it, and the file stays UTF-8."""
    path = _written(tmp_path, {QUERIES[0].id: "SELECT '\ud800'", QUERIES[1].id: "SELECT 1"})
    result = _one(inside(*SCORE, path, "--json").out)
    assert _judged(result)[0]["sql"] == "SELECT '\ud800'"
    (Path(result["folder"]) / "generations.jsonl").read_bytes().decode("utf-8")
    (Path(result["folder"]) / "scores.json").read_bytes().decode("utf-8")


def _spider(tmp_path: Path) -> tuple[object, ...]:
    folder = write_spider(tmp_path / "spider")
    answers = {str(i): question["query"] for i, question in enumerate(SPIDER_QUESTIONS)}
    path = _written(tmp_path, answers)
    return ("score", "spider", "--data-dir", folder, "--task", "text-to-sql", "--predictions", path)


def test_what_a_score_is_over(inside: Inside, tmp_path: Path) -> None:
    """Queries that were not run are null, and not zero, wherever their scores stand."""
    score = _spider(tmp_path)
    result = _one(inside(*score, "--json").out)
    assert result["scores"]["ex[bird]"]["value"] == 1
    assert result["scores"]["ex[bird]"]["n"] == 2
    assert result["report"]["not_runnable"] == {"missing": 1}
    assert (result["report"]["engine"], result["report"]["judged"]) == ("sqlite", 2)
    assert [record["ex[bird]"] for record in _judged(result)] == [1.0, 1.0, None]
    table = parquet.read_table(Path(result["folder"]) / "per_query.parquet")
    assert table["ex[bird]"].to_pylist() == [1.0, 1.0, None]
    shown = inside(*score, "-v").out
    assert "judged in sqlite: 2 of 3 queries; 1 not runnable (their databases are missing)" in shown
    duck = inside(*score, "--task", "text-to-sql:engine=duckdb", "-v").out
    assert "judged in duckdb: 2 of 3 queries; 1 not runnable" in duck


@pytest.mark.parametrize("damage", ["truncated", "garbage", "empty", "schema only"])
def test_one_damaged_database_costs_its_queries_alone(
    inside: Inside, tmp_path: Path, damage: str
) -> None:
    score = _spider(tmp_path)
    sound = tmp_path / "spider" / "database" / "cre_Shop" / "cre_Shop.sqlite"
    bad = tmp_path / "spider" / "database" / "zoo" / "zoo.sqlite"
    bad.parent.mkdir()
    raw = sound.read_bytes()
    page = int.from_bytes(raw[16:18], "big")
    bad.write_bytes(
        {
            "truncated": raw[: len(raw) // 2],
            "garbage": b"no database at all" * 100,
            "empty": b"",
            "schema only": raw[:page] + b"\xff" * (len(raw) - page),
        }[damage]
    )
    done = inside(*score, "--json")
    assert done.code == 0, done.err
    result = _one(done.out)
    assert result["scores"]["ex[bird]"]["n"] in (2, 3 if damage in ("empty", "schema only") else 2)
    assert result["report"]["outcomes"]["correct"] == 2
    if damage in ("truncated", "garbage"):
        assert result["report"]["not_runnable"] == {"unusable": 1}
        assert "The 1 queries on zoo are not run" in " ".join(done.err.split())


def test_what_the_engines_do_not_agree_on_is_said(inside: Inside, tmp_path: Path) -> None:
    """On the first screen and in the summary: gold that is left out, predictions that differ."""
    answers = {query.id: query.answer for query in QUERIES}
    answers[QUERIES[0].id] = "SELECT date('2020-01-01', '+1 year')"
    left_out = sum("julianday" in str(query.answer) for query in QUERIES)
    score = (*SCORE, _written(tmp_path, answers), "--task", "text-to-sql:engine=duckdb")
    shown = " ".join(inside.good(*score).split())
    assert (
        "1 prediction gave other rows in DuckDB than in SQLite (translation_differs), scored by "
        "SQLite's." in shown
    )
    assert (
        f"{left_out} question{'s' * (left_out != 1)} left out, as the gold is not the same in "
        "DuckDB as in SQLite." in shown
    )
    summary = " ".join(inside.good(*score, "--verbose").split())
    assert "; 1 prediction gave other rows in DuckDB than in SQLite, scored by SQLite's" in summary
