"""TARGET's own layout: Parquet or JSON, whole or in shards, local or as on the hub, databases."""

import gzip
import json
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import parquet

from target_bench import corpora
from target_bench.core.errors import ConfigError, DataError
from target_bench.core.release import Release
from target_bench.core.schema import Dataset, Table, TableId
from target_bench.core.unicode_text import compose
from target_bench.data.formats import records
from target_bench.data.formats.target_layout import TargetLayout
from tests.builders import Record, json_lines, write_release
from tests.data.releases import SHOP_SQL, ZOO_SQL, write_sqlite
from tests.data.strategies import exact
from tests.data.target_copies import JSON_FORMS, JsonForm, write_copy, write_json
from tests.data.written import (
    FORMS,
    SHAPES,
    Form,
    Shape,
    corpus_records,
    query,
    query_records,
    table,
    write_records,
    write_shards,
    write_target,
)
from tests.target import TARGET

TABLES = [
    table("a", title="A", section_title="S"),
    table("b", database_id="1", title="Größe", section_title=""),
    table("b", ("x", ""), ("", "y"), title="B", section_title="T"),
]
QUERIES = [query(1, "a"), query(2, "b", "a"), query(3, "b", database_id="1")]
EXACT = [exact(table) for table in TABLES]


def _all(dataset: Dataset) -> list[str]:
    return [exact(table) for table in dataset.corpus]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("shape", SHAPES)
def test_every_field(tmp_path: Path, form: Form, shape: Shape) -> None:
    folder = write_target(tmp_path / "My data!", TABLES, QUERIES, "validation", form, shape)
    dataset = corpora.load(folder)
    assert (dataset.info.name, dataset.split, dataset.notes) == ("my-data", "validation", ())
    assert _all(dataset) == EXACT
    assert dataset.queries == tuple(QUERIES)
    assert len(dataset.files) == (2 if shape == "local" else 4)


def test_titles(tmp_path: Path) -> None:
    """As in the BM25 of its paper, an id is a name; of a page and in a database there is one."""
    blank: list[Record] = [{}, {"title": ""}, {"title": " "}, {"title": None}]
    tables = [
        table("Moons_0", title=" "),
        table("a", table_page_title="A", table_section_title="S"),
        *(table(f"ORG_{i}", database_id="dw", **title) for i, title in enumerate(blank)),
    ]
    dataset = corpora.load(write_target(tmp_path, tables, [query(1, "a")]))
    titles = [table.context["title"] for table in dataset.corpus]
    assert titles == ["Moons_0", "A", "ORG_0", "ORG_1", "ORG_2", "ORG_3"]
    assert dataset.notes == ()


def test_packed_lines(tmp_path: Path) -> None:
    write_target(tmp_path, TABLES, QUERIES)
    path = tmp_path / "corpus" / "test.jsonl"
    (tmp_path / "corpus" / "test.jsonl.gz").write_bytes(gzip.compress(path.read_bytes()))
    with pytest.raises(DataError, match=r"'test' of the corpus: expected .*found test\.js"):
        corpora.load(tmp_path)
    path.unlink()
    assert _all(corpora.load(tmp_path)) == EXACT


def test_splits_with_tables_alone_come_last(tmp_path: Path) -> None:
    write_target(tmp_path, TABLES, QUERIES, "validation")
    for split in ("test", "train"):
        write_records(tmp_path / "corpus" / f"{split}.jsonl", corpus_records(TABLES[:1]))
    dataset = corpora.load(tmp_path)
    assert (dataset.split, dataset.info.splits) == ("validation", ("validation", "test", "train"))
    with pytest.raises(DataError, match=r"no queries of the split 'train'; there is validation"):
        corpora.load(tmp_path, "train")
    with pytest.raises(ConfigError, match="has no split 'other'"):
        corpora.load(tmp_path, "other")


@pytest.mark.parametrize("missing", [0, 1, 2])
def test_missing_shard(tmp_path: Path, missing: int) -> None:
    write_target(tmp_path, TABLES, QUERIES)
    (tmp_path / "corpus" / "test.jsonl").unlink()
    paths = write_shards(tmp_path / "corpus", "test", corpus_records(TABLES), 3)
    assert _all(corpora.load(tmp_path)) == EXACT
    paths[missing].unlink()  # the cache has them all
    with pytest.raises(DataError) as caught:
        corpora.load(tmp_path)
    assert "of the corpus: expected one file, or shards from 0 to 2" in str(caught.value)
    assert [path.name in str(caught.value) for path in paths] == [i != missing for i in range(3)]


def test_several_corpora_in_one_folder(tmp_path: Path) -> None:
    """None is chosen in silence."""
    for name in ("fetaqa", "ottqa"):
        write_shards(tmp_path / f"{name}-corpus" / "data", "test", corpus_records(TABLES), 1)
    with pytest.raises(DataError, match=r"more than once, in fetaqa-corpus/data, ottqa-corpus/d"):
        corpora.load(tmp_path)


def _with(folder: Path, form: Form, **changes: Any) -> Path:
    """The first record of the corpus with other fields."""
    (record,) = corpus_records([TABLES[0]])
    record |= changes
    write_records(folder / "queries" / f"test.{form}", query_records(QUERIES[:1]))
    path = folder / "corpus" / f"test.{form}"
    path.parent.mkdir(parents=True, exist_ok=True)
    if form == "parquet":
        parquet.write_table(pyarrow.table({k: [v] for k, v in record.items()}), path)
    else:
        path.write_text(json_lines([record]), encoding="utf-8")
    return folder


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"table": "a,b"}, "field 'table': expected a list of rows, the header first, found str"),
        ({"table": None}, "field 'table': expected a list of rows.*, found NoneType"),
        ({"table_id": 1.0}, "field 'table_id': expected text or a whole number, found float: 1"),
        ({"database_id": 0.5}, "field 'database_id': expected text or a whole number"),
        ({"context": ["x"]}, r"field 'context': expected dict, found list: \"\['x'\]"),
    ],
)
def test_field_of_the_wrong_type(tmp_path: Path, form: Form, changes: Record, fault: str) -> None:
    kind = "record" if form == "parquet" else "line"
    with pytest.raises(DataError, match=rf"corpus.test\.{form}, {kind} 1: {fault}"):
        corpora.load(_with(tmp_path, form, **changes))


@pytest.mark.parametrize(
    ("name", "cell", "header", "row"),
    [
        (1, 2, "1", 2),
        (None, None, "", None),
        (b"x\xff", b"\0", "x\\xff", b"\0"),
        (date(2020, 2, 29), date(2020, 2, 29), "2020-02-29", "2020-02-29"),
        ({"k": b"\xff"}, {"k": None}, '{"k": "ff"}', '{"k": null}'),
    ],
)
def test_typed_cells(tmp_path: Path, name: Any, cell: Any, header: str, row: Any) -> None:
    """Numbers in headers become text, null no name; dates and decimals become text."""
    (loaded,) = corpora.load(_with(tmp_path, "parquet", table=[[name], [cell]])).corpus
    assert (list(loaded.header), [list(r) for r in loaded.rows]) == ([header], [[row]])


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"query_id": 1.5}, "line 1: field 'query_id': expected text or a whole number"),
        ({"query": 5}, "line 1: field 'query': expected str, found int"),
        ({"table_id": ["a", None]}, "line 1: field 'table_id': expected text or a whole number"),
        ({"table_id": "zz"}, "query 'q1' has gold table 0/zz, which is not among the 3 tables"),
        ({"answer": {"a": 1}}, "line 1: field 'answer': expected a text or a list of texts"),
    ],
)
def test_broken_query(tmp_path: Path, changes: Record, fault: str) -> None:
    folder = write_target(tmp_path, TABLES, QUERIES)
    records = query_records(QUERIES)
    records[0] |= changes
    write_records(folder / "queries" / "test.jsonl", records)
    with pytest.raises(DataError) as caught:
        corpora.load(folder)
    assert fault in str(caught.value)
    assert "queries/test.jsonl" in str(caught.value)


@settings(deadline=None, max_examples=25)
@given(data=st.data(), form=st.sampled_from(FORMS))
def test_any_text_comes_back(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject, form: Form
) -> None:
    text = st.text(max_size=6).map(compose)
    width = data.draw(st.integers(1, 3))
    row = st.lists(text, min_size=width, max_size=width)
    names = data.draw(st.lists(text, min_size=1, max_size=4, unique=True))
    given_tables = [
        Table(
            TableId(data.draw(text), name),
            data.draw(row),
            data.draw(st.lists(row, max_size=3)),
            {"title": data.draw(text.filter(str.strip))},
        )
        for name in names
    ]
    gold = given_tables[0].id
    queries = [query(1, gold.table_id, database_id=gold.database_id)]
    folder = write_target(tmp_path_factory.mktemp("data"), given_tables, queries, form=form)
    read = TargetLayout(folder).tables(Release(folder, ""), "test")
    assert [exact(table) for table in read] == [exact(table) for table in given_tables]


# databases beside the corpus

CORPUS: list[Record] = [
    {
        "database_id": "cre_Shop",
        "table_id": "Item",
        "table": [["item_id", "name"]],
        "context": {"primary_key": "item_id", "foreign_keys": "none"},
    },
    {"database_id": "zoo", "table_id": "animal", "table": [["id", "name"], ["2", "yak"]]},
]
SQL_QUERIES: list[Record] = [
    {
        "query_id": number,
        "query": "What?",
        "answer": f"SELECT name FROM {name}",
        "table_id": [name],
        "database_id": database,
        "difficulty": "easy",
    }
    for number, (database, name) in enumerate([("cre_Shop", "Item"), ("zoo", "animal")])
]


def _check(dataset: Any, path: Path) -> None:
    item, animal = dataset.corpus
    assert (list(item.header), item.rows) == (["item_id", "name"], [[1, "tea"], [2, "milk"]])
    assert item.context["primary_key"] == "item_id"
    assert item.context["schema"].startswith("CREATE TABLE ITEM")
    assert (list(animal.header), animal.rows) == (["id", "name"], [["2", "yak"]])
    assert dataset.databases == {"cre_Shop": path}
    assert dataset.queries[0].gold == (("cre_Shop", "Item"),)
    assert dataset.queries[0].metadata["difficulty"] == "easy"
    assert any("1 of 2 databases are not here (zoo)" in note for note in dataset.notes)
    assert any(name.endswith("cre_Shop.sqlite") for name in dataset.files)
    assert "text_to_sql" in dataset.info.tasks


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("folder", ["validation_database", "dev_databases", "corpus/dev_database"])
def test_own_folder_of_databases(tmp_path: Path, form: Form, folder: str) -> None:
    """Rows come from the database where there is one, else from the corpus file."""
    home = tmp_path / "spider"
    write_records(home / "corpus" / f"validation.{form}", CORPUS)
    write_records(home / "queries" / f"validation.{form}", SQL_QUERIES)
    path = write_sqlite(home / folder / "cre_Shop" / "cre_Shop.sqlite", SHOP_SQL)
    for dataset in (corpora.load("spider", data_dir=tmp_path), corpora.load(home)):
        _check(dataset, path)
    assert corpora.load("spider", data_dir=tmp_path).info.title == "Spider"


def test_databases_as_the_hub_has_them(tmp_path: Path) -> None:
    """A repository a split; the corpus is one object of four lists."""
    names = ("database_id", "table_id", "table", "context")
    lists = {name: [record.get(name) for record in CORPUS] for name in names}
    for split, name, script in (("validation", "cre_Shop", SHOP_SQL), ("test", "zoo", ZOO_SQL)):
        home = tmp_path / f"spider-corpus-{split}"
        write_release(home, f"spider-corpus-{split}.json", json.dumps(lists))
        write_sqlite(home / f"{split}_database" / name / f"{name}.sqlite", script)
        place = tmp_path / f"spider-queries-{split}" / "data"
        write_records(place / f"{split}-00000-of-00001.parquet", SQL_QUERIES)
    home = tmp_path / "spider-corpus-validation"
    path = home / "validation_database" / "cre_Shop" / "cre_Shop.sqlite"
    _check(corpora.load("spider", data_dir=tmp_path), path)
    test = corpora.load("spider", "test", data_dir=tmp_path)
    assert test.corpus["zoo", "animal"].rows == [[1, "ape"]]
    assert set(test.databases) == {"zoo"}
    (home / "spider-corpus-validation.json").write_text(json.dumps(lists | {"table": []}))
    with pytest.raises(DataError, match="its lists are not equally long"):
        corpora.load("spider", data_dir=tmp_path)


# TARGET's repositories under the names that they really have


def _copies(folder: Path, *names: str, form: JsonForm = "records") -> Path:
    for name in names:
        write_copy(folder / name, name, form)
    return folder


def test_files_in_the_root_with_titles_from_ids(tmp_path: Path) -> None:
    """OTT-QA's copy has the titles of tables in their ids alone."""
    _copies(tmp_path / "ottqa", "ottqa-corpus", "ottqa-queries")
    for dataset in (corpora.load("ottqa", data_dir=tmp_path), corpora.load(tmp_path / "ottqa")):
        assert dataset.split == "validation"
        context = {"title": "List_of_moons_0", "section_title": "Inner"}
        assert dict(dataset.corpus["0", "List_of_moons_0"].context) == context
    assert corpora.load("ottqa", "train", data_dir=tmp_path).split == "train"
    target = TARGET(("Table Retrieval", tmp_path / "ottqa"), out=tmp_path / "runs")
    assert target.run("bm25", top_k=1).scores["recall@1"].value == 1.0


def test_the_converted_branch_and_the_page_titles(tmp_path: Path) -> None:
    _copies(tmp_path / "fetaqa", "fetaqa-corpus", "fetaqa-queries")
    for split in ("test", "validation", "train"):
        (moons,) = corpora.load("fetaqa", split, data_dir=tmp_path).corpus
        assert moons.id.table_id == f"totto_source/dev_json/example-{split}.json"
        assert dict(moons.context) == {"title": "Moons", "section_title": "Inner planets"}


def test_tables_without_questions(tmp_path: Path) -> None:
    folder = write_copy(tmp_path / "gittables-corpus", "gittables-corpus")
    for name, data_dir in ((folder, None), ("gittables", folder)):
        dataset = corpora.load(name, "train", data_dir=data_dir)
        assert (len(dataset.corpus), len(dataset.queries)) == (5, 0)


@pytest.mark.parametrize("form", JSON_FORMS)
def test_databases_give_the_tables(
    tmp_path: Path, form: JsonForm, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The corpus in JSON, 1.93 GB for BIRD, is not read."""
    names: list[str] = []
    content = Release.content

    def noting(release: Release, path: Path) -> bytes:
        names.append(path.name)
        return content(release, path)

    monkeypatch.setattr(Release, "content", noting)
    home = tmp_path / "bird"
    _copies(home, "bird-corpus-validation", "bird-queries-validation", form=form)
    for _ in range(2):
        dataset = corpora.load("bird", data_dir=tmp_path)
        ids = ["cre_Shop/ITEM", "cre_Shop/order lines", "zoo/animal"]
        assert [str(i) for i in dataset.corpus.ids] == ids
        item = dataset.corpus["cre_Shop", "ITEM"]
        assert (list(item.header), item.rows) == (["item_id", "name"], [[1, "tea"], [2, "milk"]])
        assert item.context["title"] == "ITEM"
        assert dataset.queries[0].gold == (("cre_Shop", "ITEM"),)  # "item" in the queries
        assert set(dataset.databases) == {"cre_Shop", "zoo"}
        (home / "bird-corpus-validation" / "bird-corpus-validation.json").unlink(missing_ok=True)
    assert set(names) == {"bird-queries-validation.json"}


def test_json_of_another_form(tmp_path: Path) -> None:
    write_json(tmp_path / "x-queries-test.json", [{"query_id": 1, "query": "?"}], "records")
    (tmp_path / "x-corpus-test.json").write_text(json.dumps({"table": 7, "x": []}, indent=1))
    with pytest.raises(DataError, match=r"x-corpus-test\.json: expected a list of records"):
        corpora.load(tmp_path)


def test_json_that_is_too_large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where databases are missing; it would take gigabytes of memory."""
    _copies(tmp_path / "bird", "bird-corpus-validation", "bird-queries-validation")
    home = tmp_path / "bird" / "bird-corpus-validation"
    (home / "validation_database" / "zoo" / "zoo.sqlite").unlink()
    assert len(corpora.load("bird", data_dir=tmp_path).corpus) == 3
    corpus = home / "bird-corpus-validation.json"
    corpus.write_text(corpus.read_text() + 5000 * " ")
    monkeypatch.setattr(records, "_LARGEST_JSON", 5000)
    with pytest.raises(DataError, match=r"bird-corpus-validation\.json: .*Put the databases"):
        corpora.load("bird", data_dir=tmp_path)
