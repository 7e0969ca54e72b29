"""An observer in a worker that sends its events on."""

from collections.abc import Callable, Mapping
from typing import Any

from target_bench.core.observer import Observer
from target_bench.core.schema import Generation
from target_bench.harness.sweeps.executors import Heard


class Relay(Observer):
    """Sends every call on as a ``Heard``.

    Args:
        send: takes a ``Heard`` to the process of the sweep.
        cell: the number of the cell that is heard of, or None.
    """

    def __init__(self, send: Callable[[Heard], None], cell: int | None = None) -> None:
        self._send = send
        self._cell = cell

    def of_cell(self, number: int) -> Observer:
        """Return the same for what goes on in a cell."""
        return Relay(self._send, number)

    def stage(self, name: str, total: int | None = None) -> None:
        """Send it on."""
        self._tell("stage", name, total)

    def advance(self, steps: int) -> None:
        """Send it on."""
        self._tell("advance", steps)

    def answered(self, generation: Generation) -> None:
        """Send it on."""
        self._tell("answered", generation)

    def waiting(self, reason: str, seconds: float) -> None:
        """Send it on."""
        self._tell("waiting", reason, seconds)

    def warning(self, message: str) -> None:
        """Send it on."""
        self._tell("warning", message)

    def cell_started(self, number: int, name: str) -> None:
        """Send it on."""
        self._tell("cell_started", number, name)

    def cell_finished(self, number: int, name: str, outcome: Mapping[str, Any]) -> None:
        """Send it on."""
        self._tell("cell_finished", number, name, outcome)

    def _tell(self, method: str, *arguments: Any) -> None:
        self._send(Heard(self._cell, method, arguments))
