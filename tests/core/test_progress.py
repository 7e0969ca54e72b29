"""Progress in Python: bars on a terminal, lines elsewhere."""

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from target_bench import Progress, evaluate


def test_bars_count_and_disappear(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also after a run that failed."""
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    observer = Progress()

    class Fixed:
        def embed_corpus(self, corpus: object) -> None:
            if observer.bars is not None:
                observer.bars.refresh()

        def retrieve(self, query: str, top_k: int) -> list[Any]:
            raise RuntimeError("broken")

    evaluate("bm25", "mini", limit=20, out=tmp_path, observer=observer)
    with pytest.raises(Exception, match="broken"):
        evaluate(Fixed(), "mini", limit=20, out=tmp_path, observer=observer)
    assert observer.bars is not None
    assert not observer.bars.tasks
    assert not observer.bars.live.is_started
    shown = capsys.readouterr().err
    assert "Fixed: embed" in shown
    assert "bm25: retrieve" in shown


@pytest.mark.parametrize(("notebook", "lines"), [(False, 1), (True, 5)])
def test_long_stages_have_lines(
    notebook: bool,
    lines: int,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """One a minute, in a notebook more."""
    clock = [0.0]
    monkeypatch.setattr("target_bench.core.observer.time.monotonic", lambda: clock[0])
    if notebook:
        shell = SimpleNamespace(config={"IPKernelApp": {}})
        monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    observer = Progress()
    observer.stage("train", total=100)
    for _ in range(5):
        clock[0] += 20
        observer.advance(1)
    observer.stage("no total")
    clock[0] += 1000
    observer.advance(1)
    shown = capsys.readouterr().err.splitlines()
    assert len(shown) == lines
    assert "train: 3 of 100, about 1,940 s left" in shown


def test_a_warning_is_a_sentence_without_file_and_line_and_shown_once(
    capfd: pytest.CaptureFixture[str],
) -> None:
    observer = Progress()
    for _ in range(2):
        observer.warning("top_k=10 is more than the 1 table")
    assert capfd.readouterr().err == "Warning: top_k=10 is more than the 1 table\n"
