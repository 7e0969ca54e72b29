"""Cells on a Ray cluster of several nodes: the same results, whatever is lost on the way."""

import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from target_bench.core.errors import ConfigError
from target_bench.core.observer import Observer
from target_bench.core.schema import Generation
from target_bench.core.settings import options_of
from target_bench.harness.run_options import RunOptions
from target_bench.harness.sweeps import ray_connection
from target_bench.harness.sweeps.local_executor import Local
from target_bench.harness.sweeps.ray_executor import Ray
from target_bench.harness.sweeps.sweep_cell import CellOutcome, SweepCell, run_cell
from tests.harness.sweeps import plugins_on_ray
from tests.harness.sweeps.plugins_on_ray import notes

ray = pytest.importorskip("ray")

PLUGINS = plugins_on_ray.__file__


class Heard(Observer):
    """Keeps what it hears, and in which thread."""

    def __init__(self) -> None:
        self.said: list[tuple[str, Any]] = []
        self.threads = {threading.get_ident()}

    def _keep(self, kind: str, what: Any) -> None:
        self.said.append((kind, what))
        self.threads.add(threading.get_ident())

    def stage(self, name: str, total: int | None = None) -> None:
        self._keep("stage", name)

    def answered(self, generation: Generation) -> None:
        self._keep("answered", generation.query_id)

    def waiting(self, reason: str, seconds: float) -> None:
        self._keep("waiting", reason)

    def warning(self, message: str) -> None:
        self._keep("warning", message)

    def cell_started(self, number: int, name: str) -> None:
        self._keep("cell_started", number)

    def of(self, kind: str) -> list[Any]:
        return [what for said, what in self.said if said == kind]


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


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TARGET_BENCH_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def cell(number: int, retriever: str, out: Path, **more: Any) -> SweepCell:
    given: dict[str, Any] = {"task": "retrieval", "corpus": "mini", **more}
    chosen = {name: given.pop(name) for name in options_of(RunOptions) if name in given}
    options = RunOptions(top_k=(1, 5), **chosen)
    return SweepCell(number=number, retriever=retriever, out=out, options=options, **given)


def plugin(cls: str, folder: Path, **settings: Any) -> str:
    """A plug-in as it is named on the command line."""
    folder.mkdir(exist_ok=True)
    more = "".join(f",{key}={value}" for key, value in settings.items())
    return f"{PLUGINS}:{cls}:folder={folder}{more}"


def dense(folder: Path, index: str, **settings: Any) -> str:
    encoder = plugin("Words", folder, **settings)
    return f'dense:encoder="{encoder}",index="{index}"'


def on_ray(cells: list[SweepCell], observer: Observer, **settings: Any) -> list[CellOutcome]:
    found = list(Ray(**settings).run(cells, observer))
    return sorted(found, key=lambda outcome: outcome.cell.number)


def scores(outcome: CellOutcome) -> bytes:
    assert outcome.error is None, outcome.trace
    assert outcome.folder is not None
    return (outcome.folder / "scores.json").read_bytes()


def after(ready: Callable[[], bool], act: Callable[[], Any]) -> threading.Thread:
    """Do something as soon as it is time."""

    def wait() -> None:
        while not ready():
            time.sleep(0.05)
        act()

    thread = threading.Thread(target=wait)
    thread.start()
    return thread


@pytest.mark.usefixtures("cluster")
def test_results_are_those_of_the_local_executor(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    cells = [
        cell(1, "bm25", tmp_path / "ray", split="test"),
        cell(2, "tfidf", tmp_path / "ray", limit=40),
        cell(3, "bm25", tmp_path / "ray", task="question_answering", generator="extractive"),
        cell(4, "nobody", tmp_path / "ray"),
    ]
    heard, local = Heard(), Heard()
    found = on_ray(cells, heard)
    beside = [replace(one, out=tmp_path / "local") for one in cells]
    expected = sorted(Local(1).run(beside, local), key=lambda outcome: outcome.cell.number)
    assert [outcome.cell for outcome in found] == cells
    assert [outcome.state for outcome in found] == ["done", "done", "done", "failed"]
    assert [scores(one) for one in found[:3]] == [scores(one) for one in expected[:3]]
    assert [one.scores for one in found] == [one.scores for one in expected]
    assert found[3].error == expected[3].error
    assert found[3].exit_code == expected[3].exit_code == 2
    for kind in ("cell_started", "answered"):
        assert sorted(heard.of(kind)) == sorted(local.of(kind)) != []
    assert {n.split(":")[0] for n in heard.of("stage")} == {
        n.split(":")[0] for n in local.of("stage")
    }
    assert heard.threads == {threading.get_ident()}
    assert [outcome.state for outcome in on_ray(cells[:2], heard)] == ["reused", "reused"]
    assert not list((tmp_path / "ray").glob(".ray-*"))
    assert capfd.readouterr().out == ""


@pytest.mark.usefixtures("cluster")
def test_a_cell_gets_the_gpu_it_needs(tmp_path: Path) -> None:
    cells = [
        cell(n, plugin("First", tmp_path / f"{n}", name="n"), tmp_path / "runs", gpus=gpus)
        for n, gpus in enumerate([0.0, 1.0, 0.5, 4.0])
    ]
    heard = Heard()
    assert all(outcome.error is None for outcome in on_ray(cells, heard))
    seen = [notes(tmp_path / f"{n}")[0].split()[3:] for n in range(4)]
    assert [devices for devices, _ in seen] == ["''", "'0'", "'0'", "''"]
    assert {folder for _, folder in seen} == {str(Path.cwd())}
    assert len(heard.of("warning")) == 1
    assert "no node of the cluster has 4 GPUs" in heard.of("warning")[0]


def test_a_node_killed_in_the_middle(
    cluster: Any,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its cell is begun again on another node, and is told of; nothing else is touched."""
    monkeypatch.setattr("target_bench.harness.sweeps.ray_executor._SECONDS_BETWEEN_LOOKS", 0.5)
    node = cluster.add_node(num_cpus=1, num_gpus=2)
    retriever = plugin("Stuck", tmp_path / "stuck")
    cells = [
        cell(1, retriever, tmp_path / "runs", gpus=2.0, limit=20),
        cell(2, "bm25", tmp_path / "runs"),
    ]
    heard = Heard()
    killer = after(
        lambda: len(notes(tmp_path / "stuck")) == 1,
        lambda: cluster.remove_node(node, allow_graceful=False),
    )
    found = on_ray(cells, heard)
    killer.join()
    assert [outcome.error for outcome in found] == [None, None]
    assert heard.of("cell_started").count(1) == 2
    begun_again = [w for w in heard.of("warning") if "begun again, 1 of 1 times" in w]
    assert len(begun_again) == 1
    assert "NodeDiedError" in begun_again[0]
    expected = [run_cell(replace(one, out=tmp_path / "local"), Heard()) for one in cells]
    assert [scores(one) for one in found] == [scores(one) for one in expected]
    time.sleep(0.5)
    assert "raylet" not in "".join(capfd.readouterr())


@pytest.mark.usefixtures("cluster")
@pytest.mark.parametrize("retries", [0, 2])
def test_a_worker_that_dies_each_time(tmp_path: Path, retries: int) -> None:
    cells = [
        cell(1, plugin("Deadly", tmp_path / "deadly"), tmp_path / "runs"),
        cell(2, "random", tmp_path / "runs"),
    ]
    heard = Heard()
    deadly, other = on_ray(cells, heard, retries=retries)
    assert other.error is None
    assert (deadly.state, deadly.exit_code) == ("failed", 3)
    times = "once" if retries == 0 else "3 times"
    assert f"the worker of this cell was lost {times}" in (deadly.error or "")
    assert "What it recorded is kept" in (deadly.error or "")
    assert len(notes(tmp_path / "deadly")) == 1 + retries
    assert len(heard.of("warning")) == retries


@pytest.mark.usefixtures("cluster")
def test_cells_of_a_group_wait_for_the_first(tmp_path: Path) -> None:
    slow = [
        cell(
            n,
            plugin("First", tmp_path / "notes", seconds=0.5, name=f"n{n}"),
            tmp_path / "runs",
            group="" if n == 3 else "one",
        )
        for n in (1, 2, 3)
    ]
    assert all(one.error is None for one in on_ray(slow, Heard()))
    order = [" ".join(text.split()[:2]) for text in notes(tmp_path / "notes")]
    ours = [text for text in order if not text.endswith("n3")]
    assert ours in (
        ["begin n1", "end n1", "begin n2", "end n2"],
        ["begin n2", "end n2", "begin n1", "end n1"],
    )


@pytest.mark.usefixtures("cluster")
def test_cells_of_a_group_answer_together(tmp_path: Path) -> None:
    """Once the first has ranked: the others need its index, and not its answers."""
    (tmp_path / "notes").mkdir()
    cells = [
        cell(
            n,
            "random",
            tmp_path / "runs",
            task="question_answering",
            generator=plugin("Meeting", tmp_path / "notes", name=f"n{n}"),
            limit=1,
            group="one",
        )
        for n in (1, 2)
    ]
    for outcome in on_ray(cells, Heard()):
        assert outcome.folder is not None, outcome.error
        (answer,) = (outcome.folder / "generations.jsonl").read_text("utf-8").splitlines()
        assert json.loads(answer)["text"] == "2"


@pytest.mark.usefixtures("cluster")
def test_closing_cancels(tmp_path: Path) -> None:
    """What is running is ended at once, as when Ctrl-C is pressed."""
    cells = [
        cell(1, "random", tmp_path / "runs"),
        cell(2, plugin("First", tmp_path / "notes", name="n", seconds=1000), tmp_path / "runs"),
    ]
    coming = Ray().run(cells, Heard())
    assert next(coming).cell.number == 1
    while not notes(tmp_path / "notes"):
        time.sleep(0.05)
    process = int(notes(tmp_path / "notes")[0].split()[2])
    coming.close()  # type: ignore[attr-defined]
    deadline = time.monotonic() + 10
    while Path(f"/proc/{process}").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not Path(f"/proc/{process}").exists()


@pytest.mark.usefixtures("cluster")
def test_no_node_could_run_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("target_bench.harness.sweeps.ray_executor._SECONDS_BETWEEN_LOOKS", 0.3)
    heard = Heard()
    cells = [cell(1, "random", tmp_path / "runs"), cell(2, "bm25", tmp_path / "runs")]
    found = on_ray(cells, heard, cpus=64, patience=0.5)
    assert ["no node of the cluster has 64 cores" in (one.error or "") for one in found] == [
        True
    ] * 2
    assert "waiting for one to join" in heard.of("waiting")[0]


@pytest.mark.usefixtures("cluster", "cache")
def test_sharded_search_finds_what_exact_search_finds(tmp_path: Path) -> None:
    folder = tmp_path / "notes"
    cells = [
        cell(n, dense(folder, index), tmp_path / "runs", indexes=tmp_path / "indexes")
        for n, index in enumerate(["exact", "sharded:shards=2"])
    ]
    exact, sharded = on_ray(cells, Heard())
    assert scores(exact) == scores(sharded)
    rankings = [(one.folder or Path()) / "retrieval.jsonl" for one in (exact, sharded)]
    assert rankings[0].read_bytes() == rankings[1].read_bytes()
    again = [replace(one, repeat=2, out=tmp_path / "again") for one in cells]
    assert [scores(one) for one in on_ray(again, Heard())] == [scores(exact)] * 2  # read indexes


@pytest.mark.usefixtures("cluster", "cache")
def test_a_shard_that_is_lost(tmp_path: Path) -> None:
    """Its cell is begun again; no query is recorded as failed on the way."""
    shard = plugin("Mortal", tmp_path / "dead")
    cells = [cell(1, dense(tmp_path / "notes", f"sharded:index='{shard}'"), tmp_path / "runs")]
    heard = Heard()
    (outcome,) = on_ray(cells, heard)
    (warning,) = (w for w in heard.of("warning") if "begun again" in w)
    assert "a shard of its vectors: ActorDiedError" in warning
    exact = run_cell(cell(1, dense(tmp_path / "notes", "exact"), tmp_path / "runs"), Heard())
    assert scores(outcome) == scores(exact)
    assert outcome.failed_queries == 0


@pytest.mark.usefixtures("cluster", "cache")
def test_corpora_are_encoded_in_parts(tmp_path: Path) -> None:
    """Each table once, in the tasks before; the cells find all of them."""
    folder = tmp_path / "notes"
    cells = [
        cell(1, dense(folder, "exact"), tmp_path / "runs"),
        cell(2, dense(folder, "sharded:shards=2"), tmp_path / "runs"),
        cell(3, "random", tmp_path / "runs"),
        cell(4, "dense:encoder=nobody", tmp_path / "runs"),
        cell(5, "no-context", tmp_path / "runs"),
    ]
    heard = Heard()
    first, second, *others = on_ray(cells, heard, shards=3)
    assert [outcome.state for outcome in others] == ["done", "failed", "done"]
    assert scores(first) == scores(second)
    assert heard.of("warning") == []
    encoded = [text.split() for text in notes(folder) if text.startswith("table")]
    assert len([stage for stage in heard.of("stage") if stage.startswith("encode ")]) == 6
    assert len(encoded) <= 6
    n_tables = sum(int(n) for _, _, n in encoded)
    other = on_ray([replace(cells[0], out=tmp_path / "more")], Heard())
    assert scores(other[0]) == scores(first)
    assert n_tables == sum(int(t.split()[2]) for t in notes(folder) if t.startswith("table"))


@pytest.mark.usefixtures("cluster", "cache")
def test_a_part_that_cannot_be_encoded(tmp_path: Path) -> None:
    failing = dense(tmp_path / "notes", "exact", fails="table")
    heard = Heard()
    (outcome,) = on_ray([cell(1, failing, tmp_path / "runs")], heard, shards=2)
    assert outcome.state == "failed"
    assert "no model" in (outcome.error or "")
    assert [("no model" in warning, "part" in warning) for warning in heard.of("warning")] == [
        (True, True)
    ] * 2


def test_a_cluster_of_another_version(cluster: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    probe = ray_connection._PROBE.replace("try:", "ray.__version__ = '1.13.0'\ntry:")
    monkeypatch.setattr(ray_connection, "_PROBE", probe)
    with pytest.raises(ConfigError, match=r"(?s)cannot be used: .*mismatch.*Ray: 1\.13\.0.*same"):
        ray_connection._check_reachable(cluster.address)


@pytest.mark.parametrize(
    "settings", [{"cpus": 0}, {"retries": -1}, {"shards": -1}, {"patience": -1}]
)
def test_impossible_settings(settings: Mapping[str, Any]) -> None:
    with pytest.raises(ConfigError, match=next(iter(settings))):
        Ray(**settings)
