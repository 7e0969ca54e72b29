"""What can go wrong in a pull: a message that says what to do, and nothing left behind."""

import errno
import os
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from target_bench.core.errors import ConfigError, DataError, MissingExtraError, StoreError
from target_bench.core.schema import TableId
from target_bench.data import hub
from target_bench.data.select import load
from tests.data.hub_server import (
    CORPUS,
    PARQUET,
    QUERIES,
    Hub,
    Said,
    hub_in_use,
    left_over,
    publish,
)

TOKEN = "hf_secretsecretsecret"


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    with hub_in_use(tmp_path, monkeypatch) as served:
        yield served


@pytest.mark.parametrize(
    ("name", "revisions", "message"),
    [
        ("otqa", [], "unknown corpus on the hub 'otqa'. Did you mean ottqa"),
        ("ottqa", ["tables=v1"], "with one of ottqa-corpus, ottqa-queries"),
        ("ottqa", ["ottqa-corpus="], "expected a branch, tag or commit"),
        ("ottqa", ["nowhere"], f"{CORPUS} has no revision 'nowhere'"),
    ],
)
def test_what_cannot_be_asked_for(
    server: Hub, name: str, revisions: list[str], message: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        hub.pull(name, revisions)
    assert message in str(caught.value)


def _gated(server: Hub) -> None:
    server.gated.add(QUERIES)


def _missing(server: Hub) -> None:
    del server.repositories[QUERIES]


def _lost(server: Hub) -> None:
    server.lost.add(PARQUET)


def _status(status: int, text: str = "no") -> Callable[[Hub], None]:
    def refuse(server: Hub) -> None:
        server.refused = (status, text)

    return refuse


def _garbled(server: Hub) -> None:
    server.garbled = True


@pytest.mark.parametrize(
    ("fault", "kind", "message"),
    [
        (_gated, ConfigError, f"{QUERIES} is gated. Ask for access at http://127"),
        (_missing, DataError, "has no such dataset, or it is private"),
        (_lost, DataError, f"{PARQUET}: the hub lists this file, but does not have it"),
        (_status(401, "Invalid credentials in Authorization header"), ConfigError, "status 401"),
        (_status(403), ConfigError, "Check HF_TOKEN"),
        (_status(500), DataError, "answered with status 500. Try again later"),
        (_garbled, DataError, "sends something wrong: JSONDecodeError"),
    ],
)
def test_refusals(
    server: Hub,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    fault: Callable[[Hub], None],
    kind: type[Exception],
    message: str,
) -> None:
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    fault(server)
    with pytest.raises(kind) as caught:
        hub.pull("ottqa")
    assert message in str(caught.value)
    assert TOKEN not in str(caught.value)
    assert hub.pulled("ottqa") is None
    assert left_over(tmp_path / "cache") == []


def test_the_token_goes_to_the_hub_and_not_to_its_file_store(
    server: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    found, said = hub.pull("ottqa", say=(said := Said())), said
    sent = {path.split("/")[1] for _, path, h in server.seen if TOKEN in str(h)}
    assert "api" in sent
    assert "cdn" not in sent
    assert not said.has(TOKEN)
    assert TOKEN not in (found.folder / "source.json").read_text(encoding="utf-8")


def test_passwords_in_the_address_are_not_shown(
    server: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_ENDPOINT", f"http://me:secret@127.0.0.1:{server.port}")
    said = Said()
    server.refused = (500, "no")
    with pytest.raises(DataError) as caught:
        hub.pull("ottqa", say=said)
    assert "secret" not in f"{said} {caught.value}"


def test_a_server_that_goes_away_in_the_middle(
    server: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(time, "sleep", lambda _: None)  # between the library's retries
    server.dies_after = 100
    with pytest.raises(DataError, match=f"{PARQUET}.*cannot be reached") as caught:
        hub.pull("ottqa")
    assert caught.value.exit_code == 2
    assert hub.pulled("ottqa") is None
    assert left_over(tmp_path / "cache") == []


def test_a_failed_pull_leaves_the_earlier_one(server: Hub, tmp_path: Path) -> None:
    first = hub.pull("ottqa")
    publish(server, tmp_path / "published", cell="Jupiter")
    server.lost.add(PARQUET)
    with pytest.raises(DataError):
        hub.pull("ottqa")
    assert hub.pulled("ottqa") == first.folder
    assert load("ottqa").corpus[TableId("0", "moons")].rows == [["Mars", "2"]]


def test_no_network(server: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    with pytest.raises(DataError, match=r"cannot be reached.*HTTPS_PROXY"):
        hub.pull("ottqa")


def test_a_timeout(server: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    from huggingface_hub import HfApi

    def slow(*_: Any, **__: Any) -> None:
        raise TimeoutError("timed out")

    monkeypatch.setattr(HfApi, "dataset_info", slow)
    with pytest.raises(DataError, match="took too long to answer"):
        hub.pull("ottqa")


def test_offline_mode(server: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(ConfigError, match="HF_HUB_OFFLINE is set"):
        hub.pull("ottqa")


@pytest.mark.parametrize("endpoint", ["huggingface.co", "", "http://[oops"])
def test_an_endpoint_that_is_not_an_address(
    server: Hub, monkeypatch: pytest.MonkeyPatch, endpoint: str
) -> None:
    monkeypatch.setenv("HF_ENDPOINT", endpoint)
    with pytest.raises(ConfigError, match="HF_ENDPOINT"):
        hub.pull("ottqa")


@pytest.mark.parametrize(
    "path", ["../escaped", "/etc/escaped", "data/../../escaped", "..\\escaped"]
)
def test_a_path_that_leaves_the_folder(server: Hub, tmp_path: Path, path: str) -> None:
    server.repositories[CORPUS][server.branches[CORPUS, "main"]][path] = b"!"
    with pytest.raises(DataError, match="the hub lists an invalid path"):
        hub.pull("ottqa")
    assert not list(tmp_path.rglob("*escaped"))


def test_without_the_extra(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TARGET_BENCH_CACHE", str(tmp_path))
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'target-bench\[hub\]'"):
        hub.pull("ottqa")
    assert hub.pulled("ottqa") is None


def test_too_little_room(server: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = shutil.disk_usage(tmp_path)._replace(free=10)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage)
    with pytest.raises(StoreError, match=r"MB are free. Make room"):
        hub.pull("ottqa")
    assert server.gets(".parquet") == 0


def test_a_disk_that_fills_up(server: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from huggingface_hub import HfApi

    real = HfApi.hf_hub_download

    def full(self: HfApi, repository: str, path: str, **options: Any) -> str:
        if path == PARQUET:
            raise OSError(errno.ENOSPC, "No space left on device")
        return str(real(self, repository, path, **options))

    monkeypatch.setattr(HfApi, "hf_hub_download", full)
    with pytest.raises(StoreError, match=r"No space left on device.*TARGET_BENCH_CACHE"):
        hub.pull("ottqa")
    assert hub.pulled("ottqa") is None
    assert left_over(tmp_path / "cache") == []


def test_a_cache_that_cannot_be_written(
    server: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_bytes(b"")
    monkeypatch.setenv("TARGET_BENCH_CACHE", str(tmp_path / "file"))
    with pytest.raises(StoreError, match="TARGET_BENCH_CACHE"):
        hub.pull("ottqa")


def test_an_interrupted_pull_leaves_nothing(
    server: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from huggingface_hub import HfApi

    def interrupt(*_: Any, **__: Any) -> str:
        raise KeyboardInterrupt

    monkeypatch.setattr(HfApi, "hf_hub_download", interrupt)
    with pytest.raises(KeyboardInterrupt):
        hub.pull("ottqa")
    assert left_over(tmp_path / "cache") == []


def test_what_a_killed_pull_left_is_not_a_pull_and_goes_in_time(
    server: Hub, tmp_path: Path
) -> None:
    left = tmp_path / "cache/hub/ottqa/.new-killed"
    left.joinpath("whole").mkdir(parents=True)
    left.joinpath("whole/source.json").write_text("{}", encoding="utf-8")
    assert hub.pulled("ottqa") is None
    hub.pull("ottqa")
    assert left.exists()  # it may be at work
    os.utime(left, (0, 0))
    hub.pull("ottqa")
    assert not left.exists()
