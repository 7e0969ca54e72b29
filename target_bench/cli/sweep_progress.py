"""A sweep on the terminal: bars where there is one, else one line per event."""

import sys
import time
from collections.abc import Mapping
from types import TracebackType
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn

from target_bench.core.credentials import without_secrets
from target_bench.core.observer import Observer
from target_bench.core.text_tables import visible
from target_bench.metrics.scores import headline, spec_of

QUIET, NORMAL, VERBOSE = 0, 1, 2


class SweepView(Observer):
    """Cells, rate, remaining time, failures, tokens and cost, on standard error.

    Args:
        n_cells: how many cells there are.
        level: ``QUIET`` (nothing), ``NORMAL``, or ``VERBOSE``: stages and waiting as well.
        console: where to; default: standard error.
    """

    def __init__(self, n_cells: int = 0, level: int = NORMAL, console: Console | None = None):
        self.n_cells = n_cells
        self._level = level
        self._console = console or Console(file=sys.stderr, emoji=False)
        self._draws = self._console.is_terminal and level > QUIET
        self._progress = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(20),
            MofNCompleteColumn(),
            console=self._console,
            transient=True,
        )
        self._bars: dict[int, tuple[str, TaskID]] = {}
        self._states = {"done": 0, "reused": 0, "failed": 0}
        self._tokens = [0, 0]
        self._cost = 0.0
        self._warned: set[str] = set()

    def __enter__(self) -> "SweepView":
        self._began = time.monotonic()
        if self._draws:
            self._whole = self._progress.add_task("cells", total=self.n_cells)
            self._progress.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._draws:
            self._progress.stop()

    def of_cell(self, number: int) -> Observer:
        """Return the observer of one cell."""
        return _CellView(self, number)

    def waiting(self, reason: str, seconds: float) -> None:  # noqa: ARG002 (of Observer)
        """Say what takes long before the cells begin."""
        self.log(reason, NORMAL)

    def warning(self, message: str) -> None:
        """Print a warning that was not printed before."""
        if self._level > QUIET and message not in self._warned:
            self._warned.add(message)
            self._print(f"Warning: {message}")

    def cell_started(self, number: int, name: str) -> None:
        """Add its bar, or say that it begins."""
        if self._draws:
            self._bars[number] = name, self._progress.add_task(_plain(name), total=None)
        self.log(f"[{number}/{self.n_cells}] begins: {name}", NORMAL)

    def stage_of_cell(self, number: int, stage: str, total: int | None) -> None:
        """Show beside its name what a cell does."""
        if number in self._bars:
            name, bar = self._bars[number]
            description = _plain(f"{name}: {stage}")
            self._progress.update(bar, description=description, total=total, completed=0)

    def advance_cell(self, number: int, steps: int) -> None:
        """Move its bar."""
        if number in self._bars:
            self._progress.advance(self._bars[number][1], steps)

    def cell_finished(self, number: int, name: str, outcome: Mapping[str, Any]) -> None:
        """Count it, and say what came of it."""
        state = outcome["state"]
        self._states[state] += 1
        if state == "done":
            self._tokens[0] += outcome.get("input_tokens") or 0
            self._tokens[1] += outcome.get("output_tokens") or 0
            self._cost += outcome.get("cost") or 0.0
        if self._draws:
            if number in self._bars:
                self._progress.remove_task(self._bars.pop(number)[1])
            self._progress.update(self._whole, advance=1, description=self._counts())
        if state == "failed":
            line = f"failed: {name}: {outcome['error']}"
        else:
            line = f"{state} in {outcome['seconds']:.1f} s: {name}{_main_score(outcome)}"
            if outcome["failed_queries"]:
                line += f", {outcome['failed_queries']} of {outcome['n_queries']} queries failed"
        line = f"[{number}/{self.n_cells}] {line}"
        if state == "failed" and self._draws and self._level == NORMAL:
            self._print(line.splitlines()[0])  # stays above the bars
        self.log(line, NORMAL)

    def log(self, line: str, level: int) -> None:
        """Print a line of the log: where no bars show the same, or all is wanted."""
        if self._level >= level and (not self._draws or self._level == VERBOSE):
            self._print(f"{time.strftime('%H:%M:%S')} {line}")

    def _print(self, line: str) -> None:
        self._console.print(_plain(line), markup=False, highlight=False, soft_wrap=True)

    def _counts(self) -> str:
        parts = [f"{n} {state}" for state, n in self._states.items() if n]
        if worked := self._states["done"] + self._states["failed"]:
            rate = worked / (time.monotonic() - self._began)
            left = int((self.n_cells - sum(self._states.values())) / rate)
            parts += [f"{60 * rate:.1f} cells/min", f"{left // 60}:{left % 60:02} min left"]
        if any(self._tokens):
            parts.append(f"{self._tokens[0]:,} tokens in, {self._tokens[1]:,} out")
        if self._cost:
            parts.append(f"cost {self._cost:.4f}")
        return " · ".join(parts)


class _CellView(Observer):
    """The observer of one cell, which passes events on to the view."""

    def __init__(self, view: SweepView, number: int) -> None:
        self._view = view
        self._number = number

    def stage(self, name: str, total: int | None = None) -> None:
        """Show it beside the cell."""
        # what it is a stage of stands in the cell's name
        self._view.stage_of_cell(self._number, name.rpartition(": ")[2], total)
        self._log(name)

    def advance(self, steps: int) -> None:
        """Count it."""
        self._view.advance_cell(self._number, steps)

    def waiting(self, reason: str, seconds: float) -> None:
        """Show it beside the cell."""
        line = f"waits {seconds:.0f} s: {reason}" if seconds else f"waits: {reason}"
        self._view.stage_of_cell(self._number, line, None)
        self._log(line)

    def warning(self, message: str) -> None:
        """Print it, once for the whole sweep."""
        self._view.warning(message)

    def _log(self, line: str) -> None:
        self._view.log(f"[{self._number}/{self._view.n_cells}] {line}", VERBOSE)


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
