"""Progress of ``TARGET`` in notebooks and scripts, as bars of tqdm."""

import sys
import warnings
from typing import TYPE_CHECKING, Any

from target_bench.core.credentials import without_secrets
from target_bench.core.observer import Observer
from target_bench.core.text_tables import visible

if TYPE_CHECKING:
    from tqdm import tqdm


class Progress(Observer):
    """Shows a bar for each stage: a widget in a notebook, else a line on standard error.

    ``TARGET`` uses it by itself in a notebook; elsewhere ask for it with
    ``TARGET(..., observer=Progress())``. Bars disappear when their stage ends. Without ipywidgets
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
            warnings.simplefilter("ignore")  # that there are no ipywidgets
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
    return Progress() if _in_notebook() else Observer()


def _in_notebook() -> bool:
    ipython: Any = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return shell is not None and "IPKernelApp" in shell.config
