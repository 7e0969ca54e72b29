"""Observers of the progress of an evaluation: the interface, and one that prints it."""

import os
import sys
import time
import warnings
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

from target_bench.core.credentials import without_secrets
from target_bench.core.schema import Generation
from target_bench.core.text_tables import visible

if TYPE_CHECKING:
    from rich.progress import Progress as RichProgress
    from rich.progress import TaskID


class Observer:
    """Receives progress and warnings. Override the methods that you need; the others are silent.

    ```python
    from target_bench import Observer, evaluate

    class Stages(Observer):
        def stage(self, name, total=None):
            print(name, total)

    evaluate("bm25", "mini", observer=Stages())
    # load mini None
    # bm25: embed mini None
    # bm25: retrieve 280
    # bm25: score None
    ```

    Warnings go to Python's ``warnings`` unless ``warning`` is overridden. A sweep runs many cells,
    some at the same time: the progress of each goes to the observer that ``observe_cell`` returns,
    and of a cell in another process only its warnings, when it ends. All calls are made in the
    process of the sweep.
    """

    def stage(self, name: str, total: int | None = None) -> None:
        """Begin a stage (load, embed, retrieve, score) of ``total`` steps; None: not known."""

    def advance(self, steps: int) -> None:
        """Count ``steps`` more steps of the current stage as done."""

    def finished(self) -> None:
        """Report that a call of ``evaluate`` returned or raised."""

    def answered(self, generation: Generation) -> None:
        """Report an answer of a generator, or its failure: text, tokens, cost and seconds."""

    def waiting(self, reason: str, seconds: float | None = None) -> None:
        """Report that the run waits, and for how many seconds; None for another process's lock.

        Default: a warning where the seconds are not known.
        """
        if seconds is None:
            self.warning(reason)

    def warning(self, message: str) -> None:
        """Warn the user of something; the run goes on."""
        warnings.warn(without_secrets(message), stacklevel=_find_stacklevel())

    def note(self, message: str) -> None:
        """Tell the user of a property of the data that may concern many questions."""
        self.warning(message)

    def observe_cell(self, number: int) -> "Observer":  # noqa: ARG002 (for overrides)
        """Return the observer of the stages, answers and warnings of a cell. Default: this one."""
        return self

    def cell_started(self, number: int, name: str) -> None:
        """Report that a cell of a sweep begins; again if its worker process was lost.

        Args:
            number: its number in the sweep, from 1.
            name: its retriever, generator, corpus and options.
        """

    def cell_finished(self, number: int, name: str, outcome: Any) -> None:
        """Report that a cell is finished, or failed.

        Args:
            number: as for ``cell_started``.
            name: as for ``cell_started``.
            outcome: a ``harness.sweeps.CellOutcome``: its state, scores, counts and error.
        """


class Progress(Observer):
    """Shows stages and warnings on standard error: a bar on a terminal, else lines.

    ```python
    from target_bench import Progress, evaluate

    results = evaluate("bm25", "mini", observer=Progress())
    print(results["bm25"]["recall@10"])  # .982 [.961, .992]
    ```

    ``evaluate`` uses it by itself in a notebook; elsewhere ask for it with
    ``evaluate(..., observer=Progress())``. A bar disappears when its stage ends. Where there is no
    terminal, a stage that takes long has a line a minute, in a notebook one every ten seconds.
    Each warning is printed once.
    """

    def __init__(self) -> None:
        self.warned: set[str] = set()
        self.bars: RichProgress | None = None
        self._task: TaskID | None = None
        self._name = ""

    def stage(self, name: str, total: int | None = None) -> None:
        """Replace the bar of the stage before."""
        self.finished()
        self._name, self._total, self._done, self._failed = clean(name), total, 0, 0
        self._begun = self._last_line = time.monotonic()
        self.start_bars()
        if self.bars is not None:
            self._task = self.bars.add_task(self._name, total=total)

    def start_bars(self) -> None:
        """Begin to draw on standard error, if it is a terminal that can move its cursor."""
        if self.bars is None and sys.stderr.isatty() and os.environ.get("TERM") != "dumb":
            self.bars = _make_bars()
        if self.bars is not None:
            self.bars.start()

    def advance(self, steps: int) -> None:
        """Move the bar."""
        if self.bars is not None and self._task is not None:
            self.bars.advance(self._task, steps)
        if not self._name or self.bars is not None:
            return
        self._done += steps
        now = time.monotonic()
        interval = 10 if _is_in_notebook() else 60
        if now - self._last_line >= interval and self._total and self._done:
            self._last_line = now
            left = (now - self._begun) / self._done * (self._total - self._done)
            far = f"{self._done:,} of {self._total:,}, about {left:,.0f} s left"
            self.say(f"{self._label}: {far}")

    def finished(self) -> None:
        """Remove the bar."""
        self.remove_bar()
        if self.bars is not None:
            self.bars.stop()

    def remove_bar(self) -> None:
        """Remove the bar of the stage; those of later stages can be drawn."""
        if self.bars is not None and self._task is not None:
            self.bars.remove_task(self._task)
        self._task, self._name = None, ""

    def answered(self, generation: Generation) -> None:
        """Count failed answers beside the name of the stage."""
        if generation.error is not None and self._name:
            self._failed += 1
            if self.bars is not None and self._task is not None:
                self.bars.update(self._task, description=self._label)

    @property
    def _label(self) -> str:
        return f"{self._name} ({self._failed:,} failed)" if self._failed else self._name

    def waiting(self, reason: str, seconds: float | None = None) -> None:
        """Say that nothing happens for a while, and why."""
        how_long = "Waiting" if seconds is None else f"Waiting {seconds:.0f} s"
        self.say(f"{how_long}: {clean(reason)}")

    def warning(self, message: str) -> None:
        """Print a warning that was not printed before."""
        message = clean(message)
        if message not in self.warned:
            self.warned.add(message)
            self.say(message, "Warning: ")

    def say(self, message: str, heading: str = "") -> None:
        """Print a line, above the bar where there is one."""
        if self.bars is None:
            sys.stderr.write(f"{heading}{message}\n")
            return
        from rich.text import Text

        line = Text.assemble((heading, "yellow"), message)
        self.bars.console.print(line, soft_wrap=True)


def clean(text: str) -> str:
    """Return a text of others without secrets and control characters."""
    return visible(without_secrets(text))


def _make_bars() -> "RichProgress":
    from rich import progress
    from rich.console import Console

    return progress.Progress(
        progress.TextColumn("{task.description}", markup=False),
        progress.BarColumn(),
        progress.MofNCompleteColumn(),
        progress.TimeElapsedColumn(),
        progress.TimeRemainingColumn(),
        console=Console(file=sys.stderr, emoji=False),
        transient=True,
    )


def default_observer() -> Observer:
    """Return an observer that shows progress in a notebook, and is silent elsewhere."""
    return Progress() if _is_in_notebook() else Observer()


def _is_in_notebook() -> bool:
    ipython: Any = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return shell is not None and "IPKernelApp" in shell.config


_PACKAGE = f"{Path(__file__).parents[1]}{os.sep}"


def _find_stacklevel() -> int:
    """Return the ``stacklevel`` of the user's line that called this package."""
    files: list[str] = []
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        files.append(frame.f_code.co_filename)
        frame = frame.f_back
    # The outermost frame of the package: frames of contextlib lie between those of the package.
    ours = max(i for i, file in enumerate(files) if file.startswith(_PACKAGE))
    return min(ours + 2, len(files))
