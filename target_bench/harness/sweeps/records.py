"""Records of a sweep: the run folder of each cell, and all scores as one table."""

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from target_bench.core.text_tables import csv_text
from target_bench.harness.sweeps.cell import CellOutcome, described, plugin_settings
from target_bench.harness.sweeps.plan import PlannedCell
from target_bench.runs.record_log import write_file

FORMAT = 1


@dataclass(frozen=True, slots=True)
class Records:
    """``NAME.sweep.json``, and ``NAME.results.json``, ``.csv`` and ``.parquet``.

    Attributes:
        out: the folder of the runs.
        name: the name of the sweep.
        file: the file it was read from.
        sha256: of that file, when it was read.
        cells: its cells.
    """

    out: Path
    name: str
    file: Path
    sha256: str
    cells: Sequence[PlannedCell]

    def paths(self) -> list[Path]:
        """Return the files."""
        ends = ("sweep.json", "results.json", "results.csv", "results.parquet")
        return [self.out / f"{self.name}.{end}" for end in ends]

    def write_manifest(self, outcomes: Mapping[int, CellOutcome]) -> None:
        """Return the known run folders of the cells.

        Raises:
            StoreError: it cannot be written.
        """
        manifest = {
            "format": FORMAT,
            "name": self.name,
            "file": str(self.file.resolve()),
            "sha256": self.sha256,
            "cells": [self._entry(cell, outcomes.get(cell.cell.number)) for cell in self.cells],
        }
        text = json.dumps(manifest, indent=1, ensure_ascii=False) + "\n"
        _replace(self.paths()[0], text.encode("utf-8", "surrogatepass"))

    def _entry(self, planned: PlannedCell, outcome: CellOutcome | None) -> dict[str, Any]:
        cell = planned.cell
        folder = planned.folder if outcome is None else outcome.folder or planned.folder
        state: str = planned.state
        if outcome is not None:
            state = "failed" if outcome.error else "done"
        return {
            **described(cell),
            "key": planned.key,
            "folder": os.path.relpath(folder, self.out) if folder else None,
            "state": state,
            "error": outcome.error if outcome else None,
        }

    def write_results(self, outcomes: Iterable[CellOutcome]) -> None:
        """Write the scores of all cells.

        Raises:
            StoreError: they cannot be written.
        """
        rows = [self._row(outcome) for outcome in outcomes]
        _, as_json, as_csv, as_parquet = self.paths()
        text = json.dumps({"cells": rows}, indent=1, ensure_ascii=False) + "\n"
        _replace(as_json, text.encode("utf-8", "surrogatepass"))
        _replace(as_csv, csv_text(rows).encode("utf-8", "surrogatepass"))
        _replace(as_parquet, _parquet(rows))

    def _row(self, outcome: CellOutcome) -> dict[str, Any]:
        row = as_row(outcome)
        folder = outcome.folder
        return {**row, "folder": os.path.relpath(folder, self.out) if folder else None}


def as_row(outcome: CellOutcome) -> dict[str, Any]:
    """Return an outcome as one flat row: settings, denominators, seconds and scores."""
    row = described(outcome.cell) | plugin_settings(outcome.cell)
    row |= {
        "state": "failed" if outcome.error else "done",
        "error": outcome.error,
        "folder": str(outcome.folder) if outcome.folder else None,
        "n_queries": outcome.n_queries,
        "failed_queries": outcome.failed_queries,
        "input_tokens": outcome.input_tokens,
        "output_tokens": outcome.output_tokens,
        "cost": outcome.cost,
    }
    row |= {f"seconds.{stage}": seconds for stage, seconds in outcome.stages.items()}
    for name in ("p50", "p95", "p99"):
        if outcome.latency and name in outcome.latency:
            row[f"latency_ms.{name}"] = outcome.latency[name]
    for name, score in outcome.scores.items():
        record = score.to_json()
        row |= {name: record["value"], f"{name}.low": record["low"], f"{name}.high": record["high"]}
    return row


def _parquet(rows: Sequence[Mapping[str, Any]]) -> bytes:
    import pyarrow
    from pyarrow import parquet

    names = dict.fromkeys(name for row in rows for name in row)
    columns = {name: [row.get(name) for row in rows] for name in names}
    buffer = pyarrow.BufferOutputStream()
    parquet.write_table(pyarrow.table(columns), buffer)
    content: bytes = buffer.getvalue().to_pybytes()
    return content


def _replace(path: Path, content: bytes) -> None:
    write_file(path, content)
