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

N_GITTABLES = 500

DATABASES = {"cre_Shop": SHOP_SQL, "zoo": ZOO_SQL}

SQL_QUERIES: list[Record] = [
    {
        "query_id": 0,
        "query": "What is sold?",
        "answer": "SELECT name FROM item",
        "table_id": ["item"],  # the database calls it ITEM
        "database_id": "cre_Shop",
        "difficulty": "easy",
    },
    {
        "query_id": 1,
        "query": "Which animals are there?",
        "answer": "SELECT name FROM animal",
        "table_id": ["animal"],
        "database_id": "zoo",
        "difficulty": "easy",
    },
]


def write_copy(folder: Path, name: str, form: JsonForm = "records") -> Path:
    """Write a repository (without its owner) as the hub has it; the folder."""
    _WRITERS[name.removesuffix("-parquet")](folder, form)
    return folder


def _ottqa_corpus(folder: Path, form: JsonForm) -> None:
    for split in ("train", "validation"):
        records = [
            _table("List_of_moons_0", [["planet", "moons"], ["Mars", "2"]], section_title="Inner"),
            _table("Rivers_of_Asia_1", [["river"], ["Ob"]], section_title=""),
        ]
        write_records(folder / f"corpus_{split}.parquet", records)


def _ottqa_queries(folder: Path, form: JsonForm) -> None:
    for split in ("train", "validation"):
        write_records(
            folder / f"queries_{split}.parquet",
            [_query("a1", "how many moons are listed", "List_of_moons_0", "2")],
        )


def _fetaqa_corpus(folder: Path, form: JsonForm) -> None:
    """The branch refs/convert/parquet, the only names of it that are listed."""
    for split in ("test", "train", "validation"):
        titles = {"table_page_title": "Moons", "table_section_title": "Inner planets"}
        grid = [["planet", "moons"], ["Mars", "2"]]
        write_records(
            folder / "default" / split / "0000.parquet",
            [_table(f"totto_source/dev_json/example-{split}.json", grid, **titles)],
        )


def _fetaqa_queries(folder: Path, form: JsonForm) -> None:
    for split in ("test", "train", "validation"):
        table_id = f"totto_source/dev_json/example-{split}.json"
        write_records(
            folder / f"queries_{split}.parquet",
            [_query("7", "How many moons has Mars?", table_id, "Two.")],
        )


def _gittables_corpus(folder: Path, form: JsonForm) -> None:
    tables = [_table(f"table_{i}", [["n", "word"], [str(i), "x"]]) for i in range(N_GITTABLES)]
    write_records(folder / "corpus_train.parquet", tables)


def _sql_corpus(corpus: str, split: str, *beside: str) -> Any:
    def write(folder: Path, form: JsonForm) -> None:
        records = [
            _table("item", [["item_id", "name"], ["1", "tea"]], "cre_Shop"),
            _table("order lines", [["item", "select"]], "cre_Shop"),
            _table("animal", [["id", "name"], ["1", "ape"]], "zoo"),
        ]
        write_json(folder / f"{corpus}-corpus-{split}.json", records, form)
        for name, script in DATABASES.items():
            home = folder / f"{split}_database" / name
            write_sqlite(home / f"{name}.sqlite", script)
            for other in beside:
                (home / other).parent.mkdir(parents=True, exist_ok=True)
                (home / other).write_text("original_column_name\n", encoding="utf-8")

    return write


def _sql_queries(corpus: str, split: str) -> Any:
    def write(folder: Path, form: JsonForm) -> None:
        write_json(folder / f"{corpus}-queries-{split}.json", SQL_QUERIES, form)

    return write


def write_json(path: Path, records: Sequence[Record], form: JsonForm) -> None:
    """A JSON file in one of its forms."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if form == "lines":
        text = "".join(json.dumps(record) + "\n" for record in records)
    elif form == "records":
        text = json.dumps(list(records), indent=1)
    else:
        text = json.dumps({name: [record[name] for record in records] for name in records[0]})
    path.write_text(text, encoding="utf-8")


def _table(table_id: str, table: list[list[str]], database_id: str = "0", **context: str) -> Record:
    return {
        "database_id": database_id,
        "table_id": table_id,
        "table": table,
        "context": context or None,
    }


def _query(query_id: str, query: str, table_id: str, answer: str) -> Record:
    return {
        "query_id": query_id,
        "query": query,
        "answer": answer,
        "database_id": "0",
        "table_id": table_id,
    }


SPLITS = ("train", "validation", "test")

_WRITERS: dict[str, Any] = {
    "ottqa-corpus": _ottqa_corpus,
    "ottqa-queries": _ottqa_queries,
    "fetaqa-corpus": _fetaqa_corpus,
    "fetaqa-queries": _fetaqa_queries,
    "gittables-corpus": _gittables_corpus,
    **{f"spider-corpus-{s}": _sql_corpus("spider", s, "schema.sql") for s in SPLITS},
    **{f"spider-queries-{s}": _sql_queries("spider", s) for s in SPLITS},
    "bird-corpus-validation": _sql_corpus("bird", "validation", "database_description/item.csv"),
    "bird-queries-validation": _sql_queries("bird", "validation"),
}
REPOSITORIES = tuple(_WRITERS)
"""The repositories whose files are listed."""
