"""Questions as files."""

import json
import sqlite3
from pathlib import Path

import pytest

from target_bench import ConfigError, Query, TableId, corpora
from target_bench.data.own_data import check_new, question_file, write_folder, write_questions

QUESTION = Query(
    "synthetic-0001",
    "Who lives in Oslo?",
    (TableId("0", "a"),),
    "Ann",
    metadata={"synthetic": "template", "cells": [{"row": 1, "column": "name", "value": "Ann"}]},
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    found = tmp_path / "drive"
    found.mkdir()
    (found / "a.csv").write_text("name,city\nAnn,Oslo\n")
    return found


def test_questions_that_are_there_are_kept(folder: Path) -> None:
    mine = {"query_id": "synthetic-0001", "query": "what is this", "table_id": "a"}
    path = folder / "queries.jsonl"
    path.write_text(json.dumps(mine))
    with pytest.raises(ConfigError, match="--add adds to them"):
        question_file(str(folder), add=False)
    assert question_file(str(folder), add=True) == path
    assert write_questions([QUESTION], path) == 1
    assert write_questions([QUESTION], path) == 0
    ids = {query.id: query.synthetic for query in corpora.from_folder(folder).queries}
    assert ids == {"synthetic-0001": False, "synthetic-0002": True}


def test_a_database(tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite"
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE people (name TEXT, city TEXT)")
        database.execute("INSERT INTO people VALUES ('Ann', 'Oslo')")
    beside = question_file(str(path), add=False)
    gold = TableId("store", "people")
    question = Query("q", "Who lives in Oslo?", (gold,), "Ann", database_id="store")
    assert write_questions([question], beside) == 1
    (read,) = corpora.from_database(path).queries
    assert read.gold == (gold,)


def test_a_new_folder(folder: Path, tmp_path: Path) -> None:
    dataset = corpora.from_folder(folder)
    write_folder([QUESTION], dataset.corpus, tmp_path / "new")
    read = corpora.from_folder(tmp_path / "new")
    assert read.queries == (QUESTION,)
    assert read.corpus.fingerprint == dataset.corpus.fingerprint
    with pytest.raises(ConfigError, match="name a new folder"):
        check_new(tmp_path / "new")


@pytest.mark.parametrize(
    ("corpus", "said"),
    [("mini", "name a new folder with -o"), ("tests", r"the folder of this name write \./tests")],
)
def test_other_corpora_need_a_folder(corpus: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        question_file(corpus, add=False)
