"""Progress and warnings on the terminal; standard output is left to results."""

import sys
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import TextIO

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from target_bench.core.observer import Observer

_EVERY = 60.0
"""Seconds between two lines on a stage, where no bar is drawn."""

_PACKAGE = Path(__file__).parent.parent
_ACTIVE: list["TerminalObserver"] = []


@contextmanager
def paused() -> Iterator[None]:
    """Take the bar off the terminal, as long as a question stands there."""
    active = [observer for observer in _ACTIVE if not observer._progress.disable]
    for observer in active:
        observer._progress.stop()
    try:
        yield
    finally:
        for observer in active:
            observer._progress.start()


class TerminalObserver(Observer):
    """A line a stage with a bar where the number of steps is known, on standard error.

    Bars are drawn on a terminal only. Elsewhere, as in a log, a stage that takes long has a line a
    minute: how far it is, and how much longer it takes at this rate. Warnings are printed always,
    each once; those that this package gives to Python's ``warnings``, as of a damaged file in the
    cache, too.
    """

    def __init__(self) -> None:
        self._console = Console(file=sys.stderr, emoji=False)
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            console=self._console,
            transient=True,
            disable=not self._console.is_terminal,
        )
        self._task: TaskID | None = None
        self._warned: set[str] = set()

    def __enter__(self) -> "TerminalObserver":
        self._progress.start()
        _ACTIVE.append(self)
        self._show_other = warnings.showwarning
        warnings.showwarning = self._show
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        warnings.showwarning = self._show_other
        _ACTIVE.remove(self)
        if not self._progress.disable:  # else rich before 14.3 prints an empty line
            self._progress.stop()

    def _show(
        self,
        message: Warning | str,
        category: type[Warning],
        filename: str,
        lineno: int,
        file: TextIO | None = None,
        line: str | None = None,
    ) -> None:
        if category is UserWarning and Path(filename).is_relative_to(_PACKAGE):
            self.warning(str(message))
        else:
            self._show_other(message, category, filename, lineno, file, line)

    def stage(self, name: str, total: int | None = None) -> None:
        """Replace the bar of the stage before."""
        if self._task is not None:
            self._progress.remove_task(self._task)
        self._task = self._progress.add_task(name, total=total)
        self._name, self._total, self._done = name, total, 0
        self._begun = self._said = time.monotonic()

    def advance(self, steps: int) -> None:
        """Move the bar."""
        if self._task is not None:
            self._progress.advance(self._task, steps)
            self._done += steps
            if not self._console.is_terminal:
                self._say()

    def _say(self) -> None:
        now = time.monotonic()
        if now - self._said < _EVERY or not self._total or not self._done:
            return
        self._said = now
        left = (now - self._begun) / self._done * (self._total - self._done)
        self._console.print(
            f"{self._name}: {self._done:,} of {self._total:,}, about {left:,.0f} s left",
            markup=False,
            highlight=False,
        )

    def waiting(self, reason: str, seconds: float) -> None:
        """Say that nothing happens for a while, and why."""
        self._console.print(f"Waiting {seconds:.0f} s: {reason}", markup=False, highlight=False)

    def warning(self, message: str) -> None:
        """Print a warning that was not printed before."""
        if message not in self._warned:
            self._warned.add(message)
            self._console.print(
                f"Warning: {message}", markup=False, highlight=False, soft_wrap=True
            )
