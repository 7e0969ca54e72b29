"""Every Python example in the documents runs, and every shell example marked ``run``.

``needs=`` names optional packages of an example, which stands alone; ``file=`` the file that it is,
for the examples after it.
"""

import contextlib
import os
import pkgutil
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

import target_bench
from target_bench import plugin_tools
from target_bench.cli.main import app
from tests.runs.forked import client
from tests.snippets import run_python

ROOT = Path(__file__).parent.parent
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
EXAMPLE = re.compile(
    r"^```(python|sh run|python file=[\w.]+)(?: needs=([\w,.]+))?\n(.*?)^```", re.M | re.S
)

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("default::UserWarning"),  # what a run tells its user
]


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
    language, _, file = language.partition(" file=")
    if file:
        (path.parent / file).write_text(source, encoding="utf-8")
    elif language == "python":
        run_python(source, path)
    else:
        folders = [client().parent, Path(sys.executable).parent, os.environ["PATH"]]
        environment = os.environ | {"PATH": os.pathsep.join(map(str, folders))}
        subprocess.run(["bash", "-ec", source], check=True, env=environment, timeout=300)


FIRST = "target-bench run mini"
"""README's first command, which everything else has to work after."""


@pytest.fixture(scope="module")
def after_first(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which README's first command was run."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert re.search(rf"^```sh\npip install -e \. && {FIRST}$", readme, re.MULTILINE)
    folder = tmp_path_factory.mktemp("reader")
    with contextlib.chdir(folder):
        _run("sh run", FIRST, folder)
    return folder


def test_commands_on_runs_of_the_first_command(
    after_first: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """README's block on stored runs, with the ids that ``runs list`` shows in place of RUN."""
    shutil.copytree(after_first, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    ids = [folder.name[-12:-4] for folder in sorted(Path("runs").glob("retrieval-mini-*"))]
    assert len(ids) == len(set(ids)) == 4
    blocks = [text for _, text in FENCED.findall((ROOT / "README.md").read_text(encoding="utf-8"))]
    (block,) = (text for text in blocks if text.startswith("target-bench compare RUN RUN"))
    for line in block.splitlines():
        _run("sh run", line.replace("RUN", ids[0], 1).replace("RUN", ids[1], 1), tmp_path)
    assert Path("report.html").is_file()


FENCED = re.compile(r"^```([^\n]*)\n(.*?)^```$", re.M | re.S)


def _commands(document: Path) -> list[list[str]]:
    """The words of every command of ours in the blocks of shell."""
    blocks = FENCED.findall(document.read_text(encoding="utf-8"))
    shell = "".join(text for kind, text in blocks if kind.partition(" ")[0] in ("", "sh", "bash"))
    lines = shell.replace("\\\n", " ").splitlines()
    parts = [part for line in lines for part in re.split(r" && | \| |; ", line)]
    return [
        shlex.split(part.partition(" > ")[0].replace("...", "x"), comments=True)[1:]
        for part in parts
        if part.startswith("target-bench ")
    ]


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_commands_can_be_read(document: Path) -> None:
    """They name commands, options and arguments that there are; nothing is run."""
    whole = get_command(app)
    for words in _commands(document):
        command: Any = whole
        while hasattr(command, "commands"):
            command, words = command.commands[words[0]], words[1:]
        command.make_context("target-bench", words)


def test_every_command_has_a_page() -> None:
    page = (ROOT / "docs" / "command_line.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (`.+?`) \| .* \| \[", page, re.MULTILINE)
    named = re.findall(r"`(\w+)`", " ".join(rows))
    commands: Any = get_command(app)
    assert sorted(named) == sorted(n for n, c in commands.commands.items() if not c.hidden)


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_links_lead_somewhere(document: Path) -> None:
    text = document.read_text(encoding="utf-8")
    for target in re.findall(r"\]\((?!https?://)([^)#]+)", text):
        assert (document.parent / target).exists(), target


def test_the_reference_names_what_there_is() -> None:
    """Without building the site: every name resolves, and every public name is there.

    Types for annotations, which have no docstring, are rows of a table.
    """
    page = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    names = re.findall(r"^::: (\S+)$", page, re.MULTILINE)
    types = re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE)
    assert [name for name in names if _missing(name)] == []
    public = {f"target_bench.{name}" for name in dir(target_bench) if name != "__version__"}
    public |= {f"target_bench.plugin_tools.{name}" for name in plugin_tools.__all__}
    assert {name.rpartition(".")[2] for name in public - set(names)} == set(types)


def _missing(name: str) -> bool:
    try:
        pkgutil.resolve_name(name)
    except (AttributeError, ImportError):
        return True
    return False


def test_what_is_gone_is_gone() -> None:
    """No command or option in the first column of the page on what happened to them exists."""
    page = (ROOT / "docs" / "what_happened.md").read_text(encoding="utf-8")
    first = " ".join(re.findall(r"^\| (.*?) \| ", page, re.MULTILINE))
    whole: Any = get_command(app)
    stale = []
    for text in re.findall(r"(?<!of )`([a-z]+(?: [a-zA-Z-]+)+)`", first):
        command, words = whole, text.split()
        while words and words[0] in getattr(command, "commands", {}):
            command, words = command.commands[words[0]], words[1:]
        options = {flag for option in command.params for flag in option.opts}
        if not words or words[-1] in options:
            stale.append(text)
    assert stale == []
