"""TARGET's own layout: Parquet or JSON lines, whole or in shards, local or as on the hub."""

import datetime
import gzip
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import parquet

from target_bench import corpora
from target_bench.core.errors import ConfigError, DataError
from target_bench.core.schema import Dataset, Table, TableId
from target_bench.data.formats.target_layout import TargetLayout
from tests.builders import Record, json_lines
from tests.data.strategies import exact
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

TABLES = [
    table("a", title="A", section_title="S"),
    table("b", database_id="1", title="Größe", section_title=""),
    table("b", ("x", ""), ("", "y"), title="B", section_title="T"),
]
QUERIES = [query(1, "a"), query(2, "b", "a"), query(3, "b", database_id="1")]


def _all(dataset: Dataset) -> list[str]:
    return [exact(table) for table in dataset.corpus]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("shape", SHAPES)
def test_every_field(tmp_path: Path, form: Form, shape: Shape) -> None:
    folder = write_target(tmp_path / "My data!", TABLES, QUERIES, "validation", form, shape)
    dataset = corpora.load(folder)
    assert (dataset.info.name, dataset.split, dataset.notes) == ("my-data", "validation", ())
    assert _all(dataset) == [exact(table) for table in TABLES]
    assert dataset.queries == tuple(QUERIES)
    assert len(dataset.files) == (2 if shape == "local" else 4)


def test_packed_lines(tmp_path: Path) -> None:
    write_target(tmp_path, TABLES, QUERIES)
    path = tmp_path / "corpus" / "test.jsonl"
    (tmp_path / "corpus" / "test.jsonl.gz").write_bytes(gzip.compress(path.read_bytes()))
    with pytest.raises(DataError, match=r"'test' of the corpus should .*but is test\.js"):
        corpora.load(tmp_path)
    path.unlink()
    assert _all(corpora.load(tmp_path)) == [exact(table) for table in TABLES]


def test_splits_with_tables_alone_come_last(tmp_path: Path) -> None:
    write_target(tmp_path, TABLES, QUERIES, "validation")
    write_records(tmp_path / "corpus" / "test.jsonl", corpus_records(TABLES[:1]))
    write_records(tmp_path / "corpus" / "train.jsonl", corpus_records(TABLES[:1]))
    dataset = corpora.load(tmp_path)
    assert dataset.info.splits == ("validation", "test", "train")
    assert dataset.split == "validation"
    with pytest.raises(DataError, match=r"no queries of the split 'train'; there is validation"):
        corpora.load(tmp_path, "train")
    with pytest.raises(ConfigError, match="has no split 'other'"):
        corpora.load(tmp_path, "other")


@pytest.mark.parametrize("missing", [0, 1, 2])
def test_missing_shard(tmp_path: Path, missing: int) -> None:
    write_target(tmp_path, TABLES, QUERIES)
    (tmp_path / "corpus" / "test.jsonl").unlink()
    paths = write_shards(tmp_path / "corpus", "test", corpus_records(TABLES), 3)
    assert _all(corpora.load(tmp_path)) == [exact(table) for table in TABLES]
    paths[missing].unlink()
    with pytest.raises(DataError) as caught:
        corpora.load(tmp_path)
    assert "of the corpus should be one file, or shards from 0 to 2" in str(caught.value)
    assert [path.name in str(caught.value) for path in paths] == [i != missing for i in range(3)]


def test_several_corpora_in_one_folder(tmp_path: Path) -> None:
    """None is chosen in silence."""
    for name in ("fetaqa", "ottqa"):
        write_shards(tmp_path / f"{name}-corpus" / "data", "test", corpus_records(TABLES), 1)
    with pytest.raises(DataError, match=r"more than once, in fetaqa-corpus/data, ottqa-corpus/d"):
        corpora.load(tmp_path)


def _with(folder: Path, form: Form, **changes: Any) -> Path:
    """The first record of the corpus with other fields."""
    records: list[Record] = corpus_records([TABLES[0]])
    records[0] |= changes
    write_target(folder, [], QUERIES[:1], form=form, shape="local") if form == "jsonl" else None
    write_records(folder / "queries" / f"test.{form}", query_records(QUERIES[:1]))
    path = folder / "corpus" / f"test.{form}"
    if form == "parquet":
        path.parent.mkdir(parents=True, exist_ok=True)
        parquet.write_table(pyarrow.table({k: [v] for k, v in records[0].items()}), path)
    else:
        path.write_text(json_lines(records), encoding="utf-8")
    return folder


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"table": "a,b"}, "field 'table' should be a list of rows, the header first, but is str"),
        ({"table": ["a", "b"]}, "field 'table' should be a list of rows"),
        ({"table": None}, "field 'table' should be a list of rows.* but is NoneType"),
        ({"table": []}, "field 'table' should be a list of rows"),
        ({"table_id": 1.0}, "field 'table_id' should be text or a whole number, but is float: 1"),
        ({"table_id": None}, "field 'table_id' should be text or a whole number, but is NoneType"),
        ({"table_id": True}, "field 'table_id' should be text or a whole number, but is bool"),
        ({"database_id": 0.5}, "field 'database_id' should be text or a whole number"),
        ({"context": ["x"]}, r"field 'context' should be dict, but is list: \"\['x'\]"),
        ({"context": "title"}, "field 'context' should be dict, but is str: 'title'"),
        ({"context": 0}, "field 'context' should be dict, but is int: '0'"),
    ],
)
def test_field_of_the_wrong_type(tmp_path: Path, form: Form, changes: Record, fault: str) -> None:
    folder = _with(tmp_path, form, **changes)
    kind = "record" if form == "parquet" else "line"
    with pytest.raises(DataError, match=rf"corpus.test\.{form}, {kind} 1: {fault}"):
        corpora.load(folder)


def test_typed_cells(tmp_path: Path) -> None:
    """Numbers in headers become text, null no name; dates and decimals become text."""
    day = datetime.date(2020, 2, 29)
    cases: list[tuple[list[Any], list[str], list[Any]]] = [
        ([[1, None], [2, None]], ["1", ""], [2, None]),
        ([[b"x\xff"], [b"\0"]], ["x\\xff"], [b"\0"]),
        ([[day], [day]], ["2020-02-29"], ["2020-02-29"]),
        ([[Decimal("1.50")], [Decimal("-2.25")]], ["1.50"], ["-2.25"]),
        ([[1.5], [float("inf")]], ["1.5"], [float("inf")]),
        ([[True], [False]], ["True"], [False]),
        (
            [[datetime.timedelta(1)], [datetime.timedelta(2)]],
            ["1 day, 0:00:00"],
            ["2 days, 0:00:00"],
        ),
        ([[["x"]], [["y", None]]], ['["x"]'], ['["y", null]']),
        ([[{"k": b"\xff"}], [{"k": None}]], ['{"k": "ff"}'], ['{"k": null}']),
    ]
    for number, (grid, header, row) in enumerate(cases):
        dataset = corpora.load(_with(tmp_path / str(number), "parquet", table=grid))
        (found,) = dataset.corpus
        assert (list(found.header), [list(r) for r in found.rows]) == (header, [row])


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"query_id": 1.5}, "line 1: field 'query_id' should be text or a whole number"),
        ({"query": 5}, "line 1: field 'query' should be str, but is int"),
        ({"table_id": 2.0}, "line 1: field 'table_id' should be text or a whole number"),
        ({"table_id": ["a", None]}, "line 1: field 'table_id' should be text or a whole number"),
        ({"table_id": "zz"}, "query 'q1' has gold table 0/zz, which is not among the 3 tables"),
        ({"answer": {"a": 1}}, "line 1: field 'answer' should be a text or a list of texts"),
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
    text = st.text(max_size=6)
    width = data.draw(st.integers(1, 3))
    rows = st.lists(st.lists(text, min_size=width, max_size=width), max_size=3)
    names = data.draw(st.lists(text, min_size=1, max_size=4, unique=True))
    given_tables = [
        Table(
            TableId(data.draw(text), name),
            data.draw(st.lists(text, min_size=width, max_size=width)),
            data.draw(rows),
            {"title": data.draw(text.filter(str.strip))},
        )
        for name in names
    ]
    gold = given_tables[0].id
    asked = [query(1, gold.table_id, database_id=gold.database_id)]
    folder = write_target(tmp_path_factory.mktemp("data"), given_tables, asked, form=form)
    found = list(TargetLayout(folder).tables(_release(folder), "test"))
    assert [exact(table) for table in found] == [exact(table) for table in given_tables]


def _release(folder: Path) -> Any:
    from target_bench.core.release import Release

    return Release(folder, "")
