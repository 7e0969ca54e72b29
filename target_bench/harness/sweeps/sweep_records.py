"""Records of a sweep: the run folder of each cell, and all scores as one table."""

import csv
import io
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from target_bench.core import registry
from target_bench.core.errors import StoreError
from target_bench.core.files import atomic_write
from target_bench.core.settings import masked, masked_settings
from target_bench.core.task_names import task_class
from target_bench.harness.options import options_read
from target_bench.harness.sweeps.plan import PlannedCell
from target_bench.harness.sweeps.sweep_cell import CellOutcome, SweepCell
from target_bench.runs.record_log import cannot

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
        _replace(as_csv, _csv(rows).encode("utf-8", "surrogatepass"))
        _replace(as_parquet, _parquet(rows))

    def _row(self, outcome: CellOutcome) -> dict[str, Any]:
        row = as_row(outcome)
        folder = outcome.folder
        return {**row, "folder": os.path.relpath(folder, self.out) if folder else None}


def described(cell: SweepCell) -> dict[str, Any]:
    """Return the options of a cell as JSON, without paths of this machine."""
    options, prompting = cell.options, cell.prompting
    answered = cell.generator is not None
    return {
        "number": cell.number,
        "task": cell.task,
        "task_settings": masked_settings(cell.task_text.removeprefix(cell.task)).lstrip(":")
        or None,
        "corpus": masked_settings(cell.corpus),
        "split": options.split,
        "distractors": " + ".join(options.distractors) or None,
        "database": options.database,
        "limit": options.limit,
        "retriever": _masked(cell.retriever),
        "generator": _masked(cell.generator),
        "prompt": None if prompting.prompt is None else prompting.prompt.name,
        **_names(cell),
        "k": None if cell.retriever is None else options.top_k[-1],
        "tables": prompting.tables,
        "table_format": prompting.table_format if answered else None,
        "prompt_tokens": prompting.prompt_tokens if answered else None,
        "schema_scope": prompting.schema_scope if _reads_scope(cell) else None,
        "seed": cell.seed,
        "repeat": cell.repeat,
    }


def _names(cell: SweepCell) -> dict[str, str]:
    """Return the names that the user gave."""
    found = {"retriever_name": cell.retriever_name, "generator_name": cell.generator_name}
    return {key: name for key, name in found.items() if name is not None}


def _reads_scope(cell: SweepCell) -> bool:
    return cell.generator is not None and "schema_scope" in options_read(task_class(cell.task_text))


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
        found = score.to_json()
        row |= {name: found["value"], f"{name}.low": found["low"], f"{name}.high": found["high"]}
    return row


def plugin_settings(cell: SweepCell) -> dict[str, str]:
    """Return the settings of a cell's plug-ins as text: ``retriever.k1`` -> ``0.9``."""
    found = _settings("task", cell.task_text) | _settings("retriever", cell.retriever)
    return found | _settings("generator", cell.generator)


def _masked(text: str | None) -> str | None:
    return None if text is None else masked_settings(text)


def _settings(kind: registry.Kind, text: str | None) -> dict[str, str]:
    """``retriever.k1`` and so on: text as it is, all else as JSON."""
    if text is None:
        return {}
    found = masked(registry.parse(kind, text).settings)
    return {
        f"{kind}.{name}": value if isinstance(value, str) else json.dumps(value)
        for name, value in found.items()
    }


def _columns(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the columns of all rows."""
    return list(dict.fromkeys(name for row in rows for name in row))


def _csv(rows: Sequence[Mapping[str, Any]]) -> str:
    out = io.StringIO()
    writer = csv.DictWriter(out, _columns(rows), restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


def _parquet(rows: Sequence[Mapping[str, Any]]) -> bytes:
    import pyarrow
    from pyarrow import parquet

    columns = {name: [row.get(name) for row in rows] for name in _columns(rows)}
    buffer = pyarrow.BufferOutputStream()
    parquet.write_table(pyarrow.table(columns), buffer)
    content: bytes = buffer.getvalue().to_pybytes()
    return content


def _replace(path: Path, content: bytes) -> None:
    try:
        atomic_write(path, content)
    except OSError as error:
        raise StoreError(cannot("be written", path, error)) from error
