"""Progress and warnings on standard error: of a command, and of a sweep."""

import time
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from target_bench.core.observer import Progress, clean

if TYPE_CHECKING:
    from target_bench.core.metric import Score
    from target_bench.harness.sweeps import CellOutcome

_PACKAGE = Path(__file__).parent.parent
_ACTIVE: list["TerminalObserver"] = []


@contextmanager
def pause_bars() -> Iterator[None]:
    """Take the bar off the terminal, as long as a question stands there."""
    active = [observer.bars for observer in _ACTIVE if observer.bars is not None]
    for bars in active:
        bars.stop()
    try:
        yield
    finally:
        for bars in active:
            bars.start()


class TerminalObserver(Progress):
    """Progress, warnings and notes of a command, also those that Python's ``warnings`` are given.

    Its bar is on the terminal until the end, so that what anything prints stands above it.
    """

    def __init__(self) -> None:
        super().__init__()
        self.notes: dict[str, None] = {}

    def __enter__(self) -> Self:
        self.start_bars()
        _ACTIVE.append(self)
        self._show_other = warnings.showwarning
        warnings.showwarning = self._show
        return self

    def __exit__(self, _: object, error: BaseException | None, trace: object) -> None:
        if self.notes and error is None:
            count = len(self.notes)
            several = f"{count} on the tables: target-bench describe corpus CORPUS"
            self.say(next(iter(self.notes)) if count == 1 else several, "Note: ")
        warnings.showwarning = self._show_other
        _ACTIVE.remove(self)
        if self.bars is not None:
            self.bars.stop()

    def _show(
        self, message: Any, category: type[Warning], filename: str, *where: Any, **more: Any
    ) -> None:
        if category is UserWarning and Path(filename).is_relative_to(_PACKAGE):
            self.warning(str(message))
        else:
            self._show_other(clean(str(message)), category, filename, *where, **more)

    def finished(self) -> None:
        """Remove the bar."""
        self.remove_bar()

    def note(self, message: str) -> None:
        """Keep a note on the data; results are printed with it, and else it is at the end."""
        self.notes[message] = None


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

    def cell_finished(self, number: int, name: str, outcome: "CellOutcome") -> None:
        """Count it, and say how it ended."""
        counts = outcome.counts
        self._totals[outcome.state] += 1
        if outcome.state == "finished":
            for count in ("input_tokens", "output_tokens", "cost"):
                self._totals[count] += counts[count] or 0
        if outcome.state == "failed":
            line = f"failed: {name}: {outcome.error}"
        else:
            line = f"{outcome.state} in {outcome.seconds:.1f} s: {name}"
            line += _show_main_score(outcome.scores)
            if counts["failed_queries"]:
                line += f", {counts['failed_queries']} of {counts['n_queries']} queries failed"
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
        parts = [f"{n[state]} {state}" for state in ("finished", "reused", "failed") if n[state]]
        if n["input_tokens"] or n["output_tokens"]:
            parts.append(f"{n['input_tokens']:,} tokens in, {n['output_tokens']:,} out")
        if n["cost"]:
            parts.append(f"cost {n['cost']:.4f}")
        if self._name:
            total = f" of {self._total:,}" if self._total else ""
            parts.append(self._name + (f" {self._done:,}{total}" if self._done else ""))
        self.bars.update(self._task, description=" · ".join(parts) or "cells")


def _show_main_score(scores: "Mapping[str, Score]") -> str:
    """Return metric and value of the main score; empty where there is none, or over no query."""
    from target_bench.metrics.scores import find_main_metric, find_spec

    if not scores:
        return ""
    metric = find_main_metric(scores)
    score = scores[metric]
    if isnan(score.value):
        return ""
    return f": {metric} {find_spec(metric, score).text(score.value)}"
