"""Many statements: order, laziness, repeats, threads, and workers that end."""

import os
import shutil
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import count, islice
from pathlib import Path
from threading import Event
from time import monotonic, sleep

import pytest

from target_bench.core.errors import BudgetError, ConfigError, DataError
from target_bench.sql.engines.databases import Database, Limits
from target_bench.sql.workers.pool import Pool, Statement
from target_bench.sql.workers.process import WorkerProcess
from tests.sql.written import sqlite_file

ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"
FIRST = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT {}) "


def test_results_come_in_the_order_of_the_statements(pool: Pool, people: Path) -> None:
    slow = FIRST.format(300_000) + "SELECT count(*) FROM n"
    texts = [slow if i % 7 == 0 else f"SELECT {i}" for i in range(50)]
    got = [result.rows[0][0] for result in pool.run(Statement(people, text) for text in texts)]
    assert got == [300_000 if i % 7 == 0 else i for i in range(50)]


def test_statements_are_drawn_as_workers_become_free(people: Path) -> None:
    drawn = []

    def endless() -> Iterator[Statement]:
        for i in count():
            drawn.append(i)
            yield Statement(people, f"SELECT {i}")

    with Pool(1) as pool:
        got = [result.rows for result in islice(pool.run(endless()), 20)]
    assert got == [((i,),) for i in range(20)]
    assert len(drawn) <= 22, "one runs, one waits"


def test_a_slow_statement_holds_up_no_other(people: Path) -> None:
    with Pool(2, Limits(seconds=2)) as pool:
        pool.execute(Statement(people, "SELECT 1"))
        drawn = 0

        def statements() -> Iterator[Statement]:
            nonlocal drawn
            for drawn in range(1, 61):
                yield Statement(people, ENDLESS if drawn == 1 else f"SELECT {drawn}")

        results = pool.run(statements())
        assert next(results).outcome == "timeout"
        assert drawn == 60
        assert [result.rows[0][0] for result in results] == list(range(2, 61))


def test_little_is_drawn_while_much_waits(people: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("target_bench.sql.workers.pool._WAITING", 5_000_000)
    drawn = []

    def statements() -> Iterator[Statement]:
        for i in range(200):
            drawn.append(i)
            yield Statement(people, ENDLESS if i == 0 else f"SELECT {i}, zeroblob(1000000)")

    with Pool(2, Limits(seconds=1)) as pool:
        results = pool.run(statements())
        assert next(results).outcome == "timeout"
        assert len(drawn) < 20
        assert [result.rows[0][0] for result in results] == list(range(1, 200))


def test_large_results_arrive_whole(pool: Pool, people: Path) -> None:
    sql = FIRST.format(200_000) + "SELECT i, 'text ' || i, i / 2.0 FROM n"
    got = pool.execute(Statement(people, sql))
    assert got.rows == tuple((i, f"text {i}", i / 2) for i in range(1, 200_001))


def test_repeats_give_a_time_each(pool: Pool, people: Path) -> None:
    got = pool.execute(Statement(people, "SELECT count(*) FROM people", repeat=5))
    assert got.rows == ((4,),)
    assert len(got.seconds) == 5
    assert all(0 < seconds < 1 for seconds in got.seconds)
    failed = pool.execute(Statement(people, "SELECT nope", repeat=5))
    assert (failed.outcome, len(failed.seconds)) == ("no_such_column", 1)


def test_the_deadline_is_for_each_run(people: Path) -> None:
    """Each run is far from the deadline, on a busy machine too; together they last longer."""
    with Pool(1, Limits(seconds=1.0)) as pool:
        slow = FIRST.format(350_000) + "SELECT count(*) FROM n"
        (first,) = pool.execute(Statement(people, slow)).seconds
        repeat = int(3 / first) + 1  # enough if the others take a third of its time
        got = pool.execute(Statement(people, slow, repeat=repeat))
        assert got.outcome == "executed"
        assert len(got.seconds) == repeat
        assert sum(got.seconds) > 1.0
        got = pool.execute(Statement(people, ENDLESS, repeat=8))
        assert (got.outcome, len(got.seconds)) == ("timeout", 1)


def test_several_threads(pool: Pool, people: Path) -> None:
    with ThreadPoolExecutor(8) as threads:
        statements = [Statement(people, f"SELECT {i}") for i in range(100)]
        assert [got.rows[0][0] for got in threads.map(pool.execute, statements)] == [*range(100)]


def test_more_databases_than_stay_open(people: Path, tmp_path: Path) -> None:
    paths = [
        sqlite_file(tmp_path / f"{i}.db", f"CREATE TABLE t AS SELECT {i} AS i") for i in range(40)
    ]
    with Pool(1) as pool:
        for _ in range(2):
            results = pool.run(Statement(path, "SELECT i FROM t") for path in paths)
            assert [got.rows[0][0] for got in results] == list(range(40))


def test_a_killed_worker_costs_one_statement(people: Path) -> None:
    with Pool(1) as pool:
        pool.execute(Statement(people, "SELECT 1"))
        (worker,) = pool._all
        with ThreadPoolExecutor(1) as threads:
            running = threads.submit(pool.execute, Statement(people, ENDLESS))
            while worker in pool._idle:
                pass
            os.kill(worker._process.pid, signal.SIGSEGV)
            died = running.result()
        assert (died.outcome, died.rows) == ("error", ())
        assert "signal 11" in died.message
        assert pool.execute(Statement(people, "SELECT 2")).rows == ((2,),)


def test_a_worker_that_died_while_idle_is_not_noticed(people: Path) -> None:
    with Pool(1) as pool:
        pool.execute(Statement(people, "SELECT 1"))
        (worker,) = pool._all
        worker._process.kill()
        worker._process.wait()
        assert pool.execute(Statement(people, "SELECT 2")).rows == ((2,),)
        assert len(pool._all) == 1


def test_errors_come_at_their_turn(pool: Pool, people: Path, tmp_path: Path) -> None:
    missing = Statement(tmp_path / "missing.db", "SELECT 1")
    results = pool.run([Statement(people, "SELECT 1"), missing, Statement(people, "SELECT 2")])
    assert next(results).rows == ((1,),)
    with pytest.raises(DataError, match=r"missing\.db"):
        next(results)
    assert pool.execute(Statement(people, "SELECT 3")).rows == ((3,),)


def test_an_error_of_the_caller_ends_the_run(pool: Pool, people: Path) -> None:
    def statements() -> Iterator[Statement]:
        yield Statement(people, "SELECT 1")
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        list(pool.run(statements()))
    assert pool.execute(Statement(people, "SELECT 3")).rows == ((3,),)


def test_closing_ends_what_runs(people: Path) -> None:
    start = monotonic()
    with Pool(2) as pool:
        results = pool.run(Statement(people, ENDLESS) for _ in range(10))
        with ThreadPoolExecutor(1) as threads:
            first = threads.submit(next, results)
            while len(pool._all) < 2:
                sleep(0.01)
            processes = [worker._process for worker in pool._all]
            pool.close()
            failed = first.exception()
            assert failed or first.result().outcome == "memory"  # as if the system had killed it
        assert all(process.poll() is not None for process in processes)
    assert monotonic() - start < 10
    with pytest.raises(ConfigError, match="closed"):
        pool.execute(Statement(people, "SELECT 1"))


def test_invalid_arguments(people: Path) -> None:
    with pytest.raises(ConfigError, match="workers=0"):
        Pool(0)
    with pytest.raises(ConfigError, match="repeat=0"):
        Statement(people, "SELECT 1", repeat=0)


def test_a_worker_that_dies_while_opening_is_replaced_once(
    people: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may have died of what it ran before; the file is sound."""
    number = WorkerProcess._number
    deaths = [1]

    def dies(self: WorkerProcess, where: Database) -> int:
        if deaths and not self.has_open(where):
            deaths.pop()
            self._process.kill()
        return number(self, where)

    monkeypatch.setattr(WorkerProcess, "_number", dies)
    with Pool(1) as pool:
        assert pool.execute(Statement(people, "SELECT 7")).rows == ((7,),)
        other = people.with_name("other.sqlite")
        shutil.copy(people, other)
        deaths += [1, 1]
        with pytest.raises(DataError, match="the process that opened it ended"):
            pool.execute(Statement(other, "SELECT 7"))
        (first, second) = pool.run(
            [Statement(other.with_name("gone"), "SELECT 1"), Statement(people, "SELECT 7")],
            keep_going=True,
        )
    assert (first.outcome, second.rows) == ("unusable", ((7,),))


def test_results_come_as_soon_as_they_are_there() -> None:
    """A slow job holds nothing back but its own result; an error comes after what is there."""
    go = Event()

    def waits() -> str:
        assert go.wait(30)
        return "slow"

    with Pool(2) as pool:
        jobs: list[Callable[[], str]] = [waits, *[partial(str, i) for i in range(20)]]
        found = pool.as_done(jobs)
        first = [next(found) for _ in range(20)]
        assert sorted(first, key=int) == [str(i) for i in range(20)]
        go.set()
        assert list(found) == ["slow"]


def test_an_error_of_a_job_is_raised() -> None:
    def fails() -> str:
        raise BudgetError("no time")

    with Pool(1) as pool:
        found = pool.as_done([lambda: "first", fails])
        assert next(found) == "first"
        with pytest.raises(BudgetError, match="no time"):
            next(found)
