"""BIRD's release files: repeated ids, descriptions in any encoding, missing databases."""

import json
from pathlib import Path

import pytest

from target_bench import corpora
from target_bench.core.errors import DataError
from target_bench.core.schema import Dataset
from target_bench.data.table_text import Serializer
from tests.builders import Recorder, only, zipped
from tests.data.releases import BIRD_QUESTIONS, bird_question, write_bird
from tests.target import TARGET

DESCRIPTION = (
    "\ufefforiginal_column_name ,column_name,column_description,data_format,value_description\r\n"
    'id,,"  the number of\r\nthe animal",integer,\r\n'
    'NAME,name,,text,"common – not Latin, a stray, comma"\r\n'
    "gone,x,y,z,w\r\n"
)


def _load(folder: Path, split: str | None = None) -> Dataset:
    return corpora.load("bird", split, data_dir=folder)


def _describe(folder: Path, content: bytes) -> None:
    place = folder / "dev_databases" / "zoo" / "database_description"
    place.mkdir()
    (place / "Animal.csv").write_bytes(content)


def test_every_field(tmp_path: Path) -> None:
    dataset = _load(write_bird(tmp_path, BIRD_QUESTIONS[:2]))
    ids = ["cre_Shop/Item", "cre_Shop/order lines", "zoo/animal"]
    assert [str(i) for i in dataset.corpus.ids] == ids
    assert dataset.corpus["zoo", "animal"].rows == [[1, "ape"]]
    lines = dataset.corpus["cre_Shop", "order lines"]
    assert (list(lines.header), list(lines.rows)) == (["item", "select"], [])
    assert lines.context == {
        "title": "order lines",
        "columns": ["item", "select"],
        "column_types": ["number", "number"],
        "schema": 'CREATE TABLE "order lines" (\n  "item" NUMERIC,\n  "select" NUMERIC,\n'
        '  FOREIGN KEY ("item") REFERENCES "Item" ("Item_ID")\n)',
        "foreign_keys": [["item", "Item.Item_ID"]],
    }
    first, second = dataset.queries
    assert (first.id, first.text, first.answer) == ("7", "Question 7?", "SELECT `name` FROM Item")
    assert (first.gold, first.database_id) == ((("cre_Shop", "Item"),), "cre_Shop")
    assert first.metadata == {"difficulty": "simple", "evidence": "tea is a drink", "index": 0}
    assert second.metadata["difficulty"] == "challenging"
    assert dataset.databases == {"zoo": tmp_path / "dev_databases" / "zoo" / "zoo.sqlite"}
    assert dataset.notes[1].startswith("1 of 2 databases are not here (cre_Shop): their 2 tables")


@pytest.mark.parametrize("name", ["MINI_DEV", "minidev"])
def test_repeated_ids_of_mini_dev(tmp_path: Path, name: str) -> None:
    """The second question with an id gets its place in the file."""
    dataset = _load(write_bird(tmp_path, name="mini_dev_sqlite"), name)
    assert dataset.split == "mini_dev"
    assert [q.id for q in dataset.queries] == ["7", "8", "7#2"]
    assert [q.metadata["index"] for q in dataset.queries] == [0, 1, 2]
    assert dataset.queries[2].gold == (("cre_Shop", "order lines"),)


def test_predictions_of_repeated_ids(tmp_path: Path) -> None:
    """The generator ``replay`` reads a file of them as ``score`` does."""
    release = tmp_path / "release"
    write_bird(release, name="mini_dev_sqlite")
    file = release / "predictions.json"
    texts = ["SELECT 1", "SELECT 2", "SELECT 3"]
    records = [{"question_id": i, "SQL": sql} for i, sql in zip([7, 8, 7], texts, strict=True)]
    file.write_text(json.dumps(records))
    target = TARGET(
        ("text-to-sql", "bird"), data_dir=release, out=tmp_path / "runs", observer=Recorder()
    )
    ran = target.run("bm25", generator=f"replay:file={file}", split="mini_dev", top_k=1)
    scored = target.score(predictions=file, split="mini_dev")
    for result in (only(ran), only(scored)):
        lines = (result.folder / "generations.jsonl").read_text(encoding="utf-8").splitlines()
        read = {record["query_id"]: record["text"] for record in map(json.loads, lines)}
        assert read == dict(zip(["7", "8", "7#2"], texts, strict=True))


@pytest.mark.parametrize("encoding", ["utf-8", "cp1252"])
@pytest.mark.parametrize("packed", [False, True])
def test_descriptions(tmp_path: Path, encoding: str, packed: bool) -> None:
    write_bird(tmp_path)
    _describe(tmp_path, DESCRIPTION.replace("\ufeff", "").encode(encoding))
    if packed:
        root = tmp_path / "dev_databases"
        files = [path for path in sorted(root.rglob("*")) if path.is_file()]
        members = {path.relative_to(tmp_path).as_posix(): path.read_bytes() for path in files}
        (tmp_path / "dev_databases.zip").write_bytes(zipped(members))
        for path in files:
            path.unlink()
    table = _load(tmp_path).corpus["zoo", "animal"]
    assert table.context["column_descriptions"] == {
        "id": "the number of the animal",
        "name": "common – not Latin, a stray, comma",
    }
    assert table.rows == [[1, "ape"]]
    assert Serializer(("database", "descriptions"))(table).startswith("zoo id: the number of")


def test_descriptions_in_one_file(tmp_path: Path) -> None:
    """A public conversion to JSON; the CSV files go first."""
    columns = [{"column_name": "ID", "column_description": "number; of it"}]
    write_bird(tmp_path)
    (tmp_path / "database_description.json").write_text(json.dumps({"zoo": {"Animal": columns}}))
    dataset = _load(tmp_path)
    assert dataset.corpus["zoo", "animal"].context["column_descriptions"] == {"id": "number; of it"}
    assert "column_descriptions" not in dataset.corpus["cre_Shop", "Item"].context
    assert "database_description.json" in dataset.files
    (tmp_path / "database_description.json").write_text("[]")
    with pytest.raises(DataError, match=r"database_description\.json: expected an object"):
        _load(tmp_path)


@pytest.mark.parametrize(
    ("question", "message"),
    [
        (bird_question(1, "gone", "SELECT 1"), "1: db_id 'gone' is not in dev_tables.json"),
        (bird_question(1, "zoo", "DELETE FROM animal"), "question 1: "),
        (bird_question(1, "zoo", "SELECT x FROM animal"), "question 1: SQLite cannot compile"),
        (bird_question(1, "zoo", "SELECT id FROM animal", evidence=1), "'evidence': expected str"),
    ],
)
def test_broken_questions(tmp_path: Path, question: dict[str, object], message: str) -> None:
    with pytest.raises(DataError, match=message):
        _load(write_bird(tmp_path, [question]))
