"""Cells in processes of this machine."""

import os
import random
import signal
import time
from pathlib import Path

import pytest

from target_bench.harness.sweeps import CellOutcome, Local, Sweep
from tests.builders import Recorder
from tests.harness.sweeps.workplace import SIX, contents, produced, ran, recorded, sweep, write
from tests.runs.processes import ended, start, start_unforked

pytestmark = pytest.mark.slow

SMALL = "corpora: {name: mini, limit: 9}\nretrievers:\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def _run(folder: Path, text: str, workers: int = 2, **options: str) -> list[CellOutcome]:
    loaded = Sweep.load(write(folder, text), observer=Recorder(), **options)
    return loaded.run(Local(workers), Recorder())


def test_workers_change_nothing(folder: Path) -> None:
    alone = _run(folder, SIX, 1, out="one")
    beside = _run(folder, SIX, 2, out="two")
    assert contents(folder / "one") == contents(folder / "two")
    assert [outcome.scores for outcome in alone] == [outcome.scores for outcome in beside]
    assert set(produced(folder).values()) == {2}


def test_killed_at_random_moments(folder: Path) -> None:
    """Equal scores to the byte, and no recorded answer made again."""
    write(folder, SIX.replace("0.004", "0.02"))
    assert ran(folder, "--out", "whole")[0] == 0
    (folder / "produced").unlink()
    moments = sorted(random.Random(20240229).sample(range(1, 6 * 12), 2))
    for moment in moments:
        process = start(sweep(), folder)
        while sum(produced(folder).values()) < moment and process.poll() is None:
            time.sleep(0.002)
        process.send_signal(signal.SIGKILL)
        process.communicate()
    assert ran(folder)[0] == 0
    assert contents(folder / "runs") == contents(folder / "whole")
    assert len(recorded(folder / "runs")) == 6 * 12
    assert 6 * 12 <= sum(produced(folder).values()) <= 6 * 12 + len(moments)


def test_lost_worker(folder: Path) -> None:
    """A cell whose process dies is run again; if it dies again, it fails, and no other does."""
    text = f'{SMALL}  - {{name: "plugins.py:Deadly", always: [false, true]}}\n  - bm25\n'
    once, always, other = _run(folder, text)
    assert {once.error, other.error} == {None}
    assert (always.state, always.exit_code) == ("failed", 3)
    assert "the process of this cell died" in str(always.error)


THREADS = """
import os
from threadpoolctl import threadpool_info


class Threads:
    def __init__(self, n: int = 0) -> None:
        self.n = n

    def embed_corpus(self, corpus):
        self.ids = corpus.ids

    def retrieve(self, query, top_k):
        import numpy
        pools = {pool["num_threads"] for pool in threadpool_info()}
        with open("threads", "a") as file:
            file.write(f"{os.environ['OMP_NUM_THREADS']} {max(pools)}\\n")
        return self.ids[:top_k]
"""


def test_cores_are_divided(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    (folder / "threads.py").write_text(THREADS, encoding="utf-8")
    text = f'{SMALL}  - {{name: "threads.py:Threads", n: [1, 2, 3]}}\n'
    cores = len(os.sched_getaffinity(0))
    _run(folder, text, 2)
    share = max(1, cores // 2)
    assert set((folder / "threads").read_text().splitlines()) == {f"{share} {share}"}
    assert "OMP_NUM_THREADS" not in os.environ


def test_interruption(folder: Path) -> None:
    """Exit code 130, no worker left, and the same command goes on."""
    write(folder, SIX.replace("0.004", "0.02"))
    process = start_unforked(sweep("--workers", "2"), folder)
    deadline = time.monotonic() + 60
    while sum(produced(folder).values()) < 5 and time.monotonic() < deadline:
        time.sleep(0.01)
    workers = _children(process.pid)
    for pid in [process.pid, *workers]:  # as a terminal does
        os.kill(pid, signal.SIGINT)
    out, err = process.communicate(timeout=300)
    assert process.returncode == 130, err
    assert (out, "Traceback" in err) == ("", False)
    assert "Interrupted. Answered queries are kept; run the same command again to resume." in err
    deadline = time.monotonic() + 60
    while any(map(_lives, workers)) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not any(map(_lives, workers))
    kept = dict(produced(folder))
    write(folder, SIX.replace("0.004", "0.02"))
    assert ran(folder, "--workers", "2")[0] == 0
    again = produced(folder)
    assert len(again) == 36 * 2
    assert sum(again[answer] > n for answer, n in kept.items()) <= 2  # one a worker was being made


def test_workers_end_with_the_sweep(folder: Path) -> None:
    """Also when it is killed alone."""
    write(folder, SIX.replace("0.004", "0.2"))
    process = start_unforked(sweep("--workers", "2"), folder)
    deadline = time.monotonic() + 60
    while not produced(folder) and time.monotonic() < deadline:
        time.sleep(0.01)
    children = _children(process.pid)
    assert len(children) >= 2
    process.send_signal(signal.SIGKILL)
    process.communicate()
    while any(map(_lives, children)) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not any(map(_lives, children))


def _children(pid: int) -> list[int]:
    path = Path(f"/proc/{pid}/task/{pid}/children")
    return [int(child) for child in path.read_text("ascii").split()]


def _lives(pid: int) -> bool:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text("ascii")
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"


def test_what_is_printed_in_a_cell_is_not_a_result(folder: Path) -> None:
    (folder / "loud.py").write_text(
        "class Loud:\n"
        "    def embed_corpus(self, corpus):\n"
        "        print('loud')\n        self.ids = corpus.ids\n"
        "    def retrieve(self, query, top_k):\n        return self.ids[:top_k]\n",
        encoding="utf-8",
    )
    write(folder, f'{SMALL}  - "loud.py:Loud"\n')
    code, out, err = ended(start_unforked(sweep("--json"), folder))
    assert (code, out[0]) == (0, "{")
    assert "loud\n" in err
