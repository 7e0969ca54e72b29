"""Clusters that are not there, nodes that lack something, and Ray on this machine alone."""

import importlib.util
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from target_bench.core.errors import ConfigError, MissingExtraError
from target_bench.core.observer import Observer
from target_bench.core.version import __version__
from target_bench.harness.sweeps import ray_connection
from target_bench.harness.sweeps.ray_executor import Ray
from target_bench.harness.sweeps.ray_worker import Site
from target_bench.harness.sweeps.sweep_cell import SweepCell
from tests.builders import ROOT
from tests.harness.sweeps import plugins_on_ray
from tests.harness.sweeps.plugins_on_ray import notes

PLUGINS = plugins_on_ray.__file__


def run(address: str) -> None:
    cell = SweepCell(1, "retrieval", "mini", "random")
    list(Ray(address).run([cell], Observer()))


def test_without_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match=r"the executor ray .*target-bench\[ray\]"):
        Ray()


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("ray://10.0.0.1:10001", "HOST:PORT or auto.*ray job submit"),
        ("10.0.0.1", "expected HOST:PORT"),
        ("10.0.0.1:many", "expected HOST:PORT"),
        ("localhost:99999", "cannot be used"),
    ],
)
def test_addresses_that_are_none(address: str, said: str) -> None:
    pytest.importorskip("ray")
    with pytest.raises(ConfigError, match=said):
        run(address)


def test_nothing_listens(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("ray")
    monkeypatch.chdir(tmp_path)
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        with pytest.raises(ConfigError, match=r"cannot be used: .*refused.*ray start --head"):
            run(f"127.0.0.1:{unused.getsockname()[1]}")


def test_something_else_listens(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("ray")
    monkeypatch.setattr(ray_connection, "_SECONDS_TO_CONNECT", 2.0)
    monkeypatch.chdir(tmp_path)
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        with pytest.raises(ConfigError, match="no answer within 2 seconds"):
            run(f"127.0.0.1:{other.getsockname()[1]}")


def test_a_node_without_the_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    mark = tmp_path / "runs" / ".ray-1"
    site = Site.here((mark,), moves=True)
    with pytest.raises(ConfigError, match=f"does not see {tmp_path}/runs: .* all nodes share"):
        site.enter()
    mark.parent.mkdir()
    mark.touch()
    site.enter()
    elsewhere = Site(__version__, str(tmp_path / "gone"), {}, (mark,))
    with pytest.raises(ConfigError, match=f"does not see {tmp_path}/gone"):
        elsewhere.enter()


def test_a_node_with_another_version(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ConfigError, match=f"has target-bench {__version__}, .* of 9.9"):
        Site("9.9", None, {}, ()).enter()


SWEEP = """
import sys
from pathlib import Path
from target_bench.core.observer import Observer
from target_bench.harness.run_options import RunOptions
from target_bench.harness.sweeps.sweep_cell import SweepCell
from target_bench.harness.sweeps.ray_executor import Ray
slow, out = sys.argv[1:]
cells = [
    SweepCell(n, "retrieval", "mini", retriever, RunOptions(limit=20), out=Path(out))
    for n, retriever in enumerate(["random", slow], 1)
]
for outcome in Ray().run(cells, Observer()):
    print(outcome.cell.number, outcome.state, outcome.error, flush=True)
"""


@pytest.mark.skipif(os.name == "nt", reason="no signals")
def test_on_this_machine_until_interrupted(tmp_path: Path) -> None:
    """A cluster of its own, with warnings as errors; Ctrl-C ends it and its workers."""
    pytest.importorskip("ray")
    (tmp_path / "notes").mkdir()
    slow = f"{PLUGINS}:First:folder={tmp_path / 'notes'},name=n,seconds=1000"
    with subprocess.Popen(
        [sys.executable, "-W", "error", "-c", SWEEP, slow, str(tmp_path / "runs")],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as sweep:
        assert sweep.stdout is not None
        assert sweep.stdout.readline() == "1 done None\n"
        while not notes(tmp_path / "notes"):
            time.sleep(0.05)
        worker = int(notes(tmp_path / "notes")[0].split()[2])
        sweep.send_signal(signal.SIGINT)
        out, errors = sweep.communicate(timeout=300)
    assert out == ""
    assert "KeyboardInterrupt" in errors
    assert "Warning" not in errors
    assert "(raylet)" not in errors
    with pytest.raises(ProcessLookupError):
        os.kill(worker, 0)
