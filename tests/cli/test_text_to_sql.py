"""Text-to-SQL from the command line: runs, and scores of predictions."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from target_bench.core.schema import Query
from target_bench.data.load import load
from tests.cli.inside import Inside

ORACLE = ("run", "mini", "--retriever", "oracle", "--json", "--task")
RUN = (*ORACLE, "text-to-sql")
SCORE = ("score", "mini", "--task", "text-to-sql", "--predictions")
QUERIES = [q for q in load("mini").queries if q.metadata.get("task") == "text_to_sql"]

MODEL = """
import json


class Model:
    converses = True

    def __init__(self, form="json"):
        self.form = form

    def generate(self, request):
        first = request.tables[0].id
        sql = f'SELECT count(*) FROM "{first.table_id}"'
        if self.form == "json":
            return json.dumps({"reasoning": "-", "sql": sql, "database_id": first.database_id})
        if self.form == "elsewhere":
            return json.dumps({"sql": sql, "database_id": "../../etc/passwd"})
        return "I cannot say."
"""


def _one(out: str) -> dict[str, Any]:
    result: dict[str, Any]
    (result,) = json.loads(out)["results"]
    return result


def _gold(query: Query) -> str:
    assert isinstance(query.answer, str)
    return query.answer


@pytest.mark.parametrize("engine", ["sqlite", "duckdb"])
def test_bounds(inside: Inside, engine: str) -> None:
    """Gold is right under every rule; nothing is wrong under every rule.

    In DuckDB gold with ``julianday`` has no translation.
    """
    left_out = sum("julianday" in _gold(query) for query in QUERIES) if engine == "duckdb" else 0
    n = len(QUERIES) - left_out
    for generator, value in (("gold", 1.0), ("empty", 0.0)):
        run = (*ORACLE, f"text-to-sql:engine={engine}")
        result = _one(inside.good(*run, "--generator", generator))
        for name in ("ex[bird]", "ex[spider]", "soft_f1"):
            assert result["scores"][name]["value"] == value, name
            assert result["scores"][name]["n"] == n
    assert result["report"]["outcomes"].pop("not_runnable", 0) == left_out
    assert result["report"]["outcomes"] == {"no_prediction": n}


def test_predictions_in_birds_form(inside: Inside, tmp_path: Path) -> None:
    wrong = {3: "SELECT 1, 2, 3, 4, 5", 5: "SELECT * FROM nowhere", 7: ""}
    answers = {
        str(i): f"{wrong.get(i, _gold(q))}\t----- bird -----\t{q.database_id}"
        for i, q in enumerate(QUERIES)
    }
    path = tmp_path / "predictions.json"
    path.write_text(json.dumps(answers), encoding="utf-8")
    result = _one(inside.good(*SCORE, path, "--json"))
    outcomes = {"correct": 54, "wrong_result": 1, "unknown_table": 1, "no_prediction": 1}
    assert result["report"]["outcomes"] == outcomes
    assert result["scores"]["ex[bird]"]["value"] == pytest.approx(54 / 57)


def test_answers_of_models(inside: Inside, tmp_path: Path) -> None:
    """Structured or not; a database that is named is looked up, never made a path."""
    (tmp_path / "model.py").write_text(MODEL, encoding="utf-8")
    outcomes = {}
    for form in ("json", "elsewhere", "prose"):
        generator = f"model.py:Model:form={form}"
        result = _one(inside.good(*RUN, "--generator", generator, "--limit", "20"))
        outcomes[form] = result["report"]["outcomes"]
    assert set(outcomes["json"]) <= {"correct", "wrong_result"}
    assert outcomes["elsewhere"] == {"error": 20}
    assert outcomes["prose"] == {"no_prediction": 20}


def test_gold_that_fails_is_reported(inside: Inside, tmp_path: Path) -> None:
    """On a database of one's own."""
    with closing(sqlite3.connect(tmp_path / "shop.sqlite")) as database:
        database.executescript("CREATE TABLE t (a); INSERT INTO t VALUES (1);")
    sql = {
        "good": "SELECT a FROM t",
        "none": "SELECT a FROM t WHERE a > 1",
        "bad": "SELECT b FROM t",
    }
    lines = [
        json.dumps({"query_id": n, "query": n, "table_id": "t", "answer": s, "task": "text_to_sql"})
        for n, s in sql.items()
    ]
    (tmp_path / "queries.jsonl").write_text("\n".join(lines), encoding="utf-8")
    run = ("run", "./shop.sqlite", "--task", "text-to-sql", "--retriever", "oracle", "--top-k", "1")
    result = _one(inside.good(*run, "--generator", "gold", "--json"))
    assert result["report"]["outcomes"] == {"correct": 2, "gold_failed": 1}
