"""What a log shows of long stages."""

import re

import pytest

from target_bench.cli.progress import TerminalObserver


def test_a_log_has_a_line_a_minute(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = [0.0]
    monkeypatch.setattr("target_bench.cli.progress.time.monotonic", lambda: clock[0])
    with TerminalObserver() as observer:
        observer.stage("train", total=100)
        for _ in range(5):
            clock[0] += 20
            observer.advance(1)
        observer.stage("no total")
        clock[0] += 1000
        observer.advance(1)
    lines = capsys.readouterr().err.splitlines()
    assert lines == ["train: 3 of 100, about 1,940 s left"]


def test_a_bar_erases_no_part_of_a_warning(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a terminal, where the bar is drawn again after whatever is printed."""
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    with TerminalObserver() as observer:
        observer.stage("load", total=2)
        observer.warning("2 of 139 tables [are] empty")
    plain = re.sub(r"\x1b\[[\d;]*m", "", capsys.readouterr().err)
    assert "Warning: 2 of 139 tables [are] empty\n" in plain
