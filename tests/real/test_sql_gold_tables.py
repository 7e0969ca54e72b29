"""Gold tables and schema linking of every gold query, against the derived files."""

from contextlib import ExitStack

import pytest

from target_bench.sql.databases import columns, opened
from target_bench.sql.gold_tables import gold_tables
from target_bench.sql.judged_answer import overlap
from target_bench.sql.linking import linking, usage
from tests.real.databases import BIRD, SPIDER, bird_schema, needs_databases, records, spider_file

pytestmark = needs_databases


def test_spider() -> None:
    queries = records(SPIDER / "dev_derived.jsonl.gz")
    assert len(queries) == 1034
    with ExitStack() as stack:
        files = {
            name: stack.enter_context(opened(spider_file(name)))
            for name in {query["db_id"] for query in queries}
        }
        schemas = {name: columns(file) for name, file in files.items()}
        for query in queries:
            sql, name = query["query"], query["db_id"]
            tables = gold_tables(sql, files[name])
            assert set(tables) == set(query["gold_tables"]), sql  # there a name may stand twice
            used = usage(sql, schemas[name])
            assert used.tables == set(tables), sql
            assert (used.unknown_columns, used.error) == ((), None), sql


@pytest.mark.parametrize(("split", "n"), [("dev", 1534), ("mini_dev_sqlite", 500)])
def test_bird(split: str, n: int) -> None:
    queries = records(BIRD / f"{split}.json.gz")
    expected = records(BIRD / f"{split}_gold_tables.jsonl.gz")
    assert len(queries) == len(expected) == n
    with ExitStack() as stack:
        names = {query["db_id"] for query in queries}
        schemas = {name: stack.enter_context(bird_schema(name)) for name in names}
        known = {name: columns(schema) for name, schema in schemas.items()}
        for query, record in zip(queries, expected, strict=True):
            sql, name = query["SQL"], query["db_id"]
            tables = gold_tables(sql, schemas[name])
            assert set(tables) == set(record["gold_tables"]), sql
            used = usage(sql, known[name])
            assert used.tables == set(tables), sql
            assert (used.unknown_columns, used.error) == ((), None), sql


@pytest.mark.parametrize(
    ("model", "tables", "selected"),
    [
        ("gpt-4-o_cot_SQLite", 0.949, 0.899),
        ("gpt-4_sqlite", 0.936, 0.836),
        ("meta-llama-3-8b-instruct-2_sqlite", 0.821, 0.648),
    ],
)
def test_linking_of_published_predictions(model: str, tables: float, selected: float) -> None:
    """The better a system is known to be, the better it links."""
    path = BIRD / "mini_dev_predictions" / f"predict_mini_dev_{model}.json.gz"
    predictions: dict[str, str] = dict(records(path))  # type: ignore[arg-type]  # one object
    linked = []
    with ExitStack() as stack:
        queries = records(BIRD / "mini_dev_sqlite.json.gz")
        names = {query["db_id"] for query in queries}
        known = {name: columns(stack.enter_context(bird_schema(name))) for name in names}
        for i, query in enumerate(queries):
            sql = predictions[str(i)].partition("\t----- bird -----\t")[0]
            linked.append(linking(query["SQL"], sql, known[query["db_id"]]))
    for name, expected in (("tables", tables), ("columns", selected)):
        total = [sum(counts) for counts in zip(*(link[name] for link in linked), strict=True)]
        assert overlap(*total)["f1"] == pytest.approx(expected, abs=0.005)
