"""A sweep on the terminal: a bar of its cells, and a line for each that ends."""

import sys
import time
from collections import Counter
from collections.abc import Mapping
from types import TracebackType
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from target_bench.core.credentials import without_secrets
from target_bench.core.observer import Observer
from target_bench.core.text_tables import visible
from target_bench.metrics.scores import headline, spec_of


class SweepView(Observer):
    """Cells, remaining time, failures, tokens and cost, on standard error.

    A terminal has a bar of all cells, with the stage of the one that runs in this process;
    elsewhere, as in a log, a line says that a cell begins.

    Args:
        console: where to; default: standard error.
    """

    def __init__(self, console: Console | None = None) -> None:
        self.n_cells = 0
        self._console = console or Console(file=sys.stderr, emoji=False)
        self._draws = self._console.is_terminal
        columns = (
            TextColumn("{task.description}", markup=False),
            BarColumn(20),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
        )
        self.progress = Progress(*columns, console=self._console, transient=True)
        self._stage, self._steps, self._done = "", "", 0
        self._totals = Counter[str]()
        self.warned: set[str] = set()

    def __enter__(self) -> "SweepView":
        if self._draws:
            self._bar = self.progress.add_task("cells", total=self.n_cells)
            self.progress.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._draws:
            self.progress.stop()

    def stage(self, name: str, total: int | None = None) -> None:
        """Show it beside the bar."""
        self._stage, self._steps, self._done = name, f" of {total:,}" if total else "", 0
        self._draw()

    def advance(self, steps: int) -> None:
        """Count the steps of the stage."""
        self._done += steps
        self._draw()

    def waiting(self, reason: str, seconds: float) -> None:
        """Say what takes long."""
        self._print(f"waits {seconds:.0f} s, {reason}" if seconds else reason)

    def warning(self, message: str) -> None:
        """Print a warning that was not printed before."""
        if message not in self.warned:
            self.warned.add(message)
            self._print(f"Warning: {message}")

    def cell_started(self, number: int, name: str) -> None:
        """Say that it begins, where no bar moves."""
        if not self._draws:
            self._print(f"{_now()} [{number}/{self.n_cells}] begins: {name}")

    def cell_finished(self, number: int, name: str, outcome: Mapping[str, Any]) -> None:
        """Count it, and say what came of it."""
        state = outcome["state"]
        self._totals[state] += 1
        if state == "done":
            for what in ("input_tokens", "output_tokens", "cost"):
                self._totals[what] += outcome[what] or 0
        if state == "failed":
            line = f"failed: {name}: {outcome['error']}"
        else:
            line = f"{state} in {outcome['seconds']:.1f} s: {name}{_main_score(outcome)}"
            if outcome["failed_queries"]:
                line += f", {outcome['failed_queries']} of {outcome['n_queries']} queries failed"
        self._print(f"{_now()} [{number}/{self.n_cells}] {line}")
        if self._draws:
            self._stage = ""
            self.progress.advance(self._bar)
            self._draw()

    def _draw(self) -> None:
        if self._draws and self.progress.task_ids:
            steps = f" {self._done:,}{self._steps}" if self._done else ""
            parts = [self._counts(), _plain(self._stage) + steps]
            self.progress.update(self._bar, description=" · ".join(filter(None, parts)) or "cells")

    def _print(self, line: str) -> None:
        self._console.print(_plain(line), markup=False, highlight=False, soft_wrap=True)

    def _counts(self) -> str:
        n = self._totals
        parts = [f"{n[state]} {state}" for state in ("done", "reused", "failed") if n[state]]
        if n["input_tokens"] or n["output_tokens"]:
            parts.append(f"{n['input_tokens']:,} tokens in, {n['output_tokens']:,} out")
        if n["cost"]:
            parts.append(f"cost {n['cost']:.4f}")
        return " · ".join(parts)


def _now() -> str:
    return time.strftime("%H:%M:%S")


def _plain(text: str) -> str:
    return visible(without_secrets(text))


def _main_score(outcome: Mapping[str, Any]) -> str:
    """Metric and value of the main score; empty where there is none, or over no query."""
    specs = outcome.get("specs", {})
    scores = {name: {"spec": specs.get(name)} for name in outcome["scores"]}
    metric = headline(scores) if scores else None
    if metric is None or outcome["scores"][metric] is None:
        return ""
    return f": {metric} {spec_of(metric, scores[metric]).text(outcome['scores'][metric])}"
