"""Logs of questions with their SQL as files of questions."""

import json
from pathlib import Path
from typing import Any

import duckdb
import pytest

from target_bench import corpora
from target_bench.core.errors import ConfigError, DataError
from target_bench.core.schema import Dataset, TableId
from target_bench.data.formats.queries import TableNames, list_tables_read, read_log
from target_bench.data.load import load
from tests.builders import json_lines

SHOP = ("customers", "orders", "Order Items", "events_20240101", "events_20240102")


def _write_shop(folder: Path, log: str, name: str = "queries.csv") -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "tables").mkdir()
    for table in SHOP:
        (folder / "tables" / f"{table}.csv").write_text("id,name\n1,a\n")
    (folder / name).write_text(log)
    return folder


def _gold(dataset: Dataset) -> dict[str, set[str]]:
    return {query.text: {table.table_id for table in query.gold} for query in dataset.queries}


@pytest.mark.parametrize(
    ("sql", "names"),
    [
        ("SELECT * FROM a JOIN s.b ON a.x = b.x WHERE y IN (SELECT y FROM c)", "a s.b c"),
        (
            "WITH orders AS (SELECT * FROM orders), o AS (SELECT 1) SELECT * FROM orders, o",
            "orders",
        ),
        (
            "WITH RECURSIVE r AS (SELECT 1 UNION SELECT n + 1 FROM r JOIN t ON 1) SELECT * FROM r",
            "t",
        ),
        ("INSERT INTO x WITH a AS (SELECT * FROM y) SELECT * FROM a", "y"),
        ("CREATE TABLE x AS SELECT * FROM y", "y"),
        ("UPDATE x SET b = (SELECT max(c) FROM y)", "y"),
        ("SELECT 1; SELECT * FROM a; SELECT * FROM b", "a b"),
        # BigQuery, Snowflake, SQL Server, DuckDB
        ("SELECT * FROM `p-1.d.events_*` e, UNNEST(e.items) i, e.tags", "p-1.d.events_*"),
        ("SELECT v:a::string FROM raw.t, LATERAL FLATTEN(input => t.v) QUALIFY 1 = 1", "raw.t"),
        ("SELECT TOP 5 * FROM [dbo].[My Table]", "dbo.My Table"),
        ("SELECT 1", ""),
        ("SHOW TABLES", ""),
    ],
)
def test_the_tables_that_sql_reads(sql: str, names: str) -> None:
    expected = ["dbo.My Table"] if "My" in names else names.split()
    assert sorted(list_tables_read(sql)) == sorted(expected)


@pytest.mark.parametrize("sql", ["SELECT FROM WHERE (", f"SELECT 1 FROM a{' JOIN a' * 60}"])
def test_sql_that_cannot_be_read(sql: str) -> None:
    with pytest.raises(ValueError, match=r"parsed|conditions"):
        list_tables_read(sql)


def test_names_of_tables() -> None:
    """A name is resolved by its last parts, in any case; of several tables by the database."""
    ids = [
        TableId("0", "raw/Order Items"),
        TableId("A", "t"),
        TableId("B", "t"),
        TableId("B", "s.u"),
    ]
    names = TableNames([*ids, TableId("0", "e_1"), TableId("0", "e_2")])
    assert names.find("order_items") == names.find("db.RAW.ORDER_ITEMS") == ids[:1]
    assert names.find("other.order_items") == []
    assert names.find("t") == []
    assert names.find("t", "B") == names.find("b.t") == [ids[2]]
    assert names.find("u") == names.find("b.s.u") == [ids[3]]
    assert [table.table_id for table in names.find("x.e_*")] == ["e_1", "e_2"]


LOG = """question,sql,time
who buys most,SELECT name FROM shop.customers JOIN orders USING (id),2024-01-05
what is in an order,SELECT * FROM Order_Items,2024-01-01 10:00:00.000 -0800
how many events,SELECT count(*) FROM `events_*`,2024-01-02T00:00:00Z
broken,SELEC FROM (,2024-01-03
without a table,SELECT 1,2024-01-03
about another table,SELECT * FROM salaries,2024-01-03
with another table,SELECT * FROM orders JOIN salaries USING (id),2024-01-04 UTC
,SELECT * FROM orders,2024-01-03
"""


@pytest.mark.parametrize("kind", ["csv", "jsonl"])
def test_a_log_is_a_file_of_questions(tmp_path: Path, kind: str) -> None:
    log = LOG
    if kind == "jsonl":
        names, *rows = (line.split(",", 2) for line in LOG.splitlines())
        pairs = ((row[0], row[1] + "," + row[2]) for row in rows)
        log = json_lines(
            {names[0]: question or None, names[1]: rest.rpartition(",")[0]}
            for question, rest in pairs
        )
    dataset = corpora.load(_write_shop(tmp_path / "shop", log, f"queries.{kind}"))
    assert _gold(dataset) == {
        "who buys most": {"customers", "orders"},
        "what is in an order": {"Order Items"},
        "how many events": {"events_20240101", "events_20240102"},
        "with another table": {"orders"},
    }
    notes = "\n".join(dataset.notes)
    for note in (
        "SQL cannot be parsed, which are left out: 1 (4;",
        "SQL reads no table, which are left out: 1 (5;",
        "no table that is here, which are left out: 1 of 5 (6 (salaries))",
        "no table here, or of several, which are left out: 1 (salaries)",
        "SQL and no question, which only the retriever history reads: 1 (the first: ",
    ):
        assert note in notes


def test_a_log_is_divided_by_time(tmp_path: Path) -> None:
    """Rows of one moment stay together, and repeats of the log are not asked."""
    rows = [(f"question {n}", f"2024-01-{n:02}") for n in range(10, 0, -1)]
    rows += [("Question  3", "2024-01-11"), ("question x", "2024-01-09")]
    lines = [f'{text},SELECT * FROM orders,"{time}"' for text, time in rows]
    folder = _write_shop(tmp_path / "shop", "\n".join(["query,sql,start_time", *lines]))
    path = f"{folder}:split=time:.75"
    texts = {split: sorted(_gold(load(path, split))) for split in ("train", "test", "repeated")}
    assert texts["train"] == [f"question {n}" for n in range(1, 9)]
    assert texts["test"] == ["question 10", "question 9", "question x"]
    assert texts["repeated"] == ["Question  3"]
    assert "not asked: 8 of train, 1 of repeated" in "\n".join(load(path).notes)
    corpus = load(path).corpus
    log, notes = read_log(folder / "queries.csv", corpus, "time:.75")
    assert (sorted(query.text for query in log), notes) == (texts["train"], [])
    assert len(read_log(folder / "queries.csv", corpus)[0]) == 12


@pytest.mark.parametrize("share", ["0.29", "0.57", "0.58"])
def test_the_share_of_a_log_is_exact(tmp_path: Path, share: str) -> None:
    """Also where a float falls short of it; and a date without dashes is one."""
    days = [f"202601{day:02}" if day % 2 else f"2026-01-{day:02}" for day in range(1, 26)] * 4
    lines = [f"question {n},SELECT * FROM orders,{day}" for n, day in enumerate(sorted(days))]
    folder = _write_shop(tmp_path / "shop", "\n".join(["query,sql,date", *lines]))
    n_log = len(_gold(load(f"{folder}:split=random:{share}", "train")))
    assert n_log == round(100 * float(share))
    first = load(f"{folder}:split=time:.5", "train").queries
    assert len(first) == 48, "of twelve days"


def test_a_log_is_divided_by_chance(tmp_path: Path) -> None:
    lines = [f"question {n},SELECT * FROM orders" for n in range(50)]
    folder = _write_shop(tmp_path / "shop", "\n".join(["query,sql", *lines]))
    parts = {}
    for seed in (0, 1):
        path = f"{folder}:split=random:.8,seed={seed}"
        train, test = (set(_gold(load(path, split))) for split in ("train", "test"))
        assert (len(train), len(test), len(train | test)) == (40, 10, 50)
        parts[seed] = test
        assert set(_gold(load(path))) == test
        log, _ = read_log(folder / "queries.csv", load(path).corpus, "random:.8", seed)
        assert {query.text for query in log} == train
    assert parts[0] != parts[1]


@pytest.mark.parametrize(
    ("setting", "fault"),
    [
        ("split=week:.8", "split=week:.8: expected time:.8 or random:.8"),
        ("split=time:1.5", "split=time:1.5: expected time"),
        ("split=random:.8,seed=x", "seed='x': a whole number"),
        ("split=time:.8", "row 1: split=time needs a field with the time of each question"),
    ],
)
def test_divisions_that_cannot_be(tmp_path: Path, setting: str, fault: str) -> None:
    folder = _write_shop(tmp_path / "shop", "query,sql\nwho,SELECT * FROM orders\n")
    with pytest.raises((ConfigError, DataError), match=fault):
        load(f"{folder}:{setting}")


def test_a_time_that_is_none(tmp_path: Path) -> None:
    folder = _write_shop(tmp_path / "shop", "query,sql,time\nwho,SELECT * FROM orders,soon\n")
    with pytest.raises(DataError, match="field 'time': 'soon' is not a time"):
        load(f"{folder}:split=time:.8")


def test_a_line_of_a_log_that_is_no_object(tmp_path: Path) -> None:
    lines = '{"query": "who", "sql": "SELECT * FROM orders"}\n3\n'
    folder = _write_shop(tmp_path / "shop", lines, "queries.jsonl")
    with pytest.raises(
        DataError, match=r"queries\.jsonl, line 2: expected an object with fields, found 3"
    ):
        load(f"{folder}:split=time:.8")


def test_a_log_of_a_database(tmp_path: Path) -> None:
    """Beside a database too; names are those of any dialect."""
    with duckdb.connect(tmp_path / "shop.duckdb") as database:
        database.execute("CREATE TABLE orders (id INTEGER); CREATE TABLE customers (id INTEGER)")
    (tmp_path / "shop.queries.csv").write_text(
        "QUERY_ID,QUESTION,QUERY_TEXT\nq7,who,SELECT * FROM raw.shop.orders WHERE v:a::int = 1\n"
    )
    dataset = load(tmp_path / "shop.duckdb")
    (query,) = dataset.queries
    assert query.gold == (TableId("shop", "orders"),)


def test_sql_alone_is_a_log_and_no_test(tmp_path: Path) -> None:
    records: list[dict[str, Any]] = [{"query_text": "SELECT total FROM orders"}]
    folder = _write_shop(tmp_path / "shop", json.dumps(records[0]) + "\n", "queries.jsonl")
    dataset = corpora.load(folder)
    assert dataset.queries == ()
    ((query,), _) = read_log(folder / "queries.jsonl", dataset.corpus)
    assert (query.text, query.gold) == ("SELECT total FROM orders", (TableId("0", "orders"),))
    with pytest.raises(DataError, match=r"log=.*missing.csv: there is no such file"):
        read_log(folder / "missing.csv", dataset.corpus)
