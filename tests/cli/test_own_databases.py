"""Databases of one's own with questions: loaded, run, scored and verified, without translation."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.inside import Inside
from tests.sql.written import duckdb_file, sqlite_file

SHOP = """
CREATE TABLE city (name VARCHAR, people INTEGER);
INSERT INTO city VALUES ('Oslo', 700), ('Bern', 130);
CREATE SCHEMA more;
CREATE TABLE more.river (name VARCHAR, city VARCHAR);
INSERT INTO more.river VALUES ('Aare', 'Bern');
CREATE VIEW large AS SELECT * FROM city WHERE people > 500;
"""
GOLD = {
    "cities": "FROM city SELECT * EXCLUDE (people)",
    "brackets": "(SELECT COUNT(*) FROM city)",
    "large": "SELECT name FROM large",
    "river": "SELECT r.name FROM more.river r JOIN city c ON c.name = r.city",
    "all": "FROM city",
}
TABLES = {
    "cities": ["city"],
    "brackets": ["city"],
    "large": ["city"],
    "river": ["city", "more.river"],
    "all": ["city"],
}


def _queries(path: Path, gold: dict[str, str], **more: Any) -> None:
    lines = [{"query_id": n, "query": n, "answer": sql, **more} for n, sql in gold.items()]
    path.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")


def _one(out: str) -> dict[str, Any]:
    result: dict[str, Any]
    (result,) = json.loads(out)["results"]
    return result


def test_duckdb_from_end_to_end(inside: Inside, tmp_path: Path) -> None:
    """Gold tables come from the gold; the engine is named as what it is."""
    from target_bench.data.load import load

    duckdb_file(tmp_path / "shop.duckdb", SHOP)
    _queries(tmp_path / "queries.jsonl", GOLD)
    queries = load("./shop.duckdb").queries
    assert {q.id: [t.table_id for t in q.gold] for q in queries} == TABLES
    run = ("run", "./shop.duckdb", "--task", "text-to-sql", "--retriever", "oracle", "--top-k", "1")
    result = _one(inside(*run, "--generator", "gold", "--json").out)
    assert result["report"]["outcomes"] == {"correct": len(GOLD)}
    assert result["report"]["engine"] == "duckdb"
    answers = tmp_path / "answers.json"
    answers.write_text(json.dumps(GOLD | {"cities": "FROM city SELECT 1"}), encoding="utf-8")
    score = ("score", "./shop.duckdb", "--task", "text-to-sql", "--predictions", answers)
    result = _one(inside(*score, "--json").out)
    assert result["report"]["outcomes"] == {"correct": 4, "wrong_result": 1}


def test_a_folder_of_databases(inside: Inside, tmp_path: Path) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    duckdb_file(folder / "shop.duckdb", SHOP)
    sqlite_file(folder / "zoo.sqlite", "CREATE TABLE animal (a); INSERT INTO animal VALUES (1);")
    lines = [
        {"query_id": "1", "query": "?", "answer": "FROM city", "database_id": "shop"},
        {"query_id": "2", "query": "?", "answer": "SELECT a FROM animal", "database_id": "zoo"},
    ]
    (folder / "queries.jsonl").write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    run = ("run", "./data", "--task", "text-to-sql", "--retriever", "oracle", "--top-k", "1")
    result = _one(inside(*run, "--generator", "gold", "--json").out)
    assert result["report"]["outcomes"] == {"correct": 2}
    assert result["report"]["engine"] == "duckdb+sqlite"
    del lines[1]["database_id"]
    (folder / "queries.jsonl").write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    message = inside.bad(2, *run)
    assert "line 2: field 'database_id': unknown database '0'" in message
    duckdb_file(folder / "zoo.duckdb", SHOP)
    assert "zoo.duckdb has the same name; rename one" in inside.bad(2, *run)


@pytest.mark.parametrize(
    ("answer", "fault"),
    [
        ("SELECT 1", "the answer reads no table"),
        ("SELECT x FROM nowhere", "the answer cannot be compiled: no such table: nowhere"),
        ("Oslo", "the answer cannot be compiled"),
    ],
)
def test_gold_tables_that_cannot_be_determined(
    inside: Inside, tmp_path: Path, answer: str, fault: str
) -> None:
    sqlite_file(tmp_path / "x.sqlite", "CREATE TABLE t (a);")
    _queries(tmp_path / "queries.jsonl", {"q": answer})
    message = inside.bad(2, "describe", "corpus", "./x.sqlite")
    assert fault in message
    assert "Name the gold tables of the query in the field 'table_id'" in message
