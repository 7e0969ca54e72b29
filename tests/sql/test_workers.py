"""Workers end with their pool, however it ends, and get nothing they do not need."""

import io
import os
import pickle
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import count, islice
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from target_bench.core.errors import ConfigError
from target_bench.sql.engines import SQLLimits
from target_bench.sql.worker import receive, send
from target_bench.sql.workers import Pool, Worker, _listen
from tests.sql.judging import execute

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not Path("/proc").is_dir(), reason="reads /proc"),
]

SCRIPT = """
import sys
from pathlib import Path
from target_bench.sql.workers import Pool

ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"
path = Path(sys.argv[1])
with Pool(2) as pool:
    def work(worker, sql):
        return worker.run(path, sql)
    print(*(result.rows[0][0] for result in pool.map_unordered(work, ["SELECT 7"])), flush=True)
    results = pool.map_unordered(work, [ENDLESS] * 2)
    {then}
"""


def _start(path: Path, then: str) -> subprocess.Popen[str]:
    """A user's script without a ``__main__`` guard, running as it would from a terminal."""
    return subprocess.Popen(
        [sys.executable, "-c", SCRIPT.replace("{then}", then), str(path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def _children(pid: int) -> set[int]:
    parents = set()
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = stat.read_text().rpartition(")")[2].split()[1]
        except OSError:
            continue
        if int(parent) == pid:
            parents.add(int(stat.parent.name))
    return parents


def _gone(pids: set[int]) -> bool:
    end = time.monotonic() + 10
    while time.monotonic() < end:
        states = [Path(f"/proc/{pid}/stat") for pid in pids]
        running = [path for path in states if path.exists() and ") Z " not in path.read_text()]
        if not running:
            return True
        time.sleep(0.05)
    return False


def _two_workers(script: subprocess.Popen[str]) -> set[int]:
    assert script.stdout is not None
    assert script.stdout.readline() == "7\n"
    while len(_children(script.pid)) < 2:
        assert script.poll() is None
        time.sleep(0.02)
    return _children(script.pid)


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_a_script_that_is_ended(people: Path, how: signal.Signals) -> None:
    with _start(people, "list(results)") as script:
        workers = _two_workers(script)
        os.killpg(script.pid, how)
        assert _gone(workers)
        _, errors = script.communicate(timeout=300)
    assert script.returncode != 0
    assert ("KeyboardInterrupt" in errors) == (how == signal.SIGINT)


@pytest.fixture
def worker() -> Iterator[Worker]:
    worker = Worker(SQLLimits(seconds=1))
    yield worker
    worker.close()


def _started(worker: Worker, path: Path) -> "subprocess.Popen[bytes]":
    assert worker.run(path, "SELECT 1").rows == ((1,),)
    assert worker.process is not None
    return worker.process


def test_workers_do_not_see_the_environment(
    worker: Worker, people: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    process = _started(worker, people)
    assert b"secret" not in Path(f"/proc/{process.pid}/environ").read_bytes()


def test_workers_cannot_write_files(worker: Worker, people: Path) -> None:
    process = _started(worker, people)
    limits = Path(f"/proc/{process.pid}/limits").read_text().splitlines()
    by_name = {line[:26].strip(): line[26:].split()[0] for line in limits}
    assert by_name["Max file size"] == "0"
    assert by_name["Max core file size"] == "0"
    assert by_name["Max address space"] != "unlimited"


CELLS = st.none() | st.integers() | st.floats(allow_nan=False) | st.binary() | st.text()
TEXT_WITH_SURROGATES = st.text(st.characters())


@given(st.lists(st.tuples(CELLS, CELLS | TEXT_WITH_SURROGATES)))
def test_values_arrive_as_they_were(rows: list[Any]) -> None:
    pipe = io.BytesIO()
    send(pipe, ("rows", rows))
    send(pipe, 1)
    pipe.seek(0)
    assert receive(pipe) == ("rows", rows)
    assert receive(pipe) == 1


class Hostile:
    """What pickle would run when it is read."""

    def __reduce__(self) -> Any:
        return os.system, ("touch hostile",)


@pytest.mark.parametrize("value", [Path("x"), Hostile(), [(1, Hostile())]])
def test_only_plain_values_are_read(value: Any, tmp_path: Path) -> None:
    pipe = io.BytesIO()
    send(pipe, value)
    pipe.seek(0)
    with pytest.raises(pickle.UnpicklingError, match="not a plain value"):
        receive(pipe)


def test_a_worker_that_sends_more_than_values_costs_one_statement(
    worker: Worker, people: Path
) -> None:
    """As one would that a statement has taken over: nothing is run here, and it is replaced."""
    process = _started(worker, people)
    pipe = io.BytesIO()
    send(pipe, Hostile())
    pipe.seek(0)
    process.stdout, real = pipe, process.stdout
    replies: SimpleQueue[Any] = SimpleQueue()
    _listen(process, replies)
    assert replies.get() is None
    process.stdout = real


FIRST = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT {}) "
ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"


def test_results_come_as_soon_as_they_are_there(people: Path) -> None:
    """A slow statement holds nothing back but its own result, and items are drawn as needed."""
    drawn = []

    def statements() -> Iterator[str]:
        for i in count():
            drawn.append(i)
            yield ENDLESS if i == 0 else f"SELECT {i}"

    with Pool(2, SQLLimits(seconds=2)) as pool:
        results = pool.map_unordered(lambda worker, sql: worker.run(people, sql), statements())
        first = [result.rows[0][0] for result in islice(results, 20)]
        assert len(set(first)) == 20
        assert len(drawn) <= 25
        assert (
            next(result.outcome for result in results if result.outcome != "executed") == "timeout"
        )


def test_large_results_arrive_whole(people: Path) -> None:
    sql = FIRST.format(200_000) + "SELECT i, 'text ' || i, i / 2.0 FROM n"
    with Pool(1) as pool:
        got = execute(pool, people, sql)
    assert got.rows == tuple((i, f"text {i}", i / 2) for i in range(1, 200_001))


def test_repeats_give_a_time_each_and_the_deadline_is_for_each(
    worker: Worker, people: Path
) -> None:
    """Each run is far from the deadline, on a busy machine too; together they last longer."""
    slow = FIRST.format(350_000) + "SELECT count(*) FROM n"
    (first,) = worker.run(people, slow).seconds
    repeat = int(3 / first) + 1  # enough if the others take a third of its time
    got = worker.run(people, slow, repeat=repeat)
    assert (got.outcome, len(got.seconds)) == ("executed", repeat)
    assert sum(got.seconds) > 1.0
    for sql, outcome in ((ENDLESS, "timeout"), ("SELECT nope", "unknown_column")):
        got = worker.run(people, sql, repeat=5)
        assert (got.outcome, len(got.seconds)) == (outcome, 1)


def test_a_killed_worker_costs_one_statement(worker: Worker, people: Path) -> None:
    process = _started(worker, people)
    with ThreadPoolExecutor(1) as threads:
        running = threads.submit(worker.run, people, ENDLESS)
        time.sleep(0.1)
        os.kill(process.pid, signal.SIGSEGV)
        died = running.result()
    assert (died.outcome, died.rows) == ("error", ())
    assert "signal 11" in died.message
    assert _started(worker, people) is not process


def test_closing_ends_what_runs(people: Path) -> None:
    start = time.monotonic()
    with Pool(2) as pool:
        results = pool.map_unordered(lambda worker, sql: worker.run(people, sql), [ENDLESS] * 10)
        with ThreadPoolExecutor(1) as threads:
            first = threads.submit(next, results)
            while not all(worker.process for worker in pool._all):
                time.sleep(0.01)
            processes = [worker.process for worker in pool._all if worker.process]
            pool.close()
            failed = first.exception()
            assert failed or first.result().outcome == "memory"  # as if the system had killed it
        assert all(process.poll() is not None for process in processes)
    assert time.monotonic() - start < 20
    with pytest.raises(ConfigError, match="closed"):
        execute(pool, people, "SELECT 1")
