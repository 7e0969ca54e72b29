"""At any width of the terminal every run, id and figure is printed in one piece."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from target_bench.cli.plugins import LISTS, What
from target_bench.core import text_tables
from tests.builders import rewrite
from tests.cli.inside import Inside
from tests.runs.stored import Runs, copied

WIDTHS = (40, 60, 80, 100, 200, None)
LONG = "bm25:fields=[title,header],stopwords=en,stemmer=none,k1=1.5,b=0.75"


@pytest.fixture
def runs(tmp_path: Path) -> Runs:
    """A store, one run of which has a long name."""
    made = copied(tmp_path)
    path = made.tfidf / "manifest.json"
    rewrite(path, lambda manifest: manifest["asked"].update(retriever=LONG))
    return made


@pytest.fixture(params=WIDTHS)
def width(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int | None:
    found: int | None = request.param
    monkeypatch.setattr(text_tables, "terminal_width", lambda: found)
    return found


def test_list(inside: Inside, runs: Runs, width: int | None) -> None:
    out = inside.good("runs", "list")
    for one in json.loads(inside.good("runs", "list", "--json")):
        figures = (one["label"], f"{one['metric']} {one['score']:.3f}", f"{one['queries']:,}")
        for part in (Path(one["folder"]).name[-12:], one["task"], *figures):
            assert part in out
    _check_width(out, width)


def test_ids_and_their_beginnings_resolve(inside: Inside, runs: Runs) -> None:
    """Of every command that takes a run."""
    for one in json.loads(inside.good("runs", "list", "--json")):
        name = Path(one["folder"]).name
        for given in (name[-12:], name[-12:-4], name[:-2]):
            assert json.loads(inside.good("runs", "show", given, "--json"))["run"].endswith(name)
    id_ = runs.bm25.name[-12:-4]
    assert "differ in nothing" in inside.good("runs", "diff", id_, runs.bm25)
    assert "1 finished" in inside.good("runs", "fsck", id_)
    assert "run.trec" in inside.good("runs", "export", id_, "-o", "trec")
    assert "bm25" in inside.good("score", id_)
    message = inside.bad(2, "compare", "retrieval-mini-test", runs.bm25)
    assert "runs begin so" in message
    assert runs.tfidf.name in message


def test_compare(inside: Inside, runs: Runs, width: int | None) -> None:
    command = ("compare", runs.bm25, runs.tfidf, "--resamples", "50", "--slice", "task")
    out = inside.good(*command)
    document = json.loads(inside.good(*command, "--json"))
    for row in document["rows"]:
        if row["metric"] not in document["family"]:
            assert f"{row['score']:.3f}".removeprefix("0") in out
            continue
        bounds = f"{row['low']:.3f}–{row['high']:.3f}"
        parts = [row["run"], row["slice"], f"{row['score']:.3f}", bounds]
        if row["difference"]:
            parts.append(f"{row['difference']['low']:+.3f} to {row['difference']['high']:+.3f}")
        for part in parts:
            assert part in out
    blocks = "\n  score: "
    assert (blocks in out) == (width is not None and width < 100)
    out = inside.good("compare", runs.bm25, runs.tfidf, "--resamples", "50")
    assert (blocks in out) == (width is not None and width < 80), "a table at 80 columns"
    _check_width(out, width)


def test_sentences_of_a_run_are_wrapped_and_its_command_is_not(
    inside: Inside, runs: Runs, width: int | None
) -> None:
    pair = ("--retriever", "bm25", "--retriever", "tfidf")
    out = inside.good("run", "mini", "--task", "retrieval", "--top-k", "1,3,10", *pair)
    assert out.endswith("next: target-bench report runs\n")
    assert all(len(line) <= (width or 1000) for line in out.splitlines())


def test_results(inside: Inside, runs: Runs, width: int | None) -> None:
    """Every cutoff that is shown has an interval of its own."""
    command = ("run", "mini", "--task", "retrieval", "--retriever", LONG)
    out = inside.good(*command, "--top-k", "1,3", "--limit", "30")
    document = json.loads(inside.good(*command, "--top-k", "1,3", "--limit", "30", "--json"))
    (result,) = document["results"]
    assert LONG in out
    for name in ("recall@1", "recall@3"):
        score = result["scores"][name]
        value, low, high = (f"{score[b]:.3f}".removeprefix("0") for b in ("value", "low", "high"))
        assert value in out
        assert f"[{low}, {high}]" in out


def test_show(inside: Inside, runs: Runs, width: int | None) -> None:
    out = inside.good("runs", "show", runs.bm25)
    scores = json.loads(inside.good("runs", "show", runs.bm25, "--json"))["scores"]
    for name, score in scores.items():
        assert name in out
        assert f"{score['value']:.4f}" in out
        assert f"{score['low']:.4f}–{score['high']:.4f}" in out
    _check_width(out, width)


@pytest.mark.parametrize("what", list(What))
def test_catalogs(inside: Inside, what: What, width: int | None) -> None:
    out = inside.good("list", what)
    for row in LISTS[what]()[1]:
        assert row[0] in out
        assert all(word in out for cell in row[1:] for word in cell.split())


def _check_width(out: str, width: int | None) -> None:
    """Tables keep to the width; blocks of lines and sentences may be longer."""
    for table in out.split("\n\n"):
        if width is not None and "\n ─" in table:
            rows = [line for line in table.split("\n") if line.startswith(" ")]
            assert max(map(len, rows)) <= width


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
    found = b""
    while True:
        try:
            part = os.read(ours, 65536)
        except OSError:  # Linux: the other end is closed
            break
        if not part:
            break
        found += part
    assert process.wait() == 0
    os.close(ours)
    plain = re.sub(r"\x1b\[[\d;]*m", "", found.decode())
    assert plain != found.decode(), "the terminal has colours"
    lines = plain.replace("\r", "").split("\n")
    for folder in (runs.labels, runs.other_labels):
        assert any(line.startswith(f" {folder.name[-12:]} ") for line in lines)
    assert max(map(len, lines)) <= 80
