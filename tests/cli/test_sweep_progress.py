"""What a sweep shows while it runs."""

import io

from rich.console import Console

from target_bench.cli.sweep_progress import SweepView

DONE = {
    "state": "done",
    "error": None,
    "seconds": 1.25,
    "scores": {"recall@10": 0.5},
    "n_queries": 9,
    "failed_queries": 0,
    "input_tokens": 1200,
    "output_tokens": 30,
    "cost": 0.5,
}


def _shown(terminal: bool) -> str:
    out = io.StringIO()
    console = Console(file=out, force_terminal=terminal, width=160, color_system=None)
    view = SweepView(console=console)
    view.n_cells = 3
    with view:
        view.cell_started(1, "one [x]")
        view.of_cell(1).stage("bm25: retrieve", 280)
        view.of_cell(1).advance(128)
        view.cell_started(2, "two")
        view.of_cell(2).waiting("the server is busy", 3)
        view.warning("mind this")
        view.of_cell(2).warning("mind this")
        view.progress.refresh()
        view.cell_finished(1, "one [x]", DONE)
        view.cell_finished(2, "two", DONE | {"state": "failed", "error": "no luck\nat all"})
        view.progress.refresh()
    return out.getvalue()


def test_lines_where_there_is_no_terminal() -> None:
    lines = [line.partition(" ")[2] for line in _shown(terminal=False).splitlines()]
    assert lines == [
        "[1/3] begins: one [x]",
        "[2/3] begins: two",
        "mind this",
        "[1/3] done in 1.2 s: one [x]: recall@10 .500",
        "[2/3] failed: two: no luck",
        "all",
    ]


def test_bars_of_a_terminal() -> None:
    """Running cells, counts, failures, tokens and cost."""
    shown = _shown(terminal=True)
    for part in (
        "one [x]: retrieve",
        "128/280",
        "two: waits 3 s, the server is busy",
        "1 done · 1 failed",
        "1,200 tokens in, 30 out · cost 0.5000",
        "[2/3] failed: two: no luck",
    ):
        assert part in shown
