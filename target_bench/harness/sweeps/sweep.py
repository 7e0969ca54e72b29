"""A sweep: read from its file, looked at, run, and gone on with."""

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from target_bench.core.observer import Observer
from target_bench.core.text_tables import csv_text
from target_bench.harness.consent import Estimate
from target_bench.harness.sweeps.cell import CellOutcome, described, failed, forget_data
from target_bench.harness.sweeps.executors import Executor, Local
from target_bench.harness.sweeps.grid import cells, read_name
from target_bench.harness.sweeps.plan import PlannedCell, plan_cells
from target_bench.harness.yaml_file import YamlFile
from target_bench.runs.record_log import write_file

Number = TypeVar("Number", int, float)
FORMAT = 1


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
        """
        document, observer = YamlFile.read(Path(file)), observer or Observer()
        name = read_name(document)
        all_cells = cells(document, None if out is None else Path(out))
        forget_data()  # of an earlier sweep, whose files may have been edited since
        looked_at = plan_cells(all_cells, document, observer)
        folder = all_cells[0].config.out
        return cls(name, Path(file), folder, looked_at, document.sha256)

    @property
    def estimates(self) -> list[Estimate]:
        """Requests to plug-ins that may cost money, over all cells."""
        groups: dict[tuple[str, bool], list[Estimate]] = {}
        for part in (estimate for cell in self.cells for estimate in cell.estimates):
            groups.setdefault((part.plugin, part.input_tokens is None), []).append(part)
        return [
            Estimate(
                plugin,
                sum(part.requests for part in parts),
                total(part.input_tokens for part in parts),
                total(part.cost for part in parts),
                parts[0].sent,
            )
            for (plugin, _), parts in groups.items()
        ]

    def run(
        self, executor: Executor | None = None, observer: Observer | None = None
    ) -> list[CellOutcome]:
        """Run all cells, and go on where an earlier time was stopped.

        A cell that fails costs no other one. ``NAME.sweep.json`` in the folder of runs is kept up
        to date; the results of all cells are written at the end.
        """
        executor, observer = executor or Local(), observer or Observer()
        all_cells = [planned.cell for planned in self.cells]
        outcomes: dict[int, CellOutcome] = {}
        self._write_manifest(outcomes)
        with closing(executor.run(all_cells, observer)) as coming:  # closing it ends its workers
            for outcome in coming:
                cell = outcome.cell
                outcomes[cell.number] = outcome
                self._write_manifest(outcomes)
                observer.cell_finished(cell.number, str(cell), outcome.as_event())
        lost = "the executor ended without saying what became of this cell"
        in_order = [outcomes.get(cell.number, failed(cell, lost)) for cell in all_cells]
        self._write_results(in_order)
        return in_order

    def _write_manifest(self, outcomes: Mapping[int, CellOutcome]) -> None:
        """Write ``NAME.sweep.json``: folder, state and error of each cell, as far as known."""
        entries = []
        for planned_cell in self.cells:
            outcome = outcomes.get(planned_cell.cell.number)
            folder = (outcome and outcome.folder) or planned_cell.folder
            state: str = planned_cell.state
            if outcome is not None:
                state = "failed" if outcome.error else "done"
            entries.append(
                {
                    **described(planned_cell.cell),
                    "key": planned_cell.key,
                    "folder": os.path.relpath(folder, self.out) if folder else None,
                    "state": state,
                    "error": outcome.error if outcome else None,
                }
            )
        manifest = {
            "format": FORMAT,
            "name": self.name,
            "file": str(self.file.resolve()),
            "sha256": self.sha256,
            "cells": entries,
        }
        write_file(self.out / f"{self.name}.sweep.json", _json(manifest))

    def _write_results(self, outcomes: Sequence[CellOutcome]) -> None:
        """Write ``NAME.results.json`` and ``.csv``: a row of each cell."""
        rows = [outcome.as_row() for outcome in outcomes]
        for row in rows:
            row["folder"] = row["folder"] and os.path.relpath(row["folder"], self.out)
        write_file(self.out / f"{self.name}.results.json", _json({"cells": rows}))
        as_csv = csv_text(rows).encode("utf-8", "surrogatepass")
        write_file(self.out / f"{self.name}.results.csv", as_csv)


def _json(document: Mapping[str, Any]) -> bytes:
    text = json.dumps(document, indent=1, ensure_ascii=False) + "\n"
    return text.encode("utf-8", "surrogatepass")


def total(amounts: Iterable[Number | None]) -> Number | None:
    """Return the sum of amounts; None where one of them is not known."""
    listed = list(amounts)
    known = [amount for amount in listed if amount is not None]
    return sum(known[1:], start=known[0]) if known and len(known) == len(listed) else None
