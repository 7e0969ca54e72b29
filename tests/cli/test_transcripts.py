"""Pages of transcripts: what the command line prints, for mistakes above all.

``transcripts*.txt`` list files (``> name``, their lines after ``| ``), commands (``$ ...``) and
what each of them prints, indented, with its exit code where that is not 0. To add a command write
its line and run ``nox -s accept``, which sets TRANSCRIPTS=write; read what it wrote.
"""

import os
import re
import shlex
from pathlib import Path

import pytest

from tests.builders import ROOT
from tests.cli.inside import Inside
from tests.runs.stored import copied

PAGES = sorted(Path(__file__).parent.glob("transcripts*.txt"))


def _shown(inside: Inside, command: str, folder: Path) -> list[str]:
    """Return what a command prints, without what differs between machines."""
    done = inside(*shlex.split(command.removeprefix("$ target-bench")))
    text = (done.out + done.err).replace(f"{folder}/", "").replace(f"{ROOT}/", "")
    text = re.sub(r"\b[0-9a-f]{12}\b", "ID", text)
    text = re.sub(r"\b0x[0-9a-f]+", "0x...", text)
    text = re.sub(r"changed since \d\d:\d\d", "changed since TIME", text)
    text = re.sub(r"  +\d+\.\d\d$", "  TIME", text, flags=re.MULTILINE)  # the last column
    assert "Traceback" not in text, (command, text)
    assert "Internal error" not in text, (command, text)
    return [line.rstrip() for line in text.splitlines() if line] + [f"exit {done.code}"] * (
        done.code != 0
    )


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_transcripts(
    inside: Inside, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: Path
) -> None:
    monkeypatch.delenv("TARGET_BENCH_DATA", raising=False)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    copied(tmp_path)
    page = path.read_text(encoding="utf-8")
    lines: list[str] = []
    file = Path()
    for line in page.splitlines():
        if line.startswith("    "):
            continue
        lines.append(line)
        if line.startswith("> "):
            file = Path(line[2:])
            file.write_text("", encoding="utf-8")
        elif line.startswith("|"):
            file.write_text(file.read_text(encoding="utf-8") + line[2:] + "\n", encoding="utf-8")
        elif line.startswith("$ "):
            lines += [f"    {shown}" for shown in _shown(inside, line, tmp_path)]
    printed = "\n".join(lines) + "\n"
    if os.environ.get("TRANSCRIPTS") == "write":
        path.write_text(printed, encoding="utf-8")
    else:
        assert printed == page, "run nox -s accept"
