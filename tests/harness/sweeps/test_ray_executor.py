"""Cells on a Ray cluster of several nodes: the same results, whatever is lost on the way."""

import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from target_bench.core.errors import ConfigError
from target_bench.core.observer import Observer
from target_bench.core.run_config import RunConfig
from target_bench.core.version import __version__
from target_bench.harness.sweeps import Local, Ray, executors
from target_bench.harness.sweeps.cell import CellOutcome, SweepCell
from tests.builders import Recorder
from tests.harness.sweeps.workplace import write

ray = pytest.importorskip("ray")


class Heard(Recorder):
    """Keeps the cells that begin, and in which thread it is told of what."""

    def __init__(self) -> None:
        super().__init__()
        self.started: list[int] = []
        self.threads: set[int] = set()

    def cell_started(self, number: int, name: str) -> None:
        self.started.append(number)
        self.threads.add(threading.get_ident())

    def warning(self, message: str) -> None:
        super().warning(message)
        self.threads.add(threading.get_ident())


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Three nodes of one core, one of them with a GPU of Ray's imagination."""
    from ray.cluster_utils import Cluster

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TARGET_BENCH_CACHE", str(tmp_path_factory.mktemp("cache")))
        patch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
        started = Cluster(
            initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False}
        )
        started.add_node(num_cpus=1, num_gpus=1, wait=False)
        started.add_node(num_cpus=1, wait=False)
        started.wait_for_nodes()
        ray.init(address=started.address, log_to_driver=False, logging_level="CRITICAL")
        yield started
        ray.shutdown()
        started.shutdown()  # type: ignore[no-untyped-call]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder of sweeps, with the plug-ins."""
    monkeypatch.chdir(tmp_path)
    write(tmp_path, "")
    return tmp_path


def cell(number: int, retriever: str, **more: Any) -> SweepCell:
    gpus = more.pop("gpus", 0.0)
    given: dict[str, Any] = {"tasks": "retrieval", "corpora": "mini", "top_k": (1, 5), **more}
    config = RunConfig(retrievers=retriever, out=Path("ray").resolve(), **given)
    return SweepCell(number, config, gpus)


def on_ray(cells: list[SweepCell], observer: Observer, **settings: Any) -> list[CellOutcome]:
    outcomes = Ray(**settings).run(cells, observer)
    return sorted(outcomes, key=lambda outcome: outcome.cell.number)


def scores(outcome: CellOutcome) -> bytes:
    assert outcome.error is None, outcome.trace
    assert outcome.folder is not None
    return (outcome.folder / "scores.json").read_bytes()


def placed() -> list[list[str]]:
    """Number, process, GPUs and folder of each ``Placed``, in the order of the numbers."""
    path = Path("placed")
    return sorted(line.split() for line in path.read_text().splitlines()) if path.exists() else []


@pytest.mark.usefixtures("cluster")
def test_results_are_those_of_the_local_executor(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    cells = [
        cell(1, "bm25", split="test"),
        cell(2, "tfidf", limit=40),
        cell(3, "bm25", tasks="question_answering", generators="extractive"),
        cell(4, "nobody"),
        cell(5, "plugins.py:Noting"),
    ]
    heard, local = Heard(), Heard()
    outcomes = on_ray(cells, heard)
    out = {"out": tmp_path / "local"}
    beside = [replace(c, config=c.config.replace_options(**out)) for c in cells]
    expected = list(Local().run(beside, local))
    states = ["finished", "finished", "finished", "failed", "finished"]
    assert [outcome.state for outcome in outcomes] == states
    for outcome, other in zip(outcomes, expected, strict=True):
        assert outcome.scores == other.scores
        if outcome.error is None:
            assert scores(outcome) == scores(other)
    assert outcomes[3].error == expected[3].error
    assert outcomes[3].exit_code == expected[3].exit_code == 2
    assert sorted(heard.started) == local.started == [1, 2, 3, 4, 5]
    assert heard.warnings == local.warnings == ["plugins.py:Noting: mind this"]
    assert heard.threads == {threading.get_ident()}
    assert [outcome.state for outcome in on_ray(cells[:2], heard)] == ["reused", "reused"]
    assert capfd.readouterr().out == ""


@pytest.mark.usefixtures("cluster")
def test_a_cell_gets_the_gpus_that_it_needs() -> None:
    """One that needs more than any node has fails at once; it would wait for ever."""
    cells = [
        cell(n, f"plugins.py:Placed:shift={n}", gpus=gpus)
        for n, gpus in enumerate([0.0, 1.0, 0.5, 4.0])
    ]
    *outcomes, refused = on_ray(cells, Heard())
    assert all(outcome.error is None for outcome in outcomes)
    assert [devices for _, _, devices, _ in placed()] == ["''", "'0'", "'0'"]
    assert {folder for *_, folder in placed()} == {str(Path.cwd())}
    assert "no node of the cluster has 1 cores and 4 GPUs" in (refused.error or "")


@pytest.mark.usefixtures("cluster")
def test_a_cell_that_waits_for_a_node_has_not_begun() -> None:
    heard = Heard()
    coming = Ray().run([cell(n, f"plugins.py:Placed:shift={n}", gpus=1.0) for n in (1, 2)], heard)
    first = next(coming).cell.number
    assert heard.started == [first]
    assert [outcome.cell.number for outcome in coming] == [3 - first]
    assert sorted(heard.started) == [1, 2]


@pytest.mark.usefixtures("cluster")
def test_a_worker_that_dies_each_time() -> None:
    deadly, other = on_ray([cell(1, "plugins.py:Deadly"), cell(2, "random")], Heard())
    assert other.error is None
    assert (deadly.state, deadly.exit_code) == ("failed", 3)
    assert "the process of this cell died (WorkerCrashedError" in (deadly.error or "")
    assert Path("died").read_text().splitlines() == ["died", "died"]


@pytest.mark.usefixtures("cluster")
def test_closing_cancels() -> None:
    """What is running is ended at once, as when Ctrl-C is pressed."""
    coming = Ray().run([cell(1, "random"), cell(2, "plugins.py:Placed:seconds=1000")], Heard())
    assert next(coming).cell.number == 1
    while not placed():
        time.sleep(0.05)
    process = Path("/proc") / placed()[0][1]
    coming.close()
    deadline = time.monotonic() + 10
    while process.exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not process.exists()


@pytest.mark.parametrize(
    ("address", "problem"),
    [
        ("ray://here:1", "without ray://"),
        ("here", "HOST:PORT"),
        ("127.0.0.1:1", "cannot be used: .*refused"),
    ],
)
def test_addresses_without_a_cluster(
    address: str, problem: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    with pytest.raises(ConfigError, match=problem), executors._connect(address):
        pass


def test_a_node_that_does_not_see_the_folders(tmp_path: Path) -> None:
    away = cell(1, "bm25")
    with pytest.raises(ConfigError, match=r"does not see .*elsewhere: folders of runs"):
        executors._run_on_node(away, __version__, tmp_path / "elsewhere", {})
    with pytest.raises(ConfigError, match="install the same on all nodes"):
        executors._run_on_node(away, "0.0.1", tmp_path, {})


@pytest.mark.usefixtures("cluster")
def test_a_worker_masks_the_warnings_of_a_plug_in() -> None:
    [outcome] = on_ray([cell(1, "plugins.py:Indiscreet:api_key=sesame-opens-0815")], Heard())
    assert outcome.error is None
    warned = Path("warned").read_text()
    assert "UserWarning: my key is ***" in warned
    assert "sesame" not in warned
