"""Gold results: computed once for a state of the database, and what the record survives."""

import gzip
import json
import math
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from target_bench.core.errors import StoreError
from target_bench.core.schema import Executed
from target_bench.sql.engines import SQLLimits
from target_bench.sql.gold_results import run_gold
from target_bench.sql.workers import Worker
from tests.sql.written import duckdb_file, sqlite_file

LIMITS = SQLLimits(seconds=5)


class Counting(Worker):
    """Counts what it runs."""

    ran = 0

    def run(self, *arguments: Any, **more: Any) -> Executed:
        self.ran += 1
        return super().run(*arguments, **more)


@pytest.fixture(scope="module")
def started() -> Iterator[Counting]:
    worker = Counting(LIMITS)
    yield worker
    worker.close()


@pytest.fixture
def counting(started: Counting) -> Counting:
    started.ran = 0
    return started


Result = Callable[..., Executed]


@pytest.fixture
def result(counting: Counting, tmp_path: Path) -> Result:
    return lambda path, sql: run_gold(counting, path, sql, folder=tmp_path / "gold")


def test_a_statement_runs_once(counting: Counting, result: Result, people: Path) -> None:
    sql = [f"SELECT {i}, name FROM people" for i in range(3)]
    first = [result(people, text) for text in sql]
    assert [result.rows[0] for result in first] == [(0, "Ana"), (1, "Ana"), (2, "Ana")]
    assert [result(people, text) for text in sql] == first
    assert counting.ran == 3


def test_what_determines_a_result(
    counting: Counting,
    result: Result,
    people: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    count = "SELECT count(*) FROM people"
    assert result(people, count).rows == ((4,),)
    moved = Path(shutil.copy(people, tmp_path / "moved.db"))
    assert result(moved, count).rows == ((4,),)
    assert counting.ran == 1
    sqlite_file(people, "DELETE FROM people WHERE id = 1")
    assert result(people, count).rows == ((3,),)
    assert counting.ran == 2
    monkeypatch.setattr(counting, "limits", SQLLimits(seconds=6))
    assert result(people, count).rows == ((3,),)
    assert counting.ran == 3


@pytest.mark.parametrize(
    ("sql", "runs"),
    [
        ("SELECT nope", 1),
        ("SELECT zeroblob(999999999)", 2),
        ("SELECT random()", 2),
        ("SELECT date('NOW')", 2),
        ("SELECT CURRENT_TIMESTAMP", 2),
        ("SELECT date ( )", 2),
        ("SELECT strftime('%Y')", 2),
        ("SELECT julianday()", 2),
    ],
)
def test_failures_are_kept_but_for_limits_and_what_changes_is_run_again(
    counting: Counting, result: Result, people: Path, sql: str, runs: int
) -> None:
    first, second = result(people, sql), result(people, sql)
    assert (first.outcome, first.message) == (second.outcome, second.message)
    assert counting.ran == runs


@pytest.mark.parametrize("harm", ["cut", "flip", "empty", "not json", "another shape"])
def test_a_damaged_record_is_made_again(
    counting: Counting, result: Result, people: Path, tmp_path: Path, harm: str
) -> None:
    sql = "SELECT name FROM people ORDER BY id"
    whole = result(people, sql)
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
    assert result(people, sql).rows == whole.rows
    assert counting.ran == 2
    assert result(people, sql).rows == whole.rows
    assert counting.ran == 2


def test_a_folder_that_cannot_be_written(result: Result, people: Path, tmp_path: Path) -> None:
    (tmp_path / "gold").write_text("a file")
    with pytest.raises(StoreError, match="TARGET_BENCH_CACHE"):
        result(people, "SELECT 1")


def test_cells_come_back_exactly(
    counting: Counting, result: Result, tmp_path: Path, people: Path
) -> None:
    path = duckdb_file(tmp_path / "x.duckdb", "CREATE TABLE t (a INTEGER)")
    sql = "SELECT 'nan'::DOUBLE, 'inf'::DOUBLE, -0.0::DOUBLE, (2::HUGEINT ** 100)::HUGEINT"
    for _ in range(2):
        ((nan, inf, zero, big),) = result(path, sql).rows
        assert isinstance(nan, float)
        assert math.isnan(nan)
        assert (inf, str(zero), big) == (math.inf, "-0.0", 2**100)
        assert result(people, "SELECT x'00ff', NULL, 'é', 1.0, 1").rows == (
            (b"\x00\xff", None, "é", 1.0, 1),
        )
    assert counting.ran == 2
