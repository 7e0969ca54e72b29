"""A sweep: read from its file, planned, run and resumed."""

import json
import os
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from target_bench.core.errors import ConfigError
from target_bench.core.observer import Observer
from target_bench.core.text_tables import csv_text
from target_bench.harness.consent import Estimate
from target_bench.harness.sweeps.cell import CellOutcome, CellState, fail_cell, forget_data
from target_bench.harness.sweeps.executors import Executor, Local
from target_bench.harness.sweeps.grid import read_cells, read_name
from target_bench.harness.sweeps.plan import PlannedCell, merge_estimates, plan_cells
from target_bench.harness.yaml_file import YamlFile
from target_bench.runs.record_log import write_file


@dataclass(frozen=True)
class Sweep:
    """The cells of a file, planned: what is on disk of each, and what the rest would cost.

    Attributes:
        name: what its files are called.
        out: the folder of its runs and files.
        cells: its cells, in order.
    """

    name: str
    out: Path
    cells: Sequence[PlannedCell]

    @classmethod
    def load(
        cls,
        file: str | Path,
        *,
        out: str | Path | None = None,
        observer: Observer | None = None,
    ) -> "Sweep":
        """Read a file, load its corpora and build its plug-ins once; nothing is asked or written.

        Args:
            file: the YAML file.
            out: where runs go, in place of what the file says.
            observer: gets loading.

        Raises:
            ConfigError: the file, or what it asks for, is invalid; with its entry each.
            DataError: a corpus is missing or broken.
            PluginError: a plug-in cannot be made.
        """
        yaml_file = YamlFile.read(Path(file))
        cells = read_cells(yaml_file, None if out is None else Path(out))
        if not cells:
            raise ConfigError(
                f"{file}: generators are listed, but no corpus has answers for a task"
                " to score; remove the generators, or name a corpus with answers"
            )
        forget_data()  # of an earlier sweep, whose files may have been edited since
        planned = plan_cells(cells, yaml_file, observer or Observer())
        return cls(read_name(yaml_file), cells[0].config.out, planned)

    @property
    def estimates(self) -> list[Estimate]:
        """Requests to plug-ins that may cost money, over all cells."""
        return merge_estimates(estimate for cell in self.cells for estimate in cell.estimates)

    def run(
        self, executor: Executor | None = None, observer: Observer | None = None
    ) -> list[CellOutcome]:
        """Run all cells, and resume those that were interrupted.

        A cell that fails does not stop the others. ``NAME.sweep.json`` in the folder of runs is
        kept up to date; the results of all cells are written at the end.
        """
        executor, observer = executor or Local(), observer or Observer()
        cells = [planned.cell for planned in self.cells]
        outcomes: dict[int, CellOutcome] = {}  # by the number of the cell
        self._write_states(outcomes)
        with closing(executor.run(cells, observer)) as coming:  # closing it ends its workers
            for outcome in coming:
                cell = outcome.cell
                outcomes[cell.number] = outcome
                self._write_states(outcomes)
                observer.cell_finished(cell.number, str(cell), outcome)
        lost = "the executor ended without saying what became of this cell"
        outcomes = {cell.number: fail_cell(cell, lost) for cell in cells} | outcomes
        self._write_states(outcomes)
        in_order = [outcomes[cell.number] for cell in cells]
        self._write_results(in_order)
        return in_order

    def _write_states(self, outcomes: Mapping[int, CellOutcome]) -> None:
        """Write ``NAME.sweep.json``: folder, state and error of each cell, as far as known."""
        entries = []
        for planned in self.cells:
            outcome = outcomes.get(planned.cell.number)
            state: CellState = planned.state
            folder, error = planned.folder, None
            if outcome is not None:
                # A reused cell is finished: the file is the same when the sweep is run again.
                state = "failed" if outcome.error else "finished"
                folder, error = outcome.folder or folder, outcome.error
            entries.append(
                {
                    **planned.cell.to_json(),
                    "key": planned.key,
                    "folder": os.path.relpath(folder, self.out) if folder else None,
                    "state": state,
                    "error": error,
                }
            )
        write_file(self.out / f"{self.name}.sweep.json", _encode_json({"cells": entries}))

    def _write_results(self, outcomes: Sequence[CellOutcome]) -> None:
        """Write ``NAME.results.json`` and ``.csv``: a row of each cell."""
        rows = [outcome.to_row() for outcome in outcomes]
        for row in rows:
            row["folder"] = row["folder"] and os.path.relpath(row["folder"], self.out)
        write_file(self.out / f"{self.name}.results.json", _encode_json({"cells": rows}))
        as_csv = csv_text(rows).encode("utf-8", "surrogatepass")
        write_file(self.out / f"{self.name}.results.csv", as_csv)


def _encode_json(content: Mapping[str, Any]) -> bytes:
    text = json.dumps(content, indent=1, ensure_ascii=False) + "\n"
    return text.encode("utf-8", "surrogatepass")
