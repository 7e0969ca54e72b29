"""Bars of progress in Python."""

from pathlib import Path
from typing import Any

import pytest

from target_bench import Progress
from tests.target import TARGET


def test_bars_count_and_disappear(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Also after a run that failed."""
    observer = Progress()
    target = TARGET(("retrieval", "mini"), out=tmp_path, observer=observer)
    target.run("bm25", limit=20)
    shown = capfd.readouterr().err
    assert "load mini ..." in shown
    assert "bm25: retrieve:" in shown
    assert "/20 [" in shown
    assert observer._bar is None
    assert shown.endswith("\r"), "the last bar was removed"

    class Broken:
        def embed_corpus(self, corpus: object) -> None:
            raise RuntimeError("broken")

        def retrieve(self, query: str, top_k: int) -> list[Any]:
            return []

    with pytest.raises(Exception, match="broken"):
        target.run(Broken())
    assert observer._bar is None


def test_a_warning_is_a_sentence_without_file_and_line_and_shown_once(
    capfd: pytest.CaptureFixture[str],
) -> None:
    observer = Progress()
    for _ in range(2):
        observer.warning("top_k=10 is more than the 1 table")
    assert capfd.readouterr().err == "Warning: top_k=10 is more than the 1 table\n"
