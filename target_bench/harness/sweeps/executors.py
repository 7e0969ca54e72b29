"""Executors of cells: the protocol, and the executors by name."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Literal, Protocol

from target_bench.core.observer import Observer
from target_bench.harness.sweeps.sweep_cell import CellOutcome, SweepCell


class Executor(Protocol):
    """Runs cells somewhere. Each is run by ``run_cell``, in any process.

    An executor yields exactly one outcome per cell, as the cells are finished, in any order. A cell
    whose worker is lost is run once more, then yielded as ``cell.failed``; no error of a cell
    leaves ``run``. When the caller stops drawing (``close``, an interruption), it ends its workers.
    """

    def run(self, cells: Sequence[SweepCell], observer: Observer) -> Iterator[CellOutcome]:
        """Run the cells.

        Args:
            cells: those of one group wait for each other's index; while another one is there to
                begin, begin that.
            observer: gets, in the calling process, what ``run_cell`` reports in the workers; a
                ``Relay`` there and ``Heard.tell`` here carry it over.
        """
        ...


ExecutorName = Literal["local", "ray"]

_HOME: dict[ExecutorName, str] = {
    "local": "target_bench.harness.sweeps.local_executor:Local",
    "ray": "target_bench.harness.sweeps.ray_executor:Ray",
}


def named(name: ExecutorName, **settings: Any) -> Executor:
    """Return an executor by its name, imported when asked for.

    Raises:
        ConfigError: an invalid setting.
        MissingExtraError: what it needs is not installed.
    """
    module, _, attribute = _HOME[name].partition(":")
    executor: Executor = getattr(import_module(module), attribute)(**settings)
    return executor


@dataclass(frozen=True, slots=True)
class Heard:
    """A call of an observer's method, on its way from a worker: picklable.

    Attributes:
        cell: the number of the cell that it is about, or None for the sweep's own observer.
        method: the method of ``Observer``.
        arguments: what it was called with.
    """

    cell: int | None
    method: str
    arguments: tuple[Any, ...]

    @property
    def has_ranked(self) -> bool:
        """Whether its cell has gone on to answers: the index of its group is there."""
        return self.method == "stage" and str(self.arguments[0]).endswith(": generate")

    def tell(self, observer: Observer) -> None:
        """Call the method of the sweep's observer, or of the one it has for the cell."""
        own = observer if self.cell is None else observer.of_cell(self.cell)
        getattr(own, self.method)(*self.arguments)
