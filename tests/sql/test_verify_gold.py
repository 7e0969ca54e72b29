"""Gold SQL that is verified on databases of one's own."""

import json
from pathlib import Path

from target_bench.data.load import load
from target_bench.sql.verify_gold import verify_gold
from tests.sql.written import duckdb_file, sqlite_file


def test_a_result_with_nan_does_not_differ_from_itself(tmp_path: Path) -> None:
    path = duckdb_file(
        tmp_path / "some.duckdb",
        "CREATE TABLE t AS SELECT 'nan'::DOUBLE AS x; CREATE TABLE u AS SELECT 1 AS x;",
    )
    sql = {"nan": "SELECT x FROM t", "chance": "SELECT random() FROM u"}
    queries = [{"query_id": n, "query": n, "table_id": "t", "answer": s} for n, s in sql.items()]
    text = "\n".join(map(json.dumps, queries))
    (tmp_path / "some.queries.jsonl").write_text(text, encoding="utf-8")
    assert verify_gold(load(path))["differ_between_runs"] == ["chance"]


def test_engines_have_to_agree_without_distinct_too(tmp_path: Path) -> None:
    """As Spider's rule runs it, the sum overflows in SQLite, and in DuckDB it does not."""
    path = sqlite_file(
        tmp_path / "some.sqlite",
        f"CREATE TABLE n (x INTEGER); INSERT INTO n VALUES ({2**62}), ({2**62}), ({2**62});",
    )
    sql = {"sum": "SELECT sum(DISTINCT x) FROM n", "max": "SELECT DISTINCT max(x) FROM n"}
    queries = [{"query_id": n, "query": n, "answer": s} for n, s in sql.items()]
    text = "\n".join(map(json.dumps, queries))
    (tmp_path / "some.queries.jsonl").write_text(text, encoding="utf-8")
    counts = verify_gold(load(path), "duckdb")
    assert (counts["executed"], counts["differ_between_engines"]) == (2, ["sum"])
