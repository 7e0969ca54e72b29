"""A sweep on the terminal: bars where there is one, else one line per event."""

import sys
import time
from collections import Counter
from collections.abc import Mapping
from types import TracebackType
from typing import Any

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeRemainingColumn,
)

from target_bench.core.credentials import without_secrets
from target_bench.core.observer import Observer
from target_bench.core.text_tables import visible
from target_bench.metrics.scores import headline, spec_of


class SweepView(Observer):
    """Cells, remaining time, failures, tokens and cost, on standard error.

    A terminal has a bar of all cells and one of each that runs; elsewhere, as in a log, a line says
    that a cell begins or ends.

    Args:
        quiet: whether nothing is printed.
        console: where to; default: standard error.
    """

    def __init__(self, quiet: bool = False, console: Console | None = None) -> None:
        self.n_cells = 0
        self._quiet = quiet
        self._console = console or Console(file=sys.stderr, emoji=False)
        self._draws = self._console.is_terminal and not quiet
        self.progress = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(20),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
            console=self._console,
            transient=True,
        )
        self._all_cells: TaskID | None = None
        self._bars: dict[int, tuple[TaskID, str]] = {}
        self._totals = Counter[str]()
        self._warned: set[str] = set()

    def __enter__(self) -> "SweepView":
        if self._draws:
            self._all_cells = self.progress.add_task("cells", total=self.n_cells)
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

    def waiting(self, reason: str, seconds: float) -> None:  # noqa: ARG002 (of Observer)
        """Say what takes long before the cells begin."""
        self._log(reason)

    def warning(self, message: str) -> None:
        """Print a warning that was not printed before."""
        if not self._quiet and message not in self._warned:
            self._warned.add(message)
            self._print(f"Warning: {message}")

    def of_cell(self, number: int) -> Observer:
        """Return the observer of one cell."""
        return _CellView(self, *self._bars.get(number, (None, "")))

    def cell_started(self, number: int, name: str) -> None:
        """Add its bar, or say that it begins."""
        if self._draws:
            self._bars[number] = self.progress.add_task(_plain(name), total=None), name
        self._log(f"[{number}/{self.n_cells}] begins: {name}")

    def cell_finished(self, number: int, name: str, outcome: Mapping[str, Any]) -> None:
        """Count it, and say what came of it."""
        self._totals[outcome["state"]] += 1
        if outcome["state"] == "done":
            for what in ("input_tokens", "output_tokens", "cost"):
                self._totals[what] += outcome[what] or 0
        if self._all_cells is not None:
            if number in self._bars:
                self.progress.remove_task(self._bars.pop(number)[0])
            self.progress.update(self._all_cells, advance=1, description=self._counts())
        if outcome["state"] == "failed":
            line = f"[{number}/{self.n_cells}] failed: {name}: {outcome['error']}"
            if self._draws:
                self._print(line.splitlines()[0])  # stays above the bars
        else:
            took = f"{outcome['state']} in {outcome['seconds']:.1f} s"
            line = f"[{number}/{self.n_cells}] {took}: {name}{_main_score(outcome)}"
            if outcome["failed_queries"]:
                line += f", {outcome['failed_queries']} of {outcome['n_queries']} queries failed"
        self._log(line)

    def _log(self, line: str) -> None:
        """Print a line where no bars show the same."""
        if not self._quiet and not self._draws:
            self._print(f"{time.strftime('%H:%M:%S')} {line}")

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


class _CellView(Observer):
    """The observer of one cell, which moves its bar, if it has one."""

    def __init__(self, view: SweepView, bar: TaskID | None, name: str) -> None:
        self._view, self._bar, self._name = view, bar, name

    def stage(self, name: str, total: int | None = None) -> None:
        """Show it beside the cell."""
        if self._bar is not None:
            # what it is a stage of stands in the cell's name
            text = _plain(f"{self._name}: {name.rpartition(': ')[2]}")
            self._view.progress.update(self._bar, description=text, total=total, completed=0)

    def advance(self, steps: int) -> None:
        """Count it."""
        if self._bar is not None:
            self._view.progress.advance(self._bar, steps)

    def waiting(self, reason: str, seconds: float) -> None:
        """Show it beside the cell."""
        self.stage(f"waits {seconds:.0f} s, {reason}" if seconds else f"waits, {reason}")

    def warning(self, message: str) -> None:
        """Print it, once for the whole sweep."""
        self._view.warning(message)


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
