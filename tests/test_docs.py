"""Every Python example in the documents runs, and every shell example marked ``run``."""

import os
import re
import runpy
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from target_bench.cli.main import app

ROOT = Path(__file__).parent.parent
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
EXAMPLE = re.compile(
    r"^```(python|sh run)(?: needs=([\w,.]+))?\n(.*?)^```", re.MULTILINE | re.DOTALL
)
"""An example that needs optional packages names them after its language, and stands alone."""

pytestmark = pytest.mark.filterwarnings("default::UserWarning")  # what a run tells its user


def _examples(document: Path) -> list[tuple[str, str, str]]:
    return EXAMPLE.findall(document.read_text(encoding="utf-8"))


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_examples_run(document: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One after the other, each from a file of its own, as a reader would run it."""
    monkeypatch.chdir(tmp_path)
    for number, (language, needs, source) in enumerate(_examples(document)):
        if not needs:
            _run(language, source, tmp_path / f"example_{number}.py")


@pytest.mark.parametrize(
    ("language", "needs", "source"),
    [
        pytest.param(*example, id=document.name)
        for document in DOCUMENTS
        for example in _examples(document)
        if example[1]
    ],
)
def test_examples_with_extras_run(
    language: str, needs: str, source: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for package in needs.split(","):
        pytest.importorskip(package)
    monkeypatch.chdir(tmp_path)
    _run(language, source, tmp_path / "example.py")


def _run(language: str, source: str, path: Path) -> None:
    if language == "python":
        path.write_text(source, encoding="utf-8")
        runpy.run_path(str(path), run_name="__main__")
        return
    scripts = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = os.environ | {"PATH": scripts}
    subprocess.run(["bash", "-ec", source], check=True, env=environment, timeout=120)


FENCED = re.compile(r"^```([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def _commands(document: Path) -> list[list[str]]:
    """The words of every command of ours in the blocks of shell."""
    blocks = FENCED.findall(document.read_text(encoding="utf-8"))
    shell = "".join(text for kind, text in blocks if kind.partition(" ")[0] in ("", "sh", "bash"))
    lines = shell.replace("\\\n", " ").splitlines()
    parts = [part for line in lines for part in re.split(r" && | \| |; ", line)]
    return [
        shlex.split(part.replace("...", "x"), comments=True)[1:]
        for part in parts
        if part.startswith("target-bench ")
    ]


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_commands_can_be_read(document: Path) -> None:
    """They name commands, options and arguments that there are; nothing is run."""
    for words in _commands(document):
        command: Any = get_command(app)
        while hasattr(command, "commands"):
            command, words = command.commands[words[0]], words[1:]
        command.make_context("target-bench", words)


def test_documents_hold_examples() -> None:
    with_examples = [d.name for d in DOCUMENTS if _examples(d)]
    assert {"README.md", "architecture.md", "data.md"} <= set(with_examples)


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_links_lead_somewhere(document: Path) -> None:
    text = document.read_text(encoding="utf-8")
    for target in re.findall(r"\]\((?!https?://)([^)#]+)", text):
        assert (document.parent / target).exists(), target
