"""TARGET's copies on the Hugging Face hub: their real names of files, small contents of our own.

The names are those that the hub's pages list, and no others. What is not listed anywhere (the
repositories of TabFact and InfiAgent-DABench) is not here.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from tests.builders import Record
from tests.data.releases import SHOP_SQL, ZOO_SQL, write_sqlite
from tests.data.written import write_records

OWNER = "target-benchmark"

JsonForm = Literal["records", "lines", "lists"]
JSON_FORMS: tuple[JsonForm, ...] = ("records", "lines", "lists")
"""The forms that a JSON file of TARGET's may have."""

SPLITS = ("train", "validation", "test")
DATABASES = {"cre_Shop": SHOP_SQL, "zoo": ZOO_SQL}
GRID = [["planet", "moons"], ["Mars", "2"]]


def _table(table_id: str, table: list[list[str]], database_id: str = "0", **context: str) -> Record:
    return {
        "database_id": database_id,
        "table_id": table_id,
        "table": table,
        "context": context or None,
    }


def _query(number: int, query: str, table_id: Any, answer: str, database_id: str = "0") -> Record:
    return {
        "query_id": number,
        "query": query,
        "answer": answer,
        "database_id": database_id,
        "table_id": table_id,
        "difficulty": "easy",
    }


SQL_TABLES = [
    _table("item", [["item_id", "name"], ["1", "tea"]], "cre_Shop"),
    _table("order lines", [["item", "select"]], "cre_Shop"),
    _table("animal", [["id", "name"], ["1", "ape"]], "zoo"),
]
SQL_QUERIES = [
    # the database calls it ITEM
    _query(0, "What is sold?", ["item"], "SELECT name FROM item", "cre_Shop"),
    _query(1, "Which animals are there?", ["animal"], "SELECT name FROM animal", "zoo"),
]


def _sql(corpus: str, split: str, beside: str) -> dict[str, dict[str, Any]]:
    databases = {
        f"{split}_database/{name}/{file}": content
        for name, script in DATABASES.items()
        for file, content in {f"{name}.sqlite": script, beside: "original_column_name\n"}.items()
    }
    return {
        f"{corpus}-corpus-{split}": {f"{corpus}-corpus-{split}.json": SQL_TABLES, **databases},
        f"{corpus}-queries-{split}": {f"{corpus}-queries-{split}.json": SQL_QUERIES},
    }


def _fetaqa_id(split: str) -> str:
    return f"totto_source/dev_json/example-{split}.json"


_PAGE = {"table_page_title": "Moons", "table_section_title": "Inner planets"}

REPOSITORIES: dict[str, dict[str, Any]] = {
    "ottqa-corpus": {
        f"corpus_{split}.parquet": [
            _table("List_of_moons_0", GRID, section_title="Inner"),
            _table("Rivers_of_Asia_1", [["river"], ["Ob"]], section_title=""),
        ]
        for split in ("train", "validation")
    },
    "ottqa-queries": {
        f"queries_{split}.parquet": [_query(1, "how many moons are listed", "List_of_moons_0", "2")]
        for split in ("train", "validation")
    },
    "fetaqa-corpus": {  # of the branch refs/convert/parquet, the only names that are listed
        f"default/{split}/0000.parquet": [_table(_fetaqa_id(split), GRID, **_PAGE)]
        for split in SPLITS
    },
    "fetaqa-queries": {
        f"queries_{split}.parquet": [_query(7, "How many has Mars?", _fetaqa_id(split), "Two.")]
        for split in SPLITS
    },
    "gittables-corpus": {
        "corpus_train.parquet": [_table(f"table_{i}", [["n"], [str(i)]]) for i in range(5)]
    },
    **_sql("spider", "train", "schema.sql"),
    **_sql("spider", "validation", "schema.sql"),
    **_sql("spider", "test", "schema.sql"),
    **_sql("bird", "validation", "database_description/item.csv"),
}
"""Repository -> path -> records, statements that make a database, or text."""


def write_copy(folder: Path, name: str, form: JsonForm = "records") -> Path:
    """Write a repository (without its owner) as the hub has it; the folder."""
    for path, content in REPOSITORIES[name].items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        if path.endswith(".parquet"):
            write_records(folder / path, content)
        elif path.endswith(".json"):
            write_json(folder / path, content, form)
        elif path.endswith(".sqlite"):
            write_sqlite(folder / path, content)
        else:
            (folder / path).write_text(content, encoding="utf-8")
    return folder


def write_json(path: Path, records: Sequence[Record], form: JsonForm) -> None:
    """A JSON file in one of its forms."""
    lists = {name: [record[name] for record in records] for name in records[0]}
    text = {
        "lines": "".join(json.dumps(record) + "\n" for record in records),
        "records": json.dumps(list(records), indent=1),
        "lists": json.dumps(lists),
    }
    path.write_text(text[form], encoding="utf-8")
