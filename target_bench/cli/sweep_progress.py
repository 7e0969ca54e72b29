"""A sweep on the terminal: a bar of its cells, and a line for each that ends."""

import time
from collections import Counter
from collections.abc import Mapping
from typing import Any, Self

from target_bench.cli.command_line import TerminalObserver, clean
from target_bench.metrics.scores import headline, spec_of


class SweepView(TerminalObserver):
    """Cells, remaining time, failures, tokens and cost, on standard error.

    A terminal has a bar of all cells, with the stage of the one that runs in this process;
    elsewhere, as in a log, a line says that a cell begins.
    """

    def __init__(self) -> None:
        super().__init__()
        self.n_cells = 0
        self._totals = Counter[str]()

    def __enter__(self) -> Self:
        super().__enter__()
        if self.bars is not None:
            self._task = self.bars.add_task("cells", total=self.n_cells)
        return self

    def stage(self, name: str, total: int | None = None) -> None:
        """Show it beside the bar."""
        self._name, self._total, self._done = clean(name), total, 0
        self._draw()

    def advance(self, steps: int) -> None:
        """Count the steps of the stage."""
        if self._name:
            self._done += steps
            self._draw()

    def finished(self) -> None:
        """Keep the bar, which is that of all cells."""

    def answered(self, generation: Any) -> None:
        """Count nothing: the cells count their answers."""

    def note(self, message: str) -> None:
        """Print a note at once, as a warning."""
        self.warning(message)

    def cell_started(self, number: int, name: str) -> None:
        """Say that it begins, where no bar moves."""
        if self.bars is None:
            self._say_of_cell(number, f"begins: {name}")

    def cell_finished(self, number: int, name: str, outcome: Mapping[str, Any]) -> None:
        """Count it, and say how it ended."""
        state = outcome["state"]
        self._totals[state] += 1
        if state == "done":
            for count in ("input_tokens", "output_tokens", "cost"):
                self._totals[count] += outcome[count] or 0
        if state == "failed":
            line = f"failed: {name}: {outcome['error']}"
        else:
            line = f"{state} in {outcome['seconds']:.1f} s: {name}{_main_score(outcome)}"
            if outcome["failed_queries"]:
                line += f", {outcome['failed_queries']} of {outcome['n_queries']} queries failed"
        self._say_of_cell(number, line)
        if self.bars is not None and self._task is not None:
            self._name = ""
            self.bars.advance(self._task)
            self._draw()

    def _say_of_cell(self, number: int, line: str) -> None:
        self.say(f"{time.strftime('%H:%M:%S')} [{number}/{self.n_cells}] {clean(line)}")

    def _draw(self) -> None:
        if self.bars is None or self._task is None:
            return
        n = self._totals
        parts = [f"{n[state]} {state}" for state in ("done", "reused", "failed") if n[state]]
        if n["input_tokens"] or n["output_tokens"]:
            parts.append(f"{n['input_tokens']:,} tokens in, {n['output_tokens']:,} out")
        if n["cost"]:
            parts.append(f"cost {n['cost']:.4f}")
        if self._name:
            total = f" of {self._total:,}" if self._total else ""
            parts.append(self._name + (f" {self._done:,}{total}" if self._done else ""))
        self.bars.update(self._task, description=" · ".join(parts) or "cells")


def _main_score(outcome: Mapping[str, Any]) -> str:
    """Return metric and value of the main score; empty where there is none, or over no query."""
    specs = outcome.get("specs", {})
    scores = {name: {"spec": specs.get(name)} for name in outcome["scores"]}
    metric = headline(scores) if scores else None
    if metric is None or outcome["scores"][metric] is None:
        return ""
    return f": {metric} {spec_of(metric, scores[metric]).text(outcome['scores'][metric])}"
