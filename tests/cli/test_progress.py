"""What a command shows while it runs."""

import re
import sys

import pytest

from target_bench.cli.progress import TerminalObserver


def test_a_bar_erases_no_part_of_a_warning(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a terminal, where the bar is drawn again after whatever is printed."""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    with TerminalObserver() as observer:
        observer.stage("load", total=2)
        observer.warning("2 of 139 tables [are] empty")
    plain = re.sub(r"\x1b\[[\d;]*m", "", capsys.readouterr().err)
    assert "Warning: 2 of 139 tables [are] empty\n" in plain
