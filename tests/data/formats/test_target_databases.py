"""TARGET's layout of text-to-SQL corpora, in a folder of one's own and as the hub has it."""

import json
from pathlib import Path
from typing import Any

import pytest

from target_bench import corpora
from target_bench.core.errors import DataError
from tests.builders import Record, write_release
from tests.data.releases import SHOP_SQL, ZOO_SQL, write_sqlite
from tests.data.written import FORMS, Form, write_records

CORPUS: list[Record] = [
    {
        "database_id": "cre_Shop",
        "table_id": "Item",
        "table": [["item_id", "name"]],
        "context": {"primary_key": "item_id", "foreign_keys": "none"},
    },
    {"database_id": "zoo", "table_id": "animal", "table": [["id", "name"], [2, "yak"]]},
]
QUERIES: list[Record] = [
    {
        "query_id": 0,
        "query": "What?",
        "answer": "SELECT name FROM item",
        "table_id": ["Item"],
        "database_id": "cre_Shop",
        "difficulty": "easy",
    },
    {
        "query_id": 1,
        "query": "Who?",
        "answer": "SELECT name FROM animal",
        "table_id": ["animal"],
        "database_id": "zoo",
        "difficulty": "easy",
    },
]


def _check(dataset: Any, path: Path) -> None:
    item, animal = dataset.corpus
    assert (list(item.header), item.rows) == (["item_id", "name"], [[1, "tea"], [2, "milk"]])
    assert item.context["primary_key"] == "item_id"
    assert item.context["schema"].startswith("CREATE TABLE ITEM")
    assert (list(animal.header), animal.rows) == (["id", "name"], [[2, "yak"]])
    assert dataset.databases == {"cre_Shop": path}
    assert dataset.queries[0].gold == (("cre_Shop", "Item"),)
    assert dataset.queries[0].metadata["difficulty"] == "easy"
    assert any("1 of 2 databases are not here (zoo)" in note for note in dataset.notes)
    assert any(name.endswith("cre_Shop.sqlite") for name in dataset.files)
    assert "text_to_sql" in dataset.info.tasks


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("folder", ["validation_database", "dev_databases", "corpus/dev_database"])
def test_own_folder(tmp_path: Path, form: Form, folder: str) -> None:
    """Rows come from the database where there is one, else from the corpus file."""
    home = tmp_path / "spider"
    corpus = json.loads(json.dumps(CORPUS))
    if form == "parquet":  # one type a column
        for record in corpus:
            record["table"] = [[str(cell) for cell in row] for row in record["table"]]
            record["context"] = {"primary_key": "item_id"}
        corpus[1]["table"] = [["id", "name"], ["2", "yak"]]
    write_records(home / "corpus" / f"validation.{form}", corpus)
    write_records(home / "queries" / f"validation.{form}", QUERIES)
    path = write_sqlite(home / folder / "cre_Shop" / "cre_Shop.sqlite", SHOP_SQL)
    for dataset in (corpora.load("spider", data_dir=tmp_path), corpora.load(home)):
        if form == "parquet":
            assert dataset.corpus["zoo", "animal"].rows == [["2", "yak"]]
            assert dataset.databases == {"cre_Shop": path}
        else:
            _check(dataset, path)
    assert corpora.load("spider", data_dir=tmp_path).info.title == "Spider"


def test_as_the_hub_has_it(tmp_path: Path) -> None:
    """A repository a split; the corpus is one object of four lists."""
    lists = {
        name: [record.get(name) for record in CORPUS]
        for name in ("database_id", "table_id", "table", "context")
    }
    for split, script in (("validation", SHOP_SQL), ("test", ZOO_SQL)):
        home = tmp_path / f"spider-corpus-{split}"
        write_release(home, f"spider-corpus-{split}.json", json.dumps(lists))
        name = "cre_Shop" if split == "validation" else "zoo"
        write_sqlite(home / f"{split}_database" / name / f"{name}.sqlite", script)
        place = tmp_path / f"spider-queries-{split}" / "data"
        write_records(place / f"{split}-00000-of-00001.parquet", QUERIES)
    home = tmp_path / "spider-corpus-validation"
    _check(
        corpora.load("spider", data_dir=tmp_path),
        home / "validation_database" / "cre_Shop" / "cre_Shop.sqlite",
    )
    test = corpora.load("spider", "test", data_dir=tmp_path)
    assert test.corpus["zoo", "animal"].rows == [[1, "ape"]]
    assert set(test.databases) == {"zoo"}
    (home / "spider-corpus-validation.json").write_text(json.dumps(lists | {"table": []}))
    with pytest.raises(DataError, match="its lists are not equally long"):
        corpora.load("spider", data_dir=tmp_path)
