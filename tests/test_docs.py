"""Every Python example in the documents runs, and every shell example marked ``run``."""

import os
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
EXAMPLE = re.compile(r"^```(python|sh run)\n(.*?)^```", re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_examples_run(document: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each from a file of its own, as a reader would run it."""
    monkeypatch.chdir(tmp_path)
    examples = EXAMPLE.findall(document.read_text(encoding="utf-8"))
    for number, (language, source) in enumerate(examples):
        if language == "python":
            path = tmp_path / f"example_{number}.py"
            path.write_text(source, encoding="utf-8")
            runpy.run_path(str(path), run_name="__main__")
        else:
            scripts = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
            environment = os.environ | {"PATH": scripts}
            subprocess.run(["bash", "-ec", source], check=True, env=environment, timeout=120)


def test_documents_hold_examples() -> None:
    with_examples = [d.name for d in DOCUMENTS if EXAMPLE.search(d.read_text(encoding="utf-8"))]
    assert {"README.md", "architecture.md", "data.md"} <= set(with_examples)


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_links_lead_somewhere(document: Path) -> None:
    text = document.read_text(encoding="utf-8")
    for target in re.findall(r"\]\((?!https?://)([^)#]+)", text):
        assert (document.parent / target).exists(), target
