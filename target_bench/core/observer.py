"""Observers of the progress of an evaluation: the interface, and one that shows bars of tqdm."""

import os
import sys
import warnings
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

from target_bench.core.credentials import without_secrets
from target_bench.core.schema import Generation
from target_bench.core.text_tables import visible

if TYPE_CHECKING:
    from tqdm import tqdm


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
    """Shows a bar for each stage: a widget in a notebook, else a line on standard error.

    ```python
    from target_bench import Progress, evaluate

    results = evaluate("bm25", "mini", observer=Progress())
    print(results["bm25"]["recall@10"])  # .982 [.961, .992]
    ```

    ``evaluate`` uses it by itself in a notebook; elsewhere ask for it with
    ``evaluate(..., observer=Progress())``. Bars disappear when their stage ends. Without ipywidgets
    a notebook shows them as text.
    """

    _bar: "tqdm[Any] | None" = None

    def __init__(self) -> None:
        self._warned: set[str] = set()

    def warning(self, message: str) -> None:
        """Print a warning on standard error, each once."""
        if message not in self._warned:
            self._warned.add(message)
            if self._bar is not None:
                self._bar.clear()
            sys.stderr.write(f"Warning: {visible(without_secrets(message))}\n")

    def stage(self, name: str, total: int | None = None) -> None:
        """Show a bar, or the name alone where the number of steps is not known."""
        self.finished()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # tqdm warns if there are no ipywidgets
            from tqdm.auto import tqdm
        self._bar = tqdm(
            total=total, desc=name, leave=False, bar_format=None if total else "{desc} ..."
        )

    def advance(self, steps: int) -> None:
        """Move the bar."""
        if self._bar is not None:
            self._bar.update(steps)

    def finished(self) -> None:
        """Remove the bar."""
        if self._bar is not None:
            self._bar.close()
            self._bar = None


def default_observer() -> Observer:
    """Return an observer that shows progress in a notebook, and is silent elsewhere."""
    ipython: Any = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    in_notebook = shell is not None and "IPKernelApp" in shell.config
    return Progress() if in_notebook else Observer()


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
