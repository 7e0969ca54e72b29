"""The embedded corpus: its bytes are pinned, its queries derived, its databases built when used.

The rules of what is in the data files are ``tools.mini``'s.
"""

import hashlib
import shutil
from collections import Counter
from pathlib import Path

import pytest

from target_bench.core.files import CACHE_VARIABLE
from target_bench.core.schema import Query
from target_bench.data.databases.stored_tables import DATABASES
from target_bench.data.load import load, of_task
from target_bench.sql.gold_tables import gold_tables
from target_bench.sql.hardness import HARDNESS, hardness
from tools.mini.__main__ import main
from tools.mini.queries import DATA, faults, write

FILES = "2c3475207de464739dade67bd75540ccd73435903e9b915f56d530d3622a2a3c"
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


def test_queries_follow_from_tables_and_databases(
    copied: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The committed queries are those that the checks derive, byte for byte."""
    assert faults(DATA) == []
    (copied / "queries.jsonl").unlink()
    write(copied)
    assert _files(copied) == _files(DATA)
    monkeypatch.setattr("sys.argv", ["mini"])
    main()
    assert "tables, databases and queries agree" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("file", "old", "new", "fault"),
    [
        ("queries.jsonl", '"answer": "Regina"', '"answer": "Saskatoon"', "Saskatoon"),
        ("tables/divisions-of-canada.csv", "Saskatchewan", "Manitoba", "0 rows hold"),
        ("tables/olympics-1972-medals.csv", "East Germany,20,", "East Germany,21,", "label"),
        ("tables/divisions-of-canada.csv", ",Regina", "", "divisions-of-canada: ragged"),
        ("tables.jsonl", "divisions-of-canada", "divisions-of-kanada", "differ"),
        ("databases/mountain_huts.sql", "CREATE TABLE hut (", "CREATE TABLE cabin (", "hut"),
    ],
)
def test_a_changed_file_is_a_fault(copied: Path, file: str, old: str, new: str, fault: str) -> None:
    """What no longer answers a question, or contradicts its label, is named."""
    text = (copied / file).read_text(encoding="utf-8")
    assert text.count(old) == 1
    (copied / file).write_bytes(text.replace(old, new).encode())
    assert fault in faults(copied)[0]


def _sql_queries(split: str) -> tuple[Query, ...]:
    return of_task(load("mini", split), "text_to_sql").queries


@pytest.mark.parametrize("split", SPLITS)
def test_both_splits_have_all_tables_and_tasks(split: str) -> None:
    dataset, queries = load("mini", split), _sql_queries(split)
    assert sorted(dataset.databases) == ["coffee_roastery", "mountain_huts", "town_library"]
    assert sum(i.database_id == "0" for i in dataset.corpus.ids) == 120
    assert (len(dataset.corpus), dataset.notes) == (139, ())
    assert {q.metadata["hardness"] for q in queries} == set(HARDNESS)
    assert {q.database_id for q in queries} == set(dataset.databases)
    tasks = {q.metadata["task"] for q in dataset.queries if q.database_id == "0"}
    given = {"question_answering", "fact_verification", "text_to_table", "table_to_text"}
    assert tasks - {"table_answering", "table_comparison"} == given


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
