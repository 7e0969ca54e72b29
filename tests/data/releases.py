"""Releases of Spider and BIRD, small ones of our own."""

import json
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from tests.builders import Record, write_release


def schema_record(db_id: str, tables: dict[str, list[tuple[str, str]]], **changes: Any) -> Record:
    """A record of ``tables.json``: table -> (column, type) pairs."""
    columns = [
        (i, *column) for i, columns_of in enumerate(tables.values()) for column in columns_of
    ]
    return {
        "db_id": db_id,
        "table_names_original": list(tables),
        "table_names": [name.replace("_", " ") for name in tables],
        "column_names_original": [[-1, "*"], *([i, name] for i, name, _ in columns)],
        "column_names": [
            [-1, "*"],
            *([i, name.lower().replace("_", " ")] for i, name, _ in columns),
        ],
        "column_types": ["text", *(kind for *_, kind in columns)],
        "primary_keys": [],
        "foreign_keys": [],
    } | changes


def write_sqlite(path: Path, script: str) -> Path:
    """A SQLite file made by a script."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(path)) as database, database:
        database.executescript(script)
    return path


SHOP = schema_record(
    "cre_Shop",
    {
        "Item": [("Item_ID", "number"), ("name", "text")],
        "sqlite_sequence": [("name", "text"), ("seq", "text")],
        "order lines": [("item", "number"), ("select", "number")],
    },
    primary_keys=[1],
    foreign_keys=[[5, 1]],
)
ZOO = schema_record("zoo", {"animal": [("id", "integer"), ("name", "text")]}, primary_keys=[[1]])
SHOP_SQL = """
CREATE TABLE "order lines" (item INTEGER REFERENCES Item, "select" INTEGER);
CREATE TABLE ITEM (item_id INTEGER PRIMARY KEY AUTOINCREMENT, name VARCHAR(9));
INSERT INTO ITEM (name) VALUES ('tea'), ('milk');
"""
ZOO_SQL = "CREATE TABLE animal (id INTEGER, name TEXT); INSERT INTO animal VALUES (1, 'ape');"


def spider_question(db_id: str, query: str, question: str = "What?") -> Record:
    """A record of Spider's ``dev.json``."""
    return {"db_id": db_id, "question": question, "query": query, "sql": {}}


SPIDER_QUESTIONS = [
    spider_question("cre_Shop", 'SELECT count(*) FROM item WHERE name = "tea"'),
    spider_question(
        "cre_Shop", "SELECT a.NAME FROM item a JOIN `order lines` b ON a.item_id = b.item"
    ),
    spider_question("zoo", "SELECT name FROM animal WHERE id NOT IN (SELECT id FROM animal)"),
]


def write_spider(folder: Path, questions: Sequence[Record] = SPIDER_QUESTIONS, **how: Any) -> Path:
    """Spider's dev split with the database ``cre_Shop``; ``zoo`` is missing."""
    write_release(folder, "dev.json", json.dumps(list(questions)), **how)
    write_release(folder, "tables.json", json.dumps([SHOP, ZOO]), **how)
    write_sqlite(folder / "database" / "cre_Shop" / "cre_Shop.sqlite", SHOP_SQL)
    return folder


def bird_question(number: int, db_id: str, sql: str, **changes: Any) -> Record:
    """A record of BIRD's ``dev.json``."""
    return {
        "question_id": number,
        "db_id": db_id,
        "question": f"Question {number}?",
        "evidence": "tea is a drink",
        "SQL": sql,
        "difficulty": "simple",
    } | changes


BIRD_QUESTIONS = [
    bird_question(7, "cre_Shop", "SELECT `name` FROM Item"),
    bird_question(8, "zoo", "SELECT name FROM animal", difficulty="challenging", evidence=""),
    bird_question(7, "cre_Shop", "SELECT `select` FROM `order lines`"),
]


def write_bird(
    folder: Path, questions: Sequence[Record] = BIRD_QUESTIONS, name: str = "dev"
) -> Path:
    """BIRD's dev split with the database ``zoo``; ``cre_Shop`` is missing."""
    write_release(folder, f"{name}.json", json.dumps(list(questions)))
    write_release(folder, "dev_tables.json", json.dumps([SHOP, ZOO]))
    write_sqlite(folder / "dev_databases" / "zoo" / "zoo.sqlite", ZOO_SQL)
    return folder
