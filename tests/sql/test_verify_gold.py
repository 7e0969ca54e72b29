"""Gold SQL that is verified on databases of one's own."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from target_bench.data.load import load
from target_bench.sql.databases import EngineName
from target_bench.sql.verify_gold import verify_gold
from tests.sql.written import duckdb_file, sqlite_file


def _verified(
    path: Path, statements: dict[str, str], engine: EngineName = "sqlite"
) -> Mapping[str, Any]:
    queries = [{"query_id": n, "query": n, "answer": sql} for n, sql in statements.items()]
    text = "\n".join(map(json.dumps, queries))
    path.with_suffix(".queries.jsonl").write_text(text, encoding="utf-8")
    return verify_gold(load(path), engine)


def test_a_result_with_nan_does_not_differ_from_itself(tmp_path: Path) -> None:
    tables = "CREATE TABLE t AS SELECT 'nan'::DOUBLE AS x; CREATE TABLE u AS SELECT 1 AS x;"
    path = duckdb_file(tmp_path / "some.duckdb", tables)
    sql = {"nan": "SELECT x FROM t", "chance": "SELECT random() FROM u"}
    assert _verified(path, sql)["differ_between_runs"] == ["chance"]


def test_engines_have_to_agree_without_distinct_too(tmp_path: Path) -> None:
    """As Spider's rule runs it, the sum overflows in SQLite, and in DuckDB it does not."""
    numbers = f"CREATE TABLE n (x INTEGER); INSERT INTO n VALUES ({2**62}), ({2**62}), ({2**62});"
    path = sqlite_file(tmp_path / "some.sqlite", numbers)
    sql = {"sum": "SELECT sum(DISTINCT x) FROM n", "max": "SELECT DISTINCT max(x) FROM n"}
    counts = _verified(path, sql, "duckdb")
    assert (counts["executed"], counts["differ_between_engines"]) == (2, ["sum"])
