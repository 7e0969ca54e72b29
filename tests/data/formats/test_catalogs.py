"""Warehouses by their catalogs: dbt's files, and lists of columns."""

import json
from pathlib import Path
from typing import Any

import duckdb
import pytest

from target_bench import TableSearch, evaluate
from target_bench.core.errors import ConfigError, DataError
from target_bench.core.schema import Dataset, Table, TableId
from target_bench.data.load import load

DDL = """
CREATE SCHEMA sales;
CREATE TABLE sales.customers (id INTEGER PRIMARY KEY, city VARCHAR);
CREATE TABLE sales.orders (id INTEGER, customer_id INTEGER, total DECIMAL(9, 2));
COMMENT ON COLUMN sales.orders.total IS 'gross, in euros';
CREATE VIEW big_orders AS SELECT * FROM sales.orders WHERE total > 100;
"""


def test_columns_of_a_real_duckdb(tmp_path: Path) -> None:
    with duckdb.connect(tmp_path / "shop.duckdb") as database:
        database.execute(DDL)
        database.execute(f"COPY information_schema.columns TO '{tmp_path}/columns.csv' (HEADER)")
    (tmp_path / "shop.duckdb").unlink()
    (tmp_path / "queries.csv").write_text(
        "question,sql,time\n"
        "gross of all orders,SELECT sum(total) FROM sales.orders,2026-01-01\n"
        "cities of customers,SELECT city FROM shop.sales.customers,2026-01-02\n"
    )
    dataset = load(f"{tmp_path}/columns.csv:split=time:.5")
    assert sorted(dataset.corpus.ids) == [
        TableId("shop", "main.big_orders"),
        TableId("shop", "sales.customers"),
        TableId("shop", "sales.orders"),
    ]
    orders = dataset.corpus["shop", "sales.orders"]
    assert orders == Table(
        TableId("shop", "sales.orders"),
        ["id", "customer_id", "total"],
        (),
        {
            "title": "sales.orders",
            "column_types": ["INTEGER", "INTEGER", "DECIMAL(9,2)"],
            "column_descriptions": {"total": "gross, in euros"},
        },
    )
    (query,) = dataset.queries
    assert (query.text, query.gold) == (
        "cities of customers",
        (TableId("shop", "sales.customers"),),
    )


@pytest.mark.filterwarnings("ignore")
def test_search_and_rank(tmp_path: Path) -> None:
    path = tmp_path / "columns.csv"
    path.write_text(
        "table_name,column_name\nclients,city\nclients,name\norders,total\nlots,weight\n"
    )
    (hit,) = TableSearch(str(path), "bm25").search("total of the orders", k=1)
    assert hit.table.id == ("0", "orders")
    (tmp_path / "queries.csv").write_text("query,table_id\nweight of the lots,lots\n")
    result = evaluate("bm25", str(path), top_k=1)[0]
    assert float(result.scores["recall@1"]) == 1


@pytest.mark.parametrize(
    "lines",
    [
        # Snowflake, sorted by name
        "TABLE_CATALOG,TABLE_SCHEMA,TABLE_NAME,COLUMN_NAME,ORDINAL_POSITION,DATA_TYPE,COMMENT\n"
        "W,S,T,B,2,TEXT,second\nW,S,T,A,10,NUMBER,\nW,S,T,C,1,TEXT,\nW,INFORMATION_SCHEMA,X,Y,1,TEXT,\n",
        # BigQuery: fields of nested columns
        "table_catalog,table_schema,table_name,column_name,field_path,data_type,description\n"
        "W,S,T,C,C,TEXT,\nW,S,T,B,B,TEXT,second\nW,S,T,A,A,NUMBER,\n",
        # Postgres, separated by semicolons
        "table_catalog;table_schema;table_name;column_name;data_type;udt_name;description\n"
        "W;S;T;C;TEXT;t;\nW;S;T;B;TEXT;t;second\nW;S;T;A;NUMBER;n;\nW;pg_catalog;pg_class;a;oid;;\n",
        # duckdb_columns()
        "database_name,schema_name,table_name,column_name,column_index,data_type,comment\n"
        "W,S,T,C,0,TEXT,\nW,S,T,B,1,TEXT,second\nW,S,T,A,2,NUMBER,\n",
    ],
)
def test_spellings(tmp_path: Path, lines: str) -> None:
    (tmp_path / "columns.csv").write_text(lines)
    dataset = load(tmp_path / "columns.csv")
    (table,) = dataset.corpus
    assert (table.id, table.header) == (TableId("W", "S.T"), ["C", "B", "A"])
    assert table.context["column_types"] == ["TEXT", "TEXT", "NUMBER"]
    assert table.context["column_descriptions"] == {"B": "second"}


def test_keys_and_comments_of_mysql(tmp_path: Path) -> None:
    (tmp_path / "columns.csv").write_text(
        "TABLE_SCHEMA,TABLE_NAME,COLUMN_NAME,COLUMN_TYPE,COLUMN_KEY,TABLE_COMMENT\n"
        "shop,t,id,int,PRI,all sales\nshop,t,x,int,,all sales\n"
    )
    (table,) = load(tmp_path / "columns.csv").corpus
    assert (table.context["primary_key"], table.context["section_title"]) == (["id"], "all sales")


RELATIONS = "test.shop.relationships_orders_customer_id"


def _manifest() -> dict[str, Any]:
    """A manifest of version 12, as of a small shop: two models, a seed, a source, a test."""
    relation = {"database": "dev", "schema": "main"}
    customers = {
        **relation,
        "resource_type": "model",
        "name": "customers",
        "alias": "customers",
        "description": "One row for each person who ever bought something",
        "config": {"materialized": "table"},
        "columns": {
            "customer_id": {"name": "customer_id", "description": "key", "data_type": None}
        },
        "primary_key": ["customer_id"],
    }
    orders = {
        **relation,
        "resource_type": "model",
        "name": "orders_v2",
        "alias": "orders",
        "description": "",
        "config": {"materialized": "view"},
        "constraints": [{"type": "primary_key", "columns": ["order_id"]}],
        "columns": {
            "ORDER_ID": {"name": "ORDER_ID", "description": "", "data_type": "integer"},
            "note": {"name": "note", "description": "free text", "data_type": "varchar"},
        },
    }
    test = {
        "resource_type": "test",
        "name": "relationships",
        "column_name": "customer_id",
        "attached_node": "model.shop.orders",
        "depends_on": {"nodes": ["model.shop.customers", "model.shop.orders"]},
        "test_metadata": {
            "name": "relationships",
            "kwargs": {
                "to": "ref('customers')",
                "field": "customer_id",
                "column_name": "customer_id",
            },
        },
    }
    hidden = {**customers, "name": "tmp", "alias": "tmp", "config": {"materialized": "ephemeral"}}
    bare = {**customers, "resource_type": "seed", "name": "raw", "alias": "raw", "columns": {}}
    source = {
        "resource_type": "source",
        "name": "events",
        "identifier": "events_raw",
        "database": "lake",
        "schema": "web",
        "description": "Clicks",
        "columns": {"at": {"name": "at", "description": "", "data_type": "timestamp"}},
    }
    return {
        "metadata": {"dbt_schema_version": "https://schemas.getdbt.com/dbt/manifest/v12.json"},
        "nodes": {
            "model.shop.customers": customers,
            "model.shop.orders": orders,
            "model.shop.tmp": hidden,
            "seed.shop.raw": bare,
            RELATIONS: test,
        },
        "sources": {"source.shop.events": source},
        "exposures": {
            "exposure.shop.weekly": {
                "name": "weekly",
                "depends_on": {"nodes": ["model.shop.orders"]},
            }
        },
    }


def _catalog() -> dict[str, Any]:
    names = {"type": "BASE TABLE", "schema": "main", "name": "orders", "database": "dev"}
    columns = {
        "customer_id": {"type": "INTEGER", "index": 2, "name": "customer_id", "comment": "who"},
        "order_id": {"type": "INTEGER", "index": 1, "name": "order_id", "comment": None},
    }
    return {
        "metadata": {"dbt_schema_version": "https://schemas.getdbt.com/dbt/catalog/v1.json"},
        "nodes": {"model.shop.orders": {"metadata": names, "columns": columns}},
        "sources": {},
    }


def _load(folder: Path, **files: dict[str, Any]) -> Dataset:
    for name, content in files.items():
        (folder / f"{name}.json").write_text(json.dumps(content))
    return load(folder)


def test_dbt(tmp_path: Path) -> None:
    """Columns are those of both files; keys come from constraints and tests; usage is noted."""
    dataset = _load(tmp_path, manifest=_manifest(), catalog=_catalog())
    customers, orders, events = dataset.corpus
    assert (customers.id, customers.header) == (TableId("dev", "main.customers"), ["customer_id"])
    assert customers.context == {
        "title": "main.customers",
        "section_title": "One row for each person who ever bought something",
        "column_descriptions": {"customer_id": "key"},
        "primary_key": ["customer_id"],
    }
    assert orders.header == ["order_id", "customer_id", "note"]
    assert orders.context == {
        "title": "main.orders",
        "column_types": ["INTEGER", "INTEGER", "varchar"],
        "column_descriptions": {"customer_id": "who", "note": "free text"},
        "primary_key": ["order_id"],
        "foreign_keys": [["customer_id", "main.customers.customer_id"]],
        "used_by": ["weekly"],
    }
    assert (events.id, events.header) == (TableId("lake", "web.events_raw"), ["at"])
    assert "without a known column, which are left out" in "\n".join(dataset.notes)
    (hit,) = TableSearch(str(tmp_path / "manifest.json"), "bm25").search("person who bought", k=1)
    assert hit.table.id == customers.id


def test_each_file_of_dbt_alone(tmp_path: Path) -> None:
    (table,) = _load(tmp_path, catalog=_catalog()).corpus
    assert (table.id, table.header) == (TableId("dev", "main.orders"), ["order_id", "customer_id"])
    (tmp_path / "catalog.json").unlink()
    manifest = _manifest()
    del manifest["nodes"][RELATIONS]["attached_node"]  # before version 12
    orders = _load(tmp_path, manifest=manifest).corpus["dev", "main.orders"]
    assert orders.header == ["ORDER_ID", "note"]
    assert orders.context["foreign_keys"] == [["customer_id", "main.customers.customer_id"]]


def test_faults(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"manifest.json: no field 'nodes'"):
        _load(tmp_path, manifest={"metadata": {"dbt_schema_version": "v12"}})
    whole: dict[str, Any] = {"metadata": {"dbt_schema_version": "v12"}, "sources": {}}
    nameless = {"resource_type": "model", "columns": {"a": {"name": "a"}}}
    for node in (nameless, {**nameless, "name": "t", "columns": {"a": {}}}):
        with pytest.raises(DataError, match=r"'model\.m' of manifest\.json .* dbt docs generate"):
            _load(tmp_path, manifest={**whole, "nodes": {"model.m": node}})
    with pytest.raises(DataError, match=r"manifest\.json: .*model\.m"):
        _load(tmp_path, manifest={**whole, "nodes": {"model.m": 3}})
    (tmp_path / "manifest.json").unlink()
    (tmp_path / "c.csv").write_text("table_name,column_name\nt,a\nt,\n")
    with pytest.raises(DataError, match="row 2: a row needs the name of a table and that of a"):
        load(tmp_path / "c.csv")
    with pytest.raises(ConfigError, match="the setting encoding is for a folder with"):
        load(f"{tmp_path}/c.csv:encoding=cp1252")
    (tmp_path / "other.csv").write_text("a,b\n1,2\n")
    with pytest.raises(DataError, match="a single file of tables"):
        load(tmp_path / "other.csv")


def test_a_table_of_dbt_that_is_a_source_too_is_read_once(tmp_path: Path) -> None:
    """As the seeds of jaffle_shop are, whose catalog lists them twice."""
    catalog = _catalog()
    catalog["sources"] = {"source.shop.orders": catalog["nodes"]["model.shop.orders"]}
    dataset = _load(tmp_path, catalog=catalog)
    assert len(dataset.corpus) == 1
    assert "a source and made by dbt, read once" in "\n".join(dataset.notes)


@pytest.mark.parametrize(
    ("row", "fault"),
    [
        ("t,a,x", "ordinal_position is 'x'; expected a number"),
        (" ,a,1", "needs the name of a table"),
    ],
)
def test_rows_of_a_list_of_columns_that_cannot_be(tmp_path: Path, row: str, fault: str) -> None:
    (tmp_path / "columns.csv").write_text(f"table_name,column_name,ordinal_position\n{row}\n")
    with pytest.raises(DataError, match=fault):
        load(tmp_path / "columns.csv")
