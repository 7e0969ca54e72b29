"""A sweep on the terminal: a live view where there is one, else one line per event."""

import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any

from rich.console import Console, Group
from rich.live import Live
from rich.padding import Padding
from rich.progress_bar import ProgressBar
from rich.text import Text

from target_bench.core.observer import Observer
from target_bench.core.settings import without_secrets
from target_bench.core.text_tables import visible
from target_bench.metrics.scores import headline, spec_of

QUIET, NORMAL, VERBOSE = 0, 1, 2
_SHOWN_FAILURES = 5


@dataclass
class _Running:
    """A cell that is being run."""

    name: str
    stage: str = "begins"
    steps: int = 0
    total: int | None = None
    since: float = field(default_factory=time.monotonic)


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
        self._began = time.monotonic()
        self._running: dict[int, _Running] = {}
        self._states: dict[str, int] = {"done": 0, "reused": 0, "failed": 0}
        self._failures: list[str] = []
        self._tokens = [0, 0]
        self._cost = 0.0
        self._warned: set[str] = set()
        self._live = Live(
            get_renderable=self._view, console=self._console, refresh_per_second=4, transient=True
        )

    @property
    def _is_live(self) -> bool:
        return self._console.is_terminal and self._level > QUIET

    def __enter__(self) -> "SweepView":
        self._began = time.monotonic()
        if self._is_live:
            self._live.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._live.stop()

    def of_cell(self, number: int) -> Observer:
        """Return the observer of one cell."""
        return _CellView(self, number)

    def waiting(self, reason: str, seconds: float) -> None:  # noqa: ARG002 (of Observer)
        """Say what takes long before the cells begin."""
        self._log(reason, NORMAL)

    def warning(self, message: str) -> None:
        """Print a warning that was not printed before."""
        if self._level > QUIET and message not in self._warned:
            self._warned.add(message)
            self._say(f"Warning: {message}")

    def cell_started(self, number: int, name: str) -> None:
        """Show it among the running cells, or say that it begins."""
        self._running[number] = _Running(name)
        self._log(f"[{number}/{self.n_cells}] begins: {name}", NORMAL)

    def cell_finished(self, number: int, name: str, outcome: Mapping[str, Any]) -> None:
        """Count it, and say what came of it."""
        self._running.pop(number, None)
        state = outcome["state"]
        self._states[state] += 1
        if state == "failed":
            self._failures.append(f"[{number}/{self.n_cells}] {name}: {outcome['error']}")
            said = f"failed: {name}: {outcome['error']}"
        else:
            if state == "done":
                self._tokens[0] += outcome.get("input_tokens") or 0
                self._tokens[1] += outcome.get("output_tokens") or 0
                self._cost += outcome.get("cost") or 0.0
            said = f"{state} in {outcome['seconds']:.1f} s: {name}{_main_score(outcome)}"
            if outcome["failed_queries"]:
                said += f", {outcome['failed_queries']} of {outcome['n_queries']} queries failed"
        self._log(f"[{number}/{self.n_cells}] {said}", NORMAL)

    def _log(self, line: str, level: int) -> None:
        """Print a line of the log: where no live view shows the same, or all is wanted."""
        if self._level >= level and (not self._is_live or self._level == VERBOSE):
            self._say(f"{time.strftime('%H:%M:%S')} {line}")

    def _say(self, line: str) -> None:
        self._console.print(
            visible(without_secrets(line)), markup=False, highlight=False, soft_wrap=True
        )

    def _view(self) -> Group:
        finished = sum(self._states.values())
        lines: list[Any] = [
            Padding(ProgressBar(max(1, self.n_cells), finished, width=60), 0),
            Text(self._counts(finished)),
        ]
        for number, cell in sorted(self._running.items()):
            steps = f" {cell.steps}/{cell.total}" if cell.total else ""
            seconds = time.monotonic() - cell.since
            said = f"  {number:>4} {cell.stage}{steps}, {seconds:.0f} s: {cell.name}"
            lines.append(Text(visible(without_secrets(said))))
        failures = map(visible, map(without_secrets, self._latest_failures()))
        lines += [Text(f"  failed {line}", style="red") for line in failures]
        for line in lines[1:]:
            line.no_wrap, line.overflow = True, "ellipsis"
        return Group(*lines)

    def _latest_failures(self) -> list[str]:
        return [failure.splitlines()[0] for failure in self._failures[-_SHOWN_FAILURES:]]

    def _counts(self, finished: int) -> str:
        states = [f"{n} {state}" for state, n in self._states.items() if n]
        parts = [f"{finished} of {self.n_cells} cells", *states, f"{len(self._running)} running"]
        seconds = time.monotonic() - self._began
        worked = self._states["done"] + self._states["failed"]
        if worked:
            rate = worked / seconds
            left = (self.n_cells - finished) / rate
            parts += [f"{60 * rate:.1f} cells/min", f"{_clock(left)} left"]
        else:
            parts.append(_clock(seconds))
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
        cell = self._view._running.get(self._number)
        if cell is not None:
            stage = name.rpartition(": ")[2]  # what it is a stage of stands in the cell's name
            cell.stage, cell.steps, cell.total = stage, 0, total
        self._log(name)

    def advance(self, steps: int) -> None:
        """Count it."""
        cell = self._view._running.get(self._number)
        if cell is not None:
            cell.steps += steps

    def waiting(self, reason: str, seconds: float) -> None:
        """Show it beside the cell."""
        said = f"waits {seconds:.0f} s: {reason}" if seconds else f"waits: {reason}"
        cell = self._view._running.get(self._number)
        if cell is not None:
            cell.stage, cell.total = said, None
        self._log(said)

    def warning(self, message: str) -> None:
        """Print it, once for the whole sweep."""
        self._view.warning(message)

    def _log(self, said: str) -> None:
        self._view._log(f"[{self._number}/{self._view.n_cells}] {said}", VERBOSE)


def _main_score(outcome: Mapping[str, Any]) -> str:
    """Metric and value of the main score; empty where there is none, or over no query."""
    specs = outcome.get("specs", {})
    scores = {name: {"spec": specs.get(name)} for name in outcome["scores"]}
    metric = headline(scores) if scores else None
    if metric is None or outcome["scores"][metric] is None:
        return ""
    return f": {metric} {spec_of(metric, scores[metric]).text(outcome['scores'][metric])}"


def _clock(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}"
