"""What a sweep shows while it runs."""

import io

from rich.console import Console

from target_bench.cli.sweep_progress import NORMAL, QUIET, VERBOSE, SweepView

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


def _told(level: int, terminal: bool) -> tuple[str, SweepView]:
    out = io.StringIO()
    console = Console(file=out, force_terminal=terminal, width=100, color_system=None)
    view = SweepView(3, level, console)
    with view:
        view.cell_started(1, "one [x]")
        view.of_cell(1).stage("bm25: retrieve", 280)
        view.of_cell(1).advance(128)
        view.cell_started(2, "two")
        view.of_cell(2).waiting("the server is busy", 3)
        view.warning("mind this")
        view.of_cell(2).warning("mind this")
        shown = io.StringIO()
        Console(file=shown, width=160).print(view._view(), markup=False)
        view.cell_finished(1, "one [x]", DONE)
        view.cell_finished(2, "two", DONE | {"state": "failed", "error": "no luck\nat all"})
        Console(file=shown, width=160).print(view._view())
    return out.getvalue() if not terminal else shown.getvalue(), view


def test_lines_where_there_is_no_terminal() -> None:
    lines = [line.partition(" ")[2] for line in _told(NORMAL, terminal=False)[0].splitlines()]
    assert lines == [
        "[1/3] begins: one [x]",
        "[2/3] begins: two",
        "mind this",
        "[1/3] done in 1.2 s: one [x]: recall@10 0.500",
        "[2/3] failed: two: no luck",
        "all",
    ]


def test_score_over_no_query() -> None:
    out = io.StringIO()
    with SweepView(1, NORMAL, Console(file=out, force_terminal=False, width=100)) as view:
        view.cell_finished(1, "one", DONE | {"scores": {"ex[bird]": None}})
    assert out.getvalue().endswith("[1/1] done in 1.2 s: one\n")


def test_quiet_and_verbose() -> None:
    assert _told(QUIET, terminal=False)[0] == ""
    said = _told(VERBOSE, terminal=False)[0]
    assert "[1/3] bm25: retrieve" in said
    assert "[2/3] waits 3 s: the server is busy" in said


def test_live_view() -> None:
    """Counts, rate, remaining time, running cells, failures, tokens and cost."""
    said = _told(NORMAL, terminal=True)[0]
    assert "0 of 3 cells · 2 running" in said
    assert "1 retrieve 128/280, 0 s: one [x]" in said
    assert "2 waits 3 s: the server is busy, 0 s: two" in said
    assert "1,200 tokens in, 30 out · cost 0.5000" in said
    assert "2 of 3 cells · 1 done · 1 failed · 0 running" in said
    assert "cells/min" in said
    assert "left" in said
    assert "failed [2/3] two: no luck" in said
