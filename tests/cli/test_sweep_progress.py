"""What a sweep shows while it runs."""

import re
import sys
from types import SimpleNamespace
from typing import Any

import pytest

from target_bench.cli.progress import SweepView
from target_bench.core.metric import AnswerCounts, Counts, Score
from target_bench.core.run_config import RunConfig
from target_bench.harness.sweeps import CellOutcome, SweepCell

CELL = SweepCell(1, RunConfig(corpora="mini", tasks="retrieval", retrievers="bm25"))
FAILED = CellOutcome(CELL, 1.25, error="no luck\nat all")


def _finish() -> CellOutcome:
    answers = AnswerCounts(9, 9, 0, 0, 0, 0, input_tokens=1200, output_tokens=30, cost=0.5)
    stored = SimpleNamespace(counts=Counts(9, 9, 0, 0, 0, 0, 0), answers=answers)
    scores = {"recall@10": Score(0.5, 0.4, 0.6, 9, "s")}
    result: Any = SimpleNamespace(
        run=SimpleNamespace(reused=False), stored=stored, scores=scores, folder=None
    )
    return CellOutcome(CELL, 1.25, result)


@pytest.mark.parametrize("terminal", [False, True])
def test_lines_and_a_bar(
    terminal: bool, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Cells, counts, the stage, failures, tokens and cost; the bar on a terminal alone."""
    for name, value in {"COLUMNS": "160", "TERM": "xterm", "NO_COLOR": "1"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: terminal)
    view = SweepView()
    view.n_cells = 3
    with view:
        view.cell_started(1, "one [x]")
        view.observe_cell(1).stage("bm25: retrieve", 280)
        view.observe_cell(1).advance(128)
        view.warning("mind this")
        view.observe_cell(2).warning("mind this")
        if view.bars:
            view.bars.refresh()
        view.cell_finished(1, "one [x]", _finish())
        view.cell_finished(2, "two", FAILED)
        if view.bars:
            view.bars.refresh()
    shown = re.sub(r"\x1b\[[\d;]*m", "", capsys.readouterr().err)
    if terminal:
        for part in ("bm25: retrieve 128 of 280", "1 finished · 1 failed"):
            assert part in shown
        assert "1,200 tokens in, 30 out · cost 0.5000" in shown
        assert "[2/3] failed: two: no luck" in shown
    else:
        assert [line.partition(" ")[2] for line in shown.splitlines()] == [
            "[1/3] begins: one [x]",
            "mind this",
            "[1/3] finished in 1.2 s: one [x]: recall@10 .500",
            "[2/3] failed: two: no luck",
            "all",
        ]
