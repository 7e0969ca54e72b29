"""What README and the tutorial show is what is printed, and README's retriever is the example.

``python -m tests.test_readme`` writes it into both.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.builders import ROOT
from tests.runs.forked import client

DOCUMENTS = {"README.md": 2, "docs/tutorial.md": 4}
"""Document -> how many outputs it shows."""

EXAMPLE = (ROOT / "examples" / "own_retriever.py").read_text(encoding="utf-8")
_PRINTED = re.compile(
    r"(^```sh(?: run)?\n.*?(target-bench [^\n]*)\n```\n\n```text\n)(.*?)(?=^```$)", re.M | re.S
)
_RETRIEVER = re.compile(r"(own_retriever\.py\):\n\n```python\n)(.*?)(?=^```$)", re.M | re.S)
_TIME = re.compile(r" *\d+\.\d+$", re.M)
"""Milliseconds per query, which differ from run to run, end a line."""


def _as_it_should_be(document: Path, folder: Path) -> str:
    """Return a document with the outputs of today, of commands run one after the other."""
    shutil.copytree(ROOT / "examples", folder / "examples")
    scripts = os.pathsep.join([str(client().parent), str(Path(sys.executable).parent)])
    environment = os.environ | {"PATH": f"{scripts}{os.pathsep}{os.environ['PATH']}"}

    def printed(match: re.Match[str]) -> str:
        done = subprocess.run(
            ["bash", "-ec", match[2]],
            cwd=folder,
            env=environment | {"COLUMNS": "90"},
            capture_output=True,
            encoding="utf-8",
            check=True,
        )
        output = done.stdout.strip("\n") + "\n"
        alike = _TIME.sub("", output) == _TIME.sub("", match[3])
        return match[0] if alike else match[1] + output

    text = _RETRIEVER.sub(lambda match: match[1] + EXAMPLE, document.read_text(encoding="utf-8"))
    return _PRINTED.sub(printed, text)


@pytest.mark.parametrize(("document", "outputs"), DOCUMENTS.items())
def test_it_shows_what_is_printed(document: str, outputs: int, tmp_path: Path) -> None:
    expected = _as_it_should_be(ROOT / document, tmp_path)
    assert (ROOT / document).read_text(encoding="utf-8") == expected, (
        "run python -m tests.test_readme"
    )
    assert len(_PRINTED.findall(expected)) == outputs


def test_the_retriever_is_the_example() -> None:
    assert EXAMPLE in (ROOT / "README.md").read_text(encoding="utf-8")


if __name__ == "__main__":
    for document in DOCUMENTS:
        with TemporaryDirectory() as name:
            path = ROOT / document
            path.write_text(_as_it_should_be(path, Path(name)), encoding="utf-8")
