"""What a sweep shows while it runs."""

import io

import pytest
from rich.console import Console

from target_bench.cli.sweep_progress import SweepView

DONE = {
    **{"state": "done", "error": None, "seconds": 1.25, "scores": {"recall@10": 0.5}},
    **{"n_queries": 9, "failed_queries": 0, "input_tokens": 1200, "output_tokens": 30, "cost": 0.5},
}
FAILED = DONE | {"state": "failed", "error": "no luck\nat all"}


@pytest.mark.parametrize("terminal", [False, True])
def test_lines_and_a_bar(terminal: bool) -> None:
    """Cells, counts, the stage, failures, tokens and cost; the bar on a terminal alone."""
    out = io.StringIO()
    console = Console(file=out, force_terminal=terminal, width=160, color_system=None)
    view = SweepView(console=console)
    view.n_cells = 3
    with view:
        view.cell_started(1, "one [x]")
        view.of_cell(1).stage("bm25: retrieve", 280)
        view.of_cell(1).advance(128)
        view.warning("mind this")
        view.of_cell(2).warning("mind this")
        view.progress.refresh()
        view.cell_finished(1, "one [x]", DONE)
        view.cell_finished(2, "two", FAILED)
        view.progress.refresh()
    shown = out.getvalue()
    if terminal:
        for part in ("bm25: retrieve 128 of 280", "1 done · 1 failed"):
            assert part in shown
        assert "1,200 tokens in, 30 out · cost 0.5000" in shown
        assert "[2/3] failed: two: no luck" in shown
    else:
        assert [line.partition(" ")[2] for line in shown.splitlines()] == [
            "[1/3] begins: one [x]",
            "mind this",
            "[1/3] done in 1.2 s: one [x]: recall@10 .500",
            "[2/3] failed: two: no luck",
            "all",
        ]
