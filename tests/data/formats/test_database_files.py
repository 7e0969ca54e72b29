"""SQLite and DuckDB files as corpora."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import duckdb
import pytest

from target_bench import evaluate
from target_bench.core.errors import ConfigError, DataError
from target_bench.core.schema import Dataset, Table
from target_bench.data.load import load
from tests.data.written import asked, write_queries


def _sqlite(path: Path, script: str) -> Path:
    with closing(sqlite3.connect(path)) as database, database:
        database.executescript(script)
    return path


def _duckdb(path: Path, script: str) -> Path:
    with duckdb.connect(path) as database:
        database.execute(script)
    return path


def _load(path: Path, table: str = "t") -> Dataset:
    write_queries(path.parent / "queries.jsonl", [asked(table)])
    return load(path)


def _fault(path: Path) -> str:
    with pytest.raises(DataError) as caught:
        _load(path)
    assert str(path) in str(caught.value) or f"(from {path.name}" in str(caught.value)
    return str(caught.value)


def _without_types(table: Table) -> dict[str, Any]:
    return {k: v for k, v in table.context.items() if k not in ("column_types", "schema")}


SCHEMA = '''
CREATE TABLE city (id INTEGER PRIMARY KEY, name TEXT, size REAL, flag BLOB);
INSERT INTO city VALUES (2, 'Öhringen', 2.5, x'00ff'), (1, NULL, 0.5, NULL);
CREATE TABLE "order" ("select" TEXT, "a ""b""" BIGINT, city INTEGER,
    PRIMARY KEY ("a ""b""", "select"), FOREIGN KEY (city) REFERENCES city (id));
INSERT INTO "order" VALUES ('x', 9223372036854775807, 1);
CREATE TABLE "empty 1" (a);
'''


@pytest.mark.parametrize("suffix", ["sqlite", "sqlite3", "db", "duckdb"])
def test_every_field(tmp_path: Path, suffix: str) -> None:
    """Reserved words, quotes and blanks in names; an empty table; keys; no view, no index."""
    if suffix == "duckdb":
        script = SCHEMA.replace("(a)", "(a INTEGER)").replace("x'00ff'", "'\\x00\\xff'::BLOB")
        path = _duckdb(tmp_path / "shop.duckdb", script + "CREATE VIEW v AS SELECT * FROM city")
    else:
        more = "CREATE VIEW v AS SELECT * FROM city; CREATE INDEX i ON city (name);"
        path = _sqlite(tmp_path / f"shop.{suffix}", SCHEMA + more)
    dataset = _load(path, "city")
    city, empty, order = dataset.corpus
    assert [t.id for t in (city, empty, order)] == [
        ("shop", "city"),
        ("shop", "empty 1"),
        ("shop", "order"),
    ]
    assert list(city.header) == ["id", "name", "size", "flag"]
    rows = [list(row) for row in city.rows]
    expected = [[2, "Öhringen", 2.5, b"\0\xff"], [1, None, 0.5, None]]
    assert sorted(map(repr, rows)) == sorted(map(repr, expected))
    assert _without_types(city) == {"title": "city", "primary_key": ["id"]}
    assert city.context["column_types"][0] == "INTEGER"
    assert city.context["schema"].startswith("CREATE TABLE city")
    assert (list(empty.header), list(empty.rows)) == (["a"], [])
    assert _without_types(empty) == {"title": "empty 1"}
    assert list(order.header) == ["select", 'a "b"', "city"]
    assert [list(row) for row in order.rows] == [["x", 2**63 - 1, 1]]
    assert _without_types(order) == {
        "title": "order",
        "primary_key": ['a "b"', "select"],
        "foreign_keys": [["city", "city.id"]],
    }
    assert dataset.queries[0].gold == (("shop", "city"),)
    empty_rows, views = dataset.notes
    assert empty_rows == "1 of 3 tables have no rows"
    assert views.startswith("views of databases are not read")
    assert dataset.databases == {"shop": path}
    assert "text_to_sql" in dataset.info.tasks
    assert load(path).corpus.fingerprint == dataset.corpus.fingerprint


@pytest.mark.parametrize("content", [b"no database", b"SQLite format 3\0" + b"x" * 200])
@pytest.mark.parametrize("suffix", ["db", "duckdb"])
def test_no_database(tmp_path: Path, content: bytes, suffix: str) -> None:
    path = tmp_path / f"x.{suffix}"
    path.write_bytes(content)
    assert "cannot be read as SQLite: file is not a database. Is it whole" in _fault(path)
    path.unlink()
    path.symlink_to(tmp_path / "gone")
    with pytest.raises(DataError, match=r"a link to .*gone, which does not exist"):
        load(tmp_path)


def test_corrupt_sqlite(tmp_path: Path) -> None:
    rows = ", ".join(f"('{'x' * 100}{i}')" for i in range(2000))
    path = _sqlite(tmp_path / "x.db", f"CREATE TABLE t (a); INSERT INTO t VALUES {rows};")
    raw = path.read_bytes()
    path.write_bytes(raw[: len(raw) // 2])
    assert "cannot be read as SQLite: " in _fault(path)
    path.write_bytes(raw[:8192] + b"\xff" * (len(raw) - 8192))
    assert "cannot be read as SQLite: " in _fault(path)


def test_text_that_is_not_utf8(tmp_path: Path) -> None:
    """The bytes stay visible."""
    path = _sqlite(tmp_path / "x.db", "CREATE TABLE t (a); INSERT INTO t VALUES ('é');")
    path.write_bytes(path.read_bytes().replace("é".encode(), b"\xe9x"))
    (table,) = _load(path).corpus
    assert [list(row) for row in table.rows] == [["\\xe9x"]]


def test_types_of_duckdb(tmp_path: Path) -> None:
    values: dict[str, tuple[str, Any]] = {
        "day": ("DATE '2020-02-29'", "2020-02-29"),
        "price": ("1.50::DECIMAL(9, 2)", "1.50"),
        "many": ("[1, NULL, 3]", "[1, null, 3]"),
        "deep": ("{'k': [1.5], 'day': DATE '2020-01-01'}", '{"k": ["1.5"], "day": "2020-01-01"}'),
        "raw": ("{'b': '\\xFF'::BLOB}", '{"b": "ff"}'),
        "named": ("MAP {'a': 1}", '{"a": 1}'),
        "large": ("170141183460469231731687303715884105727::HUGEINT", 2**127 - 1),
        "span": ("INTERVAL 36 HOUR", "1 day, 12:00:00"),
        "kind": ("'b'::ENUM ('a', 'b')", "b"),
        "real": ("'nan'::DOUBLE", float("nan")),
        "none": ("NULL::INTEGER", None),
    }
    columns = ", ".join(f"{expression} AS {name}" for name, (expression, _) in values.items())
    path = _duckdb(tmp_path / "x.duckdb", f"CREATE TABLE t AS SELECT {columns}")
    (table,) = _load(path).corpus
    cells = dict(zip(table.header, table.rows[0], strict=True))
    assert repr(cells) == repr({name: value for name, (_, value) in values.items()})


def test_queries_of_its_own_go_first(tmp_path: Path) -> None:
    path = _sqlite(tmp_path / "shop.db", "CREATE TABLE t (a); CREATE TABLE u (a);")
    write_queries(tmp_path / "queries.jsonl", [asked("t", query="general")])
    assert load(path).queries[0].text == "general"
    write_queries(tmp_path / "shop.queries.jsonl", [asked("u", query="own", split="dev")])
    dataset = load(path)
    assert (dataset.queries[0].text, dataset.split) == ("own", "validation")
    with pytest.raises(ConfigError, match="corpus shop has no split 'train'"):
        load(path, "train")


def test_gold_tables_of_sql_in_duckdb(tmp_path: Path) -> None:
    script = (
        "CREATE TABLE City (a int); CREATE TABLE shop (a int); CREATE VIEW v AS FROM shop;"
        "CREATE SCHEMA eu; CREATE TABLE eu.city (a int)"
    )
    path = _duckdb(tmp_path / "x.duckdb", script)
    expected = {
        'SELECT 1 FROM main.city c, "Shop" s': ["City", "shop"],
        "SELECT * FROM v": ["shop"],
        'SELECT * FROM "x"."main"."v"': ["shop"],
        "SELECT * FROM x.main.city": ["City"],
        "SELECT * FROM x.eu.city": ["eu.city"],
    }
    records = [{"query_id": i, "query": "?", "answer": sql} for i, sql in enumerate(expected)]
    write_queries(tmp_path / "queries.jsonl", records)
    gold = [[table.table_id for table in query.gold] for query in load(path).queries]
    assert gold == list(expected.values())
    records[0]["answer"] = "SELECT 1 FROM nowhere"
    write_queries(tmp_path / "queries.jsonl", records)
    with pytest.raises(DataError, match=r"no base table of x\.duckdb.*Name the gold tables"):
        load(path)


@pytest.mark.filterwarnings("ignore:.* are not read")
@pytest.mark.parametrize("engine", ["sqlite", "duckdb"])
def test_a_database_in_a_folder_is_one_more_source(tmp_path: Path, engine: str) -> None:
    """Its views are named; a file that only ends like a database is none."""
    script = "CREATE TABLE t (a INTEGER PRIMARY KEY, b TEXT); CREATE VIEW v AS SELECT b FROM t;"
    (tmp_path / "it").mkdir()
    path = tmp_path / "it" / f"crm.{engine}"
    if engine == "sqlite":
        _sqlite(path, f"{script} INSERT INTO t VALUES (1, 'Oslo');")
    else:
        with duckdb.connect(path) as database:
            database.execute(f"{script} INSERT INTO t VALUES (1, 'Oslo');")
    (tmp_path / "c.csv").write_text("x\n1\n")
    (tmp_path / "Thumbs.db").write_bytes(b"\xd0\xcf\x11\xe0 of Windows")
    write_queries(tmp_path / "queries.jsonl", [asked("it/crm/t", query="Oslo")])
    dataset = load(tmp_path)
    assert [i.table_id for i in dataset.corpus.ids] == ["c", "it/crm/t"]
    table = dataset.corpus["0", "it/crm/t"]
    assert ([*table.header], [list(row) for row in table.rows]) == (["a", "b"], [[1, "Oslo"]])
    assert (table.context["title"], table.context["primary_key"]) == ("it / crm / t", ["a"])
    notes = "\n".join(dataset.notes)
    assert "views of databases are not read" in notes
    assert ": 1 (v; the first: " in notes
    assert ".db files are not read: 1 (Thumbs.db)" in notes
    assert evaluate("bm25", dataset, top_k=1, out=tmp_path / "runs").scores["recall@1"].value == 1
