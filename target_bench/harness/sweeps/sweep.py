"""A sweep: read from its file, looked at, run, and gone on with."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from target_bench.core.observer import Observer
from target_bench.core.settings import option_info
from target_bench.harness.options import OPTIONS, PROMPT_OPTIONS, read_option
from target_bench.harness.stages.consent import Estimate
from target_bench.harness.sweeps.cell import CellOutcome, failed
from target_bench.harness.sweeps.config import SweepConfig
from target_bench.harness.sweeps.executors import Executor, Local
from target_bench.harness.sweeps.grid import cells
from target_bench.harness.sweeps.plan import PlannedCell, planned
from target_bench.harness.sweeps.records import Records
from target_bench.harness.sweeps.sweep_file import SweepFile

_OF_ANSWERS = {"generators", *(option_info(OPTIONS[name]).sweep for name in PROMPT_OPTIONS)}
"""Entries that cells about retrieval do not read."""


@dataclass(frozen=True)
class Sweep:
    """The cells of a file, each looked at: what is there of it, and what it would cost.

    Attributes:
        name: what its files are called.
        file: where it was read from.
        out: where its runs go.
        cells: its cells, in order.
        sha256: of the file, when it was read.
    """

    name: str
    file: Path
    out: Path
    cells: Sequence[PlannedCell]
    sha256: str

    @classmethod
    def load(
        cls,
        file: str | Path,
        *,
        out: str | Path | None = None,
        memory: str | int | None = None,
        observer: Observer | None = None,
    ) -> "Sweep":
        """Read a file, load its corpora and build its plug-ins once; nothing is asked or written.

        Args:
            file: the YAML file.
            out: where runs go, in place of what the file says.
            memory: what all workers together should keep to, in place of what the file says.
            observer: gets loading.

        Raises:
            ConfigError: the file, or what it asks for, is invalid; with its entry each.
            DataError: a corpus is missing or broken.
        """
        path = Path(file)
        document = SweepFile.read(path)
        config = SweepConfig.of(document)
        if out is not None:
            config = config.model_copy(update={"out": Path(out)})
        if memory is not None:
            config.chosen["memory"] = read_option("memory", memory, "--memory: memory")
        folder = config.out.resolve()
        indexes = (config.chosen["indexes"] or folder / ".indexes").resolve()
        observer = observer or Observer()
        placed = cells(config, document)
        if len(placed) > _MANY:
            observer.waiting(f"{path}: {len(placed):,} cells are looked at", 0.0)
        planned_cells = planned(placed, document, indexes, observer)
        if all(planned.cell.generator is None for planned in planned_cells):
            for name in sorted(_OF_ANSWERS & document.content.keys()):
                where = document.at((name,))
                observer.warning(f"{where} changes nothing: no cell is about answers")
        return cls(config.name or path.stem, path, folder, planned_cells, document.sha256)

    @property
    def estimates(self) -> list[Estimate]:
        """Requests to plug-ins that may cost money, over all cells."""
        groups: dict[tuple[str, bool], list[Estimate]] = {}
        for part in (estimate for cell in self.cells for estimate in cell.estimates):
            groups.setdefault((part.plugin, part.input_tokens is None), []).append(part)
        return [_sum(parts) for parts in groups.values()]

    def run(
        self, executor: Executor | None = None, observer: Observer | None = None
    ) -> list[CellOutcome]:
        """Run all cells, and go on where an earlier time was stopped.

        A cell that fails costs no other one. ``NAME.sweep.json`` in the folder of runs is kept up
        to date; the results of all cells are written at the end.

        Args:
            executor: where cells run; default: one process of this machine.
            observer: gets the cells, and of what goes on in them.

        Raises:
            StoreError: the folder of runs cannot be written.
        """
        records = Records(self.out, self.name, self.file, self.sha256, self.cells)
        outcomes: dict[int, CellOutcome] = {}
        records.write_manifest(outcomes)
        for outcome in self._outcomes(executor or Local(), observer or Observer()):
            outcomes[outcome.cell.number] = outcome
            records.write_manifest(outcomes)
        cells = [planned.cell for planned in self.cells]
        in_order = [outcomes.get(c.number, failed(c, _FORGOTTEN)) for c in cells]
        records.write_results(in_order)
        return in_order

    def _outcomes(self, executor: Executor, observer: Observer) -> Iterator[CellOutcome]:
        coming = executor.run([planned.cell for planned in self.cells], observer)
        try:
            for outcome in coming:
                yield outcome
                cell = outcome.cell
                observer.cell_finished(cell.number, str(cell), outcome_event(outcome))
        finally:
            close = getattr(coming, "close", None)  # of a generator: it ends its workers
            if close is not None:
                close()


_MANY = 1_000
"""Cells that take so long to look at that a user is told."""

_FORGOTTEN = "the executor ended without saying what became of this cell"


def _sum(parts: Sequence[Estimate]) -> Estimate:
    tokens = [part.input_tokens for part in parts if part.input_tokens is not None]
    costs = [part.cost for part in parts if part.cost is not None]
    return Estimate(
        parts[0].plugin,
        sum(part.requests for part in parts),
        sum(tokens) if len(tokens) == len(parts) else None,
        sum(costs) if len(costs) == len(parts) else None,
        parts[0].sent,
    )


def outcome_event(outcome: CellOutcome) -> dict[str, Any]:
    """Return an outcome as observers get it; see ``Observer.cell_finished``."""
    return {
        "state": outcome.state,
        "error": outcome.error,
        "folder": str(outcome.folder) if outcome.folder else None,
        "seconds": round(outcome.seconds, 6),
        "scores": {name: s.to_json()["value"] for name, s in outcome.scores.items()},
        "specs": {name: s.spec.to_json() for name, s in outcome.scores.items() if s.spec},
        "n_queries": outcome.n_queries,
        "failed_queries": outcome.failed_queries,
        "input_tokens": outcome.input_tokens,
        "output_tokens": outcome.output_tokens,
        "cost": outcome.cost,
    }
