"""What a log shows of long stages."""

import re
import warnings
from pathlib import Path

import pytest

from target_bench.cli.command_line import TerminalObserver
from target_bench.core.schema import Generation
from target_bench.sql import duckdb_copy


def test_a_log_has_a_line_a_minute(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = [0.0]
    monkeypatch.setattr("target_bench.cli.command_line.time.monotonic", lambda: clock[0])
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


def test_failed_answers_are_counted(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = [0.0]
    monkeypatch.setattr("target_bench.cli.command_line.time.monotonic", lambda: clock[0])
    with TerminalObserver() as observer:
        observer.stage("generate", total=4)
        for error in (None, "timeout: too late", "timeout: too late"):
            observer.answered(Generation("q", "", error=error))
            clock[0] += 30
            observer.advance(1)
    lines = capsys.readouterr().err.splitlines()
    assert lines == ["generate (1 failed): 2 of 4, about 60 s left"]


def test_a_log_has_each_warning_on_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    long = f"dense:encoder='{'x' * 90}': 2 of 139 table texts are longer than the limit"
    with TerminalObserver() as observer:
        observer.warning(long)
        observer.warning(long)
    assert capsys.readouterr().err == f"Warning: {long}\n"


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


def test_python_warnings_of_the_package_are_ours(capsys: pytest.CaptureFixture[str]) -> None:
    """As of a damaged file in the cache; those of others are left to Python."""

    def say() -> None:
        with TerminalObserver():
            for file in (duckdb_copy.__file__, "elsewhere.py"):
                warnings.warn_explicit(f"said in {Path(file).name}", UserWarning, file, 7)

    with pytest.warns(UserWarning, match=r"said in elsewhere.py") as caught:
        say()
    assert len(caught) == 1
    assert capsys.readouterr().err == "Warning: said in duckdb_copy.py\n"
