"""Spider's release files, and databases that are missing, packed, damaged or locked."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from target_bench import corpora
from target_bench.core.errors import DataError
from target_bench.core.schema import Dataset
from tests.builders import HOWS, How, zipped
from tests.data.releases import (
    SHOP,
    SPIDER_QUESTIONS,
    ZOO,
    ZOO_SQL,
    spider_question,
    write_spider,
    write_sqlite,
)


def _load(folder: Path, split: str | None = None, **more: Any) -> Dataset:
    return corpora.load("spider", split, data_dir=folder, **more)


def _shop(folder: Path) -> Path:
    return folder / "database" / "cre_Shop" / "cre_Shop.sqlite"


@pytest.mark.parametrize("how", HOWS)
def test_every_field(tmp_path: Path, how: How) -> None:
    dataset = _load(write_spider(tmp_path, how=how))
    assert dataset.split == "validation"
    item, lines, animal = dataset.corpus
    assert [t.id for t in (item, lines, animal)] == [
        ("cre_Shop", "Item"),
        ("cre_Shop", "order lines"),
        ("zoo", "animal"),
    ]
    assert (list(item.header), item.rows) == (["item_id", "name"], [[1, "tea"], [2, "milk"]])
    assert item.context["title"] == "Item"
    assert item.context["columns"] == ["item id", "name"]
    assert item.context["column_types"] == ["INTEGER", "VARCHAR(9)"]
    assert item.context["primary_key"] == ["item_id"]
    assert item.context["schema"].startswith("CREATE TABLE ITEM (")
    assert lines.context["foreign_keys"] == [["item", "Item"]]
    assert (list(animal.header), list(animal.rows)) == (["id", "name"], [])
    assert animal.context["schema"] == (
        'CREATE TABLE "animal" (\n  "id" INTEGER,\n  "name" TEXT,\n  PRIMARY KEY ("id")\n)'
    )
    first, second, third = dataset.queries
    assert (first.id, first.text, first.answer) == ("0", "What?", SPIDER_QUESTIONS[0]["query"])
    assert first.gold == (("cre_Shop", "Item"),)
    assert first.database_id == "cre_Shop"
    assert first.metadata == {"hardness": "easy", "index": 0}
    assert second.gold == (("cre_Shop", "Item"), ("cre_Shop", "order lines"))
    assert (third.gold, third.metadata["hardness"]) == ((("zoo", "animal"),), "hard")
    assert dataset.databases == {"cre_Shop": _shop(tmp_path)}
    assert dataset.notes == (
        "2 of 3 tables have no rows",
        "1 of 2 databases are not here (zoo): their 1 tables are known by their schema alone, "
        "and SQL for the 1 queries on them cannot be run",
    )
    suffix = "" if how == "plain" else f".{how}"
    assert set(dataset.files) == {
        f"dev.json{suffix}",
        f"tables.json{suffix}",
        "database/cre_Shop/cre_Shop.sqlite",
    }


def _zip(*members: tuple[str, Path]) -> bytes:
    return zipped({name: path.read_bytes() for name, path in members})


@pytest.mark.parametrize("packed", ["database.zip", "spider_data.zip", "one by one", "gz"])
def test_packed_databases(tmp_path: Path, packed: str) -> None:
    """They are unpacked into the cache, and give the same rows."""
    plain = _load(write_spider(tmp_path))
    place = _shop(tmp_path)
    if packed == "one by one":
        place.with_name("cre_Shop.sqlite.zip").write_bytes(_zip(("cre_Shop.sqlite", place)))
    elif packed == "gz":
        place.with_name("cre_Shop.sqlite.gz").write_bytes(gzip.compress(place.read_bytes()))
    else:
        inner = f"{packed.removesuffix('.zip')}/database/cre_Shop/cre_Shop.sqlite"
        junk = ("__MACOSX/database/cre_Shop/cre_Shop.sqlite", tmp_path / "dev.json")
        (tmp_path / packed).write_bytes(_zip(junk, (inner, place)))
    place.unlink()
    for _ in range(2):
        again = _load(tmp_path)
        assert [list(t.rows) for t in again.corpus] == [[[1, "tea"], [2, "milk"]], [], []]
        assert again.queries == plain.queries
        assert again.databases["cre_Shop"].is_file()


def test_train_databases_as_distractors(tmp_path: Path) -> None:
    """Their questions need not be there; their databases join those of the corpus."""
    folder = write_spider(tmp_path, SPIDER_QUESTIONS[:2])
    zoo = write_sqlite(tmp_path / "zoo.sqlite", ZOO_SQL)
    archive = tmp_path / "train_databases_distractors.zip"
    archive.write_bytes(_zip(("database/zoo/zoo.sqlite", zoo)))
    assert list(_load(folder).corpus.ids) == [("cre_Shop", "Item"), ("cre_Shop", "order lines")]
    dataset = _load(folder, distractors=["spider:split=train,n=1"])
    assert dataset.distractors[0].ids == (("zoo", "animal"),)
    assert dataset.corpus["zoo", "animal"].rows == [[1, "ape"]]
    assert set(dataset.databases) == {"cre_Shop", "zoo"}
    with pytest.raises(DataError, match=r"no train_spider\.json"):
        _load(folder, "train")


def test_test_split(tmp_path: Path) -> None:
    """Its databases are those its gold file names, where its questions are not there."""
    write_sqlite(tmp_path / "test_database" / "zoo" / "zoo.sqlite", ZOO_SQL)
    (tmp_path / "test_tables.json").write_text(json.dumps([SHOP, ZOO]))
    (tmp_path / "test_gold.sql").write_text("SELECT name FROM animal\tzoo\n\n")
    write_spider(tmp_path, SPIDER_QUESTIONS[:1])
    dataset = _load(tmp_path, distractors=["spider:split=test"])
    assert dataset.distractors[0].ids == (("zoo", "animal"),)
    with pytest.raises(DataError, match=r"no test\.json .*yale-lily"):
        corpora.load("spider", "test", data_dir=tmp_path)
    (tmp_path / "test.json").write_text(json.dumps(SPIDER_QUESTIONS[2:]))
    assert [q.database_id for q in _load(tmp_path, "test").queries] == ["zoo"]


def test_damaged_databases(tmp_path: Path) -> None:
    """One is reported, its tables are known by their schema alone, and the others are unchanged."""
    path = _shop(write_spider(tmp_path))
    whole = path.read_bytes()
    for content, message in (
        (whole[:5000], "database disk image is malformed. Is it whole"),
        (b"<html>", "file is not a database. Is it whole"),
        (whole[:4096] + b"\xff" * (len(whole) - 4096), "database disk image is malformed"),
    ):
        path.write_bytes(content)
        dataset = _load(tmp_path)
        assert message in " ".join(dataset.notes)
        assert f"{path}: " in " ".join(dataset.notes)
        assert "The 2 queries on cre_Shop are not run" in " ".join(dataset.notes)
        assert len(dataset.corpus) == 3
    (tmp_path / "database.zip").write_bytes(b"PK\x03\x04 broken")
    path.unlink()
    with pytest.raises(DataError, match=r"database\.zip: the file is truncated or damaged"):
        _load(tmp_path)


@pytest.mark.parametrize(
    ("question", "message"),
    [
        (spider_question("zoo", "SELECT nothing FROM animal"), "question 1: SQLite cannot compile"),
        (spider_question("zoo", "SELECT 1"), "question 1: the gold SQL reads no table of zoo"),
        (spider_question("gone", "SELECT 1"), "no schema of database 'gone'"),
        ({"db_id": "zoo", "question": "x"}, "question 1: no field 'query'"),
        ([1], "question 1: expected a JSON object"),
        # SQLite knows more than Spider's rules do
        (spider_question("zoo", "VALUES ((SELECT name FROM animal))"), "1: it is not a query"),
    ],
)
def test_broken_questions(tmp_path: Path, question: Any, message: str) -> None:
    with pytest.raises(DataError, match=message) as caught:
        _load(write_spider(tmp_path, [question]))
    assert "dev.json" in str(caught.value) or "tables.json" in str(caught.value)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"db_id": "../up"}, "database id '../up' is not a plain name"),
        ({"table_names": []}, "1 table_names_original, 0 table_names"),
        ({"foreign_keys": [[1, 99]]}, "columns and keys make no schema"),
        ({"primary_keys": "id"}, "field 'primary_keys': expected list"),
    ],
)
def test_broken_schemas(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    broken = ZOO | change
    write_spider(tmp_path, [spider_question(broken["db_id"], "SELECT name FROM animal")])
    (tmp_path / "tables.json").write_text(json.dumps([broken]))
    with pytest.raises(DataError, match=message):
        _load(tmp_path)
