"""What a log shows of long stages."""

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
