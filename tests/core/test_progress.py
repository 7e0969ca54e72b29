"""Bars of progress in Python."""

from pathlib import Path
from typing import Any

import pytest

from target_bench import TARGET, Progress


def test_bars_count_and_disappear(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    observer = Progress()
    TARGET(("retrieval", "mini"), out=tmp_path, observer=observer).run("bm25", limit=20)
    shown = capfd.readouterr().err
    assert "load mini ..." in shown
    assert "bm25: retrieve:" in shown
    assert "/20 [" in shown
    assert observer._bar is None
    assert shown.endswith("\r"), "the last bar was removed"


def test_warnings_are_sentences(capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Without the file and line of this package that Python's warnings have; each once."""
    (tmp_path / "rivers.csv").write_text("river\nRhine\n", encoding="utf-8")
    (tmp_path / "queries.csv").write_text("query,table_id\nRhine,rivers\n", encoding="utf-8")
    observer = Progress()
    for retriever in ("bm25", "tfidf"):
        target = TARGET(("retrieval", str(tmp_path)), out=tmp_path / "runs", observer=observer)
        target.run(retriever)
    warned = [line for line in capfd.readouterr().err.split("\n") if "Warning" in line]
    assert len(warned) == 1
    assert warned[0].split("\r")[-1].startswith("Warning: top_k=10 is more than the 1 table ")


def test_a_failed_run_leaves_no_bar(tmp_path: Path) -> None:
    observer = Progress()
    target = TARGET(("retrieval", "mini"), out=tmp_path, observer=observer)

    class Broken:
        def embed_corpus(self, corpus: object) -> None:
            raise RuntimeError("broken")

        def retrieve(self, query: str, top_k: int) -> list[Any]:
            return []

    with pytest.raises(Exception, match="broken"):
        target.run(Broken())
    assert observer._bar is None
