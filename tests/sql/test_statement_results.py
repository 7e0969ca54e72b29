"""Gold results: computed once for a state of the database, and what the record survives."""

import gzip
import json
import math
import shutil
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from target_bench.core.errors import StoreError
from target_bench.core.schema import Cell, Executed
from target_bench.sql import statement_results
from target_bench.sql.engines.databases import Limits
from target_bench.sql.statement_results import GoldResults
from target_bench.sql.workers.pool import Pool, Statement
from tests.sql.written import duckdb_file, sqlite_file


class Counting(Pool):
    """Counts what it runs."""

    ran = 0

    def run_here(self, statement: Statement) -> Executed:
        self.ran += 1
        return super().run_here(statement)


@pytest.fixture
def counting() -> Iterator[Counting]:
    with Counting(1, Limits(seconds=5)) as pool:
        yield pool


def test_a_statement_runs_once(counting: Counting, people: Path, tmp_path: Path) -> None:
    statements = [Statement(people, f"SELECT {i}, name FROM people") for i in range(3)]
    first = list(map(GoldResults(counting, tmp_path / "gold").execute, statements))
    assert counting.ran == 3
    second = list(map(GoldResults(counting, tmp_path / "gold").execute, reversed(statements)))
    assert counting.ran == 3
    assert second == first[::-1]
    assert [result.rows[0] for result in first] == [(0, "Ana"), (1, "Ana"), (2, "Ana")]
    assert all(len(result.seconds) == 1 for result in second)


def test_threads_that_ask_for_one_statement_run_it_once(people: Path, tmp_path: Path) -> None:
    """Neighbouring questions often have the same gold; others go on meanwhile."""
    slow = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 300000) "
    asked = [f"{slow}SELECT count(*), {i // 4} FROM n" for i in range(12)]
    with Counting(4, Limits(seconds=30)) as pool:
        results = GoldResults(pool, tmp_path / "gold")
        found = list(
            pool.as_done(partial(results.execute, Statement(people, sql)) for sql in asked)
        )
        assert pool.ran == 3
    assert sorted(result.rows[0] for result in found) == [(300_000, i // 4) for i in range(12)]


def test_what_determines_a_result(counting: Counting, people: Path, tmp_path: Path) -> None:
    folder = tmp_path / "gold"
    count = Statement(people, "SELECT count(*) FROM people")
    assert GoldResults(counting, folder).execute(count).rows == ((4,),)
    moved = Path(shutil.copy(people, tmp_path / "moved.db"))
    assert GoldResults(counting, folder).execute(Statement(moved, count.sql)).rows == ((4,),)
    assert counting.ran == 1
    sqlite_file(people, "DELETE FROM people WHERE id = 1")
    assert GoldResults(counting, folder).execute(count).rows == ((3,),)
    assert counting.ran == 2
    with Counting(1, Limits(seconds=6)) as other:
        GoldResults(other, folder).execute(count)
        assert other.ran == 1


def test_both_engines(counting: Counting, people: Path, ducks: Path, tmp_path: Path) -> None:
    results = GoldResults(counting, tmp_path / "gold")
    halves = [Statement(path, "SELECT 7 / 2") for path in (people, ducks)]
    expected = [((3,),), ((3.5,),)]
    for _ in range(2):
        assert [results.execute(half).rows for half in halves] == expected
    assert counting.ran == 2


def test_failures_are_kept_but_for_limits(counting: Counting, people: Path, tmp_path: Path) -> None:
    results = GoldResults(counting, tmp_path / "gold")
    for sql, runs in (("SELECT nope", 1), ("SELECT zeroblob(999999999)", 2)):
        counting.ran = 0
        first, second = (results.execute(Statement(people, sql)) for _ in range(2))
        assert (first.outcome, first.message) == (second.outcome, second.message)
        assert counting.ran == runs


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT random()",
        "SELECT date('NOW')",
        "SELECT CURRENT_TIMESTAMP",
        "SELECT date ( )",
        "SELECT strftime('%Y')",
        "SELECT julianday()",
    ],
)
def test_what_changes_is_run_again(
    counting: Counting, people: Path, tmp_path: Path, sql: str
) -> None:
    results = GoldResults(counting, tmp_path / "gold")
    for _ in range(2):
        assert results.execute(Statement(people, sql)).outcome == "executed"
    assert counting.ran == 2


def test_what_is_timed_is_run_again(counting: Counting, people: Path, tmp_path: Path) -> None:
    results = GoldResults(counting, tmp_path / "gold")
    for _ in range(2):
        assert len(results.execute(Statement(people, "SELECT 1", repeat=3)).seconds) == 3
    assert counting.ran == 2


@pytest.mark.parametrize("harm", ["cut", "flip", "empty", "not json", "another shape"])
def test_a_damaged_record_is_moved_aside(
    counting: Counting, people: Path, tmp_path: Path, harm: str
) -> None:
    statement = Statement(people, "SELECT name FROM people ORDER BY id")
    whole = GoldResults(counting, tmp_path / "gold").execute(statement)
    (path,) = (tmp_path / "gold").rglob("*.json.gz")
    data = path.read_bytes()
    middle = len(data) // 2
    path.write_bytes(
        {
            "cut": data[:-3],
            "flip": data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1 :],
            "empty": b"",
            "not json": gzip.compress(b"{"),
            "another shape": gzip.compress(json.dumps([1]).encode()),
        }[harm]
    )
    heard: list[str] = []
    again = GoldResults(counting, tmp_path / "gold", heard.append).execute(statement)
    assert again.rows == whole.rows
    assert counting.ran == 2
    (message,) = heard
    assert str(path) in message
    (aside,) = path.parent.glob("*.aside-*")
    assert aside.name in message
    GoldResults(counting, tmp_path / "gold", heard.append).execute(statement)
    assert (counting.ran, len(heard)) == (2, 1)


def test_a_folder_that_cannot_be_written(counting: Counting, people: Path, tmp_path: Path) -> None:
    (tmp_path / "gold").write_text("a file")
    with pytest.raises(StoreError, match="TARGET_BENCH_CACHE"):
        GoldResults(counting, tmp_path / "gold").execute(Statement(people, "SELECT 1"))


def test_the_default_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TARGET_BENCH_CACHE", str(tmp_path))
    assert statement_results.folder() == tmp_path / "gold"


CELLS = st.none() | st.integers() | st.floats() | st.binary() | st.text(st.characters())


@given(st.lists(st.lists(CELLS)), st.lists(st.floats(0, 100)))
def test_every_cell_comes_back_exactly(rows: list[list[Cell]], seconds: list[float]) -> None:
    cells = tuple(tuple(row) for row in rows)
    result = Executed("executed", ("a", "hex"), cells, "é", tuple(seconds))
    text = json.dumps(statement_results._record(result), default=statement_results._tagged)
    back = statement_results._executed(json.loads(text, object_hook=statement_results._bytes))
    assert repr(back) == repr(result)  # as 1, 1.0, -0.0 and NaN differ


def test_special_numbers_from_an_engine(counting: Counting, tmp_path: Path) -> None:
    path = duckdb_file(tmp_path / "x.duckdb", "CREATE TABLE t (a INTEGER)")
    results = GoldResults(counting, tmp_path / "gold")
    sql = "SELECT 'nan'::DOUBLE, 'inf'::DOUBLE, -0.0::DOUBLE, (2::HUGEINT ** 100)::HUGEINT"
    for _ in range(2):
        ((nan, inf, zero, big),) = results.execute(Statement(path, sql)).rows
        assert isinstance(nan, float)
        assert math.isnan(nan)
        assert (inf, str(zero), big) == (math.inf, "-0.0", 2**100)
    assert counting.ran == 1
