"""Gold tables of every gold query, against the derived files."""

from contextlib import ExitStack

import pytest

from target_bench.sql.databases import open_sqlite
from target_bench.sql.gold_tables import gold_tables
from tests.real.databases import BIRD, SPIDER, bird_schema, needs_databases, records, spider_file

pytestmark = needs_databases


def test_spider() -> None:
    queries = records(SPIDER / "dev_derived.jsonl.gz")
    assert len(queries) == 1034
    with ExitStack() as stack:
        files = {
            name: stack.enter_context(open_sqlite(spider_file(name)))
            for name in {query["db_id"] for query in queries}
        }
        for query in queries:
            sql, name = query["query"], query["db_id"]
            tables = gold_tables(sql, files[name])
            assert set(tables) == set(query["gold_tables"]), sql  # there a name may stand twice


@pytest.mark.parametrize(("split", "n"), [("dev", 1534), ("mini_dev_sqlite", 500)])
def test_bird(split: str, n: int) -> None:
    queries = records(BIRD / f"{split}.json.gz")
    expected = records(BIRD / f"{split}_gold_tables.jsonl.gz")
    assert len(queries) == len(expected) == n
    with ExitStack() as stack:
        names = {query["db_id"] for query in queries}
        schemas = {name: stack.enter_context(bird_schema(name)) for name in names}
        for query, record in zip(queries, expected, strict=True):
            sql, name = query["SQL"], query["db_id"]
            tables = gold_tables(sql, schemas[name])
            assert set(tables) == set(record["gold_tables"]), sql
