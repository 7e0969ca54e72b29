"""Workers end with their pool, however it ends, and get nothing they do not need."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from target_bench.sql.workers.pool import Pool, Statement

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not Path("/proc").is_dir(), reason="reads /proc"),
]

SCRIPT = """
import sys
from pathlib import Path
from target_bench.sql.workers.pool import Pool, Statement

ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"
path = Path(sys.argv[1])
with Pool(2) as pool:
    print(pool.execute(Statement(path, "SELECT 7")).rows[0][0], flush=True)
    results = pool.run([Statement(path, sys.argv[2] if sys.argv[2:] else ENDLESS)] * 2)
    {then}
"""


def _start(path: Path, then: str, *arguments: str) -> subprocess.Popen[str]:
    """A user's script without a ``__main__`` guard, running as it would from a terminal."""
    return subprocess.Popen(
        [sys.executable, "-c", SCRIPT.replace("{then}", then), str(path), *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def _children(pid: int) -> set[int]:
    found = set()
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = stat.read_text().rpartition(")")[2].split()[1]
        except OSError:
            continue
        if int(parent) == pid:
            found.add(int(stat.parent.name))
    return found


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


def test_a_script_that_raises(people: Path) -> None:
    then = "import threading; threading.Thread(target=next, args=(results,), daemon=True).start()"
    then += "; raise ZeroDivisionError"
    with _start(people, then) as script:
        assert script.stdout is not None
        _, errors = script.communicate(timeout=300)
    assert "ZeroDivisionError" in errors
    assert script.returncode == 1


def test_a_pool_that_is_not_closed(people: Path) -> None:
    program = SCRIPT.partition("with Pool")[0] + "\nprint(Pool(1).execute(Statement(path, "
    program += "'SELECT 7')).rows[0][0])"
    done = subprocess.run(
        [sys.executable, "-c", program, people], capture_output=True, text=True, timeout=300
    )
    assert (done.stdout, done.returncode) == ("7\n", 0), done.stderr


def test_workers_do_not_see_the_environment(people: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    with Pool(1) as pool:
        pool.execute(Statement(people, "SELECT 1"))
        (worker,) = _children(os.getpid()) & {worker._process.pid for worker in pool._all}
        assert b"secret" not in Path(f"/proc/{worker}/environ").read_bytes()


def test_workers_cannot_write_files(people: Path) -> None:
    with Pool(1) as pool:
        pool.execute(Statement(people, "SELECT 1"))
        (worker,) = pool._all
        limits = Path(f"/proc/{worker._process.pid}/limits").read_text().splitlines()
    by_name = {line[:26].strip(): line[26:].split()[0] for line in limits}
    assert by_name["Max file size"] == "0"
    assert by_name["Max core file size"] == "0"
    assert by_name["Max address space"] != "unlimited"


def test_a_worker_imports_little(people: Path) -> None:
    program = (
        "import sys; import target_bench.sql.workers.worker, target_bench.sql.engines.sqlite; "
        "print([n for n in ('numpy', 'pyarrow', 'duckdb', 'sqlglot', 'rich') if n in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout == "[]\n"
