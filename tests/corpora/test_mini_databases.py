"""The databases of mini: built at first use, and gold SQL that answers every question."""

from collections import Counter
from pathlib import Path

import pytest

from target_bench.core.files import CACHE_VARIABLE
from target_bench.core.schema import Dataset, Query
from target_bench.data import cache
from target_bench.data.databases import stored_tables
from target_bench.data.load import load, of_task
from target_bench.sql.gold_tables import gold_tables
from target_bench.sql.hardness import HARDNESS, hardness

NAMES = ["coffee_roastery", "mountain_huts", "town_library"]


def _sql_queries(dataset: Dataset) -> tuple[Query, ...]:
    return of_task(dataset, "text_to_sql").queries


@pytest.fixture(scope="module")
def both() -> list[Query]:
    """The text-to-SQL questions of both splits."""
    return [
        query for split in ("test", "validation") for query in _sql_queries(load("mini", split))
    ]


@pytest.mark.parametrize("split", ["test", "validation"])
def test_both_splits_have_all_of_them(split: str) -> None:
    dataset = load("mini", split)
    assert sorted(dataset.databases) == NAMES
    web = [i for i in dataset.corpus.ids if i.database_id == "0"]
    assert len(web) == 120
    assert len(dataset.corpus) == 139
    assert dataset.notes == ()
    queries = _sql_queries(dataset)
    assert {q.metadata["hardness"] for q in queries} == set(HARDNESS)
    assert {q.database_id for q in queries} == set(NAMES)
    other = {q.metadata["task"] for q in dataset.queries if q.database_id == "0"}
    given = {"text_to_table", "table_to_text"}
    other -= {"table_comparison"}  # rated tables, which benchmarks/table_metrics asks for
    assert other - {"table_answering"} == {"question_answering", "fact_verification"} | given


def test_gold_tables_and_hardness(both: list[Query]) -> None:
    """As recorded; every table of the databases is gold for some question."""
    databases = load("mini").databases
    assert 60 <= len(both) <= 100
    counts = Counter(query.metadata["hardness"] for query in both)
    assert min(counts[level] for level in HARDNESS) >= 8
    for query in both:
        tables = gold_tables(str(query.answer), databases[query.database_id])
        assert query.gold == tuple((query.database_id, table) for table in tables)
        assert query.metadata["hardness"] == hardness(str(query.answer))
        assert query.metadata["difficulty"] in ("simple", "moderate", "challenging")
    used = {gold for query in both for gold in query.gold}
    assert used == {i for i in load("mini").corpus.ids if i.database_id != "0"}


def test_built_once_and_again_when_it_is_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path))
    first = load("mini")
    before = {path: path.stat().st_mtime_ns for path in first.databases.values()}
    assert all(path.is_relative_to(tmp_path / stored_tables.DATABASES) for path in before)
    assert {path: path.stat().st_mtime_ns for path in load("mini").databases.values()} == before
    cache.clear()
    assert not (tmp_path / stored_tables.DATABASES).exists()
    assert load("mini").corpus.fingerprint == first.corpus.fingerprint
    assert not list((tmp_path / stored_tables.DATABASES).rglob(".new-*"))
    assert {"databases/mountain_huts.sql", "queries.jsonl"} <= set(first.files)
