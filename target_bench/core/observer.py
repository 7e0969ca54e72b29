"""The observer: what an evaluation reports while it runs."""

import warnings
from collections.abc import Mapping
from typing import Any

from target_bench.core.schema import Generation


class Observer:
    """Hears what the harness does. Override what interests you; the defaults are silent.

    Warnings go to Python's ``warnings`` unless ``warning`` is overridden. A sweep runs many cells,
    some at the same time: it says which cell begins and ends, and tells what goes on in a cell to
    ``of_cell`` of that cell. All of it is told in the process and thread that called the sweep.
    """

    def stage(self, name: str, total: int | None = None) -> None:
        """A stage (load, embed, retrieve, score) begins, of ``total`` steps where known."""

    def advance(self, steps: int) -> None:
        """``steps`` more steps of the current stage are done."""

    def answered(self, generation: Generation) -> None:
        """A generator gave an answer, or failed; its text, tokens, cost and seconds."""

    def waiting(self, reason: str, seconds: float) -> None:
        """Nothing happens for a while, and why."""

    def warning(self, message: str) -> None:
        """Something the user should know, though the run goes on."""
        warnings.warn(message, stacklevel=3)

    def of_cell(self, number: int) -> "Observer":  # noqa: ARG002 (for those that tell them apart)
        """What hears of the stages, answers and warnings of a cell. Default: this observer."""
        return self

    def cell_started(self, number: int, name: str) -> None:
        """A cell of a sweep begins; again if its worker was lost and it is run once more.

        Args:
            number: its place in the sweep, from 1.
            name: what it runs.
        """

    def cell_finished(self, number: int, name: str, outcome: Mapping[str, Any]) -> None:
        """A cell is finished, or failed.

        Args:
            number: its place in the sweep, from 1.
            name: what it ran.
            outcome: as JSON: ``state`` (done, reused, failed), ``error``, ``folder``, ``seconds``,
                ``scores`` (metric -> value), ``n_queries``, ``failed_queries``, ``input_tokens``,
                ``output_tokens`` and ``cost``.
        """
