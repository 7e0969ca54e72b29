"""What README shows is what its commands print, and its retriever is the example.

``python -m tests.test_readme`` writes both into README.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.builders import ROOT
from tests.runs.forked import client

README = ROOT / "README.md"
EXAMPLE = (ROOT / "examples" / "own_retriever.py").read_text(encoding="utf-8")
_PRINTED = re.compile(
    r"(^```sh\n.*?(target-bench [^\n]*)\n```\n\n```text\n)(.*?)(?=^```$)", re.M | re.S
)
_RETRIEVER = re.compile(r"(own_retriever\.py\):\n\n```python\n)(.*?)(?=^```$)", re.M | re.S)
_TIME = re.compile(r" *\d+\.\d+$", re.M)
"""Milliseconds per query, which differ from run to run, end a line."""


def _as_it_should_be(folder: Path) -> str:
    """Return README with the outputs of today, of commands run one after the other in a folder."""
    shutil.copytree(ROOT / "examples", folder / "examples")
    scripts = os.pathsep.join([str(client().parent), str(Path(sys.executable).parent)])
    environment = os.environ | {"PATH": f"{scripts}{os.pathsep}{os.environ['PATH']}"}

    def printed(match: re.Match[str]) -> str:
        done = subprocess.run(
            ["bash", "-ec", match[2]],
            cwd=folder,
            env=environment | {"COLUMNS": "80"},
            capture_output=True,
            encoding="utf-8",
            check=True,
        )
        return match[1] + done.stdout.strip("\n") + "\n"

    text = _RETRIEVER.sub(lambda match: match[1] + EXAMPLE, README.read_text(encoding="utf-8"))
    return _PRINTED.sub(printed, text)


def test_it_shows_what_is_printed(tmp_path: Path) -> None:
    expected = _TIME.sub("", _as_it_should_be(tmp_path))
    assert _TIME.sub("", README.read_text(encoding="utf-8")) == expected, (
        "run python -m tests.test_readme"
    )
    assert len(_PRINTED.findall(expected)) == 2
    assert EXAMPLE in expected


if __name__ == "__main__":
    with TemporaryDirectory() as name:
        README.write_text(_as_it_should_be(Path(name)), encoding="utf-8")
