"""The embedded corpus: its bytes are pinned, its answers derived, its databases built when used."""

import csv
import hashlib
import json
import shutil
from collections import Counter
from pathlib import Path
from typing import Any, get_args

import duckdb
import pytest
import yaml

import target_bench.corpora.mini
from target_bench.core.files import CACHE_VARIABLE
from target_bench.core.schema import Query
from target_bench.data.databases.built_files import DATABASES
from target_bench.data.load import load
from target_bench.data.selection import select_queries
from target_bench.sql.gold_tables import gold_tables
from target_bench.sql.hardness import Hardness, hardness

MINI = Path(target_bench.corpora.mini.__file__).parent
DATA = MINI / "data"
ANSWERS = yaml.safe_load((MINI / "answers.yaml").read_text(encoding="utf-8"))
FILES = "c920e979759c347ce2e3c8c6383760b8d89d916913115b995f02551597bae3fc"
FINGERPRINT = "6b47241e10e2a41fa4b93d9ff0a0b22a997e180b720b285116b89933a13f79ea"
SPLITS = ("test", "validation")


def _files(folder: Path) -> dict[str, bytes]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    """A copy of the data files, to be changed."""
    return Path(shutil.copytree(DATA, tmp_path / "data"))


def test_data_files_stay_as_they_are() -> None:
    """Runs and submissions on mini hold for these bytes, and for this fingerprint."""
    digest = hashlib.sha256()
    for name, content in sorted(_files(DATA).items()):
        digest.update(f"{name} {hashlib.sha256(content).hexdigest()}\n".encode())
    assert digest.hexdigest() == FILES
    assert {load("mini", split).corpus.fingerprint for split in SPLITS} == {FINGERPRINT}


def _derived(folder: Path) -> dict[str, Any]:
    """Return the answer that the SQL of each query has in the tables of a folder."""
    connection = duckdb.connect()
    connection.execute(
        "CREATE MACRO num(cell) AS CAST(trim(CAST(cell AS VARCHAR), '()') AS DOUBLE)"
    )
    for path in sorted((folder / "tables").glob("*.csv")):
        source = f"read_csv('{path}', all_varchar=true, header=true, delim=',', quote='\"')"
        connection.execute(f'CREATE TABLE "{path.stem}" AS SELECT * FROM {source}')
    answers = {}
    for name, sql in ANSWERS.items():
        rows = connection.execute(sql).fetchall()
        value: object = rows[0][0] if len(rows) == 1 else rows
        answers[name] = f"{value:g}" if isinstance(value, float) else str(value)
    return answers


def _stored(folder: Path) -> dict[str, str]:
    lines = (folder / "queries.jsonl").read_text(encoding="utf-8").splitlines()
    answers = {record["query_id"]: record["answer"] for record in map(json.loads, lines)}
    return {name: a if isinstance(a, str) else a[0] for name, a in answers.items()}


def test_answers_follow_from_the_tables() -> None:
    """Every question and statement on web tables has its SQL; those on databases are SQL."""
    stored = {name: a for name, a in _stored(DATA).items() if not name.startswith("sql-")}
    assert _derived(DATA) == stored


@pytest.mark.parametrize(
    ("file", "old", "new", "query"),
    [
        ("queries.jsonl", '"answer": "Regina"', '"answer": "Saskatoon"', "qa-0"),
        ("tables/divisions-of-canada.csv", "Saskatchewan", "Manitoba", "qa-0"),
        ("tables/olympics-1972-medals.csv", "East Germany,20,", "East Germany,21,", "fv-0001"),
    ],
)
def test_a_changed_file_contradicts_an_answer(
    copied: Path, file: str, old: str, new: str, query: str
) -> None:
    text = (copied / file).read_text(encoding="utf-8")
    assert text.count(old) == 1
    (copied / file).write_bytes(text.replace(old, new).encode())
    stored = _stored(copied)
    wrong = [name for name, answer in _derived(copied).items() if answer != stored[name]]
    assert [name for name in wrong if name.startswith(query)]


def test_tables_are_those_that_are_listed_and_whole() -> None:
    lines = (DATA / "tables.jsonl").read_text(encoding="utf-8").splitlines()
    listed = [json.loads(line)["table_id"] for line in lines]
    assert sorted(listed) == sorted(path.stem for path in (DATA / "tables").iterdir())
    for name in listed:
        with (DATA / "tables" / f"{name}.csv").open(encoding="utf-8", newline="") as file:
            header, *rows = csv.reader(file)
        assert 3 <= len(header) == len(set(header)) <= 7, name
        assert 5 <= len(rows) == len({tuple(row) for row in rows}) <= 14, name
        assert all(len(row) == len(header) and all(row) for row in rows), name


def test_sentences_hold_their_cells() -> None:
    """The first description of cells names every one of them."""
    tables = {str(table.id.table_id): table for table in load("mini").corpus}
    for line in (DATA / "table_to_text.jsonl").read_text(encoding="utf-8").splitlines():
        record = json.loads(line)
        rows = tables[record["table_id"]].rows
        cells = [rows[row - 1][column] for row, column in record["highlighted_cells"]]
        assert all(str(cell) in record["answer"][0] for cell in cells), record["query_id"]


def _sql_queries(split: str) -> tuple[Query, ...]:
    return select_queries(load("mini", split), "text_to_sql").queries


@pytest.mark.parametrize("split", SPLITS)
def test_both_splits_have_all_tables_and_tasks(split: str) -> None:
    dataset, queries = load("mini", split), _sql_queries(split)
    assert sorted(dataset.databases) == ["coffee_roastery", "mountain_huts", "town_library"]
    assert sum(i.database_id == "0" for i in dataset.corpus.ids) == 120
    assert (len(dataset.corpus), dataset.notes) == (139, ())
    assert {q.metadata["hardness"] for q in queries} == set(get_args(Hardness))
    assert {q.database_id for q in queries} == set(dataset.databases)
    tasks = {q.metadata["task"] for q in dataset.queries if q.database_id == "0"}
    given = {"question_answering", "fact_verification", "text_to_table", "table_to_text"}
    assert tasks - {"table_comparison"} == given


def test_gold_tables_and_hardness() -> None:
    """As recorded; every table of the databases is gold for some question."""
    dataset = load("mini")
    queries = [query for split in SPLITS for query in _sql_queries(split)]
    assert 60 <= len(queries) <= 100
    assert min(Counter(query.metadata["hardness"] for query in queries).values()) >= 8
    for query in queries:
        tables = gold_tables(str(query.answer), dataset.databases[query.database_id])
        assert query.gold == tuple((query.database_id, table) for table in tables)
        assert query.metadata["hardness"] == hardness(str(query.answer))
        assert query.metadata["difficulty"] in ("simple", "moderate", "challenging")
    used = {gold for query in queries for gold in query.gold}
    assert used == {i for i in dataset.corpus.ids if i.database_id != "0"}


def test_databases_are_built_once_and_again_when_they_are_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path))
    first = load("mini")
    times = [{p: p.stat().st_mtime_ns for p in load("mini").databases.values()} for _ in "ab"]
    assert times[0] == times[1]
    assert all(path.is_relative_to(tmp_path / DATABASES) for path in times[0])
    shutil.rmtree(tmp_path / DATABASES)
    assert load("mini").corpus.fingerprint == first.corpus.fingerprint
    assert not list((tmp_path / DATABASES).rglob(".new-*"))
    assert {"databases/mountain_huts.sql", "queries.jsonl"} <= set(first.files)
