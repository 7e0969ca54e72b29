"""``target-bench data pull`` as its users run it: a process of its own, a hub of our own."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from target_bench.cli.data import PULL_HELP as HELP
from target_bench.cli.data import _declared, pull
from target_bench.data import hub
from tests.data.hub_server import CORPUS, PARQUET, QUERIES, Hub, hub_in_use

TOKEN = "hf_secretsecretsecret"


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    with hub_in_use(tmp_path, monkeypatch) as served:
        monkeypatch.setenv("COLUMNS", "120")
        monkeypatch.setenv("PYTHONIOENCODING", "utf-8")
        yield served


def command(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "target_bench", *arguments],
        capture_output=True,
        encoding="utf-8",
        timeout=300,
        check=False,
    )


def test_a_pull_says_what_is_there_and_what_comes_next(server: Hub, tmp_path: Path) -> None:
    done = command("data", "pull", "ottqa")
    assert done.returncode == 0, done.stderr
    for part in (
        f"folder: {tmp_path / 'cache' / 'hub' / 'ottqa'}",
        f"commit of {CORPUS}: {server.branches[CORPUS, 'main']}",
        f"commit of {QUERIES}: {server.branches[QUERIES, 'main']}",
        "state: fetched, 4 files checked",
        f"ottqa-corpus/{PARQUET}",
        "licence: MIT",
        "citation: ",
        "4 files, ",
        "Next: target-bench describe corpus ottqa",
    ):
        assert part in done.stdout
    assert f"asking {server.address} for {CORPUS}, revision main" in done.stderr
    server.dead = True
    described = command("describe", "corpus", "ottqa")
    assert described.returncode == 0, described.stderr
    assert "How many moons?" in described.stdout


def test_a_second_pull_and_a_damaged_file(server: Hub, tmp_path: Path) -> None:
    command("data", "pull", "ottqa")
    assert "was here; 4 files checked, nothing fetched" in command("data", "pull", "ottqa").stdout
    (damaged,) = tmp_path.glob(f"cache/hub/ottqa/*/ottqa-corpus/{PARQUET}")
    damaged.write_bytes(b"?")
    done = command("data", "pull", "ottqa")
    assert done.returncode == 0
    assert "1 of 4 files were damaged and fetched again" in done.stdout
    assert f"{damaged} is damaged: expected size" in done.stderr


def test_a_corpus_without_a_loader_shows_the_licence_of_its_repository(
    server: Hub, tmp_path: Path
) -> None:
    commit = server.add("target-benchmark/gittables-corpus", tmp_path / "published/any-corpus")
    done = command("data", "pull", "gittables", "--revision", f"gittables-corpus={commit}")
    assert done.returncode == 0, done.stderr
    assert "licence: cc-by-4.0" in done.stdout
    assert "Next: " not in done.stdout


def test_errors_are_messages_and_show_no_token(
    server: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    server.gated.add(CORPUS)
    done = command("data", "pull", "ottqa", "--debug")
    assert done.returncode == 2
    assert done.stdout == ""
    assert f"Error: {CORPUS} is gated" in done.stderr
    assert TOKEN not in done.stderr
    assert "Traceback" not in command("data", "pull", "ottqa").stderr
    assert command("data", "pull", "nothing").returncode == 2


def test_without_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "huggingface_hub.py").write_text("raise ImportError('not here')")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=":")
    done = command("data", "pull", "ottqa")
    assert done.returncode == 2
    assert "pip install 'target-bench[hub]'" in done.stderr


def test_an_interrupt_ends_with_its_own_code(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(hub, "pull", interrupted)
    with pytest.raises(typer.Exit) as caught:
        pull("ottqa")
    assert caught.value.exit_code == 130


def test_the_help_says_where_the_default_revision_comes_from() -> None:
    assert "the default revision is main" in " ".join(HELP.split())


@pytest.mark.parametrize(
    ("readme", "licences"),
    [
        (b"---\nlicense: mit\n---\n", ["mit"]),
        (b"---\nlicense: [mit, other]\n---\n", ["mit", "other"]),
        (b"---\ntitle: none\n---\n", []),
        (b"---\n: [\n---\n", []),
        (b"---\n- a list\n", []),
        (b"# License\n---\nlicense: mit\n---\n", []),
        (b"\xff", []),
        (b"", []),
    ],
)
def test_the_licence_in_a_readme(readme: bytes, licences: list[str]) -> None:
    assert _declared(readme) == licences
