"""Gold SQL that is verified on databases of one's own."""

import json
from pathlib import Path

from target_bench.corpora import load
from target_bench.sql.verifying import verify_gold
from tests.sql.written import duckdb_file


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
