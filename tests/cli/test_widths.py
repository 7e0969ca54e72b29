"""At any width of the terminal every run, id and figure is printed in one piece."""

import json
import os
import re
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from tests.builders import rewrite
from tests.cli.inside import Inside
from tests.runs.stored import Runs, copied

LONG = "bm25:fields=[title,header],stopwords=en,stemmer=none,k1=1.5,b=0.75"


@pytest.fixture
def runs(tmp_path: Path) -> Runs:
    """A store, one run of which has a long name."""
    made = copied(tmp_path)
    path = made.tfidf / "manifest.json"
    rewrite(path, lambda manifest: manifest["command"].update(retriever=LONG))
    return made


def test_ids_and_their_beginnings_resolve(inside: Inside, runs: Runs) -> None:
    """Of every command that takes a run."""
    for listed in json.loads(inside.good("runs", "list", "--json")):
        name = Path(listed["folder"]).name
        for given in (name[-12:], name[-12:-4], name[:-2]):
            assert json.loads(inside.good("runs", "show", given, "--json"))["run"].endswith(name)
    id_ = runs.bm25.name[-12:-4]
    assert "run.trec" in inside.good("runs", "export", id_, "-o", "trec")
    assert "bm25" in inside.good("score", id_)
    message = inside.bad(2, "compare", "retrieval-mini-test", runs.bm25)
    assert "that begins with it" in message
    assert runs.tfidf.name in message


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
def test_a_terminal_of_80_columns(runs: Runs) -> None:
    """The command itself, in a terminal."""
    import fcntl
    import pty
    import struct
    import termios

    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    environment = {k: v for k, v in os.environ.items() if k != "COLUMNS"} | {"TERM": "xterm"}
    command = [sys.executable, "-m", "target_bench", "runs", "list", "--task", "fv"]
    command += ["--out", runs.root.name]  # the last line names it: a long path is not cut
    process = subprocess.Popen(
        command, cwd=runs.root.parent, stdin=theirs, stdout=theirs, env=environment
    )
    os.close(theirs)
    printed = b""
    with suppress(OSError):  # Linux: the other end is closed
        while part := os.read(ours, 65536):
            printed += part
    assert process.wait() == 0
    os.close(ours)
    plain = re.sub(r"\x1b\[[\d;]*m", "", printed.decode())
    assert plain != printed.decode(), "the terminal has colours"
    lines = plain.replace("\r", "").split("\n")
    for folder in (runs.labels, runs.other_labels):
        assert any(line.startswith(f" {folder.name[-12:]} ") for line in lines)
    assert max(map(len, lines)) <= 80
