"""Downloads as users of the command line meet them, from a server on this machine."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from target_bench.cli.main import app
from target_bench.data import download
from tests.data.file_server import Server, server_in_use


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    with server_in_use(tmp_path, monkeypatch) as served:
        monkeypatch.chdir(tmp_path)
        monkeypatch.setenv("COLUMNS", "120")
        yield served


def command(*arguments: str) -> Result:
    return CliRunner().invoke(app, arguments)


@pytest.mark.parametrize(("corpus", "task"), [("tabfact", "retrieval"), ("spider", "text-to-sql")])
def test_run_on_a_machine_with_nothing_configured(
    server: Server, tmp_path: Path, corpus: str, task: str
) -> None:
    done = command("run", corpus, "--retriever", "bm25", "--task", task, "--top-k", "1")
    assert done.exit_code == 0, done.output
    message = done.stderr.replace("\n", "")
    for part in (f"{corpus} ", "fetching", " MB, of ", str(tmp_path / "cache" / "downloads")):
        assert part in message
    assert "bm25" in done.stdout
    server.dead = True
    assert command("describe", "corpus", corpus).exit_code == 0


def test_offline(server: Server) -> None:
    for line in (["run", "ottqa", "--retriever", "bm25"], ["search", "ottqa", "x"]):
        done = command(*line, "--offline")
        assert done.exit_code == 1
        assert "the data of corpus ottqa is not here" in str(done.exception)
    assert server.seen == []


def test_a_pull_says_what_is_there_and_what_comes_next(server: Server, tmp_path: Path) -> None:
    done = command("data", "pull", "spider")
    assert done.exit_code == 0, done.output
    for part in (
        "splits: validation, train, test",
        f"folder: {tmp_path / 'cache' / 'downloads' / 'spider-'}",
        "commit of target-benchmark/spider-corpus-train: c34f052df7fee92ee827cc9ca3b78ccc459199c2",
        "files: 9, ",
        "all verified; 9 fetched now",
        "licence: CC BY-SA 4.0",
        "citation: Yu et al.",
        "next: target-bench run spider",
    ):
        assert part in done.stdout
    assert "all verified; 0 fetched now" in command("data", "pull", "spider").stdout
    assert "splits: test\n" in command("data", "pull", "fetaqa", "--split", "test").stdout


def test_an_interrupt_ends_with_its_own_code(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(download, "_make_session", interrupted)
    for line in (["data", "pull", "ottqa"], ["run", "ottqa", "--retriever", "bm25"]):
        done = command(*line)
        assert done.exit_code == 130
        assert "0 of 22 files (0.0 MB of 0.0 MB) are in" in done.stderr
