"""Data frames as corpora, and questions written to files beside tables."""

import datetime
import json
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
import pytest

from target_bench import ConfigError, Query, corpora
from target_bench.core.errors import DataError
from target_bench.core.schema import Dataset, TableId
from target_bench.data.own_data import (
    check_new_folder,
    find_question_file,
    from_dataframe,
    write_folder,
    write_questions,
)
from tests.data.written import asked

QUERIES = [asked("t")]
COLUMNS = {"a": [1, 2], "b": ["x", None]}


def _rows(dataset: Dataset) -> list[list[Any]]:
    return [list(row) for row in dataset.corpus["0", "t"].rows]


class Frame:
    """Something that is a data frame by the protocol alone."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return pyarrow.table(COLUMNS).__arrow_c_stream__(requested_schema)


@pytest.mark.parametrize("kind", ["dict", "table", "batch", "reader", "stream", "pandas", "polars"])
def test_frames_of_many_kinds(kind: str) -> None:
    table = pyarrow.table(COLUMNS)
    if kind in ("pandas", "polars"):
        frame = pytest.importorskip(kind).DataFrame(COLUMNS)
    else:
        frame = {
            "dict": COLUMNS,
            "table": table,
            "batch": table.to_batches()[0],
            "reader": table.to_reader(),
            "stream": Frame(),
        }[kind]
    dataset = from_dataframe({"t": frame}, QUERIES)
    assert _rows(dataset) == [[1, "x"], [2, None]]
    assert list(dataset.corpus["0", "t"].header) == ["a", "b"]
    assert dataset.corpus["0", "t"].context == {"title": "t"}
    assert (dataset.info.name, dataset.split, dataset.files) == ("frames", "test", {})
    assert dataset.queries[0].gold == (TableId("0", "t"),)


def test_pandas_missing_values_times_and_periods() -> None:
    pandas = pytest.importorskip("pandas")
    columns = {
        "n": pandas.array([1, None], dtype="Int64"),
        "x": [1.5, None],
        "t": [pandas.Timestamp("2020-02-29 01:02:03"), pandas.NaT],
        "c": pandas.Categorical(["u", None]),
    }
    rows = _rows(from_dataframe({"t": pandas.DataFrame(columns)}, QUERIES))
    assert rows == [[1, 1.5, "2020-02-29T01:02:03", "u"], [None, None, None, None]]
    frame = pandas.DataFrame({"year": pandas.period_range("2020", "2021", freq="Y")})
    with pytest.raises(DataError, match="table 't', column 'year': holds periods of pandas"):
        from_dataframe({"t": frame}, QUERIES)


def test_context() -> None:
    """A table without a title is called by its id."""
    context: dict[str, dict[str, Any]] = {
        "t": {"title": "T", "section_title": "S", "day": datetime.date(2020, 2, 29)},
        "u": {"section_title": "S"},
    }
    dataset = from_dataframe({"t": COLUMNS, "u": COLUMNS}, QUERIES, context=context)
    assert dataset.corpus["0", "t"].context == context["t"] | {"day": "2020-02-29"}
    assert dataset.corpus["0", "u"].context == {"title": "u", "section_title": "S"}


@pytest.mark.parametrize(
    ("context", "fault"),
    [
        ({"t": "a title"}, "context of the table 't': expected a mapping"),
        ({"z": {}}, "context names the table 'z', which is not among"),
        ({"t": {"x": object()}}, "table 't': field 'x': object"),
    ],
)
def test_broken_context(context: Any, fault: str) -> None:
    with pytest.raises(DataError, match=fault):
        from_dataframe({"t": COLUMNS}, QUERIES, context=context)


def test_queries_of_many_kinds() -> None:
    columns = {
        "query_id": [1, 2],
        "query": ["A?", "B?"],
        "table_id": [["t"], ["t", "u"]],
        "answer": ["x", None],
        "level": ["hard", None],
    }
    records = pyarrow.table(columns).to_pylist()
    in_numpy = [
        r | {"table_id": np.array(r["table_id"]), "query_id": np.int64(r["query_id"])}
        for r in records
    ]
    kinds: list[Any] = [columns, pyarrow.table(columns), records, iter(records), in_numpy]
    for queries in kinds:
        first, second = from_dataframe({"t": COLUMNS, "u": {"x": [1]}}, queries).queries
        assert (first.id, first.text, first.answer) == ("1", "A?", "x")
        assert first.metadata == {"level": "hard"}
        assert second.gold == (TableId("0", "t"), TableId("0", "u"))
        assert (second.answer, second.metadata) == ("", {})


@pytest.mark.parametrize(
    ("queries", "fault"),
    [
        (5, "queries: int is neither"),
        ([5], "query 1: expected a JSON object, found int"),
        ([], "1 tables and 0 queries; both are needed"),
        ([asked("t"), {"query_id": "q2", "query": "?"}], "query 2: no field 'table_id'; it has"),
        ([asked("t", query_id=1.0)], "query 1: field 'query_id': expected text or a whole number"),
        ({"query_id": [1, 2], "query": ["x"]}, "queries: dict is not a data frame"),
    ],
)
def test_broken_queries(queries: Any, fault: str) -> None:
    with pytest.raises(DataError) as caught:
        from_dataframe({"t": COLUMNS}, queries)
    assert fault in str(caught.value)


@pytest.mark.everywhere
def test_no_frame_library_is_imported() -> None:
    script = (
        "import sys; from target_bench.corpora import from_dataframe; "
        "print(sorted({'pandas', 'polars', 'pyarrow', 'duckdb'} & set(sys.modules)))"
    )
    assert subprocess.check_output([sys.executable, "-c", script], text=True).strip() == "[]"


# questions as files

CELL = {"row": 1, "column": "name", "value": "Ann"}
METADATA = {"synthetic": "template", "cells": [CELL]}
QUESTION = Query("synthetic-0001", "Who?", (TableId("0", "a"),), "Ann", metadata=METADATA)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "drive"
    path.mkdir()
    (path / "a.csv").write_text("name,city\nAnn,Oslo\n")
    return path


def test_questions_that_are_there_are_kept(folder: Path) -> None:
    mine = {"query_id": "synthetic-0001", "query": "what is this", "table_id": "a"}
    path = folder / "queries.jsonl"
    path.write_text(json.dumps(mine))
    with pytest.raises(ConfigError, match="--add adds to them"):
        find_question_file(str(folder), add=False)
    assert find_question_file(str(folder), add=True) == path
    assert [write_questions([QUESTION], path) for _ in range(2)] == [1, 0]
    synthetic = {query.id: query.synthetic for query in corpora.load(folder).queries}
    assert synthetic == {"synthetic-0001": False, "synthetic-0002": True}


def test_questions_about_a_database(tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite"
    with sqlite3.connect(path) as database:
        database.executescript("CREATE TABLE people (name); INSERT INTO people VALUES ('Ann')")
    beside = find_question_file(str(path), add=False)
    gold = TableId("store", "people")
    question = Query("q", "Who lives here?", (gold,), "Ann", database_id="store")
    assert write_questions([question], beside) == 1
    (read,) = corpora.load(path).queries
    assert read.gold == (gold,)


def test_a_new_folder(folder: Path, tmp_path: Path) -> None:
    dataset = corpora.load(folder)
    write_folder([QUESTION], dataset.corpus, tmp_path / "new")
    read = corpora.load(tmp_path / "new")
    assert read.queries == (QUESTION,)
    assert read.corpus.fingerprint == dataset.corpus.fingerprint
    with pytest.raises(ConfigError, match="not an empty folder; name a new one"):
        check_new_folder(tmp_path / "new")


@pytest.mark.parametrize(
    ("corpus", "message"),
    [("mini", "name a new folder with -o"), ("tests", r"the folder of this name write \./tests")],
)
def test_other_corpora_need_a_folder(corpus: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        find_question_file(corpus, add=False)
