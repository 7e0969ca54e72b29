"""Corpora fetched by name on first use, from a server on this machine with the real names."""

import errno
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from target_bench.core.declarations import GitHub
from target_bench.core.errors import ConfigError, DataError, StoreError, TargetBenchError
from target_bench.data import download
from target_bench.data.load import load, loader
from tests.builders import Recorder
from tests.data.file_server import Server, git_blob, server_in_use

OTTQA, FETAQA, SPIDER, BIRD = (loader(n).info for n in ("ottqa", "fetaqa", "spider", "bird"))
N_OTTQA = 22  # files: 20 tables, the questions, the lists of ids


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    with server_in_use(tmp_path, monkeypatch) as served:
        yield served


@pytest.mark.parametrize(
    ("name", "split", "tables", "queries"),
    [
        ("ottqa", None, 20, 20),
        ("tabfact", None, 20, 20),
        ("fetaqa", None, 1, 1),
        ("fetaqa", "train", 1, 1),
        ("spider", None, 3, 2),
        ("spider", "test", 3, 2),
        ("bird", None, 3, 2),
    ],
)
def test_a_corpus_by_name_is_fetched_on_first_use(
    server: Server,
    capsys: pytest.CaptureFixture[str],
    name: str,
    split: str | None,
    tables: int,
    queries: int,
) -> None:
    dataset = load(name, split)
    assert (len(dataset.corpus), len(dataset.queries)) == (tables, queries)
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"{name} {dataset.split}: fetching ")
    assert " MB" in line
    server.dead = True
    again = load(name, split)
    assert again.corpus.fingerprint == dataset.corpus.fingerprint
    assert capsys.readouterr().err == ""


def test_a_folder_of_data_without_the_corpus_is_told(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where it is fetched, now or before; a folder that has it is read, and nothing said."""
    (tmp_path / "data" / "fetaqa").mkdir(parents=True)
    monkeypatch.setenv("TARGET_BENCH_DATA", str(tmp_path / "data"))
    heard = Recorder()
    load("ottqa", observer=heard)
    load("ottqa", observer=heard)
    fetched, read = heard.warnings
    missing = f"there is no folder {tmp_path / 'data' / 'ottqa'} with the files of "
    assert fetched.startswith(f"ottqa is fetched: {missing}")
    folder = download.find_download(OTTQA, "validation")
    assert read.startswith(f"ottqa is read from {folder}: {missing}")
    heard = Recorder()
    load("mini", observer=heard)
    assert heard.warnings == []
    load("mini", distractors=["spider:n=1"], data_dir=tmp_path, observer=heard)
    (warning,) = heard.warnings
    assert str(tmp_path / "spider") in warning
    assert str(tmp_path / "data" / "spider") in warning
    with pytest.raises(DataError, match="in the folder"):
        load("fetaqa", observer=heard)
    assert len(heard.warnings) == 1


def test_commits_and_hashes_are_recorded(
    server: Server, capsys: pytest.CaptureFixture[str]
) -> None:
    done = download.fetch(SPIDER, ["test"])
    assert done.commits == {
        "target-benchmark/spider-corpus-test": "0a79688".ljust(40, "0"),  # abbreviated in the pin
        "target-benchmark/spider-queries-test": "5b68726".ljust(40, "0"),
    }
    assert done.splits.keys() == {"test"}
    assert "spider-corpus-test/test_database/zoo/zoo.sqlite" in done.files
    capsys.readouterr()
    more = download.fetch(SPIDER, ["train", "validation"])
    assert "spider-corpus-train@" in (message := capsys.readouterr().err)
    assert "spider-corpus-test@" not in message
    assert set(more.splits) == {"train", "validation", "test"}
    assert more.commits["target-benchmark/spider-corpus-validation"] == "f" * 40  # of main
    assert not any("test" in path for path in more.fetched)


def test_offline(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "true")
    with pytest.raises(DataError, match=r"(?s)not here.*--offline or HF_HUB_OFFLINE is set"):
        load("ottqa")
    with pytest.raises(ConfigError, match="nothing is downloaded because HF_HUB_OFFLINE"):
        download.fetch(OTTQA)
    assert server.seen == []


def test_what_cannot_be_fetched(server: Server) -> None:
    with pytest.raises(ConfigError, match="totto cannot be fetched; `target-bench describe corpus"):
        download.fetch(loader("totto").info)
    with pytest.raises(ConfigError, match="ottqa train cannot be fetched; name one of validation"):
        download.fetch(OTTQA, ["train"])


def test_an_interrupted_download_is_continued(
    server: Server,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Ctrl-C after some files: what is verified stays, the rest is fetched by the same command."""
    real, verified = download._verify, []

    def interrupted(path: Path, file: Any) -> tuple[int, str]:
        if path.exists():
            verified.append(path)
            if len(verified) > 5:
                path.unlink()
                raise KeyboardInterrupt
        return real(path, file)

    monkeypatch.setattr(download, "_PARALLEL", 1)
    monkeypatch.setattr(download, "_verify", interrupted)
    with pytest.raises(KeyboardInterrupt):
        load("ottqa")
    message = capsys.readouterr().err
    assert f"Interrupted. 5 of {N_OTTQA} files (0.0 MB of 0.0 MB) are in {tmp_path}" in message
    assert "run the same command again to resume" in message
    assert download.find_download(OTTQA, "validation") is None
    monkeypatch.setattr(download, "_verify", real)
    server.seen.clear()
    assert len(load("ottqa").corpus) == 20
    assert len(server.seen) == N_OTTQA - 5


@pytest.mark.parametrize(
    ("name", "split", "ending", "more"),
    [
        ("ottqa", "validation", "released_data/dev.json", b"?"),
        ("ottqa", "validation", "released_data/dev.json", b"and more"),
        ("fetaqa", "train", "data/fetaQA-v1_train.jsonl", b"?"),
        ("bird", "validation", "zoo/zoo.sqlite", b"?"),
        ("bird", "validation", "bird-queries-validation.json", b"and more"),
    ],
)
def test_a_wrong_byte_is_refused(
    server: Server, tmp_path: Path, name: str, split: str, ending: str, more: bytes
) -> None:
    contents = {p: c for p, c in server.files.items() if p.endswith(ending)}
    contents |= {p: c for f in server.copies.values() for p, c in f.items() if p.endswith(ending)}
    server.wrong[ending] = next(iter(contents.values()))[:-1] + more
    with pytest.raises(DataError, match=r"(hash|size|bytes).*run the same command again to resume"):
        load(name, split)
    assert download.find_download(loader(name).info, split) is None
    assert not list((tmp_path / "cache" / "downloads").rglob(ending.rpartition("/")[2]))
    server.wrong.clear()
    assert len(load(name, split).corpus)


@pytest.mark.parametrize(
    ("name", "status", "kind", "message"),
    [
        ("ottqa", 404, DataError, "status 404"),
        ("ottqa", 500, DataError, "answered with status 500. Try again later"),
        ("bird", 403, ConfigError, "access was refused (status 403)"),
        ("bird", 401, ConfigError, "HF_TOKEN"),
        ("bird", 500, DataError, "answered with status 500. Try again later"),
    ],
)
def test_refusals_say_what_is_here_and_are_continued(
    server: Server, name: str, status: int, kind: type[TargetBenchError], message: str
) -> None:
    ending = {"ottqa": "released_data/dev.json", "bird": "bird-queries-validation.json"}[name]
    server.statuses[ending] = status
    with pytest.raises(kind) as caught:
        load(name)
    n_files = N_OTTQA if name == "ottqa" else 3
    for part in (f"{ending}: ", message, f"of {n_files} files ("):
        assert part in str(caught.value)
    assert caught.value.exit_code == 2
    server.statuses.clear()
    assert len(load(name).corpus) in (3, 20)


@pytest.mark.parametrize("name", ["ottqa", "bird"])
@pytest.mark.parametrize("dead", [False, True])
def test_no_network(server: Server, monkeypatch: pytest.MonkeyPatch, name: str, dead: bool) -> None:
    """No server, or connections that are closed without an answer."""
    server.dead = dead
    if not dead:
        monkeypatch.setenv(download.HUB, "http://127.0.0.1:9")
        monkeypatch.setenv(download.GITHUB_RAW, "http://127.0.0.1:9")
    with pytest.raises(DataError, match=r"cannot be fetched \(.*HTTPS_PROXY.*--offline"):
        load(name)


def test_a_connection_that_is_lost_amid_a_file(server: Server) -> None:
    server.cut.add("released_data/dev.json")
    assert len(load("ottqa").corpus) == 20
    assert not server.cut


@pytest.mark.parametrize("path", ["../../../x/escaped", "a\0b/escaped", "\x1b[2J/escaped"])
def test_a_path_that_leaves_the_folder(server: Server, tmp_path: Path, path: str) -> None:
    copies = server.copies["target-benchmark/bird-corpus-validation"]
    copies[f"validation_database/{path}.sqlite"] = b"!"
    with pytest.raises(DataError, match=r"the hub lists 'validation_database/"):
        load("bird")
    assert not list(tmp_path.rglob("*escaped*"))


def test_the_token_goes_to_the_hub_alone(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not to its file store, which is another host, and not to GitHub."""
    monkeypatch.setenv("HF_TOKEN", "hf_secretsecretsecret")
    load("bird")
    load("fetaqa")
    sent = {path.split("/")[1] for path, h in server.seen if "hf_secret" in str(h)}
    assert sent == {"api", "datasets"}
    record = next(download._folder(BIRD).glob("source.json")).read_text(encoding="utf-8")
    assert "hf_secret" not in record


def test_no_secret_is_shown(
    server: Server, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    address = f"http://me:secretsecret@127.0.0.1:{server.port}"
    monkeypatch.setenv(download.HUB, address)
    monkeypatch.setenv(download.GITHUB_RAW, address)
    monkeypatch.setenv("HF_TOKEN", "hf_secretsecretsecret")
    for name, ending in (("bird", "zoo.sqlite"), ("ottqa", "dev.json")):
        server.statuses[ending] = 403
        with pytest.raises(ConfigError, match="status 403") as caught:
            load(name)
        assert "secretsecret" not in f"{caught.value}{capsys.readouterr()}"


def test_a_disk_that_fills_up(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any, **__: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(download, "atomic_write", full)
    with pytest.raises(StoreError, match=r"No space left on device.*TARGET_BENCH_CACHE.*resume"):
        load("ottqa")


def test_a_damaged_file_is_refused_where_it_is_read_and_fetched_again(
    server: Server, capsys: pytest.CaptureFixture[str]
) -> None:
    """One letter of a cell: the file is sound, and not what was fetched."""
    folder = download.fetch(FETAQA, ["test"]).folder
    path = folder / "data" / "fetaQA-v1_test.jsonl"
    for _ in range(2):
        path.write_bytes(path.read_bytes().replace(b"Mars", b"Nars"))
        with pytest.raises(DataError, match=r"damaged .*not what was fetched.*data pull fetaqa"):
            load("fetaqa")
    capsys.readouterr()
    done = download.fetch(FETAQA, ["test"])
    assert done.fetched == ("data/fetaQA-v1_test.jsonl",)
    assert f"{path} is damaged: expected " in capsys.readouterr().err
    assert load("fetaqa").corpus["0", "totto_source/dev_json/example-0.json"].rows[0][0] == "Mars"
    path.unlink()
    assert len(load("fetaqa").corpus) == 1  # a file that is gone is fetched by itself


def test_processes_beside_each_other_fetch_once(server: Server) -> None:
    threads = [threading.Thread(target=load, args=("ottqa",)) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert server.gets("") == N_OTTQA


@pytest.mark.everywhere
def test_a_corpus_that_is_here_needs_no_client() -> None:
    code = (
        "import sys; from target_bench import corpora; corpora.load('mini');"
        "from target_bench.data import download;"
        "download.find_download(corpora.loader('ottqa').info, 'validation');"
        "assert not {'requests', 'huggingface_hub'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_pins_that_are_shipped() -> None:
    """Sizes and numbers of the paper's splits; hashes of 64 hexadecimal digits, or git's of 40."""
    counts = {}
    for name in ("fetaqa", "ottqa", "tabfact"):
        info = loader(name).info
        for split in info.fetched_splits:
            (part,) = info.sources(split)
            assert isinstance(part, GitHub)
            files = download._list_pinned(part)
            counts[name, split] = len(files)
            for file in files:
                assert len(bytes.fromhex(file.hash)) in (20, 32)
                assert file.size != 0
    assert counts == {
        ("fetaqa", "test"): 1,
        ("fetaqa", "validation"): 1,
        ("fetaqa", "train"): 1,
        ("ottqa", "validation"): 789 + 2,
        ("tabfact", "test"): 1695 + 1,
    }
    assert git_blob(b"") == "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"  # what git says
